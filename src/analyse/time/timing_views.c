/* SPDX-License-Identifier: MIT */
/* timing_views: the views of timed statements: what each takes, how they compare, how
 * the time grows, and every batch. */
#include <math.h>
#include <string.h>

#include "analyse/time/time_comparison.h"
#include "analyse/time/time_growth.h"
#include "analyse/views.h"
#include "base/assert.h"
#include "base/error.h"

static const struct sd_timings *timings_of(const struct sd_profile *p)
{
    return &p->evidence[SD_TIMINGS].timings;
}

static struct sd_cell ns(double v)
{
    return isfinite(v) ? sd_cell_real(SD_CELL_REAL, v) : (struct sd_cell){ 0 };
}

static struct sd_cell count(uint64_t n)
{
    return sd_cell_number(SD_CELL_COUNT, (int64_t)n);
}

/* On one line; in the view's arena. */
static struct sd_cell statement_cell(struct sd_view *v, const char *text)
{
    char *flat = sd_arena_string(&v->arena, text, strlen(text));

    for (char *at = flat; at && *at; at++)
        *at = *at == '\n' ? ';' : *at;
    return sd_cell_text(flat ? flat : "");
}

/* --- What each statement takes */

enum {
    STATEMENT,
    SETUP,
    PYTHON,
    SIZE,
    BEST,
    LOW,
    HIGH,
    MEDIAN,
    MAD,
    LOOP,
    BATCHES,
    LOOPS,
    DROPPED,
    PROCESSES,
    SETTLED,
    ALLOCATED,
    PEAK,
    N_COLUMNS
};

static const struct sd_column columns[N_COLUMNS] = {
    [STATEMENT] = { "statement", "what was timed", SD_CELL_TEXT, false, 0 },
    [SETUP] = { "setup", "what ran before it", SD_CELL_TEXT, true, 9 },
    [PYTHON] = { "python", "the interpreter", SD_CELL_TEXT, true, 8 },
    [SIZE] = { "n", "the size that it was given", SD_CELL_REAL, true, 0 },
    [BEST] = { "best_ns",
               "of one execution, in ns: the mean of the three fastest "
               "processes",
               SD_CELL_REAL, false, 0 },
    [LOW] = { "low_ns", "its interval of 95 %: from", SD_CELL_REAL, false, 2 },
    [HIGH] = { "high_ns", "to", SD_CELL_REAL, false, 2 },
    [MEDIAN] = { "median_ns", "of all batches", SD_CELL_REAL, false, 1 },
    [MAD] = { "mad_ns", "median distance from the median", SD_CELL_REAL, false, 3 },
    [LOOP] = { "loop_ns", "of a turn of the loop alone, which is subtracted",
               SD_CELL_REAL, false, 4 },
    [BATCHES] = { "batches", "that count", SD_CELL_COUNT, false, 3 },
    [LOOPS] = { "loops", "executions in a batch", SD_CELL_COUNT, true, 5 },
    [DROPPED] = { "dropped", "batches in which it was taken off its CPU", SD_CELL_COUNT,
                  false, 3 },
    [PROCESSES] = { "processes", "that measured", SD_CELL_COUNT, true, 5 },
    [SETTLED] = { "settled", "did the machine let a stable figure be found?",
                  SD_CELL_TEXT, false, 3 },
    [ALLOCATED] = { "allocated", "memory that one execution allocates", SD_CELL_BYTES,
                    true, 1 },
    [PEAK] = { "peak", "the most of it at one time", SD_CELL_BYTES, true, 1 },
};

static void put_row(const struct sd_timings *t, size_t i, struct sd_view *v,
                    struct sd_view_table *table, const struct sd_time_figures *f)
{
    const struct sd_timing_side *s = &t->sides[i];
    struct sd_cell *c = sd_view_cell(table, i, 0);

    c[STATEMENT] = statement_cell(v, s->statement);
    c[SETUP] = statement_cell(v, s->setup);
    c[PYTHON] = sd_cell_text(s->python);
    c[SIZE] = ns(s->n);
    c[BEST] = ns(f->best_ns);
    c[LOW] = ns(f->low_ns);
    c[HIGH] = ns(f->high_ns);
    c[MEDIAN] = ns(f->median_ns);
    c[MAD] = ns(f->mad_ns);
    c[LOOP] = ns(f->loop_ns);
    c[BATCHES] = count(f->n_batches);
    c[LOOPS] = count(f->loops);
    c[DROPPED] = count(f->n_dropped);
    c[PROCESSES] = count(f->n_processes);
    c[SETTLED] = sd_cell_text(sd_time_figures_are_settled(f) ? "yes" : "no");
    if (s->allocated_bytes != SD_TIME_UNKNOWN) {
        c[ALLOCATED] = sd_cell_number(SD_CELL_BYTES, s->allocated_bytes);
        c[PEAK] = sd_cell_number(SD_CELL_BYTES, s->peak_bytes);
    }
    table->columns[SIZE].is_hidden_in_text &= !isfinite(s->n);
    table->columns[ALLOCATED].is_hidden_in_text &=
        s->allocated_bytes == SD_TIME_UNKNOWN;
    table->columns[PEAK].is_hidden_in_text =
        table->columns[ALLOCATED].is_hidden_in_text;
    table->columns[PYTHON].is_hidden_in_text = !t->is_of_pythons;
}

int sd_view_timings(const struct sd_profile *p, const struct sd_view_request *r,
                    struct sd_view *v)
{
    const struct sd_timings *t = timings_of(p);
    struct sd_view_table *table;
    int rc = 0;

