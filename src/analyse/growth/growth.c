/* SPDX-License-Identifier: MIT */
#include "analyse/growth/growth.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/growth/growth_fit.h"
#include "base/assert.h"

enum {
    ROUNDS = 5,      /* of losing weight */
    FINER = 14,      /* halvings that find the end of an interval */
    GROWN_MIN = 3,   /* sizes beyond the offset, to be called fast */
    PARAMETERS = 3,  /* c, b, k */
    END_SIZES = 3,   /* at most, of the largest, that a curve must not miss */
    DEGREES_MIN = 4, /* of freedom, by which the errors of points are known */
};
#define RANGE_MIN 4.0    /* largest size by smallest */
#define STEEP 16.0       /* time that grows so much is worth a look in any range */
#define SCALE_MIN 0.1    /* of the squares: a third of what points are off by */
#define FAR 4.0          /* scales from the curve where weight is lost */
#define MISFIT_FINE 0.1  /* of a class, beyond that of the best */
#define SLOPE_FINE 0.15  /* ... where its slope is as near as this to a likely one */
#define SLOPE_LOWER 0.35 /* ... and above one, of what has a lower term */
#define CHOSEN_BY 6.63   /* of squares: 99 % of chi square with one degree */
#define HALF_MIN 0.02    /* of the interval: no machine is as steady as that */
#define FLAT 1.3         /* growth of time that is none */
#define LITTLE 4.0       /* ... and that may be, beside points that are further away */
#define POWER_MAX 4.5    /* the exponent of what may yet be loops */
#define STEEPEST 100.0   /* growth of time that is no accident of a few calls */
#define STEEP_FROM 1.2   /* an exponent that may be flagged */
#define SCATTER_MIN 0.1  /* of points, beyond their errors, that is worth a look */
#define GROWN 1.5        /* of the offset: a time that shows growth */
#define KNOWN 1.0        /* the certainty of a point that can be missed by itself */
#define SURELY_FAST 1.6  /* the lowest exponent, where the highest may be any */
#define DECADE 10.0      /* of sizes, that it takes then */
#define FAST_BEYOND 0.15 /* n log n: of the exponent, to be called fast */
#define RATE_MIN 3.0     /* of an exponential, over the sizes that were seen */
#define RATE_MAX 64.0
#define RATE_STEP 1.0
#define GROWTH_MIN 2.0 /* of the logarithm of time: with less, none is looked for */
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

/* How far from the curve, in their errors, points begin to be far: by the middle one.
 */
static double far_of(struct sd_growth_fitter *t, const struct sd_growth_curve *c)
{
    sd_assert(t->n > 0);
    for (size_t i = 0; i < t->n; i++)
        t->f[i] = fabs(away_from(&t->samples[i], c)) * sqrt(t->samples[i].certainty);
    qsort(t->f, t->n, sizeof *t->f, by_value);
    return FAR * fmax(1.4826 * t->f[t->n / 2], 0.5);
}

/* Those far from the curve count less. */
static void lose_weight(struct sd_growth_fitter *t, const struct sd_growth_curve *c)
{
    double far = far_of(t, c), z;

    for (size_t i = 0; i < t->n; i++) {
        struct sd_growth_sample *s = &t->samples[i];

        z = away_from(s, c) * sqrt(s->certainty) / far;
        s->weight = s->certainty / ((1 + z * z) * (1 + z * z));
    }
}

/* `near`: where it has been fitted before, else NULL. */
static struct sd_growth_curve fit_power(struct sd_growth_fitter *t,
                                        const struct sd_growth_curve *near,
                                        struct sd_growth_trial *best)
{
    struct sd_growth_curve c = { .f = SD_GROWTH_POWER, .log_lower = -INFINITY };
    double from = near ? fmax(K_MIN, near->k - 8 * K_STEP) : K_MIN;
    double to = near ? fmin(K_MAX, near->k + 8 * K_STEP) : K_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        struct sd_growth_family powers = { c.f, from, to, K_STEP };

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

