/* SPDX-License-Identifier: MIT */
/* rss_read: CPU nanoseconds of one reading of a process's own memory, as `sections` and
 * `rss` read it: kept-open descriptor, checked before each use, parsed in C.
 *
 *     rss_read ROUNDS      prints one line per round: RSS and VMS, then the peak too */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "process/usage.h"

enum { READINGS = 20000 };

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double per_reading(struct sd_usage_reader *r, unsigned what)
{
    struct sd_usage u;
    double start = now_ns();

    for (int i = 0; i < READINGS; i++)
        if (sd_usage_read(r, what, &u) < 0 || u.rss_bytes <= 0)
            exit(1);
    return (now_ns() - start) / READINGS;
}

int main(int argc, char **argv)
{
    struct sd_usage_reader r;
    int n_rounds = argc > 1 ? atoi(argv[1]) : 5;

    sd_usage_init(&r, 0);
    for (int i = 0; i < n_rounds; i++) {
        double memory = per_reading(&r, SD_USAGE_MEMORY);
        double with_peak = per_reading(&r, SD_USAGE_MEMORY | SD_USAGE_PEAK);
        printf("%.1f %.1f\n", memory, with_peak);
    }
    sd_usage_release(&r);
    return 0;
}
