/* SPDX-License-Identifier: MIT */
#include "collect/sample/pace.h"

#include "base/test.h"

TEST(pace_intervals_are_exponential_around_the_period)
{
    enum { N = 20000, PERIOD = 1000000 };
    struct sd_pace p;
    uint64_t last = 5, n_short = 0, n_long = 0;
    int i;

    sd_pace_init(&p, PERIOD, last, 12345);
    for (i = 0; i < N; i++) {
        uint64_t gap;

        CHECK(sd_pace_step(&p, last) == 0);
        gap = p.next_ns - last;
        n_short += gap < PERIOD / 10; /* 1 - exp(-0.1) = 9.52 % */
        n_long += gap > 2 * PERIOD;   /* exp(-2) = 13.53 % */
        last = p.next_ns;
    }
    CHECK(last > (uint64_t)N * PERIOD * 97 / 100);
    CHECK(last < (uint64_t)N * PERIOD * 103 / 100);
    CHECK(n_short > N * 85 / 1000 && n_short < N * 105 / 1000);
    CHECK(n_long > N * 125 / 1000 && n_long < N * 146 / 1000);
}

TEST(pace_that_is_slowed_counts_the_rounds_it_leaves_out)
{
    enum { N = 4000, PERIOD = 1000000 };
    struct sd_pace p;
    int i;

    sd_pace_init(&p, PERIOD, 0, 12345);
    for (i = 0; i < N; i++) {
        CHECK(sd_pace_step(&p, p.next_ns) == 0);
        sd_pace_slow(&p, (uint64_t)PERIOD * (i < N / 2 ? 1 : 5));
    }
    /* the first half took 2,000 periods, the second one 10,000 */
    CHECK(p.next_ns > 11400ull * PERIOD && p.next_ns < 12600ull * PERIOD);
    CHECK(sd_pace_put_off(&p) > 7600 && sd_pace_put_off(&p) < 8400);
}

TEST(pace_of_one_seed_is_the_same_again)
{
    struct sd_pace a, b;
    int i;

    sd_pace_init(&a, 1000, 0, 7);
    sd_pace_init(&b, 1000, 0, 7);
    for (i = 0; i < 100; i++) {
        sd_pace_step(&a, 0);
        sd_pace_step(&b, 0);
        CHECK(a.next_ns == b.next_ns);
    }
}

TEST(pace_counts_the_rounds_it_was_too_late_for_and_makes_the_last)
{
    struct sd_pace p;
    uint64_t missed;

    sd_pace_init(&p, 1000, 0, 99);
    missed = sd_pace_step(&p, 1000000);
    CHECK(missed > 850 && missed < 1150);
    CHECK(p.next_ns < 1000000); /* late, and due at once */
    missed = sd_pace_step(&p, 1000000);
    CHECK(missed == 0 && p.next_ns >= 1000000);
}

/* A machine that slept for a day at 100 kHz: nobody draws 8.6 billion intervals. */
TEST(pace_counts_a_long_sleep_at_once)
{
    const uint64_t day_ns = (uint64_t)86400 * 1000000000u;
    struct sd_pace p;
    uint64_t missed;

    sd_pace_init(&p, 10000, 0, 99);
    missed = sd_pace_step(&p, day_ns);
    CHECK(missed > day_ns / 10000 - 1000 && missed < day_ns / 10000 + 1000);
    CHECK(p.next_ns < day_ns && p.after_ns >= day_ns);
    CHECK(sd_pace_step(&p, day_ns) == 0 && p.after_ns < day_ns + 1000000);
}
