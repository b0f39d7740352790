/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_TIME_TIME_FIGURES_H
#define SD_ANALYSE_TIME_TIME_FIGURES_H
/* time_figures: what batches of a timed statement say it takes.
 *
 * On a machine that others use too, a process may run at half the speed for its whole
 * life, and within it a batch may take any time that is longer than the true one.  So
 * `best` is the mean of the three processes whose 2 % quantiles are least; a batch in
 * which the thread was taken off its CPU does not count.  Six runs of it differed by
 * 0.3 to 1.1 % where the medians of their batches differed by 5 to 100 %.
 *
 * A statement that is longer than a time slice is always interrupted on a busy machine:
 * there the time that the thread waited for a CPU is taken off, and nothing is dropped.
 *
 * The loop's own time, measured beside, is subtracted. */
#include "profile/time/timing_times.h"

enum { SD_TIME_MODES_MAX = 4, SD_TIME_BINS = 24 };

enum sd_time_cause {
    SD_TIME_BY_PREEMPTION, /* dropped */
    SD_TIME_BY_SLEEP,
    SD_TIME_BY_FAULTS,
    SD_TIME_BY_MACHINE, /* it was slow just then: the loop of speed.h says so */
    SD_TIME_BY_UNKNOWN,
    SD_TIME_CAUSES,
};
const char *sd_time_cause_name(enum sd_time_cause cause); /* "preempted" */

struct sd_time_mode {
    double ns, share;
};

struct sd_time_figures {
    uint64_t loops;
    uint64_t n_batches, n_dropped, n_processes;
    bool has_agreed;  /* there are three, and the least are within 2 % */
    bool had_speed;   /* the machine reached the speed that it is known to have */
    bool is_long;     /* waiting for a CPU was taken off */
    bool is_estimate; /* of a long one the kernel did not tell how long it waited */
    double spread;    /* of the three least, as a part of them with the loop */
    double best_ns;
    double low_ns, high_ns; /* NAN: of one batch */
    double median_ns, mad_ns, loop_ns;
    struct sd_time_mode modes[SD_TIME_MODES_MAX]; /* the fastest first */
    uint32_t n_modes;
    uint64_t outliers[SD_TIME_CAUSES];
    double instructions; /* NAN: not counted */
    /* Batches by their time: from least to most, evenly; the last one has all beyond.
     */
    double bins_from, bins_to;
    uint64_t bins[SD_TIME_BINS];
};

static inline bool sd_time_figures_are_settled(const struct sd_time_figures *f)
{
    return f->has_agreed && f->had_speed;
}

/* SD_EABSENT: there is no batch of it.  SD_ENOMEM. */
int sd_time_figures(const struct sd_timings *t, size_t side,
                    struct sd_time_figures *out);

/* The times of one execution, in ns, of every batch that counts, the loop's taken off,
 * in their order; of batches that were all dropped, those of all.  There is room for as
 * many as there are batches of any kind.  How many. */
size_t sd_time_figures_times(const struct sd_timings *t, size_t side, double *times);

/* The best speed that the machine showed meanwhile, in ticks of the loop of speed.h; 0:
 * not known. */
int64_t sd_time_figures_speed(const struct sd_timings *t);
/* 97.5 % of Student's t distribution. */
double sd_time_figures_student(size_t freedom);
#endif
