/* SPDX-License-Identifier: MIT */
#include "analyse/growth.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

enum {
    POINTS_MAX = 96, /* more are put together with their neighbours */
    ROUNDS = 5,      /* of losing weight */
    OFFSETS = 14,    /* tried before the best is made finer */
    FINER = 14,      /* steps that make it finer */
    GROWN_MIN = 3,   /* sizes beyond the offset, to be called fast */
    PARAMETERS = 3,  /* c, b, k */
};
#define RANGE_MIN 4.0      /* largest size by smallest */
#define STEEP 16.0         /* time that grows so much is worth a look in any range */
#define SHORTEST_NS 2000.0 /* at the largest size */
#define ERROR_ANY 0.05     /* of a point, relative */
#define ERROR_NS 30.0      /* of a call, absolute */
#define ERROR_CALL 0.25    /* of a call, relative */
#define SCALE_MIN 0.1      /* of the squares: a third of the errors above */
#define FAR 4.0            /* scales from the curve where weight is lost */
#define MISFIT_FINE 0.1    /* of a class, beyond that of the best */
#define SLOPE_FINE 0.15    /* ... where its slope is as near as this to a likely one */
#define CHOSEN_BY 6.63     /* of squares: 99 % of chi square with one degree */
#define HALF_MIN 0.02      /* of the interval: no machine is as steady as that */
#define K_MIN (-2.0)
#define K_MAX 8.0
#define K_STEP 0.25

struct sample {
    double n, x, y;   /* size, its logarithm, that of the time */
    double certainty; /* 1 by the square of its error */
    double weight;    /* certainty, less what is lost by being far away */
};

struct fitter {
    struct sample *samples; /* owned; by size */
    size_t n;
    double *f;    /* owned; the logarithm of f(n) of the curve that is tried */
    double scale; /* of the squares */
    bool has_no_offset;
};

/* The best curve of one f. */
struct tried {
    double squares, factor, offset, lower; /* the latter three as logarithms */
};

/* --- Points */

static int by_size(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;

    if (p->n != q->n)
        return p->n < q->n ? -1 : 1;
    return p->y < q->y ? -1 : p->y > q->y;
}

static struct sample sample_of(const struct sd_growth_point *p)
{
    double calls = p->calls > 1 ? p->calls : 1;
    double error = ERROR_ANY * ERROR_ANY + ERROR_NS / p->ns * (ERROR_NS / p->ns) +
                   ERROR_CALL * ERROR_CALL / calls;

    return (struct sample){ p->n, log(p->n), log(p->ns), 1 / error, 1 / error };
}

/* Two that stand for one: the mean of both by what they are worth. */
static void put_together(struct sample *into, const struct sample *s)
{
    double a = into->certainty, b = s->certainty, sum = a + b;

    into->x = (a * into->x + b * s->x) / sum;
    into->y = (a * into->y + b * s->y) / sum;
    into->n = exp(into->x);
    into->certainty = into->weight = fmin(sum, 1 / (ERROR_ANY * ERROR_ANY));
}

/* Too many points only cost time: those in one of many equal steps become one. */
static void thin_out(struct fitter *t)
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
    t->n = kept + 1;
}

static int take_points(struct fitter *t, const struct sd_growth_point *points, size_t n)
{
    t->samples = sd_alloc((n + 1) * sizeof *t->samples);
    t->f = sd_alloc((n + 1) * sizeof *t->f);
    if (!t->samples || !t->f)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        if (points[i].n >= 1 && points[i].ns > 0)
            t->samples[t->n++] = sample_of(&points[i]);
    qsort(t->samples, t->n, sizeof *t->samples, by_size);
    return 0;
}

static size_t count_sizes(const struct fitter *t)
{
    size_t n = t->n > 0;

    for (size_t i = 1; i < t->n; i++)
        n += t->samples[i].n != t->samples[i - 1].n;
    return n;
}

/* --- One f: the best factor and offset */

/* The logarithm of e^a + e^b. */
static double log_sum(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);

    return least == -INFINITY ? most : most + log1p(exp(least - most));
}

/* With this offset (in units of the factor), the best factor is a mean. */
static struct tried with_offset(const struct fitter *t, double offset)
{
    double sum = 0, mean = 0, squares = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct sample *s = &t->samples[i];
        double away = s->y - log_sum(offset, t->f[i]), share;

