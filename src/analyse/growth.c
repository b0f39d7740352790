/* SPDX-License-Identifier: MIT */
#include "analyse/growth.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/growth_fit.h"

enum {
    ROUNDS = 5,     /* of losing weight */
    FINER = 14,     /* halvings that find the end of an interval */
    GROWN_MIN = 3,  /* sizes beyond the offset, to be called fast */
    PARAMETERS = 3, /* c, b, k */
};
#define RANGE_MIN 4.0      /* largest size by smallest */
#define STEEP 16.0         /* time that grows so much is worth a look in any range */
#define SHORTEST_NS 2000.0 /* at the largest size */
#define SCALE_MIN 0.1      /* of the squares: a third of what points are off by */
#define FAR 4.0            /* scales from the curve where weight is lost */
#define MISFIT_FINE 0.1    /* of a class, beyond that of the best */
#define SLOPE_FINE 0.15    /* ... where its slope is as near as this to a likely one */
#define CHOSEN_BY 6.63     /* of squares: 99 % of chi square with one degree */
#define HALF_MIN 0.02      /* of the interval: no machine is as steady as that */
#define FLAT 1.3           /* growth of time that is none */
#define POWER_MAX 4.5      /* the exponent of what may yet be loops */
#define STEEPEST 100.0     /* growth of time that is no accident of a few calls */
#define K_MIN (-2.0)
#define K_MAX 8.0
#define K_STEP 0.25

/* --- The exponent */

static double log_at(const struct sd_growth_curve *c, double n)
{
    double sum = sd_growth_log_sum(c->log_offset,
                                   c->log_factor + sd_growth_log_of(c->f, c->k, n));

    return c->log_lower == -INFINITY
               ? sum
               : sd_growth_log_sum(
                     sum,
                     c->log_lower + sd_growth_log_of(sd_growth_lower_of(c->f), 0, n));
}

