/* SPDX-License-Identifier: MIT */
#include "report/text/line_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/plain_locale.h"

enum { CELL_MAX = 352 }; /* the largest double has 309 digits before the point */

enum column { COLUMN_LINE, COLUMN_HITS, COLUMN_TIME, COLUMN_PER_HIT, COLUMN_PERCENT };
enum { N_COLUMNS = SD_LINE_TEXT_COLUMNS };
enum { WIDTH_MAX = 200 };

/* line_profiler's, of its configuration as it comes. */
static const int widths_usual[N_COLUMNS] = { 6, 9, 12, 8, 8 };
static const char *const headings[N_COLUMNS] = { "Line #", "Hits", "Time", "Per Hit",
                                                 "% Time" };

struct printing {
    struct sd_out *out;
    const struct sd_line_stats *s;
    const struct sd_line_text_request *request;
    const struct sd_line_function *f;
    double total; /* of the function, in units */
    double scale; /* from the stats' unit to the shown one */
    struct sd_code_files sources;
    struct sd_plain_locale locale;
    int least[N_COLUMNS];
    int widths[N_COLUMNS]; /* of this function */
};

/* --- Cells */

/* Long numbers go over to the short form. */
static int print_real(char cell[CELL_MAX], double v, int width)
{
    int n = snprintf(cell, CELL_MAX, "%5.1f", v);

    return n > width ? snprintf(cell, CELL_MAX, "%5.3g", v) : n;
}

static int print_hits(char cell[CELL_MAX], int64_t hits, int width)
{
    int n = snprintf(cell, CELL_MAX, "%lld", (long long)hits);

    return n > width ? snprintf(cell, CELL_MAX, "%g", (double)hits) : n;
}

static int print_cell(const struct printing *p, char cell[CELL_MAX], enum column c,
                      const struct sd_line_entry *e)
{
    switch (c) {
    case COLUMN_LINE:
        return snprintf(cell, CELL_MAX, "%lld", (long long)e->line);
    case COLUMN_HITS:
        return print_hits(cell, e->hits, p->least[c]);
    case COLUMN_TIME:
        return print_real(cell, e->time * p->scale, p->least[c]);
    case COLUMN_PER_HIT:
        return print_real(cell,
                          e->hits != 0 ? e->time * p->scale / (double)e->hits : 0.0,
                          p->least[c]);
    case COLUMN_PERCENT:
        break;
    }
    cell[0] = 0;
    return p->total != 0 ? snprintf(cell, CELL_MAX, "%5.1f", 100 * e->time / p->total)
                         : 0;
}

/* Columns are as wide as their widest number; shares and line numbers hang over. */
static void measure(struct printing *p)
{
    char cell[CELL_MAX];

    memcpy(p->widths, p->least, sizeof p->widths);
    for (size_t i = 0; i < p->f->n; i++)
        for (enum column c = COLUMN_HITS; c <= COLUMN_PER_HIT; c++) {
            int n = print_cell(p, cell, c, &p->f->entries[i]);

            if (n > p->widths[c])
                p->widths[c] = n;
        }
}

static void put_name(struct sd_out *out, const char *before,
                     const struct sd_intern_string *name)
{
    sd_out_text(out, before);
    sd_code_text_put(out, name->p, name->n);
}

/* --- A function's table */

static void put_heading(const struct printing *p)
{
    static const char last[] = "  Line Contents";
    size_t n = sizeof last - 1 + N_COLUMNS - 1;

    sd_out_text(p->out, "\n");
    for (enum column c = COLUMN_LINE; c <= COLUMN_PERCENT; c++) {
        sd_out_printf(p->out, "%s%*s", c > 0 ? " " : "", p->widths[c], headings[c]);
        n += (size_t)p->widths[c];
    }
    sd_out_printf(p->out, "%s\n", last);
    for (size_t i = 0; i < n; i++)
        sd_out_text(p->out, "=");
    sd_out_text(p->out, "\n");
}

/* `e` is NULL where the line never ran. */
static void put_row(const struct printing *p, int64_t number,
                    const struct sd_line_entry *e, struct sd_code_text_line text)
{
    char cell[CELL_MAX];

    sd_out_printf(p->out, "%*lld", p->widths[COLUMN_LINE], (long long)number);
    for (enum column c = COLUMN_HITS; c <= COLUMN_PERCENT; c++) {
        cell[0] = 0;
        if (e)
            print_cell(p, cell, c, e);
        sd_out_printf(p->out, " %*s", p->widths[c], cell);
    }
    sd_out_text(p->out, "  ");
    sd_code_text_put(p->out, text.p, text.n);
    sd_out_text(p->out, "\n");
}

/* Where a line comes twice, line_profiler shows the last. */
static int put_rows(const struct printing *p, const struct sd_code_text *source,
                    size_t n)
{
    const struct sd_line_entry **rows = sd_zalloc((n + 1) * sizeof *rows);

    if (!rows)
        return sd_no_memory();
    for (size_t i = 0; i < p->f->n; i++) {
        int64_t at;

        if (!__builtin_sub_overflow(p->f->entries[i].line, p->f->line, &at) &&
            at >= 0 && (uint64_t)at < n)
            rows[at] = &p->f->entries[i];
    }
    for (size_t i = 0; i < n; i++) {
        int64_t number = p->f->line + (int64_t)i;

        put_row(p, number, rows[i],
                sd_code_text_line(source, number > 0 ? (uint64_t)number : 0));
    }
    sd_out_text(p->out, "\n");
    sd_free(rows);
    return 0;
}

