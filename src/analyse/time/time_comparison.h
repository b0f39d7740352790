/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_TIME_TIME_COMPARISON_H
#define SD_ANALYSE_TIME_TIME_COMPARISON_H
/* time_comparison: how many times as long one statement takes as another.
 *
 * Both are measured in turn, so that what slows the machine down slows both.  Each
 * round gives the logarithm of a ratio; a process gives the mean of the medians of its
 * blocks of rounds, and the interval is over processes, because two copies of one
 * statement differ between processes (by 2.8 %, for `x+1`) more than within one. */
#include "analyse/time/time_figures.h"

enum sd_time_verdict {
    SD_TIME_SLOWER,
    SD_TIME_FASTER,
    SD_TIME_SAME,
    SD_TIME_CANNOT_TELL,
};
const char *sd_time_verdict_name(enum sd_time_verdict v); /* "cannot tell" */

struct sd_time_comparison {
    double ratio, low, high; /* with 95 %; NAN: nothing can be said */
    enum sd_time_verdict verdict;
    double more; /* of a verdict that cannot be: so many times the budget would do */
};

/* Of `side` by `against`. */
int sd_time_comparison(const struct sd_timings *t, size_t side, size_t against,
                       struct sd_time_comparison *out);
#endif
