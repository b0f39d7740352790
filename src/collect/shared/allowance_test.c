/* SPDX-License-Identifier: MIT */
#include "collect/shared/allowance.h"

#include "base/test.h"

#define MS 1000000ull

/* Readings of that cost at that interval, put off as the allowance says. */
struct readings {
    struct sd_allowance allowance;
    uint64_t now_ns, spent_ns;
    unsigned n, n_put_off;
};

static void begin(struct readings *r)
{
    *r = (struct readings){ .now_ns = 5 };
    sd_allowance_begin(&r->allowance, 200, 5 * MS, r->now_ns, r->spent_ns);
}

static void read_for(struct readings *r, uint64_t ns, uint64_t cost_ns)
{
    uint64_t end_ns = r->now_ns + ns;

    while (r->now_ns < end_ns) {
        uint64_t wait_ns;

        r->spent_ns += cost_ns;
        wait_ns = sd_allowance_wait_ns(&r->allowance, r->now_ns, r->spent_ns);
        r->n++;
        r->n_put_off += wait_ns > 10 * MS;
        r->now_ns += wait_ns > 10 * MS ? wait_ns : 10 * MS;
    }
}

TEST(allowance_lets_cheap_readings_go)
{
    struct readings r;

    begin(&r);
    read_for(&r, 10000u * MS, 40000);
    CHECK(r.n == 1000 && r.n_put_off == 0);
}

TEST(allowance_holds_dear_readings_to_a_two_hundredth)
{
    struct readings r;

    begin(&r);
    read_for(&r, 60000u * MS, 300000);
    CHECK(r.spent_ns <= 60000u * MS / 200 + 300000);
    CHECK(r.spent_ns >= 60000u * MS / 200 - 300000);
    CHECK(r.n_put_off > 900);
}

TEST(allowance_has_what_it_lent_paid_back_within_seconds)
{
    struct readings r;

    begin(&r);
    read_for(&r, 1000 * MS, 300000);
    CHECK(r.spent_ns <= 1000 * MS / 400 + 5 * MS + 300000);
    read_for(&r, 2000 * MS, 300000);
    CHECK(r.spent_ns <= 3000 * MS / 200 + 300000);
}

TEST(allowance_lets_a_short_program_be_read_at_its_interval)
{
    struct readings r;

    begin(&r);
    read_for(&r, 200 * MS, 200000);
    CHECK(r.n == 20 && r.n_put_off == 0);
}

TEST(allowance_waits_a_second_at_most_and_forgets_the_rest)
{
    struct readings r;

    begin(&r);
    r.spent_ns += 800 * MS;
    CHECK(sd_allowance_wait_ns(&r.allowance, r.now_ns, r.spent_ns) == 1000 * MS);
    r.now_ns += 1000 * MS;
    CHECK(sd_allowance_wait_ns(&r.allowance, r.now_ns, r.spent_ns) == 0);
}

TEST(allowance_spares_no_more_than_some_milliseconds)
{
    struct readings r;

    begin(&r);
    read_for(&r, 3600000 * MS, 1000);
    r.n = r.n_put_off = 0;
    read_for(&r, 10000u * MS, 300000);
    CHECK(r.n_put_off > 100);
}

/* Looks of that cost at that period, made longer as the allowance says. */
static void look_for(struct readings *r, uint64_t ns, uint64_t cost_ns)
{
    uint64_t end_ns = r->now_ns + ns;

    for (r->n = 0; r->now_ns < end_ns; r->n++) {
        r->spent_ns += cost_ns;
        r->now_ns +=
            sd_allowance_period_ns(&r->allowance, 5 * MS, r->now_ns, r->spent_ns);
    }
}

TEST(allowance_leaves_the_period_of_cheap_looks)
{
    struct readings r;

    begin(&r);
    look_for(&r, 10000u * MS, 20000);
    CHECK(r.n == 2000);
}

TEST(allowance_makes_the_period_of_dear_looks_longer_until_they_cost_the_share)
{
    struct readings r;

    begin(&r);
    look_for(&r, 20000u * MS, 125000); /* 25 ms for each would be a two-hundredth */
    CHECK(r.spent_ns < 20000u * MS / 200 + 3 * MS); /* nothing stays owed */
    look_for(&r, 60000u * MS, 125000);
    CHECK(r.n > 2350 && r.n < 2450);
}

TEST(allowance_makes_a_period_twenty_times_as_long_at_most)
{
    struct readings r;

    begin(&r);
    r.spent_ns += 800 * MS;
    CHECK(sd_allowance_period_ns(&r.allowance, 5 * MS, r.now_ns, r.spent_ns) ==
          100 * MS);
    r.now_ns += (19u + 5 + 3) * 200 * MS; /* owed, lent and a little spared */
    CHECK(sd_allowance_period_ns(&r.allowance, 5 * MS, r.now_ns, r.spent_ns) == 5 * MS);
}
