/* SPDX-License-Identifier: MIT */
#include "analyse/growth/growth_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    POINTS_MAX = 96, /* more are put together with their neighbours */
    OFFSETS = 14,    /* tried before the best is made finer */
    TRIES_MAX = 12,  /* steps and parabolas that make a best place finer */
};
#define ERROR_ANY 0.05     /* of a point, relative */
#define ERROR_CALL 0.25    /* of a call, relative */
#define COLD_NS 20e3       /* of a function's first call: code and caches are cold */
#define COLD_MOST 3.0      /* ... and of a short one, relative */
#define VAGUE 1.5          /* a certainty by which a size is hardly known */
#define FINEST 2e-3        /* of the first step: where parabolas are fine enough */
#define CLEARLY (1 - 1e-9) /* of the squares: less than that is rounding */
#define SPREAD_MAX 600.0   /* of logarithms whose exponentials are numbers */

/* --- Points */

static int by_size(const void *a, const void *b)
{
    const struct sd_growth_sample *p = a, *q = b;

    if (p->n != q->n)
        return p->n < q->n ? -1 : 1;
    return p->y < q->y ? -1 : p->y > q->y;
}

static struct sd_growth_sample sample_of(const struct sd_growth_point *p,
                                         double call_ns)
{
    double calls = p->calls > 1 ? p->calls : 1;
    double cold = p->is_first ? fmin(COLD_MOST, COLD_NS / p->ns) / calls : 0;
    double error = ERROR_ANY * ERROR_ANY + call_ns / p->ns * (call_ns / p->ns) +
                   ERROR_CALL * ERROR_CALL / calls + cold * cold;

    return (struct sd_growth_sample){ p->n,      log(p->n), log(p->ns),
                                      1 / error, 1 / error, 1 / error };
}

/* Two that stand for one: the mean of both by what they are worth. */
static void put_together(struct sd_growth_sample *into,
                         const struct sd_growth_sample *s)
{
    double a = into->certainty, b = s->certainty, sum = a + b;

    sd_assert(sum > 0);
    into->x = (a * into->x + b * s->x) / sum;
    into->y = (a * into->y + b * s->y) / sum;
    into->n = exp(into->x);
    into->certainty = into->measured = into->weight =
        fmin(sum, 1 / (ERROR_ANY * ERROR_ANY));
}

/* Too many points only cost time: those in one of many equal steps become one. */
void sd_growth_fitter_thin_out(struct sd_growth_fitter *t)
{
    double from = t->samples[0].x, step = (t->samples[t->n - 1].x - from) / POINTS_MAX;
    size_t kept = 0;

    if (t->n <= POINTS_MAX || !(step > 0))
        return;
    for (size_t i = 1; i < t->n; i++)
        if (floor((t->samples[i].x - from) / step) ==
            floor((t->samples[kept].x - from) / step))
            put_together(&t->samples[kept], &t->samples[i]);
        else
            t->samples[++kept] = t->samples[i];
    sd_assert(kept < t->n);
    t->n = kept + 1;
}

int sd_growth_fitter_take(struct sd_growth_fitter *t,
                          const struct sd_growth_point *points, size_t n)
{
    t->samples = sd_alloc((n + 1) * sizeof *t->samples);
    t->f = sd_alloc((n + 1) * sizeof *t->f);
    t->parts = sd_alloc((n + 1) * sizeof *t->parts);
    t->away = sd_alloc((n + 1) * sizeof *t->away);
    if (!t->samples || !t->f || !t->parts || !t->away)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        if (points[i].n >= 1 && points[i].ns > 0)
            t->samples[t->n++] = sample_of(&points[i], t->errors.call_ns);
    qsort(t->samples, t->n, sizeof *t->samples, by_size);
    sd_assert(t->n <= n && (t->n == 0 || t->samples[0].n <= t->samples[t->n - 1].n));
    return 0;
}

void sd_growth_fitter_release(struct sd_growth_fitter *t)
{
    sd_free(t->samples);
    sd_free(t->f);
    sd_free(t->parts);
    sd_free(t->away);
    *t = (struct sd_growth_fitter){ .n = 0 };
}

size_t sd_growth_fitter_sizes(const struct sd_growth_fitter *t)
{
    size_t n = t->n > 0;

    for (size_t i = 1; i < t->n; i++)
        n += t->samples[i].n != t->samples[i - 1].n;
    return n;
}

