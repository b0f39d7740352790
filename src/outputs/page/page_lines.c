/* SPDX-License-Identifier: MIT */
/* page_lines: functions with their lines, of a file of line_profiler, as a page. */
#include <stdlib.h>

#include "analyse/findings/stats_findings.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "outputs/page/page_stats.h"

enum line_column { HITS, TIME, PER_HIT, SHARE };
static const struct sd_column line_columns[] = {
    [HITS] = { "hits", "how often it was run", SD_CELL_COUNT, false, 0 },
    [TIME] = { "time", "with what it called", SD_CELL_NS, false, 0 },
    [PER_HIT] = { "per hit", "time of one", SD_CELL_NS, false, 0 },
    [SHARE] = { "time%", "share of its function", SD_CELL_PERCENT, false, 0 },
};
enum { N_LINE_COLUMNS = SHARE + 1 };

/* A line of a file; functions may share one. */
struct counted_line {
    uint32_t file;
    int64_t line, hits;
    double time, of; /* seconds; of its function */
};

static int by_file_and_line(const void *a, const void *b)
{
    const struct counted_line *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Sorted, each once. */
static struct counted_line *gather(const struct sd_line_stats *s, size_t *n)
{
    struct counted_line *all;
    size_t most = 0, kept = 0;

    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        most += s->functions[i].n;
    all = sd_alloc((most + 1) * sizeof *all);
    for (size_t i = 0; all && i < s->n; i++) {
        const struct sd_line_function *f = &s->functions[i];
        double of = sd_line_function_time(f) * s->unit;

        for (size_t k = 0; k < f->n; k++)
            if (f->entries[k].line > 0 && f->entries[k].line < UINT32_MAX)
                all[(*n)++] = (struct counted_line){ f->file_id, f->entries[k].line,
                                                     f->entries[k].hits,
                                                     f->entries[k].time * s->unit, of };
    }
    if (!all)
        return NULL;
    qsort(all, *n, sizeof *all, by_file_and_line);
    for (size_t i = 0; i < *n; i++)
        if (kept > 0 && by_file_and_line(&all[kept - 1], &all[i]) == 0) {
            all[kept - 1].hits = sd_sum_i64(all[kept - 1].hits, all[i].hits);
            all[kept - 1].time += all[i].time;
            all[kept - 1].of += all[i].of;
        } else {
            all[kept++] = all[i];
        }
    *n = kept;
    return all;
}

static void put_line(const struct counted_line *l, struct sd_cell *row)
{
    row[HITS] = sd_cell_number(SD_CELL_COUNT, l->hits);
    row[TIME] = sd_page_seconds(l->time);
    if (l->hits > 0)
        row[PER_HIT] = sd_page_seconds(l->time / (double)l->hits);
    row[SHARE] = sd_page_percent(l->time, l->of);
}

static int put_file(struct sd_page_maker *m, const struct sd_line_stats *s,
                    const struct counted_line *lines, size_t n,
                    struct sd_source_file *f)
{
    struct sd_site site = { .kind = SD_SITE_FUNCTION, .name = "" };

    site.file = sd_page_text_of(m, &s->strings.items[lines->file]);
    f->lines = sd_arena_alloc(&m->arena, n * sizeof *f->lines);
    f->cells = sd_arena_alloc(&m->arena, n * N_LINE_COLUMNS * sizeof *f->cells);
    if (!site.file || !f->lines || !f->cells)
        return sd_no_memory();
    f->file = site.file;
    f->short_file = sd_site_short_file(&site);
    f->is_library = sd_site_is_library(&site);
    f->n_lines = n;
    for (size_t i = 0; i < n; i++) {
        f->lines[i] = (uint32_t)lines[i].line;
        put_line(&lines[i], f->cells + i * N_LINE_COLUMNS);
    }
    return 0;
}

static int put_files(struct sd_page_maker *m, const struct sd_line_stats *s,
                     const struct counted_line *lines, size_t n,
                     struct sd_view_source *v)
{
    size_t n_in = 0;
    int rc = 0;

    v->evidence = "lines";
    v->verb = "counted";
    v->columns = sd_arena_copy(&m->arena, line_columns, sizeof line_columns);
    v->n_columns = N_LINE_COLUMNS;
    v->files = sd_arena_alloc(&m->arena, (s->n + 1) * sizeof *v->files);
    if (!v->columns || !v->files)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i += n_in) {
        for (n_in = 1; i + n_in < n && lines[i + n_in].file == lines[i].file;)
            n_in++;
        rc = put_file(m, s, lines + i, n_in, &v->files[v->n_files++]);
    }
    return rc;
}

