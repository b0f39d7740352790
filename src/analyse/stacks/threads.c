/* SPDX-License-Identifier: MIT */
/* threads: makes the table of threads: of samples what they were, of other evidence a
 * sum for each metric. */
#include <inttypes.h>
#include <string.h>

#include "analyse/processes.h"
#include "analyse/stacks/threads.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"

enum { NONE = UINT32_MAX };

/* --- Whose it is */

const struct sd_column sd_thread_columns[SD_THREAD_COLUMNS] = {
    [SD_THREAD_PROCESS] = { "process", "its number and name", SD_CELL_TEXT, false, 0 },
    [SD_THREAD_NUMBER] = { "thread", "its number", SD_CELL_COUNT, false, 1 },
    [SD_THREAD_NAME] = { "name", "the thread's", SD_CELL_TEXT, false, 0 },
};

int sd_thread_cells(struct sd_arena *a, const struct sd_profile *p, uint32_t track,
                    struct sd_cell cells[SD_THREAD_COLUMNS])
{
    const struct sd_track *t = &p->tracks[track];
    uint32_t process = sd_profile_process_of(p, (sd_track_id){ track }).at;
    const char *of = process == NONE ? NULL : sd_process_label(p, process, a);
    const char *name = t->name ? sd_arena_string(a, t->name, strlen(t->name)) : NULL;

    if ((process != NONE && !of) || (t->name && !name))
        return sd_no_memory();
    cells[SD_THREAD_PROCESS] = sd_cell_text(of);
    cells[SD_THREAD_NUMBER] = (struct sd_cell){ 0 };
    if (t->number != 0) /* 0: its definitions are lost */
        cells[SD_THREAD_NUMBER] =
            sd_cell_number(SD_CELL_COUNT, (int64_t)(t->number & INT64_MAX));
    cells[SD_THREAD_NAME] = sd_cell_text(name);
    return 0;
}

void sd_thread_words(struct sd_buf *to, const struct sd_profile *p, uint32_t track)
{
    const struct sd_track *t = &p->tracks[track];
    uint32_t process = sd_profile_process_of(p, (sd_track_id){ track }).at;
    struct sd_arena arena = { 0 };
    const char *label = process == NONE ? NULL : sd_process_label(p, process, &arena);

    sd_buf_text(to, "thread");
    if (t->number != 0)
        sd_buf_printf(to, " %" PRIu64, t->number);
    if (t->name && *t->name) {
        sd_buf_text(to, " ");
        sd_text_escape(to, t->name, strlen(t->name));
    }
    if (label)
        sd_buf_printf(to, ", process %s", label);
    sd_arena_release(&arena);
}

/* By track its row, in order of appearance, or NONE; how many there are. */
static size_t number_rows(const struct sd_profile *p, enum sd_evidence e,
                          uint32_t *row_of)
{
    const struct sd_stack_totals *t = &p->evidence[e].stacks;
    size_t n = 0;

    memset(row_of, 0xff, p->n_tracks * sizeof *row_of);
    for (size_t i = 0; i < t->n; i++)
        if (row_of[t->items[i].track.at] == NONE)
            row_of[t->items[i].track.at] = (uint32_t)n++;
    return n;
}

/* --- Samples */

enum column {
    SAMPLES = SD_THREAD_COLUMNS,
    WALL,
    CPU,
    CPU_PERCENT,
    IDLE,
    GIL,
    WAITS,
    PARTIAL,
    STOPPED,
    N_COLUMNS
};

static const struct sd_column sample_columns[N_COLUMNS] = {
    [SAMPLES] = { "samples", "how often it was looked at", SD_CELL_COUNT, false, 0 },
    [WALL] = { "wall", "time its samples stand for", SD_CELL_NS, false, 0 },
    [CPU] = { "cpu", "CPU time it used meanwhile", SD_CELL_NS, false, 2 },
    [CPU_PERCENT] = { "cpu%", "cpu as percent of wall", SD_CELL_PERCENT, false, 0 },
    [IDLE] = { "idle%", "samples in which it waited for something outside",
               SD_CELL_PERCENT, false, 0 },
    [GIL] = { "gil%", "samples in which it held the interpreter's lock",
              SD_CELL_PERCENT, false, 0 },
    [WAITS] = { "waits%", "samples in which it waited for the lock", SD_CELL_PERCENT,
                false, 1 },
    [PARTIAL] = { "partial", "samples without their newest frames", SD_CELL_COUNT, true,
                  3 },
    [STOPPED] = { "stopped", "samples while the process was stopped", SD_CELL_COUNT,
                  true, 3 },
};

/* What a column adds up: a metric, of samples with this flag alone where there is one.
 */
static const struct {
    const char *metric;
    uint32_t flag;
} sample_sums[N_COLUMNS] = {
    [SAMPLES] = { "samples", 0 },
    [WALL] = { "wall", 0 },
    [CPU] = { "cpu", 0 },
    [IDLE] = { "samples", SD_SAMPLE_IDLE },
    [GIL] = { "samples", SD_SAMPLE_GIL },
    [WAITS] = { "samples", SD_SAMPLE_WAITS_GIL },
    [PARTIAL] = { "samples", SD_SAMPLE_PARTIAL },
    [STOPPED] = { "samples", SD_SAMPLE_STOPPED },
};