        sum += s->weight;
        share = s->weight / sum;
        squares += s->weight * (1 - share) * (away - mean) * (away - mean);
        mean += share * (away - mean);
    }
    return (struct tried){ squares, mean, offset + mean, -INFINITY };
}

static void keep_better(struct tried *best, struct tried one)
{
    if (one.squares < best->squares)
        *best = one;
}

/* Halves the steps around `at` until they are small. */
static struct tried refine_offset(const struct fitter *t, double at, double step)
{
    struct tried best = with_offset(t, at);

    for (int i = 0; i < FINER; i++) {
        struct tried below = with_offset(t, at - step);
        struct tried above = with_offset(t, at + step);

        if (below.squares < best.squares && below.squares <= above.squares) {
            best = below;
            at -= step;
        } else if (above.squares < best.squares) {
            best = above;
            at += step;
        }
        step /= 2;
    }
    return best;
}

/* Offsets from far below the smallest size's time to above the largest's, and none. */
static struct tried try_offsets(const struct fitter *t, bool has_offset)
{
    struct tried best = with_offset(t, -INFINITY), one;
    double from = t->f[0] - 2, to = t->f[t->n - 1] + 1;
    double step = (to - from) / (OFFSETS - 1), at = from;
    double least = INFINITY;

    if (!has_offset || t->has_no_offset || !(to > from))
        return best;
    for (int i = 0; i < OFFSETS; i++) {
        one = with_offset(t, from + i * step);
        if (one.squares < least) {
            least = one.squares;
            at = from + i * step;
        }
    }
    keep_better(&best, refine_offset(t, at, step / 2));
    return best;
}

static double log_of(enum sd_growth_class f, double k, double n)
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
        return k * n;
    case SD_GROWTH_POWER:
        return k * log(n);
    }
    return 0;
}

/* What falls with size has no offset: a constant would be enough of a floor. */
static struct tried try_curve(const struct fitter *t, enum sd_growth_class f, double k)
{
    for (size_t i = 0; i < t->n; i++)
        t->f[i] = log_of(f, k, t->samples[i].n);
    return try_offsets(t, f != SD_GROWTH_CONSTANT && (f != SD_GROWTH_POWER || k > 0));
}

/* --- Two terms of a class */

/* What a loop inside of a loop costs by itself. */
static enum sd_growth_class lower_of(enum sd_growth_class f)
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
static struct tried with_lower(const struct fitter *t, enum sd_growth_class f,
                               double lower)
{
    struct tried one;

    for (size_t i = 0; i < t->n; i++)
        t->f[i] = log_sum(log_of(f, 0, t->samples[i].n),
                          lower + log_of(lower_of(f), 0, t->samples[i].n));
    one = try_offsets(t, true);
    one.lower = one.factor + lower;
    return one;
}

/* Begins with a twentieth of the first term at the largest size. */
static struct tried try_lower(const struct fitter *t, enum sd_growth_class f)
{
    double n = t->samples[t->n - 1].n;
    double at = log_of(f, 0, n) - log_of(lower_of(f), 0, n) - 3, step = 1.5;
    struct tried best = with_lower(t, f, at);

    for (int i = 0; i < FINER; i++) {
        struct tried below = with_lower(t, f, at - step);
        struct tried above = with_lower(t, f, at + step);

        if (below.squares < best.squares && below.squares <= above.squares) {
            best = below;
            at -= step;
        } else if (above.squares < best.squares) {
            best = above;
            at += step;
        }
        step *= 0.7;
    }
    return best;
}

/* --- The exponent */

/* The best of f's with a parameter, from `from` to `to`. */
static double best_parameter(const struct fitter *t, enum sd_growth_class f,
                             double from, double to, double step, struct tried *best)
{
    double at = from;

    *best = (struct tried){ .squares = INFINITY };
    for (double k = from; k <= to + step / 2; k += step) {
        struct tried one = try_curve(t, f, k);

        if (one.squares < best->squares) {
            *best = one;
            at = k;
        }
    }
    for (int i = 0; i < FINER; i++) {
        double center = at;

        step /= 2;
        for (int side = -1; side <= 1; side += 2) {
            double k = center + side * step;
            struct tried one = try_curve(t, f, k);

            if (k >= from && k <= to && one.squares < best->squares) {
                *best = one;
                at = k;
            }
        }
    }
    return at;
}

static double log_at(const struct sd_growth_curve *c, double n)
{
    double sum = log_sum(c->log_offset, c->log_factor + log_of(c->f, c->k, n));

    return c->log_lower == -INFINITY
               ? sum
               : log_sum(sum, c->log_lower + log_of(lower_of(c->f), 0, n));
}

