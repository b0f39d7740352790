/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/test.h"

TEST(the_monotonic_clock_never_goes_back)
{
    uint64_t last = sd_clock_ns();

    for (int i = 0; i < 1000; i++) {
        uint64_t now = sd_clock_ns();

        CHECK(now >= last);
        last = now;
    }
}

TEST(cpu_time_passes_with_work_and_not_with_sleep)
{
    const struct timespec nap = { 0, 30000000 };
    uint64_t wall = sd_clock_ns(), thread = sd_clock_thread_cpu_ns();

    nanosleep(&nap, NULL);
    CHECK(sd_clock_ns() - wall >= 30000000);
    CHECK(sd_clock_thread_cpu_ns() - thread < 15000000);
    while (sd_clock_thread_cpu_ns() - thread < 15000000)
        ;
    CHECK(sd_clock_process_cpu_ns() >= sd_clock_thread_cpu_ns() - thread);
}

TEST(the_real_clock_knows_which_century_it_is)
{
    CHECK(sd_clock_real_ns() / 1000000000 > 1600000000);
}
