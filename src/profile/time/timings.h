/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_TIME_TIMINGS_H
#define SD_PROFILE_TIME_TIMINGS_H
/* timings: the batches of timed statements, process by process, as they were measured.
 *
 * A capture holds them as points, and facts that say what the statements are; `sonde
 * time` and the extension fill them straight from what they measured. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "capture/time_batch.h"

struct sd_timing_side {
    const char *statement, *setup;
    const char *python; /* the interpreter's path, or "" */
    double n;           /* the size that it was given; NAN: none */
    /* What one execution allocates, in all and at its peak; SD_TIME_UNKNOWN. */
    int64_t allocated_bytes, peak_bytes;
};

struct sd_timing_process {
    uint64_t pid, start_ticks;
    uint32_t set;    /* processes of one set measured in turn, at the same time */
    size_t first, n; /* which of the batches are its own */
};

struct sd_timings {               /* all zero is an empty one */
    struct sd_arena arena;        /* has the texts */
    struct sd_timing_side *sides; /* owned */
    size_t n_sides, cap_sides;
    struct sd_timing_process *processes; /* owned */
    size_t n_processes, cap_processes;
    struct sd_time_batch *batches; /* owned; those of a process are together */
    size_t n_batches, cap_batches;
    bool is_as_timeit;     /* so many batches of so many turns were asked for */
    bool is_cpu_time;      /* the clock is the CPU time of the process */
    bool is_of_pythons;    /* interpreters are compared, not statements */
    const char *size_name; /* what n is called; or NULL */
    int64_t best_speed; /* the fewest ticks of the loop that this machine ever showed;
                           0: not known */
    uint64_t budget_ns; /* for each statement; 0: none */
};

/* Texts are copied; NULL is "".  0 or SD_ENOMEM. */
int sd_timings_add_side(struct sd_timings *t, const struct sd_timing_side *side);
int sd_timings_add_process(struct sd_timings *t, uint64_t pid, uint64_t start_ticks,
                           uint32_t set);
/* To the process that was added last. */
int sd_timings_add_batch(struct sd_timings *t, const struct sd_time_batch *b);
/* Batches of statements that are not there go. */
void sd_timings_drop_unknown(struct sd_timings *t);
void sd_timings_release(struct sd_timings *t);
#endif