static double away_from(const struct sample *s, const struct sd_growth_curve *c)
{
    return s->y - log_at(c, s->n);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Those far from the curve, in scales of the middle one, count less. */
static void lose_weight(struct fitter *t, const struct sd_growth_curve *c)
{
    double scale, z;

    for (size_t i = 0; i < t->n; i++)
        t->f[i] = fabs(away_from(&t->samples[i], c)) * sqrt(t->samples[i].certainty);
    qsort(t->f, t->n, sizeof *t->f, by_value);
    scale = 1.4826 * t->f[t->n / 2];
    scale = FAR * fmax(scale, 0.5);
    for (size_t i = 0; i < t->n; i++) {
        struct sample *s = &t->samples[i];

        z = away_from(s, c) * sqrt(s->certainty) / scale;
        s->weight = s->certainty / ((1 + z * z) * (1 + z * z));
    }
}

static struct sd_growth_curve fit_power(struct fitter *t, struct tried *best)
{
    struct sd_growth_curve c = { .f = SD_GROWTH_POWER, .log_lower = -INFINITY };

    for (int round = 0; round < ROUNDS; round++) {
        double from = round == 0 ? K_MIN : fmax(K_MIN, c.k - 2 * K_STEP);
        double to = round == 0 ? K_MAX : fmin(K_MAX, c.k + 2 * K_STEP);

        if (round > 0)
            lose_weight(t, &c);
        c.k = best_parameter(t, c.f, from, to, K_STEP, best);
        c.log_factor = best->factor;
        c.log_offset = best->offset;
    }
    return c;
}

/* Student's t at 97.5 %. */
static double student(size_t degrees)
{
    static const double t[] = { 12.71, 4.303, 3.182, 2.776, 2.571,
                                2.447, 2.365, 2.306, 2.262, 2.228 };

    if (degrees <= sizeof t / sizeof *t)
        return t[degrees > 0 ? degrees - 1 : 0];
    return 1.96 + 2.6 / (double)degrees; /* within 0.01 of it */
}

static double sum_weights(const struct fitter *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->samples[i].weight;
    return sum;
}

/* What is left of the points' certainty, 0..1: what lost weight says less about the
 * scatter, too. */
static double mean_weight(const struct fitter *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->samples[i].weight / t->samples[i].certainty;
    return sum / (double)t->n;
}

/* How far the exponent can go to this side of the best one. */
static double end_of_interval(const struct fitter *t, double best, double limit,
                              double most_squares)
{
    double inside = best, outside = best, step = limit > best ? 0.05 : -0.05;

    while (fabs(outside - best) < fabs(limit - best)) {
        outside =
            fabs(inside + step - best) < fabs(limit - best) ? inside + step : limit;
        if (try_curve(t, SD_GROWTH_POWER, outside).squares > most_squares)
            break;
        inside = outside;
        step *= 1.5;
    }
    for (int i = 0; i < FINER && inside != outside; i++) {
        double middle = (inside + outside) / 2;

        if (try_curve(t, SD_GROWTH_POWER, middle).squares > most_squares)
            outside = middle;
        else
            inside = middle;
    }
    return inside;
}

/* The interval around the best exponent, whose squares are these. */
static void find_interval(struct fitter *t, struct sd_growth *g, double squares,
                          size_t n_parameters)
{
    size_t degrees = g->n_sizes > n_parameters + 1 ? g->n_sizes - n_parameters : 1;
    double reach = student(degrees);

    t->scale = fmax(squares / ((double)degrees * mean_weight(t)), SCALE_MIN);
    reach = squares + t->scale * reach * reach;
    g->low =
        fmin(end_of_interval(t, g->exponent, K_MIN, reach), g->exponent - HALF_MIN);
    g->high =
        fmax(end_of_interval(t, g->exponent, K_MAX, reach), g->exponent + HALF_MIN);
}

static void find_exponent(struct fitter *t, struct sd_growth *g, struct tried *best)
{
    g->curve = fit_power(t, best);
    g->exponent = g->curve.k;
    find_interval(t, g, best->squares, PARAMETERS);
}

/* Where nothing grows, any exponent fits beside an offset; without one it is about 0,
 * and its interval says how well that is known. */
static void find_exponent_of_constant(struct fitter *t, struct sd_growth *g)
{
    struct tried best;

    t->has_no_offset = true;
    g->exponent = best_parameter(t, SD_GROWTH_POWER, K_MIN, K_MAX, K_STEP, &best);
    find_interval(t, g, best.squares, PARAMETERS - 1);
    t->has_no_offset = false;
}

/* --- Classes */

static struct sd_growth_curve curve_of(enum sd_growth_class f, double k,
                                       struct tried one)
{
    return (struct sd_growth_curve){ f, k, one.factor, one.offset, one.lower };
}

/* b·r^n: the exponent of a power that stands for it would only tell where it was
 * measured.  It is the answer when powers clearly are not. */
static bool try_exponential(struct fitter *t, struct sd_growth *g, double power_squares)
{
    double range = t->samples[t->n - 1].n - t->samples[0].n;
    struct tried best;
    double rate = best_parameter(t, SD_GROWTH_EXPONENTIAL, 0.5 / range, 64 / range,
                                 0.5 / range, &best);

    if (best.squares + CHOSEN_BY * t->scale >= power_squares || g->exponent < 1.5 ||
        g->n_sizes <= SD_GROWTH_SIZES_MIN)
        return false;
    g->classes = 1u << SD_GROWTH_EXPONENTIAL;
    g->curve = curve_of(SD_GROWTH_EXPONENTIAL, rate, best);
    return true;
}

/* With an offset above everything any class is constant, and with a large lower term it
 * is that one: what has not taken over at the largest size is no explanation. */
static bool is_seen(const struct fitter *t, enum sd_growth_class f, struct tried one)
{
    double n = t->samples[t->n - 1].n, others = one.offset;

    if (f == SD_GROWTH_CONSTANT)
        return true;
    if (one.lower != -INFINITY)
        others = log_sum(others, one.lower + log_of(lower_of(f), 0, n));
    return others < one.factor + log_of(f, 0, n);
}

/* Is its slope in this range about one of those that the exponent may have? */
static bool is_near(const struct sd_growth *g, enum sd_growth_class f)
{
    double slope = (log_of(f, 0, g->to) - log_of(f, 0, g->from)) / log(g->to / g->from);

    return slope > g->low - SLOPE_FINE && slope < g->high + SLOPE_FINE;
}

/* Does this curve explain the points, when the best of all has those squares? */
static bool is_possible(const struct fitter *t, const struct sd_growth *g,
                        enum sd_growth_class f, struct tried one, double best)
{
    double fine = MISFIT_FINE * MISFIT_FINE * sum_weights(t);

    return is_seen(t, f, one) && (one.squares <= best + CHOSEN_BY * t->scale ||
                                  (one.squares <= best + fine && is_near(g, f)));
}

/* The lower term comes in where a class does not do without it. */
static void find_classes(struct fitter *t, struct sd_growth *g, double best)
{
    struct tried plain[SD_GROWTH_EXPONENTIAL], both[SD_GROWTH_EXPONENTIAL];
    struct tried chosen = { 0 };

    if (try_exponential(t, g, best))
        return;
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        plain[f] = try_curve(t, f, 0);
        both[f] = lower_of(f) == SD_GROWTH_CLASSES ? plain[f] : try_lower(t, f);
        if (is_seen(t, f, both[f]))
            best = fmin(best, both[f].squares);
    }
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        struct tried one = is_possible(t, g, f, plain[f], best) ? plain[f] : both[f];

        if (!is_possible(t, g, f, one, best))
            continue;
        g->classes |= 1u << f;
        chosen = one;
    }
    if (sd_growth_only(g) < SD_GROWTH_CLASSES)
        g->curve = curve_of(sd_growth_only(g), 0, chosen);
}

