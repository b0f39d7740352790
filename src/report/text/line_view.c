/* SPDX-License-Identifier: MIT */
#include "report/text/line_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/text/code_files.h"

enum { TAB = 8 };

/* --- Cells ----------------------------------------------------------------------- */

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* Half of all is hot wherever it is; a twentieth is what one may look at. */
static enum sd_heat heat_of(double share)
{
    return share >= 0.5    ? SD_HEAT_HOT
           : share >= 0.2  ? SD_HEAT_WARM
           : share >= 0.05 ? SD_HEAT_MILD
                           : SD_HEAT_NONE;
}

static int64_t own_time(const struct sd_line_list_row *row)
{
    return row->values[SD_LINE_TIME] - row->values[SD_LINE_CHILD_TIME];
}

/* Nothing where it was not measured. */
static struct sd_cell number(enum sd_cell_kind kind, int64_t value, enum sd_heat heat)
{
    struct sd_cell cell = { .kind = SD_CELL_NONE };

    if (value != SD_LINE_NONE)
        cell = sd_cell_number(kind, value);
    cell.heat = heat;
    return cell;
}

static struct sd_cell percent(double share)
{
    struct sd_cell cell = sd_cell_real(SD_CELL_PERCENT, 100 * share);

    cell.heat = heat_of(share);
    return cell;
}

static struct sd_cell per_hit(const struct sd_line_list_row *row, enum sd_heat heat)
{
    int64_t hits = row->values[SD_LINE_HITS];

    return number(SD_CELL_NS,
                  hits > 0 ? row->values[SD_LINE_TIME] / hits : SD_LINE_NONE, heat);
}

/* A line of the source, tabs as far as they reach: a column begins where it begins. */
static const char *code_of(struct sd_view *v, struct sd_code_text_line line)
{
    struct sd_buf text = { 0 };
    size_t column = 0;
    const char *copy = NULL;

    for (size_t i = 0; i < line.n; i++, column++) {
        if (line.p[i] != '\t') {
            sd_buf_u8(&text, (uint8_t)line.p[i]);
            continue;
        }
        do
            sd_buf_u8(&text, ' ');
        while (++column % TAB != 0);
        column--;
    }
    if (!text.bad)
        copy = sd_arena_string(&v->arena, (const char *)text.p, text.n);
    sd_buf_release(&text);
    return copy;
}

static const char *copy_of(struct sd_view *v, const char *text)
{
    return sd_arena_string(&v->arena, text, strlen(text));
}

/* --- A function ------------------------------------------------------------------ */

enum {
    LINE,
    HITS,
    TIME,
    PER_HIT,
    TIME_SHARE,
    MEMORY,
    INCREMENT,
    PEAK,
    SOURCE,
    N_COLUMNS
};

static const struct sd_column function_columns[N_COLUMNS] = {
    [LINE] = { .name = "line", .kind = SD_CELL_COUNT },
    [HITS] = { .name = "hits", .kind = SD_CELL_COUNT },
    [TIME] = { .name = "time", .kind = SD_CELL_NS },
    [PER_HIT] = { .name = "per hit", .kind = SD_CELL_NS, .rank = 2 },
    [TIME_SHARE] = { .name = "time%", .kind = SD_CELL_PERCENT },
    [MEMORY] = { .name = "memory", .kind = SD_CELL_BYTES, .rank = 1 },
    [INCREMENT] = { .name = "increment", .kind = SD_CELL_BYTES },
    [PEAK] = { .name = "peak", .kind = SD_CELL_BYTES, .rank = 3 },
    [SOURCE] = { .name = "source", .kind = SD_CELL_TEXT },
};

struct filling {
    struct sd_view *v;
    struct sd_view_table *t;
    const struct sd_line_list_function *f;
    const struct sd_code_text *source;
    size_t at[N_COLUMNS]; /* where each column is in the table */
    int64_t grew;         /* bytes: of all lines that grew */
    bool has_memory;
};

static int64_t growth_of(const struct sd_line_list_function *f)
{
    int64_t sum = 0;

    for (size_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].values[SD_LINE_INCREMENT] > 0)
            sum = sd_sum_i64(sum, f->rows[i].values[SD_LINE_INCREMENT]);
    return sum;
}

static struct sd_cell *cell(const struct filling *to, size_t row, int column)
{
    return sd_view_cell(to->t, row, to->at[column]);
}

/* The row of the def was never hit: it shows what was there when the function was
 * entered. */