static struct sd_cell percent(int64_t part, int64_t whole)
{
    if (whole <= 0)
        return (struct sd_cell){ 0 };
    return sd_cell_real(SD_CELL_PERCENT, 100.0 * (double)part / (double)whole);
}

/* Sums become shares. */
static void finish_samples(struct sd_view_table *table)
{
    for (size_t i = 0; i < table->n_rows; i++) {
        struct sd_cell *c = sd_view_cell(table, i, 0);

        c[CPU_PERCENT] = percent(c[CPU].number, c[WALL].number);
        for (size_t k = IDLE; k <= WAITS; k++)
            c[k] = percent(c[k].number, c[SAMPLES].number);
        for (size_t k = PARTIAL; k <= STOPPED; k++)
            table->columns[k].is_hidden_in_text &= c[k].number == 0;
    }
}

/* --- Other evidence */

static const struct sd_column call_columns[] = {
    { "calls", "that were traced in it", SD_CELL_COUNT, false, 0 },
    { "time", "in traced functions", SD_CELL_NS, false, 0 },
    { "cpu_time", "CPU time in traced functions", SD_CELL_NS, false, 0 },
    { "tracing", "cost of tracing that was subtracted", SD_CELL_NS, false, 1 },
};
enum { CALL_COLUMNS = sizeof call_columns / sizeof *call_columns };

/* Columns named by their metrics: those of calls, or all that there are. */
static size_t add_sums(const struct sd_profile *p, enum sd_evidence e,
                       struct sd_column *columns)
{
    const struct sd_stack_totals *t = &p->evidence[e].stacks;

    if (e == SD_CALLS) {
        memcpy(columns, call_columns, sizeof call_columns);
        columns[2].is_hidden_in_text = sd_totals_metric(p, t, "cpu_time") == NONE;
        return CALL_COLUMNS;
    }
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        const struct sd_metric *m = &p->metrics[t->metrics[k].at];

        columns[k] = (struct sd_column){ m->name, m->meaning, sd_cell_kind_of(m->unit),
                                         false, k ? 1 : 0 };
    }
    return t->n_metrics;
}

/* --- The table */

static void add_up(const struct sd_profile *p, enum sd_evidence e,
                   const uint32_t *row_of, struct sd_view_table *table, size_t k)
{
    const struct sd_stack_totals *t = &p->evidence[e].stacks;
    bool is_sampled = e == SD_SAMPLES;
    const char *metric = is_sampled ? sample_sums[k].metric : table->columns[k].name;
    uint32_t flag = is_sampled ? sample_sums[k].flag : 0;
    uint32_t at = metric ? sd_totals_metric(p, t, metric) : NONE;

    for (size_t i = 0; i < table->n_rows && (is_sampled || at != NONE); i++)
        *sd_view_cell(table, i, k) = sd_cell_number(table->columns[k].kind, 0);
    for (size_t i = 0; i < t->n && at != NONE; i++) {
        struct sd_cell *cell = sd_view_cell(table, row_of[t->items[i].track.at], k);

        if (!flag || (t->items[i].flags & flag))
            cell->number = sd_sum_i64(cell->number, t->values[at][i]);
    }
}

/* Samples may belong to a process as a whole: its row names no thread. */
static int put_names(const struct sd_profile *p, enum sd_evidence e,
                     const uint32_t *row_of, struct sd_view *v,
                     struct sd_view_table *table)
{
    for (uint32_t i = 0; i < p->n_tracks; i++) {
        struct sd_cell cells[SD_THREAD_COLUMNS];
        bool is_process = sd_profile_process_of(p, (sd_track_id){ i }).at == i;
        size_t n = e == SD_SAMPLES && is_process ? 1 : SD_THREAD_COLUMNS;

        if (row_of[i] == NONE)
            continue;
        if (sd_thread_cells(&v->arena, p, i, cells) < 0)
            return SD_ENOMEM;
        memcpy(sd_view_cell(table, row_of[i], 0), cells, n * sizeof *cells);
    }
    return 0;
}

/* Of samples how many, for how long, and how many of them idle, holding the
 * interpreter's lock, waiting for it, partial; of other evidence a sum for each metric.
 */
int sd_threads_view(const struct sd_profile *p, const struct sd_view_request *r,
                    struct sd_view *v)
{
    enum sd_evidence e = sd_sample_choice_evidence(p, &r->stacks.choice);
    struct sd_column columns[N_COLUMNS + SD_SAMPLE_METRICS];
    uint32_t *row_of = sd_arena_alloc(&v->arena, (p->n_tracks + 1) * sizeof *row_of);
    size_t n = N_COLUMNS;
    struct sd_view_table *table;

    if (!row_of)
        return sd_no_memory();
    memcpy(columns, sample_columns, sizeof sample_columns);
    memcpy(columns, sd_thread_columns, sizeof sd_thread_columns);
    if (e != SD_SAMPLES)
        n = SD_THREAD_COLUMNS + add_sums(p, e, columns + SD_THREAD_COLUMNS);
    table = sd_views_add(v, "threads", columns, n, number_rows(p, e, row_of));
    if (!table || put_names(p, e, row_of, v, table) < 0)
        return SD_ENOMEM;
    for (size_t k = SD_THREAD_COLUMNS; k < n; k++)
        add_up(p, e, row_of, table, k);
    if (e == SD_SAMPLES)
        finish_samples(table);
    return sd_view_table_sort(v, table, e == SD_SAMPLES ? "cpu" : sd_evidence[e].metric,
                              0);
}