static double away_from(const struct sd_growth_sample *s,
                        const struct sd_growth_curve *c)
{
    return s->y - log_at(c, s->n);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Those far from the curve, in scales of the middle one, count less. */
static void lose_weight(struct sd_growth_fitter *t, const struct sd_growth_curve *c)
{
    double scale, z;

    for (size_t i = 0; i < t->n; i++)
        t->f[i] = fabs(away_from(&t->samples[i], c)) * sqrt(t->samples[i].certainty);
    qsort(t->f, t->n, sizeof *t->f, by_value);
    scale = 1.4826 * t->f[t->n / 2];
    scale = FAR * fmax(scale, 0.5);
    for (size_t i = 0; i < t->n; i++) {
        struct sd_growth_sample *s = &t->samples[i];

        z = away_from(s, c) * sqrt(s->certainty) / scale;
        s->weight = s->certainty / ((1 + z * z) * (1 + z * z));
    }
}

static struct sd_growth_curve fit_power(struct sd_growth_fitter *t,
                                        struct sd_growth_tried *best)
{
    struct sd_growth_curve c = { .f = SD_GROWTH_POWER, .log_lower = -INFINITY };

    for (int round = 0; round < ROUNDS; round++) {
        struct sd_growth_family powers = { c.f, K_MIN, K_MAX, K_STEP };

        if (round > 0) {
            lose_weight(t, &c);
            powers.from = fmax(K_MIN, c.k - 2 * K_STEP);
            powers.to = fmin(K_MAX, c.k + 2 * K_STEP);
        }
        c.k = sd_growth_try_family(t, &powers, best);
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

static double sum_weights(const struct sd_growth_fitter *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->samples[i].weight;
    return sum;
}

/* What is left of the points' certainty, 0..1: what lost weight says less about the
 * scatter, too. */
static double mean_weight(const struct sd_growth_fitter *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->samples[i].weight / t->samples[i].certainty;
    return sum / (double)t->n;
}

/* How far the exponent can go to this side of the best one. */
static double end_of_interval(const struct sd_growth_fitter *t, double best,
                              double limit, double most_squares)
{
    double inside = best, outside = best, step = limit > best ? 0.05 : -0.05;

    while (fabs(outside - best) < fabs(limit - best)) {
        outside =
            fabs(inside + step - best) < fabs(limit - best) ? inside + step : limit;
        if (sd_growth_try(t, SD_GROWTH_POWER, outside).squares > most_squares)
            break;
        inside = outside;
        step *= 1.5;
    }
    for (int i = 0; i < FINER && inside != outside; i++) {
        double middle = (inside + outside) / 2;

        if (sd_growth_try(t, SD_GROWTH_POWER, middle).squares > most_squares)
            outside = middle;
        else
            inside = middle;
    }
    return inside;
}

/* The squares up to which an exponent is as likely as the best, whose squares are
 * these.  Squares are summed over what points have become, so sizes are counted there,
 * too. */
static double reach_of(struct sd_growth_fitter *t, double squares, size_t n_parameters)
{
    size_t degrees = t->n_sizes > n_parameters + 1 ? t->n_sizes - n_parameters : 1;
    double times = student(degrees);

    t->scale = fmax(squares / ((double)degrees * mean_weight(t)), SCALE_MIN);
    return squares + t->scale * times * times;
}

static void find_interval(struct sd_growth_fitter *t, struct sd_growth *g, double reach)
{
    g->low =
        fmin(end_of_interval(t, g->exponent, K_MIN, reach), g->exponent - HALF_MIN);
    g->high =
        fmax(end_of_interval(t, g->exponent, K_MAX, reach), g->exponent + HALF_MIN);
}

/* An offset is never below 0, so where there is none chance can only add one, and the
 * exponent with it.  Where curves without an offset do as well the interval therefore
 * has theirs, too. */
static void add_interval_without_offset(struct sd_growth_fitter *t, struct sd_growth *g,
                                        double reach)
{
    const struct sd_growth_family powers = { SD_GROWTH_POWER, K_MIN, K_MAX, K_STEP };
    double scale = t->scale, k;
    struct sd_growth_tried best;

    t->has_no_offset = true;
    k = sd_growth_try_family(t, &powers, &best);
    if (best.squares <= reach) {
        reach = reach_of(t, best.squares, PARAMETERS - 1);
        g->low = fmin(g->low, end_of_interval(t, k, K_MIN, reach));
        g->high = fmax(g->high, end_of_interval(t, k, K_MAX, reach));
    }
    t->has_no_offset = false;
    t->scale = scale;
}

static void find_exponent(struct sd_growth_fitter *t, struct sd_growth *g,
                          struct sd_growth_tried *best)
{
    double reach;

    g->curve = fit_power(t, best);
    g->exponent = g->curve.k;
    reach = reach_of(t, best->squares, PARAMETERS);
    find_interval(t, g, reach);
    add_interval_without_offset(t, g, reach);
}

/* Where nothing grows, any exponent fits beside an offset; without one it is about 0,
 * and its interval says how well that is known. */
static void find_exponent_of_constant(struct sd_growth_fitter *t, struct sd_growth *g)
{
    const struct sd_growth_family powers = { SD_GROWTH_POWER, K_MIN, K_MAX, K_STEP };
    struct sd_growth_tried best;

    t->has_no_offset = true;
    g->exponent = sd_growth_try_family(t, &powers, &best);
    find_interval(t, g, reach_of(t, best.squares, PARAMETERS - 1));
    t->has_no_offset = false;
}

/* --- Classes */

static struct sd_growth_curve curve_of(enum sd_growth_class f, double k,
                                       struct sd_growth_tried one)
{
    return (struct sd_growth_curve){ f, k, one.factor, one.offset, one.lower };
}

/* b·r^n: the exponent of a power that stands for it would only tell where it was
 * measured.  It is the answer when powers clearly are not; and, where time grows a
 * hundredfold, when only one would do that is higher than loops within loops come to.
 */
static bool try_exponential(struct sd_growth_fitter *t, struct sd_growth *g,
                            double power_squares)
{
    double range = t->samples[t->n - 1].n - t->samples[0].n, rate, margin;
    const struct sd_growth_family bases = { SD_GROWTH_EXPONENTIAL, 0.5 / range,
                                            64 / range, 0.5 / range };
    struct sd_growth_tried best;
    struct sd_growth_curve curve;

    if (g->exponent < 1.5 || g->n_sizes <= SD_GROWTH_SIZES_MIN)
        return false;
    rate = sd_growth_try_family(t, &bases, &best);
    curve = curve_of(SD_GROWTH_EXPONENTIAL, rate, best);
    margin = CHOSEN_BY * t->scale;
    if (g->low > POWER_MAX &&
        log_at(&curve, g->to) - log_at(&curve, g->from) > log(STEEPEST))
        margin = -margin;
    if (best.squares + margin >= power_squares)
        return false;
    g->classes = 1u << SD_GROWTH_EXPONENTIAL;
    g->curve = curve;
    return true;
}

/* With an offset above everything any class is constant, and with a large lower term it
 * is that one: what has not taken over at the largest size is no explanation. */
static bool is_seen(const struct sd_growth_fitter *t, enum sd_growth_class f,
                    struct sd_growth_tried one)
{
    double n = t->samples[t->n - 1].n, others = one.offset;

    if (f == SD_GROWTH_CONSTANT)
        return true;
    if (one.lower != -INFINITY)
        others = sd_growth_log_sum(
            others, one.lower + sd_growth_log_of(sd_growth_lower_of(f), 0, n));
    return others < one.factor + sd_growth_log_of(f, 0, n);
}

/* As the exponent of the sizes that were seen. */
static double slope_of(const struct sd_growth *g, enum sd_growth_class f)
{
    return (sd_growth_log_of(f, 0, g->to) - sd_growth_log_of(f, 0, g->from)) /
           log(g->to / g->from);
}

/* Is it about one of those that the exponent may have? */
static bool is_near(const struct sd_growth *g, enum sd_growth_class f)
{
    return slope_of(g, f) > g->low - SLOPE_FINE &&
           slope_of(g, f) < g->high + SLOPE_FINE;
}

/* What differs by less between the smallest size and the largest may as well be
 * constant, however well a curve goes through one point that was disturbed. */
static bool is_flat(const struct sd_growth *g)
{
    return fabs(log_at(&g->curve, g->to) - log_at(&g->curve, g->from)) < log(FLAT);
}

/* Does this curve explain the points, when the best of all has those squares? */
static bool is_possible(const struct sd_growth_fitter *t, const struct sd_growth *g,
                        enum sd_growth_class f, struct sd_growth_tried one, double best)
{
    double fine = MISFIT_FINE * MISFIT_FINE * sum_weights(t);

    if (f == SD_GROWTH_CONSTANT && is_flat(g))
        return true;
    return is_seen(t, f, one) && (one.squares <= best + CHOSEN_BY * t->scale ||
                                  (one.squares <= best + fine && is_near(g, f)));
}

/* n and n log n are hardly ever told apart by what a cache or a busy machine leaves of
 * a time: where one of them is possible and the other is in the interval, both are. */
static void keep_both(struct sd_growth *g)
{
    const unsigned both = 1u << SD_GROWTH_N | 1u << SD_GROWTH_N_LOG_N;

    if (!(g->classes & both) || (g->classes & both) == both)
        return;
    for (enum sd_growth_class f = SD_GROWTH_N; f <= SD_GROWTH_N_LOG_N; f++)
        if (slope_of(g, f) > g->low && slope_of(g, f) < g->high)
            g->classes |= 1u << f;
}

/* The lower term comes in where a class does not do without it. */
static void find_classes(struct sd_growth_fitter *t, struct sd_growth *g, double best)
{
    struct sd_growth_tried plain[SD_GROWTH_EXPONENTIAL], both[SD_GROWTH_EXPONENTIAL];
    struct sd_growth_tried chosen = { 0 };

    if (try_exponential(t, g, best))
        return;
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        plain[f] = sd_growth_try(t, f, 0);
        both[f] = sd_growth_lower_of(f) == SD_GROWTH_CLASSES
                      ? plain[f]
                      : sd_growth_try_lower(t, f);
        if (is_seen(t, f, both[f]))
            best = fmin(best, both[f].squares);
    }
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        struct sd_growth_tried one =
            is_possible(t, g, f, plain[f], best) ? plain[f] : both[f];

        if (!is_possible(t, g, f, one, best))
            continue;
        g->classes |= 1u << f;
        chosen = one;
    }
    keep_both(g);
    if (sd_growth_only(g) < SD_GROWTH_CLASSES)
        g->curve = curve_of(sd_growth_only(g), 0, chosen);
}

/* --- The whole */

static enum sd_growth_answer answer_for(const struct sd_growth_fitter *t,
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

static void measure_misfit(const struct sd_growth_fitter *t, struct sd_growth *g)
{
    double squares = 0, weights = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct sd_growth_sample *s = &t->samples[i];
        double away = away_from(s, &g->curve), z = away * sqrt(s->certainty) / 3;

        g->n_grown +=
            g->curve.log_factor + sd_growth_log_of(g->curve.f, g->curve.k, s->n) >
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
    struct sd_growth_fitter t = { 0 };
    struct sd_growth_tried best;
    int rc = sd_growth_fitter_take(&t, points, n);

    *out = (struct sd_growth){ .answer = SD_GROWTH_ONE_SIZE };
    if (rc == 0 && t.n > 0) {
        out->n_sizes = sd_growth_fitter_sizes(&t);
        out->from = t.samples[0].n;
        out->to = t.samples[t.n - 1].n;
        out->answer = answer_for(&t, out);
    }
    if (rc == 0 && out->answer == SD_GROWTH_FITTED) {
        sd_growth_fitter_thin_out(&t);
        t.n_sizes = sd_growth_fitter_sizes(&t);
        find_exponent(&t, out, &best);
        find_classes(&t, out, best.squares);
        if (sd_growth_only(out) == SD_GROWTH_CONSTANT)
            find_exponent_of_constant(&t, out);
        measure_misfit(&t, out);
    }
    sd_growth_fitter_release(&t);
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
           g->n_grown >= GROWN_MIN && !sd_growth_is_vague(g);
}

bool sd_growth_is_vague(const struct sd_growth *g)
{
    return g->high - g->low > 2 && sd_growth_only(g) != SD_GROWTH_EXPONENTIAL;
}
