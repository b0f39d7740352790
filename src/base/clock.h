/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_CLOCK_H
#define SD_BASE_CLOCK_H
/* clock: reads clocks.  Durations come from CLOCK_MONOTONIC, which no administrator can
 * step.  CLOCK_REALTIME is read once per capture, to say on which day it was made. */
#include <stdint.h>
#include <time.h>

static inline uint64_t sd_clock_read(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t sd_clock_ns(void) { return sd_clock_read(CLOCK_MONOTONIC); }
static inline uint64_t sd_clock_real_ns(void) { return sd_clock_read(CLOCK_REALTIME); }
static inline uint64_t sd_clock_thread_cpu_ns(void)
{
    return sd_clock_read(CLOCK_THREAD_CPUTIME_ID);
}
static inline uint64_t sd_clock_process_cpu_ns(void)
{
    return sd_clock_read(CLOCK_PROCESS_CPUTIME_ID);
}
#endif