    sd_assert(t->n > 0);
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
 * too.
 *
 * Few sizes say nothing of how much they scatter: with one to spare the t distribution
 * allows for anything, of points that are on the curve too.  But how far points are off
 * is known beforehand about as well as a few sizes more would tell it; so these are
 * counted as if they were there, and what the others scatter counts in full. */
static double reach_of(struct sd_growth_fitter *t, double squares, size_t n_parameters)
{
    size_t degrees = t->n_sizes > n_parameters + 1 ? t->n_sizes - n_parameters : 1;
    size_t added = degrees < DEGREES_MIN ? DEGREES_MIN - degrees : 0;
    double sum = squares / mean_weight(t), found = sum / (double)degrees;
    double with = (sum + (double)added) / (double)(degrees + added);
    double alone = student(degrees), helped = student(degrees + added);

    t->scale = fmax(found, SCALE_MIN);
    return squares +
           fmin(t->scale * alone * alone, fmax(t->scale, with) * helped * helped);
}

static void find_interval(struct sd_growth_fitter *t, struct sd_growth *g, double reach)
{
    g->low =
        fmin(end_of_interval(t, g->exponent, K_MIN, reach), g->exponent - HALF_MIN);
    g->high =
        fmax(end_of_interval(t, g->exponent, K_MAX, reach), g->exponent + HALF_MIN);
    sd_assert(g->low < g->exponent && g->exponent < g->high);
}

/* An offset is never below 0, so where there is none chance can only add one, and the
 * exponent with it.  Where curves without an offset do as well the interval therefore
 * has theirs, too. */
static void add_interval_without_offset(struct sd_growth_fitter *t, struct sd_growth *g,
                                        double reach)
{
    const struct sd_growth_family powers = { SD_GROWTH_POWER, K_MIN, K_MAX, K_STEP };
    double scale = t->scale, k;
    struct sd_growth_trial best;

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

/* Points that miss the curve by more than their errors are off by something that many
 * calls do not make less: a first case that is cheaper, what tracing cost.  Without it
 * the small sizes, of which there are many calls, would decide, and the curve might
 * miss the largest, which have the time.  Says whether there is such. */
static bool add_scatter(struct sd_growth_fitter *t, const struct sd_growth_curve *c)
{
    double squares = 0, weights = 0, scatter;

    for (size_t i = 0; i < t->n; i++) {
        const struct sd_growth_sample *s = &t->samples[i];
        double away = away_from(s, c), kept = sqrt(s->weight / s->certainty);

        squares += kept * fmax(away * away - 1 / s->certainty, 0);
        weights += kept;
    }
    scatter = weights > 0 ? squares / weights : 0;
    if (c->k < STEEP_FROM || scatter < SCATTER_MIN * SCATTER_MIN)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        struct sd_growth_sample *s = &t->samples[i];

        s->weight = s->certainty = 1 / (1 / s->certainty + scatter);
    }
    return true;
}

static void find_exponent(struct sd_growth_fitter *t, struct sd_growth *g,
                          struct sd_growth_trial *best)
{
    double reach;

    g->curve = fit_power(t, NULL, best);
    if (add_scatter(t, &g->curve))
        g->curve = fit_power(t, &g->curve, best);
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
    struct sd_growth_trial best;

    t->has_no_offset = true;
    g->exponent = sd_growth_try_family(t, &powers, &best);
    find_interval(t, g, reach_of(t, best.squares, PARAMETERS - 1));
    t->has_no_offset = false;
}

/* --- Classes */

static struct sd_growth_curve curve_of(enum sd_growth_class f, double k,
                                       struct sd_growth_trial one)
{
    return (struct sd_growth_curve){ f, k, one.factor, one.offset, one.lower };
}

/* With an offset above everything any class is constant, and with a large lower term it
 * is that one: what has not taken over at the largest size is no explanation. */
static bool is_seen(const struct sd_growth_fitter *t, enum sd_growth_class f,
                    struct sd_growth_trial one)
{
    double n = t->samples[t->n - 1].n, others = one.offset;

