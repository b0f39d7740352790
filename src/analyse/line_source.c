/* SPDX-License-Identifier: MIT */
/* line_source: counted lines as figures beside the source. */
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/line_list.h"
#include "analyse/source_rows.h"
#include "base/mem.h"
#include "base/sum.h"

enum column {
    SHARE,
    SELF,
    TIME,
    HITS,
    PER_HIT,
    SHORTEST,
    LONGEST,
    CPU,
    INCREMENT,
    MEMORY,
    PEAK,
    N_COLUMNS
};

static const struct sd_column columns[N_COLUMNS] = {
    [SHARE] = { "self%", "share of the time of all counted lines", SD_CELL_PERCENT,
                false, 0 },
    [SELF] = { "self", "time, less that in functions whose lines were counted, too",
               SD_CELL_NS, false, 0 },
    [TIME] = { "time", "with all that was called", SD_CELL_NS, false, 2 },
    [HITS] = { "hits", "how often it ran", SD_CELL_COUNT, false, 0 },
    [PER_HIT] = { "per hit", "time of one run", SD_CELL_NS, false, 3 },
    [SHORTEST] = { "min", "time of the shortest run", SD_CELL_NS, false, 4 },
    [LONGEST] = { "max", "time of the longest run", SD_CELL_NS, false, 4 },
    [CPU] = { "cpu", "CPU time", SD_CELL_NS, false, 2 },
    [INCREMENT] = { "increment", "change of resident memory, all runs together",
                    SD_CELL_BYTES, false, 1 },
    [MEMORY] = { "memory", "the most that was resident after it", SD_CELL_BYTES, false,
                 3 },
    [PEAK] = { "peak", "the most that was resident while it ran", SD_CELL_BYTES, false,
               4 },
};

static bool is_memory(enum column c)
{
    return c == INCREMENT || c == MEMORY || c == PEAK;
}

static int64_t own_time(const int64_t *v)
{
    return v[SD_LINE_TIME] - v[SD_LINE_CHILD_TIME];
}

/* Nothing where it was not measured. */
static struct sd_cell known(enum sd_cell_kind kind, int64_t value)
{
    return value == SD_LINE_NONE ? (struct sd_cell){ 0 } : sd_cell_number(kind, value);
}

static struct sd_cell cell_of(enum column c, const int64_t *v, int64_t whole)
{
    enum sd_cell_kind kind = columns[c].kind;
    int64_t hits = v[SD_LINE_HITS];

    switch (c) {
    case SHARE:
        return sd_cell_real(
            kind, whole > 0 ? 100.0 * (double)own_time(v) / (double)whole : 0);
    case SELF:
        return sd_cell_number(kind, own_time(v));
    case TIME:
        return sd_cell_number(kind, v[SD_LINE_TIME]);
    case HITS:
        return sd_cell_number(kind, hits);
    case PER_HIT:
        return known(kind, hits > 0 ? v[SD_LINE_TIME] / hits : SD_LINE_NONE);
    case SHORTEST:
        return known(kind, v[SD_LINE_MIN]);
    case LONGEST:
        return known(kind, v[SD_LINE_MAX]);
    case CPU:
        return known(kind, v[SD_LINE_CPU_TIME]);
    case INCREMENT:
        return known(kind, v[SD_LINE_INCREMENT]);
    case MEMORY:
        return known(kind, v[SD_LINE_MEMORY]);
    case PEAK:
        return known(kind, v[SD_LINE_PEAK]);
    case N_COLUMNS:
        break;
    }
    return (struct sd_cell){ 0 };
}

/* Columns of memory and CPU time are there where they were read. */
static bool has_column(const struct sd_line_list *l, enum column c)
{
    return is_memory(c) ? l->has_memory : c != CPU || l->has_cpu;
}

static int choose_columns(const struct sd_line_list *l, struct sd_arena *a,
                          struct sd_view_source *out)
{
    out->columns = sd_arena_alloc(a, sizeof columns);
    if (!out->columns)
        return sd_no_memory();
    for (enum column c = 0; c < N_COLUMNS; c++)
        if (has_column(l, c))
            out->columns[out->n_columns++] = columns[c];
    return 0;
}

/* The lines of all functions, each once: `site` is then the number of its row. */
static int add_function(const struct sd_line_list_function *f, struct sd_source_rows *s,
                        struct sd_line_totals *sums)
{
    int rc = 0;

    for (size_t i = 0; i < f->n_rows && rc == 0; i++) {
        struct sd_line_total one = { .line = f->rows[i].line };

        memcpy(one.values, f->rows[i].values, sizeof one.values);
        rc = sd_source_row(s, f->site, one.line, &one.site);
        if (rc == 0 && one.site != UINT32_MAX)
            rc = sd_line_totals_add(sums, &one);
    }
    return rc;
}

static int fill(const struct sd_line_list *l, const struct sd_source_rows *s,
                const struct sd_line_totals *sums, struct sd_arena *a,
                struct sd_view_source *out)
{
    int64_t *weights = sd_zalloc((s->lines.n + 1) * sizeof *weights), whole = 0;
    struct sd_cell **cells;
    int rc = weights ? choose_columns(l, a, out) : sd_no_memory();

    for (size_t i = 0; rc == 0 && i < sums->n; i++) {
        weights[sums->items[i].site] = own_time(sums->items[i].values);
        whole = sd_sum_i64(whole, own_time(sums->items[i].values));
    }
    if (rc == 0)
        rc = sd_source_rows_settle(s, weights, a, out, &cells);
    for (size_t i = 0; rc == 0 && i < sums->n; i++) {
        struct sd_cell *to = cells[sums->items[i].site];

        for (enum column c = 0; c < N_COLUMNS; c++)
            if (has_column(l, c))
                *to++ = cell_of(c, sums->items[i].values, whole);
    }
    sd_free(weights);
    return rc;
}

int sd_source_of_lines(const struct sd_profile *p, const struct sd_stacks_request *r,
                       struct sd_arena *a, struct sd_view_source *out)
{
    struct sd_line_totals sums = { 0 };
    struct sd_source_rows rows;
    struct sd_line_list l;
    int rc = sd_line_list_of(p, &l);

    sd_source_rows_init(&rows);
    out->evidence = sd_evidence[SD_LINES].name;
    out->verb = sd_evidence[SD_LINES].verb;
    if (rc == 0 && r->is_raw)
        sd_line_list_make_raw(&l);
    for (size_t i = 0; i < l.n && rc == 0; i++)
        if (!r->choice.is_mine || !sd_site_is_library(l.functions[i].site))
            rc = add_function(&l.functions[i], &rows, &sums);
    if (rc == 0)
        rc = fill(&l, &rows, &sums, a, out);
    sd_source_rows_release(&rows);
    sd_line_totals_release(&sums);
    sd_line_list_release(&l);
    return rc;
}