    (void)r;
    if (t->n_sides == 0)
        return 0;
    table = sd_views_add(v, "timings", columns, N_COLUMNS, t->n_sides);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < t->n_sides && rc == 0; i++) {
        struct sd_time_figures f;

        rc = sd_time_figures(t, i, &f);
        if (rc == SD_EABSENT) { /* a selection has left nothing of it */
            *sd_view_cell(table, i, STATEMENT) =
                statement_cell(v, t->sides[i].statement);
            rc = 0;
            continue;
        }
        if (rc == 0)
            put_row(t, i, v, table, &f);
    }
    return rc;
}

/* --- How they compare */

enum { OF, AGAINST, RATIO, FROM, TO, VERDICT, N_COMPARISON };

static const struct sd_column comparison_columns[N_COMPARISON] = {
    [OF] = { "statement", "what takes so many times as long", SD_CELL_TEXT, false, 0 },
    [AGAINST] = { "against", "as this", SD_CELL_TEXT, false, 0 },
    [RATIO] = { "ratio", "of their times", SD_CELL_REAL, false, 0 },
    [FROM] = { "low", "its interval of 95 %: from", SD_CELL_REAL, false, 0 },
    [TO] = { "high", "to", SD_CELL_REAL, false, 0 },
    [VERDICT] = { "verdict", "slower, faster, same (within 2 %), cannot tell",
                  SD_CELL_TEXT, false, 0 },
};

int sd_view_timing_comparisons(const struct sd_profile *p,
                               const struct sd_view_request *r, struct sd_view *v)
{
    const struct sd_timings *t = timings_of(p);
    bool is_compared = t->n_sides > 1 && !t->size_name;
    struct sd_view_table *table;
    int rc = 0;

    (void)r;
    if (!is_compared)
        return 0;
    table = sd_views_add(v, "timing_comparisons", comparison_columns, N_COMPARISON,
                         t->n_sides - 1);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 1; i < t->n_sides && rc == 0; i++) {
        const struct sd_timing_side *a = &t->sides[0], *b = &t->sides[i];
        struct sd_cell *c = sd_view_cell(table, i - 1, 0);
        struct sd_time_comparison one;

        rc = sd_time_comparison(t, 0, i, &one);
        if (rc < 0)
            return rc;
        c[OF] = statement_cell(v, t->is_of_pythons ? a->python : a->statement);
        c[AGAINST] = statement_cell(v, t->is_of_pythons ? b->python : b->statement);
        c[RATIO] = ns(one.ratio);
        c[FROM] = ns(one.low);
        c[TO] = ns(one.high);
        c[VERDICT] = sd_cell_text(sd_time_verdict_name(one.verdict));
    }
    return rc;
}

/* --- Every batch */

enum { PROCESS, WHOSE, AT, TOOK, TURNS, EACH, WHY, N_BATCH };

static const struct sd_column batch_columns[N_BATCH] = {
    [PROCESS] = { "process", "the pid of the process that measured it", SD_CELL_COUNT,
                  false, 0 },
    [WHOSE] = { "statement", "what was timed; nothing: the loop alone", SD_CELL_TEXT,
                false, 0 },
    [AT] = { "at", "when it began", SD_CELL_NS, false, 1 },
    [TOOK] = { "time", "of the batch", SD_CELL_NS, false, 0 },
    [TURNS] = { "loops", "executions", SD_CELL_COUNT, false, 0 },
    [EACH] = { "each_ns", "time of one, the loop's not taken off, in ns", SD_CELL_REAL,
               false, 0 },
    [WHY] = { "mark", "why it does not count, or may have been slow", SD_CELL_TEXT,
              false, 0 },
};

static const char *mark_of(const struct sd_time_batch *b)
{
    return b->flags & SD_TIME_WARM_UP     ? "warm-up"
           : b->flags & SD_TIME_PREEMPTED ? "preempted"
           : b->flags & SD_TIME_SLEPT     ? "slept"
           : b->flags & SD_TIME_FAULTED   ? "page faults"
                                          : "";
}

int sd_view_timing_batches(const struct sd_profile *p, const struct sd_view_request *r,
                           struct sd_view *v)
{
    const struct sd_timings *t = timings_of(p);
    struct sd_view_table *table;
    size_t row = 0;

    (void)r;
    if (t->n_batches == 0)
        return 0;
    table = sd_views_add(v, "timing_batches", batch_columns, N_BATCH, t->n_batches);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < t->n_processes; i++)
        for (size_t k = 0; k < t->processes[i].n; k++, row++) {
            const struct sd_time_batch *b = &t->batches[t->processes[i].first + k];
            struct sd_cell *c = sd_view_cell(table, row, 0);
            bool is_empty = (b->flags & SD_TIME_EMPTY) != 0;

            c[PROCESS] = count(t->processes[i].pid);
            c[WHOSE] = statement_cell(v, is_empty ? "" : t->sides[b->side].statement);
            c[AT] = sd_cell_number(SD_CELL_NS, (int64_t)b->at_ns);
            c[TOOK] = sd_cell_number(SD_CELL_NS, b->took_ns);
            c[TURNS] = count((uint64_t)b->loops);
            c[EACH] = ns((double)b->took_ns / (double)b->loops);
            c[WHY] = sd_cell_text(mark_of(b));
        }
    sd_assert(row == t->n_batches);
    return 0;
}

/* --- How the time grows */

int sd_view_timing_growth(const struct sd_profile *p, const struct sd_view_request *r,
                          struct sd_view *v)
{
    const struct sd_timings *t = timings_of(p);
    struct sd_drawing *d;

    (void)r;
    if (!t->size_name || t->n_batches == 0)
        return 0;
    d = sd_view_draw(v, "timing_growth", SD_SHAPE_GROWTH);
    return d ? sd_time_growth_picture(t, &v->arena, &d->growth) : SD_ENOMEM;
}