    if (f == SD_GROWTH_CONSTANT)
        return true;
    if (one.lower != -INFINITY)
        others = sd_growth_log_sum(
            others, one.lower + sd_growth_log_of(sd_growth_lower_of(f), 0, n));
    return others < one.factor + sd_growth_log_of(f, 0, n);
}

/* As the exponent of the sizes that were seen, of the upper half of them by their
 * logarithms: of the lower an offset leaves little to see. */
static double slope_of(const struct sd_growth *g, enum sd_growth_class f)
{
    double from = sqrt(g->from * g->to);

    sd_assert(g->from > 0 && g->to > from);
    return (sd_growth_log_of(f, 0, g->to) - sd_growth_log_of(f, 0, from)) /
           log(g->to / from);
}

/* Is it about one of those that the exponent may have?  With a lower term n³ goes
 * through what is n² and a little noise, but then its exponent is far from 3; an honest
 * n² that has one seems to be less, and not by much.  What is constant has any
 * exponent. */
static bool is_near(const struct sd_growth *g, enum sd_growth_class f)
{
    bool has_lower = sd_growth_lower_of(f) != SD_GROWTH_CLASSES;

    return f == SD_GROWTH_CONSTANT ||
           (slope_of(g, f) > g->low - SLOPE_FINE &&
            slope_of(g, f) < g->high + (has_lower ? SLOPE_LOWER : SLOPE_FINE));
}

/* What differs by less between the smallest size and the largest may as well be
 * constant, however well a curve goes through one point that was disturbed. */
static bool is_flat(const struct sd_growth *g)
{
    return fabs(log_at(&g->curve, g->to) - log_at(&g->curve, g->from)) < log(FLAT);
}

/* A little growth, of which two points that are well known miss the curve by more, is
 * as well none: what makes some calls slow comes with any size, but few of them are
 * small.  Of many sizes two are what any machine disturbs: what is missed must be more
 * than what the curve explains of all, if it rises evenly over them. */
static bool is_lost(const struct sd_growth_fitter *t, const struct sd_growth *g)
{
    double growth = fabs(log_at(&g->curve, g->to) - log_at(&g->curve, g->from));
    double missed = 0, explained = (double)t->n * growth * growth / 12;
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        double away = away_from(&t->samples[i], &g->curve);

        if (t->samples[i].measured > KNOWN && fabs(away) > growth) {
            missed += away * away;
            n++;
        }
    }
    return growth < log(LITTLE) && n > 1 && missed > explained;
}

/* Does this curve explain the points, when the best of all has those squares? */
static bool is_possible(const struct sd_growth_fitter *t, const struct sd_growth *g,
                        enum sd_growth_class f, struct sd_growth_trial one, double best)
{
    double fine = MISFIT_FINE * MISFIT_FINE * sum_weights(t);

    if (f == SD_GROWTH_CONSTANT && (is_flat(g) || is_lost(t, g)))
        return true;
    return is_near(g, f) && is_seen(t, f, one) &&
           one.squares <= best + fmax(CHOSEN_BY * t->scale, fine);
}

/* The best curves of a class: of it alone, and with its lower term. */
struct class_curves {
    struct sd_growth_trial plain, both;
};

/* What the interval has is possible, however well something else goes through the
 * points with its lower term; n and n log n in particular are hardly ever told apart by
 * what a cache or a busy machine leaves of a time. */
static void keep_inside(const struct sd_growth_fitter *t, struct sd_growth *g,
                        const struct class_curves *of)
{
    for (enum sd_growth_class f = SD_GROWTH_N; f < SD_GROWTH_EXPONENTIAL; f++)
        if (slope_of(g, f) > g->low && slope_of(g, f) < g->high &&
            is_seen(t, f, of[f].plain))
            g->classes |= 1u << f;
    if (g->classes & 1u << SD_GROWTH_N_ROOT && is_near(g, SD_GROWTH_N_LOG_N))
        g->classes |= 1u << SD_GROWTH_N_LOG_N; /* sorting, and caches that are full */
}

/* Says the squares of the best of them and of those before. */
static double try_classes(const struct sd_growth_fitter *t, const struct sd_growth *g,
                          double best, struct class_curves *out)
{
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        if (!is_near(g, f))
            continue;
        out[f].plain = out[f].both = sd_growth_try(t, f, 0);
        if (sd_growth_lower_of(f) != SD_GROWTH_CLASSES)
            out[f].both = sd_growth_try_lower(t, f);
        if (is_seen(t, f, out[f].both))
            best = fmin(best, out[f].both.squares);
    }
    return best;
}

