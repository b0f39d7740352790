/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_TIME_TIMING_TIMES_H
#define SD_PROFILE_TIME_TIMING_TIMES_H
/* timing_times: which batches of a statement count, and what one execution took in
 * them: the one rule of figures, comparisons and files. */
#include "profile/time/timings.h"

/* Of one statement, in all processes. */
struct sd_timing_rule {
    size_t side;
    bool is_long;  /* longer than a time slice: waiting is taken off, nothing dropped */
    bool has_loop; /* the next is known */
    double loop_ns; /* of all processes: for those that had no time to measure it */
};
struct sd_timing_rule sd_timing_times_rule(const struct sd_timings *t, size_t side);

/* The times of one execution in that process, in the order of the batches, the loop's
 * not yet taken off, and the batches (or NULL).  `times` has room for as many as there
 * are batches of any kind that it does not hold yet. */
struct sd_timing_times {
    double loop_ns; /* of one turn of the loop alone */
    bool is_estimate;
    size_t n, n_dropped;
};
struct sd_timing_times sd_timing_times_of(const struct sd_timings *t,
                                          struct sd_timing_rule *rule,
                                          const struct sd_timing_process *p,
                                          double *times,
                                          const struct sd_time_batch **of);

/* Is it a batch of the statement, or of the loop alone beside it? */
bool sd_timing_times_has(const struct sd_time_batch *b, size_t side, bool is_empty);
/* The value below which a part of `sorted` lies; between two of them by their
 * distance. */
double sd_timing_times_quantile(const double *sorted, size_t n, double part);
void sd_timing_times_sort(double *values, size_t n);
/* The 2 % quantile; of few the least. */
double sd_timing_times_low(const double *sorted, size_t n);
#endif