/* --- The whole */

static enum sd_growth_answer answer_for(const struct fitter *t,
                                        const struct sd_growth *g)
{
    double slowest = -INFINITY, quickest = INFINITY;

    for (size_t i = 0; i < t->n; i++) {
        slowest = fmax(slowest, t->samples[i].y);
        quickest = fmin(quickest, t->samples[i].y);
    }
    if (g->n_sizes <= 1)
        return SD_GROWTH_ONE_SIZE;
    if (g->n_sizes < SD_GROWTH_SIZES_MIN)
        return SD_GROWTH_FEW_SIZES;
    if (exp(slowest) < SHORTEST_NS)
        return SD_GROWTH_SHORT;
    if (g->to / g->from < RANGE_MIN && exp(slowest - quickest) < STEEP)
        return SD_GROWTH_NARROW;
    return SD_GROWTH_FITTED;
}

static void measure_misfit(const struct fitter *t, struct sd_growth *g)
{
    double squares = 0, weights = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct sample *s = &t->samples[i];
        double away = away_from(s, &g->curve), z = away * sqrt(s->certainty) / 3;

        g->n_grown += g->curve.log_factor + log_of(g->curve.f, g->curve.k, s->n) >
                          g->curve.log_offset &&
                      (i == 0 || s->n != t->samples[i - 1].n);
        squares += s->weight * away * away;
        weights += s->weight;
        g->cost += log1p(z * z) / (double)t->n;
    }
    g->misfit = weights > 0 ? sqrt(squares / weights) : 0;
}

