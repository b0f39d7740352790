/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { N_LEAST = 3, FEW = 20 };
#define QUANTILE 0.02
#define AGREED 0.02
#define FULL_SPEED 1.03 /* times the fastest: batches at full speed agree so far */
#define BIN 0.01        /* of modes: width, as a part */
enum { MODE_BINS = 256, MODE_WIDTH = 3 };

static const char *const causes[] = { "preempted", "slept", "page faults",
                                      "slow machine", "unknown" };
_Static_assert(sizeof causes / sizeof *causes == SD_TIME_CAUSES, "each has a name");

const char *sd_time_cause_name(enum sd_time_cause cause) { return causes[cause]; }

/* --- Numbers */

double sd_time_figures_student(size_t freedom)
{
    const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    double v = (double)freedom;

    if (freedom <= 2)
        return freedom == 2 ? 4.303 : freedom == 1 ? 12.706 : INFINITY;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* One in a hundred, because a single one can be too good. */
int64_t sd_time_figures_speed(const struct sd_timings *t)
{
    double *speeds = sd_alloc((t->n_batches + 1) * sizeof *speeds);
    int64_t best;

    if (!speeds || t->n_batches == 0) {
        sd_free(speeds);
        return 0;
    }
    for (size_t i = 0; i < t->n_batches; i++)
        speeds[i] = (double)t->batches[i].speed;
    sd_timing_times_sort(speeds, t->n_batches);
    best = (int64_t)sd_timing_times_quantile(speeds, t->n_batches, 0.01);
    sd_free(speeds);
    return best;
}

/* --- All of them together */

struct adding {
    const struct sd_timings *t;
    size_t side;
    struct sd_timing_rule rule;
    double *values; /* of all processes, the loop taken off */
    const struct sd_time_batch **of;
    size_t n;
    double *bests, *loops; /* of processes */
    size_t n_bests;
    double *room;
};

/* Where every batch was interrupted: what is left is better than nothing, and is not
 * called settled. */
static size_t take_dropped(const struct sd_timings *t, size_t side,
                           const struct sd_timing_process *p, double *times,
                           const struct sd_time_batch **of)
{
    size_t n = 0;

    for (size_t i = p->first; i < p->first + p->n; i++) {
        const struct sd_time_batch *b = &t->batches[i];

        if (!sd_timing_times_has(b, side, false))
            continue;
        if (of)
            of[n] = b;
        times[n++] = (double)b->took_ns / (double)b->loops;
    }
    return n;
}

static void add_process(struct adding *a, const struct sd_timing_process *p,
                        struct sd_time_figures *f)
{
    double *times = a->values + a->n;
    struct sd_timing_times r =
        sd_timing_times_of(a->t, &a->rule, p, times, a->of + a->n);

    f->n_dropped += r.n_dropped;
    f->is_estimate |= r.is_estimate;
    if (r.n == 0)
        return;
    for (size_t i = 0; i < r.n; i++)
        times[i] -= r.loop_ns;
    memcpy(a->room, times, r.n * sizeof *times);
    sd_timing_times_sort(a->room, r.n);
    a->bests[a->n_bests] = sd_timing_times_low(a->room, r.n);
    a->loops[a->n_bests++] = r.loop_ns;
    a->n += r.n;
}

/* Which batches the quantile could be, with 95 %: the chance that at most `k` of `n`
 * are below it. */
static size_t rank_above(size_t n, double part)
{
    double chance = pow(1 - part, (double)n), sum = chance;
    size_t k = 0;

    while (sum < 0.975 && k + 1 < n) {
        chance *= (double)(n - k) / (double)(k + 1) * part / (1 - part);
        k++;
        sum += chance;
    }
    return k + 1 < n ? k + 1 : n - 1;
}

/* Of the 2 % quantile of one process; gives how far the three least batches are apart.
 */
static double find_interval_of_one(const struct adding *a, struct sd_time_figures *f)
{
    const double *sorted = a->room; /* of the one process */
    size_t n = a->n;

    f->best_ns = a->bests[0];
    f->low_ns = n > 1 ? sorted[0] : NAN; /* one tells nothing of the others */
    f->high_ns = n > 1 ? sorted[rank_above(n, QUANTILE)] : NAN;
    return n >= N_LEAST ? sorted[N_LEAST - 1] - sorted[0] : 0;
}

static void find_best(const struct adding *a, struct sd_time_figures *f)
{
    size_t n = a->n_bests < N_LEAST ? a->n_bests : N_LEAST;
    double sum = 0, squares = 0, half, apart;

    f->n_processes = a->n_bests;
    if (a->n_bests == 1) {
        apart = find_interval_of_one(a, f);
    } else {
        sd_timing_times_sort(a->bests, a->n_bests);
        for (size_t i = 0; i < n; i++)
            sum += a->bests[i];
        f->best_ns = sum / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (a->bests[i] - f->best_ns) * (a->bests[i] - f->best_ns);
        half = sd_time_figures_student(n - 1) *
               sqrt(squares / (double)(n - 1) / (double)n);
        f->low_ns = f->best_ns - half;
        f->high_ns = f->best_ns + half;
        apart = a->bests[n - 1] - a->bests[0];
    }
    sd_timing_times_sort(a->loops, a->n_bests);
    f->loop_ns = a->loops[0];
    f->spread = apart / fmax(f->best_ns + f->loop_ns, 0.1);
    f->has_agreed =
        f->spread <= AGREED && (a->n_bests == 1 ? a->n : a->n_bests) >= N_LEAST;
}

/* Of the clock that times the small loop: the least that two looks differ by. */
static double step_of(const struct adding *a)
{
    double step = INFINITY;

    for (size_t i = 0; i < a->t->n_batches; i++)
        a->room[i] = (double)a->t->batches[i].speed;
    sd_timing_times_sort(a->room, a->t->n_batches);
    for (size_t i = 1; i < a->t->n_batches; i++)
        if (a->room[i] > a->room[i - 1])
            step = fmin(step, a->room[i] - a->room[i - 1]);
    /* What differs by more is no step, but the machine. */
    return step < (FULL_SPEED - 1) * a->room[0] ? step : 0;
}

static void find_speed(const struct adding *a, struct sd_time_figures *f)
{
    int64_t best = sd_time_figures_speed(a->t);

    f->had_speed = a->t->best_speed <= 0 ||
                   (double)best <= FULL_SPEED * (double)a->t->best_speed + step_of(a);
}

/* --- Modes */

static uint32_t bin_of(double value, double least)
{
    double at = value > 0 && least > 0 ? log(value / least) / BIN : 0;

    return at < 0 ? 0 : at >= MODE_BINS - 1 ? MODE_BINS - 1 : (uint32_t)at;
}

static void smooth(const uint32_t *counts, double *out)
{
    for (int i = 0; i < MODE_BINS; i++) {
        out[i] = 0;
        for (int d = -MODE_WIDTH; d <= MODE_WIDTH; d++)
            if (i + d >= 0 && i + d < MODE_BINS)
                out[i] += counts[i + d] * (MODE_WIDTH + 1.0 - abs(d));
    }
}

/* Where one mode ends: the lowest place before it goes up again to twice that. */
static uint32_t end_of_mode(const double *s, uint32_t from)
{
    uint32_t valley = from;
    double peak = s[from];

    for (uint32_t i = from; i < MODE_BINS; i++) {
        if (s[i] > peak && valley == from)
            peak = s[i];
        if (s[i] < peak / 2 && (valley == from || s[i] <= s[valley]))
            valley = i;
        if (valley != from && s[i] > 2 * s[valley] + 4)
            return valley + 1;
        if (s[i] > peak)
            peak = s[i];
    }
    return MODE_BINS;
}

static void add_mode(struct sd_time_figures *f, const double *sorted, size_t from,
                     size_t to, size_t n)
{
    double share = (double)(to - from) / (double)n;

    if (to > from && share >= 0.05 && f->n_modes < SD_TIME_MODES_MAX)
        f->modes[f->n_modes++] = (struct sd_time_mode){
            sd_timing_times_quantile(sorted + from, to - from, 0.5), share
        };
}

static void find_modes(const double *sorted, size_t n, struct sd_time_figures *f)
{
    uint32_t counts[MODE_BINS] = { 0 };
    double least = sorted[n / 50], smoothed[MODE_BINS];
    size_t done = 0;

    if (n < FEW || least <= 1) { /* of a nanosecond and less all is noise */
        add_mode(f, sorted, 0, n, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        counts[bin_of(sorted[i], least)]++;
    smooth(counts, smoothed);
    for (uint32_t from = 0, to; from < MODE_BINS; from = to) {
        size_t end = done;

        to = end_of_mode(smoothed, from);
        while (end < n && bin_of(sorted[end], least) < to)
            end++;
        add_mode(f, sorted, done, end, n);
        done = end;
    }
    if (f->n_modes == 0)
        add_mode(f, sorted, 0, n, n);
}

/* --- Outliers, bins, instructions */

static enum sd_time_cause cause_of(const struct sd_time_batch *b, double usual_speed)
{
    if (b->flags & SD_TIME_SLEPT)
        return SD_TIME_BY_SLEEP;
    if ((double)b->speed > 1.15 * usual_speed)
        return SD_TIME_BY_MACHINE;
    return b->flags & SD_TIME_FAULTED ? SD_TIME_BY_FAULTS : SD_TIME_BY_UNKNOWN;
}

static void find_outliers(const struct adding *a, struct sd_time_figures *f)
{
    double far =
        f->median_ns + fmax(5 * 1.4826 * f->mad_ns, 0.05 * fabs(f->median_ns) + 0.5);
    double usual;

    for (size_t i = 0; i < a->n; i++)
        a->room[i] = (double)a->of[i]->speed;
    sd_timing_times_sort(a->room, a->n);
    usual = sd_timing_times_quantile(a->room, a->n, 0.5);
    for (size_t i = 0; i < a->n; i++)
        if (a->values[i] > far)
            f->outliers[cause_of(a->of[i], usual)]++;
    f->outliers[SD_TIME_BY_PREEMPTION] = f->n_dropped;
}

static void find_bins(const double *sorted, size_t n, struct sd_time_figures *f)
{
    f->bins_from = sorted[0];
    f->bins_to = fmax(sd_timing_times_quantile(sorted, n, 0.95), sorted[0]);
    for (size_t i = 0; i < n; i++) {
        double width = (f->bins_to - f->bins_from) / (SD_TIME_BINS - 1);
        double at = width > 0 ? (sorted[i] - f->bins_from) / width : 0;

        f->bins[at >= SD_TIME_BINS - 1 ? SD_TIME_BINS - 1 : (int)at]++;
    }
}

static double instructions_of(const struct adding *a, bool is_empty)
{
    size_t n = 0;

    for (size_t i = 0; i < a->t->n_batches; i++) {
        const struct sd_time_batch *b = &a->t->batches[i];

        if (sd_timing_times_has(b, a->side, is_empty) &&
            b->instructions != SD_TIME_UNKNOWN)
            a->room[n++] = (double)b->instructions / (double)b->loops;
    }
    sd_timing_times_sort(a->room, n);
    return n ? sd_timing_times_quantile(a->room, n, 0.5) : NAN;
}

static void find_middle(const struct adding *a, struct sd_time_figures *f)
{
    memcpy(a->room, a->values, a->n * sizeof *a->room);
    sd_timing_times_sort(a->room, a->n);
    f->median_ns = sd_timing_times_quantile(a->room, a->n, 0.5);
    find_modes(a->room, a->n, f);
    find_bins(a->room, a->n, f);
    for (size_t i = 0; i < a->n; i++)
        a->room[i] = fabs(a->values[i] - f->median_ns);
    sd_timing_times_sort(a->room, a->n);
    f->mad_ns = sd_timing_times_quantile(a->room, a->n, 0.5);
}

static int add_all(struct adding *a, struct sd_time_figures *f)
{
    const struct sd_timings *t = a->t;

    for (size_t i = 0; i < t->n_processes; i++)
        add_process(a, &t->processes[i], f);
    for (size_t i = 0; i < t->n_processes && a->n == 0; i++) {
        size_t n = take_dropped(t, a->side, &t->processes[i], a->values, a->of);

        if (n == 0)
            continue;
        memcpy(a->room, a->values, n * sizeof *a->room);
        sd_timing_times_sort(a->room, n);
        a->bests[0] = a->room[0];
        a->loops[0] = 0;
        a->n_bests = 1;
        a->n = n;
        f->is_estimate = true;
        f->n_dropped -= n; /* they are what the figures are of */
    }
    return a->n ? 0 : sd_fail(SD_EABSENT, "there is no batch of this statement");
}

int sd_time_figures(const struct sd_timings *t, size_t side, struct sd_time_figures *f)
{
    size_t n = t->n_batches + 1, n_processes = t->n_processes + 1;
    struct adding a = { .t = t,
                        .side = side,
                        .values = sd_alloc(n * sizeof *a.values),
                        .of = sd_alloc(n * sizeof *a.of),
                        .bests = sd_alloc(n_processes * sizeof *a.bests),
                        .loops = sd_alloc(n_processes * sizeof *a.loops),
                        .room = sd_alloc(n * sizeof *a.room) };
    int rc = 0;

    sd_assert(side < t->n_sides);
    *f = (struct sd_time_figures){ .instructions = NAN };
    if (!a.values || !a.of || !a.bests || !a.loops || !a.room)
        rc = sd_no_memory();
    if (rc == 0) {
        a.rule = sd_timing_times_rule(t, side);
        f->is_long = a.rule.is_long;
        rc = add_all(&a, f);
    }
    if (rc == 0) {
        f->n_batches = a.n;
        f->loops = (uint64_t)a.of[a.n - 1]->loops;
        find_best(&a, f);
        find_speed(&a, f);
        find_middle(&a, f);
        find_outliers(&a, f);
        f->instructions = instructions_of(&a, false) - instructions_of(&a, true);
        if (f->is_estimate)
            f->has_agreed = false;
    }
    sd_free(a.values);
    sd_free(a.of);
    sd_free(a.bests);
    sd_free(a.loops);
    sd_free(a.room);
    return rc;
}

size_t sd_time_figures_times(const struct sd_timings *t, size_t side, double *times)
{
    struct sd_timing_rule rule = sd_timing_times_rule(t, side);
    size_t n = 0;

    for (size_t i = 0; i < t->n_processes; i++) {
        struct sd_timing_times r =
            sd_timing_times_of(t, &rule, &t->processes[i], times + n, NULL);

        for (size_t k = 0; k < r.n; k++)
            times[n + k] -= r.loop_ns;
        n += r.n;
    }
    for (size_t i = 0; i < t->n_processes && n == 0; i++)
        n = take_dropped(t, side, &t->processes[i], times, NULL);
    return n;
}
