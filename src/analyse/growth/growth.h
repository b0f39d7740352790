/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_GROWTH_GROWTH_H
#define SD_ANALYSE_GROWTH_GROWTH_H
/* growth: fits how time grows with size, from times at several sizes.
 *
 * The model is time = c + b·n^k.  Without the constant c, which every call costs, small
 * sizes would flatten k.  It is fitted to the logarithm of time, so that every size
 * counts by its relative error: each point is taken to be off by 5 %, by 30 ns
 * (traced), and by 25 % over the root of its calls.  Points far from the rest lose
 * weight step by step (as under a Cauchy distribution), since a machine that does other
 * things makes some calls slow and none fast.
 *
 * The interval of k holds every exponent whose best curve (with whatever c and b suit
 * it) fits almost as well as the best of all: the profile likelihood, cut where the
 * t distribution has 95 %.  The scale is the scatter around the best curve; few sizes
 * make it wide, and so does a range in which c could be anything; but where there are
 * fewer than seven, the errors above stand for those that are missing.  A scatter that
 * is smaller than the errors above by chance is not believed below a third of them, and
 * no interval is narrower than 0.02 to either side.  Where curves without an offset do
 * as well it has their interval, too.  In 95 of 100 cases, then, the exponent is in it:
 * of made-up points with noise, 93 to 100.
 *
 * The first call of all finds nothing warm, so the size that has it counts by as much
 * less as one call of several may be off by 20 µs.  Where points of what may be steep
 * scatter by more than their errors, that scatter is added to the error of each: else
 * the many calls of small sizes would outweigh the few large ones that have the time.
 *
 * A class (n, n log n, n², ...) is possible when its power is in the interval or within
 * 0.15 of it (0.35 above it where there is a lower term), its own best curve fits
 * almost as well as the best (within 99 %) or misses the points by 10 % more, which is
 * what caches do to an honest n, and its first term is most of the time at the largest
 * size.  What the data do not decide has several classes.  A curve that misses the
 * three largest sizes, all to one side and by half of their time in the mean, or two
 * of them threefold, or the largest sixfold, has no name and no forecast.  Nor has
 * what is steeper than loops within loops and rests on one or two sizes: a single slow
 * call among the largest looks so; nor a wide interval that goes on beyond all classes.
 *
 * Nothing here is random: the same points give the same answer. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct sd_growth_point {
    double n;      /* size; below 1 it does not count */
    double ns;     /* time of one call; 0 or less does not count */
    double calls;  /* that it is the mean of */
    bool is_first; /* one of them was the first of all: nothing was warm yet */
};

/* By how fast they grow.  They stand in JSON by their names. */
enum sd_growth_class {
    SD_GROWTH_CONSTANT,
    SD_GROWTH_LOG,
    SD_GROWTH_ROOT,
    SD_GROWTH_N,
    SD_GROWTH_N_LOG_N,
    SD_GROWTH_N_ROOT, /* n^1.5 */
    SD_GROWTH_N2,
    SD_GROWTH_N3,
    SD_GROWTH_N4,
    SD_GROWTH_EXPONENTIAL,
    SD_GROWTH_CLASSES,
    SD_GROWTH_POWER = SD_GROWTH_CLASSES, /* n^k: of curves */
};

/* time = offset + factor · f(n), f a class or a power; loops within loops have a lower
 * term besides, n of n log n and n², n² of n³. */
struct sd_growth_curve {
    enum sd_growth_class f;
    double k; /* of a power; of the exponential the logarithm of its base */
    double log_factor, log_offset, log_lower; /* natural, of ns; -INFINITY: none */
};

enum sd_growth_answer {
    SD_GROWTH_FITTED,
    SD_GROWTH_ONE_SIZE,
    SD_GROWTH_FEW_SIZES,
    SD_GROWTH_NARROW, /* the largest size is too near the smallest */
    SD_GROWTH_SHORT,  /* calls take too little time to be told apart from tracing */
    SD_GROWTH_LITTLE, /* all of them together have less than SD_GROWTH_SHARE_MIN */
};
enum { SD_GROWTH_SIZES_MIN = 4 };  /* that are needed */
#define SD_GROWTH_SHARE_MIN 0.0005 /* of all time: with less nobody asks */

struct sd_growth {
    enum sd_growth_answer answer; /* unless FITTED only sizes are filled */
    size_t n_sizes;
    double from, to;            /* sizes */
    double exponent, low, high; /* with its interval of 95 % */
    unsigned classes;           /* 1 << class: those that are possible; 0: none fits */
    struct sd_growth_curve curve; /* of the one class, else the power */
    size_t n_grown; /* sizes at which what grows is more than what every call costs */
    bool is_missed; /* by the curve: the largest sizes; then it says nothing */
    bool is_thin;   /* steep by one or two sizes alone: it says nothing, either */
    double misfit;  /* root of the mean square, of logarithms */
    double cost;    /* mean loss of a point: compares explanations by different sizes */
};

/* How exact the times are. */
struct sd_growth_errors {
    double call_ns;     /* a call is off by so much */
    double shortest_ns; /* less at the largest size says nothing */
};

/* Reads the points in any order.  0 or SD_ENOMEM. */
int sd_growth_fit_with(const struct sd_growth_point *points, size_t n,
                       const struct sd_growth_errors *errors, struct sd_growth *out);
/* The same of traced calls. */
int sd_growth_fit(const struct sd_growth_point *points, size_t n,
                  struct sd_growth *out);
/* What the curve says of this size, in ns. */
double sd_growth_at(const struct sd_growth_curve *c, double n);
/* The one possible class, or SD_GROWTH_CLASSES. */
enum sd_growth_class sd_growth_only(const struct sd_growth *g);
/* Surely faster than linear: the lowest exponent is above that of n log n by 0.15,
 * neither n nor n log n would do, three sizes or more show it, and the interval is not
 * wide, or has nothing below 1.6 and four sizes of a decade show it.  `degree` 2: n is
 * the product of two sizes, and both grow. */
bool sd_growth_is_fast(const struct sd_growth *g, unsigned degree);
/* The interval is so wide, or the curve so little of an explanation, that no forecast
 * is worth its name. */
bool sd_growth_is_vague(const struct sd_growth *g);
/* "n²", "n to n log n", "about n^1.3", "exponential: ×1.62 with each 1", or why
 * there is none: "3 sizes are too few". */
void sd_growth_words(struct sd_buf *to, const struct sd_growth *g);
#endif