int sd_growth_fit(const struct sd_growth_point *points, size_t n, struct sd_growth *out)
{
    struct fitter t = { 0 };
    struct tried best;
    int rc = take_points(&t, points, n);

    *out = (struct sd_growth){ .answer = SD_GROWTH_ONE_SIZE };
    if (rc == 0 && t.n > 0) {
        out->n_sizes = count_sizes(&t);
        out->from = t.samples[0].n;
        out->to = t.samples[t.n - 1].n;
        out->answer = answer_for(&t, out);
    }
    if (rc == 0 && out->answer == SD_GROWTH_FITTED) {
        thin_out(&t);
        find_exponent(&t, out, &best);
        find_classes(&t, out, best.squares);
        if (sd_growth_only(out) == SD_GROWTH_CONSTANT)
            find_exponent_of_constant(&t, out);
        measure_misfit(&t, out);
    }
    sd_free(t.samples);
    sd_free(t.f);
    return rc;
}

double sd_growth_at(const struct sd_growth_curve *c, double n)
{
    return exp(log_at(c, n));
}

enum sd_growth_class sd_growth_only(const struct sd_growth *g)
{
    for (unsigned f = 0; f < SD_GROWTH_CLASSES; f++)
        if (g->classes == 1u << f)
            return f;
    return SD_GROWTH_CLASSES;
}

bool sd_growth_is_fast(const struct sd_growth *g, unsigned degree)
{
    const unsigned slow = (2u << (degree > 1 ? SD_GROWTH_ROOT : SD_GROWTH_N_LOG_N)) - 1;

    return g->answer == SD_GROWTH_FITTED && g->low * degree > 1.2 &&
           !(g->classes & slow) && g->n_sizes > SD_GROWTH_SIZES_MIN &&
           g->n_grown >= GROWN_MIN;
}

bool sd_growth_is_vague(const struct sd_growth *g) { return g->high - g->low > 2; }

/* --- Words */

static const char *const class_words[] = { "constant", "log n", "√n", "n",  "n log n",
                                           "n^1.5",    "n²",    "n³", "n⁴", "2ⁿ" };

static void put_classes(struct sd_buf *to, const struct sd_growth *g)
{
    unsigned first = 0, last = SD_GROWTH_CLASSES - 1;

    while (!(g->classes & 1u << first))
        first++;
    while (!(g->classes & 1u << last))
        last--;
    if (last - first > 2)
        sd_buf_printf(to, "undecided: %s to %s", class_words[first], class_words[last]);
    else if (last != first)
        sd_buf_printf(to, "%s to %s", class_words[first], class_words[last]);
    else if (first == SD_GROWTH_EXPONENTIAL)
        sd_buf_printf(to, "exponential: ×%.3g with each 1", exp(g->curve.k));
    else
        sd_buf_text(to, class_words[first]);
}

void sd_growth_words(struct sd_buf *to, const struct sd_growth *g)
{
    switch (g->answer) {
    case SD_GROWTH_FITTED:
        if (g->classes)
            put_classes(to, g);
        else if (sd_growth_is_vague(g))
            sd_buf_text(to, "undecided");
        else
            sd_buf_printf(to, "about n^%.1f", g->exponent);
        return;
    case SD_GROWTH_ONE_SIZE:
        sd_buf_text(to, "one size only");
        return;
    case SD_GROWTH_FEW_SIZES:
        sd_buf_printf(to, "%zu sizes are too few", g->n_sizes);
        return;
    case SD_GROWTH_NARROW:
        sd_buf_text(to, "sizes too close together");
        return;
    case SD_GROWTH_SHORT:
        sd_buf_text(to, "calls too short");
        return;
    }
}
