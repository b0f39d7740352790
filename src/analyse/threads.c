/* SPDX-License-Identifier: MIT */
/* threads: how the samples of each thread are made up. */
#include <inttypes.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/processes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum column {
    PROCESS,
    THREAD,
    NAME,
    SAMPLES,
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

static const struct sd_column columns[N_COLUMNS] = {
    [PROCESS] = { "process", "its number and name", SD_CELL_TEXT, false, 0 },
    [THREAD] = { "thread", "its number", SD_CELL_COUNT, false, 1 },
    [NAME] = { "name", "the thread's", SD_CELL_TEXT, false, 0 },
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

struct thread { /* amounts of one track */
    uint32_t track;
    int64_t samples, wall, cpu, idle, gil, waits, partial, stopped;
};

static int64_t amount(const struct sd_profile *p, const char *metric, size_t i)
{
    uint32_t column = sd_profile_sample_metric(p, metric);

    return column == UINT32_MAX ? 0 : p->samples.values[column][i];
}

static void add(struct thread *t, const struct sd_profile *p, size_t i)
{
    uint32_t flags = p->samples.items[i].flags;
    int64_t n = amount(p, "samples", i);
    struct {
        uint32_t flag;
        int64_t *sum;
    } parts[] = {
        { SD_SAMPLE_IDLE, &t->idle },       { SD_SAMPLE_GIL, &t->gil },
        { SD_SAMPLE_WAITS_GIL, &t->waits }, { SD_SAMPLE_PARTIAL, &t->partial },
        { SD_SAMPLE_STOPPED, &t->stopped },
    };

    t->track = p->samples.items[i].track.at;
    t->samples = sd_sum_i64(t->samples, n);
    t->wall = sd_sum_i64(t->wall, amount(p, "wall", i));
    t->cpu = sd_sum_i64(t->cpu, amount(p, "cpu", i));
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (flags & parts[k].flag)
            *parts[k].sum = sd_sum_i64(*parts[k].sum, n);
}

static struct sd_cell percent(int64_t part, int64_t whole)
{
    if (whole <= 0)
        return (struct sd_cell){ 0 };
    return sd_cell_real(SD_CELL_PERCENT, 100.0 * (double)part / (double)whole);
}

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
    if (process != track) {
        *sd_view_cell(table, row, THREAD) =
            sd_cell_number(SD_CELL_COUNT, (int64_t)(t->number & INT64_MAX));
        *sd_view_cell(table, row, NAME) = sd_cell_text(name);
    }
    return 0;
}

static void put_amounts(struct sd_view_table *table, size_t row, const struct thread *t)
{
    *sd_view_cell(table, row, SAMPLES) = sd_cell_number(SD_CELL_COUNT, t->samples);
    *sd_view_cell(table, row, WALL) = sd_cell_number(SD_CELL_NS, t->wall);
    *sd_view_cell(table, row, CPU) = sd_cell_number(SD_CELL_NS, t->cpu);
    *sd_view_cell(table, row, CPU_PERCENT) = percent(t->cpu, t->wall);
    *sd_view_cell(table, row, IDLE) = percent(t->idle, t->samples);
    *sd_view_cell(table, row, GIL) = percent(t->gil, t->samples);
    *sd_view_cell(table, row, WAITS) = percent(t->waits, t->samples);
    *sd_view_cell(table, row, PARTIAL) = sd_cell_number(SD_CELL_COUNT, t->partial);
    *sd_view_cell(table, row, STOPPED) = sd_cell_number(SD_CELL_COUNT, t->stopped);
    if (t->partial > 0)
        table->columns[PARTIAL].is_hidden_in_text = false;
    if (t->stopped > 0)
        table->columns[STOPPED].is_hidden_in_text = false;
}

/* One entry for each track that has samples, in order of appearance. */
static int survey(const struct sd_profile *p, struct sd_arena *arena,
                  struct thread **out, size_t *n)
{
    uint32_t *place = sd_arena_alloc(arena, (p->n_tracks + 1) * sizeof *place);
    struct thread *threads = sd_arena_alloc(arena, (p->n_tracks + 1) * sizeof *threads);

    *n = 0;
    *out = threads;
    if (!place || !threads)
        return sd_no_memory();
    for (size_t i = 0; i < p->samples.n; i++) {
        uint32_t *at = &place[p->samples.items[i].track.at];

        if (*at == 0)
            *at = (uint32_t)++ * n;
        add(&threads[*at - 1], p, i);
    }
    return 0;
}

int sd_analyse_threads(const struct sd_profile *p, struct sd_view *v)
{
    struct sd_view_table *table;
    struct thread *threads;
    size_t n;
    int rc = survey(p, &v->arena, &threads, &n);

    if (rc < 0)
        return rc;
    table = sd_view_add(v, "threads", "Threads", columns, N_COLUMNS, n);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        put_amounts(table, i, &threads[i]);
        rc = put_names(v, table, i, p, threads[i].track);
    }
    return rc < 0 ? rc : sd_view_table_sort(v, table, "cpu", 0);
}