size_t sd_growth_fitter_known(const struct sd_growth_fitter *t)
{
    size_t n = 0, last = t->n;

    for (size_t i = 0; i < t->n; i++) {
        if (t->samples[i].certainty <= VAGUE ||
            (last < t->n && t->samples[last].n == t->samples[i].n))
            continue;
        last = i;
        n++;
    }
    return n;
}

/* --- One f: the best factor and offset */

/* The logarithm of e^a + e^b. */
double sd_growth_log_sum(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);

    return least == -INFINITY ? most : most + log1p(exp(least - most));
}

/* The best factor for these distances is their mean. */
static struct sd_growth_trial with_away(const struct sd_growth_fitter *t, double offset)
{
    double sum = 0, mean = 0, squares = 0;

    for (size_t i = 0; i < t->n; i++) {
        sum += t->samples[i].weight;
        mean += t->samples[i].weight * t->away[i];
    }
    mean /= sum;
    for (size_t i = 0; i < t->n; i++) {
        double away = t->away[i] - mean;

        squares += t->samples[i].weight * away * away;
    }
    return (struct sd_growth_trial){ squares, mean, offset + mean, -INFINITY };
}

static struct sd_growth_trial without_offset(const struct sd_growth_fitter *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->away[i] = t->samples[i].y - t->f[i];
    return with_away(t, -INFINITY);
}

/* Some hundred offsets are tried with every f, and a logarithm for each point is all
 * that one of them costs: what does not depend on it is in `parts`. */
static void compute_parts(const struct sd_growth_fitter *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->parts[i] = exp(t->f[i] - t->f[t->n - 1]);
}

/* With this offset, in units of the factor. */
static struct sd_growth_trial with_offset(const struct sd_growth_fitter *t,
                                          const void *unused, double at)
{
    double most = t->f[t->n - 1], part = exp(at - most);

    (void)unused;
    for (size_t i = 0; i < t->n; i++)
        t->away[i] = t->samples[i].y - most - log(part + t->parts[i]);
    return with_away(t, at);
}

/* --- The best place of a number that curves depend on */

typedef struct sd_growth_trial try_at(const struct sd_growth_fitter *t, const void *of,
                                      double at);

/* Of the parabola through the best place and what is a step below and above it. */
static double lowest_between(double step, double below, double best, double above)
{
    double bend = below + above - 2 * best;

    return bend > 0 && isfinite(bend) ? step * (below - above) / (2 * bend) : 0;
}

/* Finds what is better than `best` near *at: a step to the side while that is clearly
 * better, else to the lowest point of the parabola, and then in smaller steps. */
static void refine(const struct sd_growth_fitter *t, try_at *try, const void *of,
                   double step, double *at, struct sd_growth_trial *best)
{
    double finest = FINEST * step;

    for (int i = 0; i < TRIES_MAX && step > finest; i++) {
        struct sd_growth_trial below = try(t, of, *at - step),
                               above = try(t, of, *at + step);
        struct sd_growth_trial lowest;
        double middle;

        if (fmin(below.squares, above.squares) < CLEARLY * best->squares) {
            bool is_below = below.squares <= above.squares;

            *best = is_below ? below : above;
            *at += is_below ? -step : step;
            continue;
        }
        middle = lowest_between(step, below.squares, best->squares, above.squares);
        lowest = middle == 0 ? *best : try(t, of, *at + middle);
        if (lowest.squares < best->squares) {
            *best = lowest;
            *at += middle;
        }
        step /= 8;
    }
}

/* Offsets from far below the smallest size's time to above the largest's, and none. */
static struct sd_growth_trial try_offsets(const struct sd_growth_fitter *t,
                                          bool has_offset)
{
    struct sd_growth_trial none = without_offset(t), best = { .squares = INFINITY };
    double from = t->f[0] - 2, to = t->f[t->n - 1] + 1;
    double step = (to - from) / (OFFSETS - 1), at = from;

    sd_assert(t->n > 0);
    if (!has_offset || t->has_no_offset || !(to > from) || to - from > SPREAD_MAX)
        return none;
    compute_parts(t);
    for (int i = 0; i < OFFSETS; i++) {
        struct sd_growth_trial one = with_offset(t, NULL, from + i * step);

        if (one.squares < best.squares) {
            best = one;
            at = from + i * step;
        }
    }
    refine(t, with_offset, NULL, step / 2, &at, &best);
    return best.squares < none.squares ? best : none;
}

/* The logarithm of e^x - 1.  A call that makes two others is one of r^n - 1 calls, not
 * of r^n: at the smallest sizes that is far less. */
static double log_expm1(double x) { return x > 30 ? x : log(expm1(x)); }

