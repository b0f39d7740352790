/* SPDX-License-Identifier: MIT */
#include "profile/time/timing_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"

enum { N_LEAST = 3, LONG_NS = 1000 * 1000, HAS_QUANTILE = 50 };
#define QUANTILE 0.02

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

void sd_timing_times_sort(double *values, size_t n)
{
    if (n)
        qsort(values, n, sizeof *values, by_value);
}

double sd_timing_times_quantile(const double *sorted, size_t n, double part)
{
    double at = part * (double)(n - 1);
    size_t below = (size_t)at;

    sd_assert(n > 0 && part >= 0 && part <= 1);
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double sd_timing_times_low(const double *sorted, size_t n)
{
    return n < HAS_QUANTILE ? sorted[0] : sd_timing_times_quantile(sorted, n, QUANTILE);
}

bool sd_timing_times_has(const struct sd_time_batch *b, size_t side, bool is_empty)
{
    return (size_t)b->side == side && !(b->flags & SD_TIME_WARM_UP) &&
           (b->flags & SD_TIME_EMPTY ? is_empty : !is_empty);
}

/* Of the loop alone, in batches from..to: those that were not disturbed. */
static size_t take_loops(const struct sd_timings *t, size_t from, size_t to,
                         size_t side, double *room)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        const struct sd_time_batch *b = &t->batches[i];

        if (sd_timing_times_has(b, side, true) && !(b->flags & SD_TIME_PREEMPTED))
            room[n++] = (double)b->took_ns / (double)b->loops;
    }
    sd_timing_times_sort(room, n);
    return n;
}

/* A process that had no time to measure the loop takes that of all. */
static double loop_of(const struct sd_timings *t, struct sd_timing_rule *rule,
                      const struct sd_timing_process *p, double *room)
{
    size_t n = take_loops(t, p->first, p->first + p->n, rule->side, room);

    if (n >= N_LEAST || t->n_processes == 1)
        return n ? sd_timing_times_low(room, n) : 0;
    if (!rule->has_loop) {
        n = take_loops(t, 0, t->n_batches, rule->side, room);
        rule->loop_ns = n ? sd_timing_times_low(room, n) : 0;
        rule->has_loop = true;
    }
    return rule->loop_ns;
}

/* Longer than a time slice, even where it was least disturbed. */
struct sd_timing_rule sd_timing_times_rule(const struct sd_timings *t, size_t side)
{
    struct sd_timing_rule r = { .side = side, .is_long = !t->is_cpu_time };

    for (size_t i = 0; i < t->n_batches && r.is_long; i++)
        r.is_long = !sd_timing_times_has(&t->batches[i], side, false) ||
                    t->batches[i].took_ns >= LONG_NS;
    return r;
}

struct sd_timing_times sd_timing_times_of(const struct sd_timings *t,
                                          struct sd_timing_rule *rule,
                                          const struct sd_timing_process *p,
                                          double *times,
                                          const struct sd_time_batch **of)
{
    struct sd_timing_times r = { .loop_ns = loop_of(t, rule, p, times) };

    for (size_t i = p->first; i < p->first + p->n; i++) {
        const struct sd_time_batch *b = &t->batches[i];
        bool is_preempted = (b->flags & SD_TIME_PREEMPTED) && !t->is_cpu_time;
        double took = (double)b->took_ns;

        if (!sd_timing_times_has(b, rule->side, false))
            continue;
        if (is_preempted && !rule->is_long) {
            r.n_dropped++;
            continue;
        }
        if (rule->is_long && b->waited_ns != SD_TIME_UNKNOWN)
            took -= fmin((double)b->waited_ns, took);
        else if (is_preempted)
            r.is_estimate = true;
        if (of)
            of[r.n] = b;
        times[r.n++] = took / (double)b->loops;
    }
    return r;
}
