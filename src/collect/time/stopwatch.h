/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_TIME_STOPWATCH_H
#define SD_COLLECT_TIME_STOPWATCH_H
/* stopwatch: what is read at the two ends of a batch: the clock, and why the thread may
 * have lost time in between.
 *
 * The clock is read last at the beginning and first at the end, so that none of the
 * rest is in what it tells.  The kernel counts how often it took the thread off its CPU
 * (involuntary switches) and how long the thread then waited for one
 * (/proc/thread-self/schedstat); where it counts instructions, these are read too.
 * What the kernel does not tell is unknown, and never guessed. */
#include <stdbool.h>

#include "capture/time_batch.h"

enum sd_time_clock {
    SD_TIME_WALL, /* CLOCK_MONOTONIC, Python's perf_counter */
    SD_TIME_CPU,  /* the process's CPU time, Python's process_time */
};

struct sd_stopwatch {
    enum sd_time_clock clock;
    int schedstat;    /* descriptor; -1: the kernel does not tell */
    int instructions; /* descriptor of the counter; -1: there is none */
    struct sd_stopwatch_end {
        uint64_t now_ns, at_ns;
        int64_t waited_ns, instructions, switches, sleeps, faults;
    } from;
};

/* For the calling thread. */
void sd_stopwatch_init(struct sd_stopwatch *w, enum sd_time_clock clock);
void sd_stopwatch_release(struct sd_stopwatch *w);

void sd_stopwatch_begin(struct sd_stopwatch *w);
/* Fills all but loops, round and side; adds flags. */
void sd_stopwatch_end(struct sd_stopwatch *w, struct sd_time_batch *b);
#endif