static void put_values(const struct filling *to, size_t at,
                       const struct sd_line_list_row *row)
{
    const int64_t *v = row->values;
    double share = share_of(v[SD_LINE_TIME], to->f->time_ns);
    double growth = share_of(v[SD_LINE_INCREMENT], to->grew);
    bool is_hit = v[SD_LINE_HITS] > 0;

    if (is_hit) {
        *cell(to, at, HITS) = number(SD_CELL_COUNT, v[SD_LINE_HITS], SD_HEAT_NONE);
        *cell(to, at, TIME) = number(SD_CELL_NS, v[SD_LINE_TIME], heat_of(share));
        *cell(to, at, PER_HIT) = per_hit(row, SD_HEAT_NONE);
        *cell(to, at, TIME_SHARE) = percent(share);
    }
    if (!to->has_memory || v[SD_LINE_MEMORY] == SD_LINE_NONE)
        return;
    *cell(to, at, MEMORY) = number(SD_CELL_BYTES, v[SD_LINE_MEMORY], SD_HEAT_NONE);
    if (is_hit)
        *cell(to, at, INCREMENT) =
            number(SD_CELL_BYTES, v[SD_LINE_INCREMENT], heat_of(growth));
    *cell(to, at, PEAK) = number(SD_CELL_BYTES, v[SD_LINE_PEAK], SD_HEAT_NONE);
}

/* `row` is NULL where the line never ran. */
static int put_line(const struct filling *to, size_t at, uint64_t line,
                    const struct sd_line_list_row *row)
{
    const char *text = code_of(to->v, sd_code_text_line(to->source, line));
    enum sd_heat heat = SD_HEAT_COLD;

    if (!text)
        return sd_no_memory();
    if (row)
        heat = heat_of(share_of(row->values[SD_LINE_TIME], to->f->time_ns));
    *cell(to, at, LINE) =
        number(SD_CELL_COUNT, (int64_t)line, row ? SD_HEAT_NONE : SD_HEAT_COLD);
    *cell(to, at, SOURCE) = sd_cell_text(text);
    cell(to, at, SOURCE)->heat = heat;
    if (row)
        put_values(to, at, row);
    return 0;
}

/* Those of the source; and lines that ran and are none of its, because the file has
 * changed or is not there. */
static size_t count_lines(const struct sd_line_list_function *f, size_t n_block)
{
    size_t n = n_block;

    for (size_t i = 0; i < f->n_rows; i++)
        n += f->rows[i].line < f->first ||
             f->rows[i].line >= (uint64_t)f->first + n_block;
    return n;
}

static int put_lines(const struct filling *to, size_t n_block)
{
    uint64_t line = to->f->first, end = line + n_block;
    const struct sd_line_list_row *row = to->f->rows, *last = row + to->f->n_rows;
    int rc = 0;

    for (size_t i = 0; i < to->t->n_rows && rc == 0; i++) {
        bool has_row = row < last && (row->line <= line || line == end);
        bool is_of_block = line < end && (!has_row || row->line == line);

        rc = put_line(to, i, has_row ? row->line : line, has_row ? row : NULL);
        row += has_row;
        line += is_of_block;
    }
    return rc;
}

/* Columns of memory are there where it was read. */
static size_t choose_columns(struct filling *to, struct sd_column *columns)
{
    size_t n = 0;

    for (int i = 0; i < N_COLUMNS; i++) {
        bool is_memory = i == MEMORY || i == INCREMENT || i == PEAK;

        if (is_memory && !to->has_memory)
            continue;
        to->at[i] = n;
        columns[n++] = function_columns[i];
    }
    return n;
}

static char *title_of(struct sd_view *v, const struct sd_line_list_function *f)
{
    struct sd_buf text = { 0 };
    char time[SD_TEXT_MAX], *copy = NULL;

    sd_text_escape(&text, f->name, strlen(f->name));
    sd_buf_text(&text, "  ");
    sd_text_escape(&text, f->file, strlen(f->file));
    sd_buf_printf(&text, ":%u  %s", f->first, sd_text_duration(time, f->time_ns));
    if (!text.bad)
        copy = sd_arena_string(&v->arena, (const char *)text.p, text.n);
    sd_buf_release(&text);
    return copy;
}

static int add_function(struct sd_view *v, const struct sd_line_list_function *f,
                        const struct sd_code_text *source, bool has_memory)
{
    struct filling to = { .v = v, .f = f, .source = source, .has_memory = has_memory };
    struct sd_column columns[N_COLUMNS];
    size_t n_block = sd_code_block_extent(source, f->name, strlen(f->name), f->first);
    size_t n_columns = choose_columns(&to, columns);
    char *title = title_of(v, f);

    to.grew = growth_of(f);
    if (!title)
        return sd_no_memory();
    to.t = sd_view_add(v, "lines", title, columns, n_columns, count_lines(f, n_block));
    return to.t ? put_lines(&to, n_block) : SD_ENOMEM;
}

