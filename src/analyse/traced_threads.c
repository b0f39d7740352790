/* SPDX-License-Identifier: MIT */
/* traced_threads: what was traced of each thread. */
#include <string.h>

#include "analyse/processes.h"
#include "analyse/traced.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum column { PROCESS, THREAD, NAME, CALLS, TIME, CPU, TRACING, N_COLUMNS };

static const struct sd_column columns[N_COLUMNS] = {
    [PROCESS] = { "process", "its number and name", SD_CELL_TEXT, false, 0 },
    [THREAD] = { "thread", "its number", SD_CELL_COUNT, false, 1 },
    [NAME] = { "name", "the thread's", SD_CELL_TEXT, false, 0 },
    [CALLS] = { "calls", "that were traced in it", SD_CELL_COUNT, false, 0 },
    [TIME] = { "time", "in traced functions", SD_CELL_NS, false, 0 },
    [CPU] = { "cpu_time", "CPU time in traced functions", SD_CELL_NS, false, 0 },
    [TRACING] = { "tracing", "cost of tracing that was subtracted", SD_CELL_NS, false,
                  1 },
};

static int put_names(struct sd_view *v, struct sd_view_table *table, size_t row,
                     const struct sd_profile *p, uint32_t track)
{
    const struct sd_track *t = &p->tracks[track];
    uint32_t process = sd_profile_process_of(p, (sd_track_id){ track }).at;
    const char *of =
        process == UINT32_MAX ? NULL : sd_process_label(p, process, &v->arena);
    const char *name =
        t->name ? sd_arena_string(&v->arena, t->name, strlen(t->name)) : NULL;

    if ((process != UINT32_MAX && !of) || (t->name && !name))
        return sd_no_memory();
    *sd_view_cell(table, row, PROCESS) = sd_cell_text(of);
    *sd_view_cell(table, row, THREAD) =
        sd_cell_number(SD_CELL_COUNT, (int64_t)(t->number & INT64_MAX));
    *sd_view_cell(table, row, NAME) = sd_cell_text(name);
    return 0;
}

/* Adds the values of a total to the row of its thread. */
static void add(struct sd_view_table *table, size_t row, const struct sd_profile *p,
                size_t i)
{
    static const struct {
        enum column column;
        const char *metric;
    } sums[] = { { CALLS, "calls" },
                 { TIME, "time" },
                 { CPU, "cpu_time" },
                 { TRACING, "tracing" } };

    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {
        uint32_t at = sd_totals_metric(p, &p->calls, sums[k].metric);
        struct sd_cell *cell = sd_view_cell(table, row, sums[k].column);

        if (at == UINT32_MAX)
            continue;
        cell->kind = columns[sums[k].column].kind;
        cell->number = sd_sum_i64(cell->number, p->calls.values[at][i]);
    }
}

static size_t count_threads(const struct sd_profile *p, uint32_t *row_of)
{
    size_t n = 0;

    memset(row_of, 0xff, p->n_tracks * sizeof *row_of);
    for (size_t i = 0; i < p->calls.n; i++)
        if (row_of[p->calls.items[i].track.at] == UINT32_MAX)
            row_of[p->calls.items[i].track.at] = (uint32_t)n++;
    return n;
}

int sd_traced_threads(const struct sd_profile *p, struct sd_view *v)
{
    uint32_t *row_of = sd_arena_alloc(&v->arena, (p->n_tracks + 1) * sizeof *row_of);
    struct sd_view_table *table;
    int rc = 0;

    if (!row_of)
        return sd_no_memory();
    table = sd_view_add(v, "threads", "Threads", columns, N_COLUMNS,
                        count_threads(p, row_of));
    if (!table)
        return SD_ENOMEM;
    table->columns[CPU].is_hidden_in_text =
        sd_totals_metric(p, &p->calls, "cpu_time") == UINT32_MAX;
    for (size_t i = 0; i < p->calls.n; i++)
        add(table, row_of[p->calls.items[i].track.at], p, i);
    for (uint32_t i = 0; i < p->n_tracks && rc == 0; i++)
        if (row_of[i] != UINT32_MAX)
            rc = put_names(v, table, row_of[i], p, i);
    return rc < 0 ? rc : sd_view_table_sort(v, table, "time", 0);
}
