/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "analyse/time/time_figures.h"
#include "base/test.h"

enum { LOOPS = 10 };

static void add(struct sd_timings *t, int64_t side, int64_t each_ns, int64_t flags)
{
    const struct sd_time_batch b = { .took_ns = each_ns * LOOPS,
                                     .waited_ns = 0,
                                     .instructions = SD_TIME_UNKNOWN,
                                     .loops = LOOPS,
                                     .speed = 100,
                                     .side = side,
                                     .flags = flags };

    CHECK(sd_timings_add_batch(t, &b) == 0);
}

static void two_sides(struct sd_timings *t)
{
    const struct sd_timing_side side = { .n = NAN,
                                         .allocated_bytes = SD_TIME_UNKNOWN,
                                         .peak_bytes = SD_TIME_UNKNOWN };

    *t = (struct sd_timings){ 0 };
    for (int i = 0; i < 2; i++)
        CHECK(sd_timings_add_side(t, &side) == 0);
    CHECK(sd_timings_add_process(t, 1, 0, 0) == 0);
}

TEST(time_figures_times_are_of_batches_that_count_less_the_loop)
{
    struct sd_timings t;
    double times[16];

    two_sides(&t);
    add(&t, 0, 900, SD_TIME_WARM_UP);
    add(&t, 0, 3, SD_TIME_EMPTY);
    add(&t, 0, 50, 0);
    add(&t, 1, 70, 0);
    add(&t, 0, 400, SD_TIME_PREEMPTED);
    add(&t, 0, 45, SD_TIME_SLEPT);
    CHECK(sd_time_figures_times(&t, 0, times) == 2);
    CHECK(fabs(times[0] - 47) < 1e-9 && fabs(times[1] - 42) < 1e-9);
    CHECK(sd_time_figures_times(&t, 1, times) == 1);
    CHECK(fabs(times[0] - 70) < 1e-9);
    sd_timings_release(&t);
}

TEST(time_figures_times_of_dropped_batches_alone_are_all_of_them)
{
    struct sd_timings t;
    double times[16];

    two_sides(&t);
    add(&t, 0, 50, SD_TIME_PREEMPTED);
    add(&t, 0, 60, SD_TIME_PREEMPTED);
    CHECK(sd_time_figures_times(&t, 0, times) == 2);
    CHECK(fabs(times[0] - 50) < 1e-9 && fabs(times[1] - 60) < 1e-9);
    CHECK(sd_time_figures_times(&t, 1, times) == 0);
    sd_timings_release(&t);
}