static int add_source(struct sd_page_maker *m, const struct sd_line_stats *s)
{
    struct sd_view *v = sd_page_new_view(m);
    struct sd_drawing *d = v ? sd_view_draw(v, "source", SD_SHAPE_SOURCE) : NULL;
    struct counted_line *lines;
    size_t n;
    int rc;

    if (!d)
        return SD_ENOMEM;
    lines = gather(s, &n);
    rc = lines ? put_files(m, s, lines, n, &d->source) : sd_no_memory();
    sd_free(lines);
    if (rc == 0)
        rc = sd_page_add_source(m, &d->source);
    if (rc < 0 || d->source.n_files == 0)
        return rc;
    return sd_page_add_view(m, &(struct sd_page_view){ .name = "source",
                                                       .title = "Source",
                                                       .shape = SD_SHAPE_SOURCE,
                                                       .drawing = d });
}

enum counted_column { OF_NAME, OF_FILE, OF_LINE, OF_HITS, OF_TIME };
static const struct sd_column counted_columns[] = {
    [OF_NAME] = { "function", "its name", SD_CELL_TEXT, false, 0 },
    [OF_FILE] = { "file", "as the interpreter names it", SD_CELL_TEXT, false, 0 },
    [OF_LINE] = { "line", "its first", SD_CELL_COUNT, false, 0 },
    [OF_HITS] = { "hits", "of all its lines", SD_CELL_COUNT, false, 0 },
    [OF_TIME] = { "time", "of all its lines", SD_CELL_NS, false, 0 },
};
enum { N_COUNTED_COLUMNS = OF_TIME + 1 };

static int add_functions(struct sd_page_maker *m, const struct sd_line_stats *s)
{
    struct sd_view *v = sd_page_new_view(m);
    struct sd_view_table *t = v ? sd_view_add(v, "functions", "Functions",
                                              counted_columns, N_COUNTED_COLUMNS, s->n)
                                : NULL;
    int rc = t ? 0 : SD_ENOMEM;

    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct sd_line_function *f = &s->functions[i];
        struct sd_cell *row = sd_view_cell(t, i, 0);

        row[OF_NAME] = sd_cell_text(sd_page_text_of(m, &f->name));
        row[OF_FILE] = sd_cell_text(sd_page_text_of(m, &f->file));
        row[OF_LINE] = sd_cell_number(SD_CELL_COUNT, f->line);
        row[OF_HITS] = sd_cell_number(SD_CELL_COUNT, sd_line_function_hits(f));
        row[OF_TIME] = sd_page_seconds(sd_line_function_time(f) * s->unit);
        rc = row[OF_NAME].text && row[OF_FILE].text ? 0 : sd_no_memory();
    }
    if (rc == 0)
        rc = sd_view_table_sort(v, t, "time", 0);
    if (rc == 0)
        sd_page_set_hottest(m, t);
    return rc < 0 ? rc : sd_page_add_table(m, v);
}

int sd_page_put_lines(const struct sd_page_request *request,
                      const struct sd_line_stats *lines, struct sd_out *out)
{
    struct sd_page_maker m;
    int rc;

    sd_page_maker_init(&m, request);
    m.page.findings = &m.findings;
    rc = sd_stats_findings_of_lines(lines, &m.arena, &m.findings);
    if (rc == 0)
        rc = add_functions(&m, lines);
    return sd_page_finish(&m, rc < 0 ? rc : add_source(&m, lines), out);
}