/* One at a time: a program has many functions, and a view keeps all its tables. */
static int put_function(const struct sd_line_list_function *f,
                        const struct sd_code_text *source, bool has_memory,
                        const struct sd_text_style *style, struct sd_out *out)
{
    struct sd_view v = { 0 };
    int rc = add_function(&v, f, source, has_memory);

    if (rc == 0)
        sd_report_table_text(out, &v.tables[0], style);
    sd_view_release(&v);
    return rc;
}

/* What the numbers are without. */
static void put_cost(const struct sd_line_list *l, const struct sd_text_style *style,
                     struct sd_out *out)
{
    char time[SD_TEXT_MAX], text[SD_TEXT_MAX + 80];
    int64_t cost = 0;

    for (size_t i = 0; i < l->n; i++)
        cost = sd_sum_i64(cost, l->functions[i].tracing_ns);
    if (cost == 0)
        return;
    snprintf(text, sizeof text, "counting these lines took %s, which is subtracted",
             sd_text_duration(time, cost));
    sd_out_text(out, "\n");
    sd_report_heading(out, style, text);
}

int sd_report_lines_combined(const struct sd_line_list *l,
                             const struct sd_text_style *style, struct sd_out *out)
{
    struct sd_code_files sources = { 0 };
    int rc = 0;

    for (size_t i = 0; i < l->n && rc >= 0; i++) {
        const struct sd_code_text *source;

        rc = sd_code_files_find_in(&sources, l->functions[i].file, l->functions[i].text,
                                   &source);
        sd_out_text(out, i > 0 ? "\n" : "");
        if (rc >= 0)
            rc = put_function(&l->functions[i], source, l->has_memory, style, out);
    }
    sd_code_files_release(&sources);
    if (rc >= 0)
        put_cost(l, style, out);
    return rc < 0 ? rc : 0;
}

/* --- The hottest ----------------------------------------------------------------- */

struct hot {
    const struct sd_line_list_function *f;
    const struct sd_line_list_row *row;
    size_t place; /* in the table */
};