double sd_growth_log_of(enum sd_growth_class f, double k, double n)
{
    switch (f) {
    case SD_GROWTH_CONSTANT:
        return 0;
    case SD_GROWTH_LOG:
        return log(log1p(n));
    case SD_GROWTH_ROOT:
        return 0.5 * log(n);
    case SD_GROWTH_N:
        return log(n);
    case SD_GROWTH_N_LOG_N:
        return log(n) + log(log1p(n));
    case SD_GROWTH_N_ROOT:
        return 1.5 * log(n);
    case SD_GROWTH_N2:
        return 2 * log(n);
    case SD_GROWTH_N3:
        return 3 * log(n);
    case SD_GROWTH_N4:
        return 4 * log(n);
    case SD_GROWTH_EXPONENTIAL:
        return log_expm1(k * n);
    case SD_GROWTH_POWER:
        return k * log(n);
    }
    return 0;
}

/* What falls with size has no offset: a constant would be enough of a floor. */
struct sd_growth_trial sd_growth_try(const struct sd_growth_fitter *t,
                                     enum sd_growth_class f, double k)
{
    for (size_t i = 0; i < t->n; i++)
        t->f[i] = sd_growth_log_of(f, k, t->samples[i].n);
    return try_offsets(t, f != SD_GROWTH_CONSTANT && (f != SD_GROWTH_POWER || k > 0));
}

/* --- Two terms of a class */

/* What a loop inside of a loop costs by itself. */
enum sd_growth_class sd_growth_lower_of(enum sd_growth_class f)
{
    switch (f) {
    case SD_GROWTH_N_LOG_N:
    case SD_GROWTH_N2:
        return SD_GROWTH_N;
    case SD_GROWTH_N3:
        return SD_GROWTH_N2;
    case SD_GROWTH_N4:
        return SD_GROWTH_N3;
    case SD_GROWTH_CONSTANT:
    case SD_GROWTH_LOG:
    case SD_GROWTH_ROOT:
    case SD_GROWTH_N:
    case SD_GROWTH_N_ROOT: /* with n besides it would be n log n */
    case SD_GROWTH_EXPONENTIAL:
    case SD_GROWTH_POWER:
        break;
    }
    return SD_GROWTH_CLASSES; /* none */
}

/* `lower`: of the lower term, in units of the factor. */
static struct sd_growth_trial with_lower(const struct sd_growth_fitter *t,
                                         const void *of, double lower)
{
    enum sd_growth_class f = *(const enum sd_growth_class *)of;
    struct sd_growth_trial one;

    for (size_t i = 0; i < t->n; i++)
        t->f[i] = sd_growth_log_sum(
            sd_growth_log_of(f, 0, t->samples[i].n),
            lower + sd_growth_log_of(sd_growth_lower_of(f), 0, t->samples[i].n));
    one = try_offsets(t, true);
    one.lower = one.factor + lower;
    return one;
}

/* Begins with a twentieth of the first term at the largest size. */
struct sd_growth_trial sd_growth_try_lower(const struct sd_growth_fitter *t,
                                           enum sd_growth_class f)
{
    double n = t->samples[t->n - 1].n;
    double at =
        sd_growth_log_of(f, 0, n) - sd_growth_log_of(sd_growth_lower_of(f), 0, n) - 3;
    struct sd_growth_trial best = with_lower(t, &f, at);

    sd_assert(sd_growth_lower_of(f) != SD_GROWTH_CLASSES);
    refine(t, with_lower, &f, 1.5, &at, &best);
    return best;
}

/* --- A parameter */

static struct sd_growth_trial with_parameter(const struct sd_growth_fitter *t,
                                             const void *of, double k)
{
    const struct sd_growth_family *family = of;

    if (k < family->from || k > family->to)
        return (struct sd_growth_trial){ .squares = INFINITY };
    return sd_growth_try(t, family->f, k);
}

double sd_growth_try_family(const struct sd_growth_fitter *t,
                            const struct sd_growth_family *of,
                            struct sd_growth_trial *best)
{
    double at = of->from;

    sd_assert(of->step > 0 && of->from <= of->to);
    *best = (struct sd_growth_trial){ .squares = INFINITY };
    for (double k = of->from; k <= of->to + of->step / 2; k += of->step) {
        struct sd_growth_trial one = sd_growth_try(t, of->f, k);

        if (one.squares < best->squares) {
            *best = one;
            at = k;
        }
    }
    refine(t, with_parameter, of, of->step / 2, &at, best);
    return at;
}
