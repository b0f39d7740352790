/* SPDX-License-Identifier: MIT */
#include "collect/time/stopwatch.h"

#include <time.h>

#include "base/test.h"

/* It did not run meanwhile, because it did not want to. */
TEST(stopwatch_takes_a_sleep_for_no_preemption)
{
    const struct timespec two_ms = { .tv_nsec = 2000000 };
    struct sd_stopwatch w;
    unsigned n_calm = 0;

    sd_stopwatch_init(&w, SD_TIME_WALL);
    for (int i = 0; i < 50; i++) {
        struct sd_time_batch b = { 0 };

        sd_stopwatch_begin(&w);
        nanosleep(&two_ms, NULL);
        sd_stopwatch_end(&w, &b);
        CHECK(b.took_ns >= 2000000 && b.flags & SD_TIME_SLEPT && b.speed > 0);
        n_calm += !(b.flags & SD_TIME_PREEMPTED);
    }
    sd_stopwatch_release(&w);
    CHECK(n_calm >= 25);
}

TEST(stopwatch_of_cpu_time_does_not_count_a_sleep)
{
    const struct timespec twenty_ms = { .tv_nsec = 20000000 };
    struct sd_time_batch b = { 0 };
    struct sd_stopwatch w;

    sd_stopwatch_init(&w, SD_TIME_CPU);
    sd_stopwatch_begin(&w);
    nanosleep(&twenty_ms, NULL);
    sd_stopwatch_end(&w, &b);
    sd_stopwatch_release(&w);
    CHECK(b.took_ns < 10000000);
}