/* The lower term comes in where a class does not do without it. */
static void find_classes(struct sd_growth_fitter *t, struct sd_growth *g, double best)
{
    struct class_curves of[SD_GROWTH_EXPONENTIAL];
    enum sd_growth_class only;

    best = try_classes(t, g, best, of);
    for (unsigned f = 0; f < SD_GROWTH_EXPONENTIAL; f++) {
        if (!is_near(g, f))
            continue;
        if (!is_possible(t, g, f, of[f].plain, best) &&
            is_possible(t, g, f, of[f].both, best))
            of[f].plain = of[f].both;
        if (is_possible(t, g, f, of[f].plain, best))
            g->classes |= 1u << f;
    }
    keep_inside(t, g, of);
    only = sd_growth_only(g);
    if (only < SD_GROWTH_CLASSES)
        g->curve = curve_of(only, 0, of[only].plain);
}

/* --- What no power describes */

/* The squares of a curve, by no weights that another has made: what is far counts less,
 * but it counts. */
static double loss_of(const struct sd_growth_fitter *t, const struct sd_growth_curve *c,
                      double far)
{
    double sum = 0;

    for (size_t i = 0; i < t->n; i++) {
        double z = away_from(&t->samples[i], c) * sqrt(t->samples[i].certainty) / far;

        sum += far * far * log1p(z * z);
    }
    return sum;
}

static struct sd_growth_curve fit_exponential(struct sd_growth_fitter *t)
{
    double range = t->samples[t->n - 1].n - t->samples[0].n;
    struct sd_growth_family bases = { SD_GROWTH_EXPONENTIAL, RATE_MIN / range,
                                      RATE_MAX / range, RATE_STEP / range };
    struct sd_growth_curve c = { .f = SD_GROWTH_CONSTANT };
    struct sd_growth_trial best;

    for (size_t i = 0; i < t->n; i++)
        t->samples[i].weight = t->samples[i].certainty;
    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0) {
            lose_weight(t, &c);
            bases.from = fmax(RATE_MIN / range, c.k - 2 * bases.step);
            bases.to = fmin(RATE_MAX / range, c.k + 2 * bases.step);
        }
        c.k = sd_growth_try_family(t, &bases, &best);
        c = curve_of(SD_GROWTH_EXPONENTIAL, c.k, best);
    }
    return c;
}

/* Does the curve miss the last of the points, all to one side and so many times over in
 * the mean? */
static bool misses_last(const struct sd_growth_fitter *t,
                        const struct sd_growth_curve *c, size_t n, double times)
{
    double least = INFINITY, most = -INFINITY, sum = 0;

    if (t->n < n)
        return false;
    for (size_t i = t->n - n; i < t->n; i++) {
        double away = away_from(&t->samples[i], c);

        least = fmin(least, away);
        most = fmax(most, away);
        sum += away;
    }
    return (least > 0 || most < 0) && fabs(sum) > (double)n * log(times);
}

/* A curve that misses the largest sizes says nothing of larger ones, however well it
 * goes through the rest.  The fewer they are, the more it may be chance; a single one
 * must be known besides. */
static bool misses_largest(const struct sd_growth_fitter *t,
                           const struct sd_growth_curve *c)
{
    static const double times[END_SIZES] = { 6, 3, 1.5 };

    _Static_assert(sizeof times / sizeof *times == END_SIZES,
                   "one for each number of sizes");
    for (size_t n = END_SIZES; n > 0; n--)
        if ((n > 1 || t->samples[t->n - 1].measured > KNOWN) &&
            misses_last(t, c, n, times[n - 1]))
            return true;
    return false;
}

/* b·(r^n - 1): the exponent of a power that stands for it would only tell where it was
 * measured.  It is the answer when powers clearly are not; and, where time grows a
 * hundredfold, when only one would do that is higher than loops within loops come to,
 * or that misses the largest sizes.
 */
