/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_GROWTH_GROWTH_FIT_H
#define SD_ANALYSE_GROWTH_GROWTH_FIT_H
/* growth_fit: finds the best curve of a kind through points (growth.h).
 *
 * Everything is tried, nothing is solved: offsets on a grid, then finer by parabolas,
 * and around that the lower term or the parameter in the same way.  The factor alone is
 * a mean. */
#include "analyse/growth/growth.h"

struct sd_growth_sample {
    double n, x, y;   /* size, its logarithm, that of the time */
    double certainty; /* 1 by the square of its error */
    double measured;  /* the same, before anything was added to the error */
    double weight;    /* certainty, less what is lost by being far away */
};

struct sd_growth_fitter {             /* without memory it is a released one */
    struct sd_growth_errors errors;   /* set before points are taken */
    struct sd_growth_sample *samples; /* owned; by size */
    size_t n;
    size_t n_sizes; /* different ones among them that are known */
    double *f;      /* owned; the logarithm of f(n) of the curve that is tried */
    double *parts;  /* owned; f(n) itself, as part of that of the largest size */
    double *away;   /* owned; of each point from the curve */
    double scale;   /* of the squares */
    bool has_no_offset;
};

/* The best curve of one f. */
struct sd_growth_trial {
    double squares, factor, offset, lower; /* the latter three as logarithms */
};

/* f's with a parameter, in a range. */
struct sd_growth_family {
    enum sd_growth_class f;
    double from, to, step;
};

/* Reads what can be fitted of the points.  0 or SD_ENOMEM; released in either case. */
int sd_growth_fitter_take(struct sd_growth_fitter *t,
                          const struct sd_growth_point *points, size_t n);
void sd_growth_fitter_release(struct sd_growth_fitter *t);
/* Too many points only cost time: those in one of many equal steps become one. */
void sd_growth_fitter_thin_out(struct sd_growth_fitter *t);
size_t sd_growth_fitter_sizes(const struct sd_growth_fitter *t);
/* Those that say more than that they were seen. */
size_t sd_growth_fitter_known(const struct sd_growth_fitter *t);

/* The logarithm of e^a + e^b. */
double sd_growth_log_sum(double a, double b);
/* That of f(n). */
double sd_growth_log_of(enum sd_growth_class f, double k, double n);
/* What a loop inside of a loop costs by itself; SD_GROWTH_CLASSES: nothing. */
enum sd_growth_class sd_growth_lower_of(enum sd_growth_class f);

struct sd_growth_trial sd_growth_try(const struct sd_growth_fitter *t,
                                     enum sd_growth_class f, double k);
/* Of a class that has one: with its lower term. */
struct sd_growth_trial sd_growth_try_lower(const struct sd_growth_fitter *t,
                                           enum sd_growth_class f);
/* The best parameter, and its curve. */
double sd_growth_try_family(const struct sd_growth_fitter *t,
                            const struct sd_growth_family *of,
                            struct sd_growth_trial *best);
#endif