/* Lines that are known to have run, where the file is not there. */
static size_t count_lines(const struct sd_line_function *f)
{
    int64_t first = f->line, last = f->line;
    uint64_t n;

    if (f->n == 0)
        return 1;
    last = f->entries[0].line;
    for (size_t i = 0; i < f->n; i++) {
        first = f->entries[i].line < first ? f->entries[i].line : first;
        last = f->entries[i].line > last ? f->entries[i].line : last;
    }
    n = (uint64_t)last - (uint64_t)first + 1;
    return n < SD_CODE_LINES_MAX ? (size_t)n : SD_CODE_LINES_MAX;
}

/* Those that the source has, and at least up to the last that ran: where a file has
 * changed its blocks end elsewhere, and no number may be missing. */
static size_t count_shown(const struct sd_line_function *f,
                          const struct sd_code_text *source)
{
    size_t n = sd_code_block_extent(source, f->name.p, f->name.n,
                                    f->line > 0 ? (uint64_t)f->line : 0);
    int64_t least;

    if (n == 0)
        return count_lines(f);
    for (size_t i = 0; i < f->n; i++)
        if (!__builtin_sub_overflow(f->entries[i].line, f->line, &least) &&
            least < SD_CODE_LINES_MAX && least >= (int64_t)n)
            n = (size_t)least + 1;
    return n;
}

static void put_where(const struct printing *p)
{
    put_name(p->out, "File: ", &p->f->file);
    put_name(p->out, "\nFunction: ", &p->f->name);
    sd_out_printf(p->out, " at line %lld\n", (long long)p->f->line);
}

static void put_absent(const struct printing *p)
{
    put_name(p->out, "\nCould not find file ", &p->f->file);
    sd_out_text(p->out,
                "\nAre you sure you are running this program from the same directory\n"
                "that you ran the profiler from?\n"
                "Continuing without the function's contents.\n");
}

/* Whoever is asked may run code of the program, which has its locale then. */
static int find_source(struct printing *p, const struct sd_code_text **source)
{
    int rc;

    sd_plain_locale_leave(&p->locale);
    rc = sd_code_files_find(&p->sources, p->f->file.p, source);
    sd_plain_locale_enter(&p->locale);
    return rc;
}

/* A file that has changed may end before the function began: its numbers are shown all
 * the same. */
static int put_function(struct printing *p)
{
    const struct sd_code_text *source;
    int rc = find_source(p, &source);

    if (rc < 0)
        return rc;
    p->total = sd_line_function_time(p->f);
    sd_out_printf(p->out, "Total time: %g s\n", p->total * p->s->unit);
    if (rc > 0)
        put_where(p);
    else
        put_absent(p);
    measure(p);
    put_heading(p);
    return put_rows(p, source, count_shown(p->f, source));
}

/* --- The whole */

struct timed {
    double time;
    size_t at;
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

int sd_line_text_order(const struct sd_line_stats *s,
                       const struct sd_line_text_request *request, size_t **order)
{
    struct timed *all = sd_alloc((s->n + 1) * sizeof *all);

    *order = sd_alloc((s->n + 1) * sizeof **order);
    if (!all || !*order) {
        sd_free(all);
        sd_free(*order);
        *order = NULL;
        return sd_no_memory();
    }
    for (size_t i = 0; i < s->n; i++)
        all[i] = (struct timed){ sd_line_function_time(&s->functions[i]), i };
    if (request->is_sorted)
        qsort(all, s->n, sizeof *all, compare_timed);
    for (size_t i = 0; i < s->n; i++)
        (*order)[i] = all[request->is_reversed ? s->n - 1 - i : i].at;
    sd_free(all);
    return 0;
}

static void put_summary(const struct printing *p, const size_t *order)
{
    for (size_t i = 0; i < p->s->n; i++) {
        const struct sd_line_function *f = &p->s->functions[order[i]];
        double seconds = sd_line_function_time(f) * p->s->unit;

        if (p->request->skips_zeros && seconds == 0)
            continue;
        sd_out_printf(p->out, "%6.2f seconds - ", seconds);
        put_name(p->out, "", &f->file);
        sd_out_printf(p->out, ":%lld - ", (long long)f->line);
        put_name(p->out, "", &f->name);
        sd_out_text(p->out, "\n");
    }
}

static void choose_widths(struct printing *p)
{
    for (int c = 0; c < N_COLUMNS; c++) {
        int asked =
            p->request->widths[c] < WIDTH_MAX ? p->request->widths[c] : WIDTH_MAX;

        p->least[c] = asked > widths_usual[c] ? asked : widths_usual[c];
    }
}

static int put_all(struct printing *p, const size_t *order)
{
    double unit = p->request->unit > 0 ? p->request->unit : p->s->unit;
    int rc = 0;

    p->scale = p->s->unit / unit;
    choose_widths(p);
    sd_out_printf(p->out, "Timer unit: %g s\n\n", unit);
    for (size_t i = 0; i < p->s->n && rc == 0 && !p->request->has_no_details; i++) {
        p->f = &p->s->functions[order[i]];
        if (!p->request->skips_zeros || sd_line_function_hits(p->f) != 0)
            rc = put_function(p);
    }
    if (rc == 0 && p->request->has_summary)
        put_summary(p, order);
    return rc;
}

int sd_report_lines(const struct sd_line_stats *s,
                    const struct sd_line_text_request *request, struct sd_out *out)
{
    struct printing p = { .out = out,
                          .s = s,
                          .request = request,
                          .sources = { .read = request->source,
                                       .context = request->context } };
    size_t *order;
    int rc = sd_line_text_order(s, request, &order);

    if (rc < 0)
        return rc;
    sd_plain_locale_enter(&p.locale);
    rc = put_all(&p, order);
    sd_plain_locale_leave(&p.locale);
    sd_code_files_release(&p.sources);
    sd_free(order);
    return rc;
}