static void try_exponential(struct sd_growth_fitter *t, struct sd_growth *g,
                            const struct sd_growth_curve *power)
{
    struct sd_growth_curve c;
    double far, margin = CHOSEN_BY * t->scale;

    if (g->exponent < 1.5 || t->n_sizes <= SD_GROWTH_SIZES_MIN ||
        log_at(power, g->to) - log_at(power, g->from) < GROWTH_MIN)
        return;
    c = fit_exponential(t);
    far = far_of(t, &c);
    if (log_at(&c, g->to) - log_at(&c, g->from) > log(STEEPEST) &&
        (g->low > POWER_MAX ||
         (misses_largest(t, &g->curve) && !misses_largest(t, &c))))
        margin = -margin;
    if (loss_of(t, &c, far) + margin >=
        fmin(loss_of(t, power, far), loss_of(t, &g->curve, far))) {
        lose_weight(t, &g->curve);
        return;
    }
    g->classes = 1u << SD_GROWTH_EXPONENTIAL;
    g->curve = c;
}

/* --- The whole */

static enum sd_growth_answer answer_for(const struct sd_growth_fitter *t,
                                        const struct sd_growth *g)
{
    double slowest = -INFINITY, quickest = INFINITY, largest = -INFINITY;

    for (size_t i = 0; i < t->n; i++) {
        slowest = fmax(slowest, t->samples[i].y);
        quickest = fmin(quickest, t->samples[i].y);
        if (t->samples[i].n == t->samples[t->n - 1].n)
            largest = fmax(largest, t->samples[i].y);
    }
    if (g->n_sizes <= 1)
        return SD_GROWTH_ONE_SIZE;
    if (g->n_sizes < SD_GROWTH_SIZES_MIN)
        return SD_GROWTH_FEW_SIZES;
    if (exp(largest) < t->errors.shortest_ns)
        return SD_GROWTH_SHORT;
    if (g->to / g->from < RANGE_MIN && exp(slowest - quickest) < STEEP)
        return SD_GROWTH_NARROW;
    return SD_GROWTH_FITTED;
}

/* Is what grows more than what every call costs, by the curve as by the time itself?
 * One alone does not count: a steep curve to one slow size is high before it, too, and
 * a slow call is no growth. */
static bool is_grown(const struct sd_growth_curve *c, const struct sd_growth_sample *s)
{
    return c->log_factor + sd_growth_log_of(c->f, c->k, s->n) > c->log_offset &&
           s->y > c->log_offset + log(GROWN);
}

/* Of several points of one size any may show it. */
static void count_grown(const struct sd_growth_fitter *t, struct sd_growth *g)
{
    double last = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (t->samples[i].n == last || !is_grown(&g->curve, &t->samples[i]))
            continue;
        last = t->samples[i].n;
        g->n_grown++;
    }
}

static void measure_misfit(const struct sd_growth_fitter *t, struct sd_growth *g)
{
    double squares = 0, weights = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct sd_growth_sample *s = &t->samples[i];
        double away = away_from(s, &g->curve);

        squares += s->weight * away * away;
        weights += s->weight;
    }
    g->misfit = weights > 0 ? sqrt(squares / weights) : 0;
}

/* Of all points as they were given: those of one size that differ are not explained by
 * it, which is no longer seen once they are put together. */
static int measure_cost(const struct sd_growth_point *points, size_t n,
                        const struct sd_growth_errors *errors, struct sd_growth *g)
{
    struct sd_growth_fitter all = { .errors = *errors };
    int rc = sd_growth_fitter_take(&all, points, n);

    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        const struct sd_growth_sample *s = &all.samples[i];
        double z = away_from(s, &g->curve) * sqrt(s->measured) / 3;

        g->cost += log1p(z * z) / (double)all.n;
    }
    sd_growth_fitter_release(&all);
    return rc;
}

static bool is_wide(const struct sd_growth *g)
{
    return g->high - g->low > 2 && sd_growth_only(g) != SD_GROWTH_EXPONENTIAL;
}

