/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_comparison.h"

#include <math.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { N_BLOCKS = 10 };
#define SAME 0.02
#define LEAST_NS 0.2 /* of what takes less nothing but the clock is left */

static const char *const names[] = { "slower", "faster", "same", "cannot tell" };

const char *sd_time_verdict_name(enum sd_time_verdict v) { return names[v]; }

struct half { /* the batches of one side in one set of processes */
    double *times;
    const struct sd_time_batch **of;
    size_t n;
};

struct comparing {
    const struct sd_timings *t;
    struct half a, b;
    double *ratios, *sets;
    size_t n_ratios, n_sets;
};

/* In the set that begins with process `from`. */
static void take_half(const struct sd_timings *t, size_t from,
                      struct sd_timing_rule *rule, struct half *h)
{
    h->n = 0;
    for (size_t i = from;
         i < t->n_processes && t->processes[i].set == t->processes[from].set; i++) {
        struct sd_timing_times r = sd_timing_times_of(t, rule, &t->processes[i],
                                                      h->times + h->n, h->of + h->n);

        for (size_t k = 0; k < r.n; k++)
            h->times[h->n + k] -= r.loop_ns;
        h->n += r.n;
    }
}

/* The logarithms of a round's two batches, in the order of rounds.  None, where one
 * side often takes no time at all: those that are left would be its longest by chance.
 */
static void pair(struct comparing *c)
{
    size_t i = 0, k = 0, n_rounds = 0;

    c->n_ratios = 0;
    while (i < c->a.n && k < c->b.n) {
        int64_t x = c->a.of[i]->round, y = c->b.of[k]->round;

        n_rounds += x == y;
        if (x == y && c->a.times[i] > LEAST_NS && c->b.times[k] > LEAST_NS)
            c->ratios[c->n_ratios++] = log(c->a.times[i] / c->b.times[k]);
        i += x <= y;
        k += y <= x;
    }
    if (n_rounds - c->n_ratios > n_rounds / 10)
        c->n_ratios = 0;
}

/* Of the blocks, as they follow each other; how many. */
static size_t find_medians(struct comparing *c, double medians[N_BLOCKS])
{
    size_t n = c->n_ratios < N_BLOCKS ? c->n_ratios : N_BLOCKS;

    for (size_t i = 0; i < n; i++) {
        size_t from = c->n_ratios * i / n, to = c->n_ratios * (i + 1) / n;

        sd_timing_times_sort(c->ratios + from, to - from);
        medians[i] = sd_timing_times_quantile(c->ratios + from, to - from, 0.5);
    }
    return n;
}

static void find_mean(const double *values, size_t n, double *mean, double *half)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *half = n > 1 ? sd_time_figures_student(n - 1) *
                        sqrt(squares / (double)(n - 1) / (double)n)
                  : INFINITY;
}

static void judge(double mean, double half, struct sd_time_comparison *out)
{
    double wanted = fabs(mean) > SAME ? fabs(mean) : SAME - fabs(mean);

    out->ratio = exp(mean);
    out->low = exp(mean - half);
    out->high = exp(mean + half);
    out->more = 1;
    if (mean - half >= -SAME && mean + half <= SAME)
        out->verdict = SD_TIME_SAME;
    else if (mean - half > 0)
        out->verdict = SD_TIME_SLOWER;
    else if (mean + half < 0)
        out->verdict = SD_TIME_FASTER;
    else
        out->verdict = SD_TIME_CANNOT_TELL;
    if (out->verdict == SD_TIME_CANNOT_TELL)
        out->more = fmin(fmax(half * half / fmax(wanted * wanted, 1e-6), 1.5), 1000);
}

static void compare(struct comparing *c, size_t side, size_t against,
                    struct sd_time_comparison *out)
{
    struct sd_timing_rule rule_a = sd_timing_times_rule(c->t, side);
    struct sd_timing_rule rule_b = sd_timing_times_rule(c->t, against);
    double medians[N_BLOCKS], mean = 0, half = 0;
    size_t n_medians = 0;

    for (size_t i = 0; i < c->t->n_processes; i++) {
        uint32_t set = c->t->processes[i].set;

        if (i > 0 && c->t->processes[i - 1].set == set)
            continue;
        take_half(c->t, i, &rule_a, &c->a);
        take_half(c->t, i, &rule_b, &c->b);
        pair(c);
        n_medians = find_medians(c, medians);
        if (n_medians == 0)
            continue;
        find_mean(medians, n_medians, &mean, &half);
        c->sets[c->n_sets++] = mean;
    }
    if (c->n_sets == 0)
        return;
    if (c->n_sets > 1)
        find_mean(c->sets, c->n_sets, &mean, &half);
    if (isfinite(half))
        judge(mean, half, out);
    else
        out->ratio = exp(mean);
}

int sd_time_comparison(const struct sd_timings *t, size_t side, size_t against,
                       struct sd_time_comparison *out)
{
    size_t n = t->n_batches + 1;
    struct comparing c = {
        .t = t,
        .a = { sd_alloc(n * sizeof *c.a.times), sd_alloc(n * sizeof *c.a.of), 0 },
        .b = { sd_alloc(n * sizeof *c.b.times), sd_alloc(n * sizeof *c.b.of), 0 },
        .ratios = sd_alloc(n * sizeof *c.ratios),
        .sets = sd_alloc((t->n_processes + 1) * sizeof *c.sets)
    };
    bool has_room = c.a.times && c.a.of && c.b.times && c.b.of && c.ratios && c.sets;

    sd_assert(side < t->n_sides && against < t->n_sides);
    *out = (struct sd_time_comparison){ NAN, NAN, NAN, SD_TIME_CANNOT_TELL, 10 };
    if (has_room)
        compare(&c, side, against, out);
    sd_free(c.a.times);
    sd_free(c.a.of);
    sd_free(c.b.times);
    sd_free(c.b.of);
    sd_free(c.ratios);
    sd_free(c.sets);
    return has_room ? 0 : sd_no_memory();
}