static int by_own_time(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;
    int64_t one = own_time(x->row), other = own_time(y->row);

    if (one != other)
        return one > other ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_function(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;

    if (x->f != y->f)
        return x->f < y->f ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

enum {
    HOT_SHARE,
    HOT_SELF,
    HOT_TIME,
    HOT_HITS,
    HOT_PER_HIT,
    HOT_INCREMENT,
    HOT_PEAK,
    HOT_FUNCTION,
    HOT_WHERE,
    HOT_FILE,
    HOT_LINE,
    HOT_SOURCE,
    N_HOT_COLUMNS
};

static const struct sd_column hot_columns[N_HOT_COLUMNS] = {
    [HOT_SHARE] = { .name = "self%", .kind = SD_CELL_PERCENT },
    [HOT_SELF] = { .name = "self", .kind = SD_CELL_NS },
    [HOT_TIME] = { .name = "time", .kind = SD_CELL_NS, .rank = 2 },
    [HOT_HITS] = { .name = "hits", .kind = SD_CELL_COUNT },
    [HOT_PER_HIT] = { .name = "per hit", .kind = SD_CELL_NS, .rank = 3 },
    [HOT_INCREMENT] = { .name = "increment", .kind = SD_CELL_BYTES, .rank = 1 },
    [HOT_PEAK] = { .name = "peak", .kind = SD_CELL_BYTES, .rank = 4 },
    [HOT_FUNCTION] = { .name = "function", .kind = SD_CELL_TEXT },
    [HOT_WHERE] = { .name = "where", .kind = SD_CELL_TEXT },
    [HOT_FILE] = { .name = "file", .kind = SD_CELL_TEXT, .is_hidden_in_text = true },
    [HOT_LINE] = { .name = "line", .kind = SD_CELL_COUNT, .is_hidden_in_text = true },
    [HOT_SOURCE] = { .name = "source", .kind = SD_CELL_TEXT },
};

static bool is_of_memory(int column)
{
    return column == HOT_INCREMENT || column == HOT_PEAK;
}

/* Lines that were hit, the hottest first; *n of them.  sd_free frees it. */
static struct hot *gather(const struct sd_line_list *l, size_t *n, int64_t *whole)
{
    size_t n_rows = 0;
    struct hot *all;

    *n = 0;
    *whole = 0;
    for (size_t i = 0; i < l->n; i++)
        n_rows += l->functions[i].n_rows;
    all = sd_alloc((n_rows + 1) * sizeof *all);
    for (size_t i = 0; all && i < l->n; i++)
        for (size_t k = 0; k < l->functions[i].n_rows; k++) {
            const struct sd_line_list_row *row = &l->functions[i].rows[k];

            if (row->values[SD_LINE_HITS] <= 0)
                continue;
            all[(*n)++] = (struct hot){ .f = &l->functions[i], .row = row };
            *whole = sd_sum_i64(*whole, own_time(row));
        }
    if (all)
        qsort(all, *n, sizeof *all, by_own_time);
    return all;
}

static const char *short_name(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash && slash[1] ? slash + 1 : file;
}

static int put_hot(struct sd_view *v, struct sd_view_table *t, const struct hot *h,
                   int64_t whole, bool has_memory)
{
    const int64_t *values = h->row->values;
    double share = share_of(own_time(h->row), whole);
    const char *name = copy_of(v, h->f->name), *file = copy_of(v, h->f->file);
    const char *where =
        sd_arena_printf(&v->arena, "%s:%u", short_name(h->f->file), h->row->line);
    const struct sd_cell cells[N_HOT_COLUMNS] = {
        [HOT_SHARE] = percent(share),
        [HOT_SELF] = number(SD_CELL_NS, own_time(h->row), heat_of(share)),
        [HOT_TIME] = number(SD_CELL_NS, values[SD_LINE_TIME], SD_HEAT_NONE),
        [HOT_HITS] = number(SD_CELL_COUNT, values[SD_LINE_HITS], SD_HEAT_NONE),
        [HOT_PER_HIT] = per_hit(h->row, SD_HEAT_NONE),
        [HOT_INCREMENT] =
            number(SD_CELL_BYTES, values[SD_LINE_INCREMENT], SD_HEAT_NONE),
        [HOT_PEAK] = number(SD_CELL_BYTES, values[SD_LINE_PEAK], SD_HEAT_NONE),
        [HOT_FUNCTION] = sd_cell_text(name),
        [HOT_WHERE] = sd_cell_text(where),
        [HOT_FILE] = sd_cell_text(file),
        [HOT_LINE] = number(SD_CELL_COUNT, h->row->line, SD_HEAT_NONE),
    };
    size_t column = 0;

    if (!name || !file || !where)
        return sd_no_memory();
    for (int i = 0; i < N_HOT_COLUMNS; i++)
        if (has_memory || !is_of_memory(i))
            *sd_view_cell(t, h->place, column++) = cells[i];
    return 0;
}

/* The last column, file by file. */
static int put_sources(struct sd_view *v, struct sd_view_table *t, struct hot *hot,
                       size_t n)
{
    struct sd_code_files sources = { 0 };
    int rc = 0;

    qsort(hot, n, sizeof *hot, by_function); /* functions are in the order of files */
    for (size_t i = 0; i < n && rc >= 0; i++) {
        const struct sd_code_text *source;
        struct sd_code_text_line line;
        const char *text;

        rc = sd_code_files_find_in(&sources, hot[i].f->file, hot[i].f->text, &source);
        line = sd_code_text_line(source, hot[i].row->line);
        while (line.n > 0 && (*line.p == ' ' || *line.p == '\t'))
            line.p++, line.n--;
        text = rc < 0 ? NULL : code_of(v, line);
        if (text)
            *sd_view_cell(t, hot[i].place, t->n_columns - 1) = sd_cell_text(text);
        else if (rc >= 0)
            rc = sd_no_memory();
    }
    sd_code_files_release(&sources);
    return rc < 0 ? rc : 0;
}

static struct sd_view_table *add_hot_table(struct sd_view *v, bool has_memory, size_t n)
{
    struct sd_column columns[N_HOT_COLUMNS];
    size_t n_columns = 0;

    for (int i = 0; i < N_HOT_COLUMNS; i++)
        if (has_memory || !is_of_memory(i))
            columns[n_columns++] = hot_columns[i];
    return sd_view_add(v, "hottest", NULL, columns, n_columns, n);
}

int sd_line_view_hottest(const struct sd_line_list *l, size_t limit, struct sd_view *v)
{
    size_t n_all, n;
    int64_t whole;
    struct hot *hot = gather(l, &n_all, &whole);
    struct sd_view_table *t;
    int rc = 0;

    if (!hot)
        return sd_no_memory();
    n = limit > 0 && limit < n_all ? limit : n_all;
    t = add_hot_table(v, l->has_memory, n);
    rc = t ? 0 : SD_ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        hot[i].place = i;
        rc = put_hot(v, t, &hot[i], whole, l->has_memory);
    }
    if (rc == 0)
        rc = put_sources(v, t, hot, n);
    if (rc == 0 && n < n_all)
        t->note = sd_arena_printf(&v->arena, "%zu more line%s", n_all - n,
                                  n_all - n == 1 ? "" : "s");
    sd_free(hot);
    return rc;
}