static bool is_steep(const struct sd_growth *g)
{
    return sd_growth_only(g) == SD_GROWTH_EXPONENTIAL || g->low > POWER_MAX;
}

/* Where one size alone is larger than the rest any class goes through it; and where the
 * best exponent is beyond all classes, the highest of them is named only because there
 * is no higher one. */
static void drop_names(const struct sd_growth_fitter *t, struct sd_growth *g)
{
    g->is_missed = misses_largest(t, &g->curve);
    g->is_thin = (is_steep(g) && g->n_grown < GROWN_MIN) ||
                 (g->exponent > STEEP_FROM && g->n_grown < 2);
    if (g->is_missed || g->is_thin ||
        (is_wide(g) && (g->n_grown < GROWN_MIN || g->exponent > POWER_MAX)))
        g->classes = 0;
}

int sd_growth_fit_with(const struct sd_growth_point *points, size_t n,
                       const struct sd_growth_errors *errors, struct sd_growth *out)
{
    struct sd_growth_fitter t = { .errors = *errors };
    struct sd_growth_trial best;
    struct sd_growth_curve power;
    int rc = sd_growth_fitter_take(&t, points, n);

    *out = (struct sd_growth){ .answer = SD_GROWTH_ONE_SIZE };
    if (rc == 0 && t.n > 0) {
        out->n_sizes = sd_growth_fitter_sizes(&t);
        out->from = t.samples[0].n;
        out->to = t.samples[t.n - 1].n;
        sd_assert(out->from <= out->to && out->n_sizes <= t.n);
        out->answer = answer_for(&t, out);
    }
    if (rc == 0 && out->answer == SD_GROWTH_FITTED) {
        sd_growth_fitter_thin_out(&t);
        t.n_sizes = sd_growth_fitter_known(&t);
        find_exponent(&t, out, &best);
        power = out->curve;
        find_classes(&t, out, best.squares);
        try_exponential(&t, out, &power);
        if (sd_growth_only(out) == SD_GROWTH_CONSTANT)
            find_exponent_of_constant(&t, out);
        measure_misfit(&t, out);
        rc = measure_cost(points, n, errors, out);
        count_grown(&t, out);
        drop_names(&t, out);
    }
    sd_growth_fitter_release(&t);
    return rc;
}

int sd_growth_fit(const struct sd_growth_point *points, size_t n, struct sd_growth *out)
{
    const struct sd_growth_errors traced = { .call_ns = 30, .shortest_ns = 2000 };

    return sd_growth_fit_with(points, n, &traced, out);
}

double sd_growth_at(const struct sd_growth_curve *c, double n)
{
    return exp(log_at(c, n));
}

enum sd_growth_class sd_growth_only(const struct sd_growth *g)
{
    _Static_assert(SD_GROWTH_CLASSES < 32, "a bit for each");
    for (unsigned f = 0; f < SD_GROWTH_CLASSES; f++)
        if (g->classes == 1u << f)
            return f;
    return SD_GROWTH_CLASSES;
}

/* However steep it may be at most: over a decade of sizes, four of which show it, even
 * the lowest exponent is far beyond n log n. */
static bool is_steep_anyway(const struct sd_growth *g)
{
    return g->low > SURELY_FAST && g->n_grown > GROWN_MIN &&
           g->to >= DECADE * g->from && !g->is_missed && !g->is_thin;
}

bool sd_growth_is_fast(const struct sd_growth *g, unsigned degree)
{
    const unsigned slow = (2u << (degree > 1 ? SD_GROWTH_ROOT : SD_GROWTH_N_LOG_N)) - 1;

    if (g->answer != SD_GROWTH_FITTED || g->classes & slow ||
        (is_wide(g) && !is_steep_anyway(g)) || g->n_sizes <= SD_GROWTH_SIZES_MIN ||
        g->n_grown < GROWN_MIN)
        return false;
    return degree > 1 ? g->low * degree > 1.2
                      : g->low > slope_of(g, SD_GROWTH_N_LOG_N) + FAST_BEYOND;
}

bool sd_growth_is_vague(const struct sd_growth *g)
{
    return g->is_missed || g->is_thin || is_wide(g);
}
