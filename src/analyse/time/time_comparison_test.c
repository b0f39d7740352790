/* SPDX-License-Identifier: MIT */
#include "analyse/time/time_comparison.h"

#include <math.h>

#include "analyse/time/timings_testing.h"
#include "base/error.h"

enum { PROCESSES = 10, ROUNDS = 60 };

/* Two statements as a shared machine times them: processes run at any speed, which
 * changes meanwhile for both; two copies of a statement differ between processes by
 * 2.8 %. */
static struct sd_time_comparison compared(struct sd_timings_maker *m, double ratio,
                                          double differs)
{
    struct sd_time_comparison c;

    m->t = (struct sd_timings){ 0 };
    sd_timings_make_side(m, "a");
    sd_timings_make_side(m, "b");
    for (uint32_t i = 0; i < PROCESSES; i++) {
        double slowness = sd_timings_draw(m) < 0.3 ? 2 : 1;
        double copy = 1 + differs * sd_timings_draw_normal(m);

        CHECK(sd_timings_add_process(&m->t, 100 + i, 1, i) == 0);
        for (int64_t round = 0; round < ROUNDS; round++) {
            double now = slowness * (1 + 0.5 * (sd_timings_draw(m) < 0.1));

            sd_timings_make_round(m, 0, round, 1000 * ratio * copy, now);
            sd_timings_make_round(m, 1, round, 1000, now);
        }
    }
    CHECK(sd_time_comparison(&m->t, 0, 1, &c) == 0);
    sd_timings_release(&m->t);
    return c;
}

static struct sd_timings_maker fresh(void)
{
    return (struct sd_timings_maker){ .random = 88172645463325252ull,
                                      .loop_ns = 6,
                                      .loops = 100 };
}

TEST(time_comparison_finds_what_is_five_and_ten_percent_slower)
{
    struct sd_timings_maker m = fresh();
    unsigned held = 0;

    for (int i = 0; i < 100; i++) {
        double ratio = i % 2 ? 1.05 : 1.10;
        struct sd_time_comparison c = compared(&m, ratio, 0.005);

        CHECK(c.verdict == SD_TIME_SLOWER);
        held += c.low <= ratio && ratio <= c.high;
        c = compared(&m, 1 / ratio, 0.005);
        CHECK(c.verdict == SD_TIME_FASTER);
    }
    CHECK(held >= 89); /* of 100, where 95 are expected */
}

TEST(time_comparison_of_a_statement_with_itself_is_rarely_wrong)
{
    struct sd_timings_maker m = fresh();
    unsigned wrong = 0, same = 0;

    for (int i = 0; i < 200; i++) {
        struct sd_time_comparison c = compared(&m, 1, i % 2 ? 0.028 : 0.005);

        wrong += c.verdict == SD_TIME_SLOWER || c.verdict == SD_TIME_FASTER;
        same += c.verdict == SD_TIME_SAME;
        if (c.verdict == SD_TIME_CANNOT_TELL)
            CHECK(c.more >= 1.5);
    }
    CHECK(wrong <= 10); /* one in twenty */
    CHECK(same >= 95);
}

TEST(time_comparison_of_nothing_but_the_loop_cannot_tell)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_comparison c;

    sd_timings_make_side(&m, "pass");
    sd_timings_make_side(&m, "pass");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    for (int64_t i = 0; i < 20; i++) {
        sd_timings_make_round(&m, 0, i, 0, 1);
        sd_timings_make_round(&m, 1, i, 0, 1);
    }
    m.loop_ns = 0;
    CHECK(sd_time_comparison(&m.t, 0, 1, &c) == 0);
    CHECK(c.verdict == SD_TIME_CANNOT_TELL);
    sd_timings_release(&m.t);
}

TEST(time_comparison_with_what_is_often_within_the_loop_cannot_tell)
{
    struct sd_timings_maker m = fresh();
    struct sd_time_comparison c;

    m.t = (struct sd_timings){ 0 };
    sd_timings_make_side(&m, "a");
    sd_timings_make_side(&m, "b");
    for (uint32_t i = 0; i < PROCESSES; i++) {
        CHECK(sd_timings_add_process(&m.t, 100 + i, 1, i) == 0);
        for (int64_t round = 0; round < ROUNDS; round++) {
            sd_timings_make_round(&m, 0, round, 4, 1);
            sd_timings_make_round(&m, 1, round, round % 2 ? 0.5 : 0, 1);
        }
    }
    CHECK(sd_time_comparison(&m.t, 0, 1, &c) == 0);
    CHECK(c.verdict == SD_TIME_CANNOT_TELL && isnan(c.ratio) && isnan(c.low));
    sd_timings_release(&m.t);
}

TEST(time_comparison_survives_every_failed_allocation)
{
    struct sd_timings_maker m = fresh();

    sd_timings_make_side(&m, "a");
    sd_timings_make_side(&m, "b");
    CHECK(sd_timings_add_process(&m.t, 100, 1, 0) == 0);
    for (int64_t i = 0; i < 20; i++) {
        sd_timings_make_round(&m, 0, i, 200, 1);
        sd_timings_make_round(&m, 1, i, 100, 1);
    }
    EACH_FAILURE(nth)
    {
        struct sd_time_comparison c;
        int rc = sd_time_comparison(&m.t, 0, 1, &c);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            CHECK(c.verdict == SD_TIME_SLOWER && fabs(c.ratio - 2) < 0.05);
    }
    sd_timings_release(&m.t);
}
