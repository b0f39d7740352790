/* SPDX-License-Identifier: MIT */
#include "collect/shared/bouts.h"

#include "base/test.h"

enum { LOOP = 1500, CALLS = 40000, PLAIN = 20000, STEP = 100000 };

/* A machine whose speed the test sets: when it is slow, the loop takes 1.4 times as
 * long and calls 1.8 times. */
static struct {
    uint64_t ticks;
    bool is_slow;
} core;

static uint64_t core_loop(void)
{
    uint64_t took = core.is_slow ? LOOP * 14 / 10 : LOOP;

    core.ticks += 3 * took;
    return took;
}

static uint64_t core_now(void) { return core.ticks; }

static const struct sd_bouts_machine made_up = { core_loop, core_now };

static void begin(struct sd_bouts *b)
{
    *b = (struct sd_bouts){ .n = 0 };
    core.ticks = 1;
    core.is_slow = false;
    sd_bouts_run_on(&made_up);
}

static double run(double ticks)
{
    double took = core.is_slow ? ticks * 1.8 : ticks;

    core.ticks += (uint64_t)took;
    return took;
}

/* In which parts of a bout the core is slow. */
enum slow_parts { NONE = 0, PLAIN_CALLS = 1, TRACED_CALLS = 2, ENDS = 4, WHOLE = 7 };

/* Calls without and with tracing, as call_calibration.c does it. */
static void add(struct sd_bouts *b, enum slow_parts slow)
{
    struct sd_bout *bout;
    double plain, traced, loop;

    core.is_slow = slow & ENDS;
    bout = sd_bout_begin(b);
    core.is_slow = slow & PLAIN_CALLS;
    plain = run(PLAIN);
    sd_bout_look(bout);
    core.is_slow = slow & TRACED_CALLS;
    traced = run(PLAIN + CALLS);
    sd_bout_look(bout);
    core.is_slow = slow & ENDS;
    loop = sd_bout_end(bout);
    bout->costs[1] = (traced - plain) / loop;
    bout->plain = plain / loop;
    sd_bouts_keep(b);
    core.ticks += STEP;
}

static bool is_about(double x, double truth)
{
    return x > 0.98 * truth && x < 1.02 * truth;
}

/* Of eight bouts five had a slow core while calls were traced, and none before and
 * after. */
TEST(a_core_that_was_slow_during_bouts_makes_no_call_dear)
{
    struct sd_bouts b;

    begin(&b);
    for (int i = 0; i < 8; i++)
        add(&b, i % 3 ? TRACED_CALLS : NONE);
    CHECK(is_about(LOOP * sd_bouts_cost(&b, 1, LOOP), CALLS));
    CHECK(sd_bouts_error(&b, 1, LOOP) < 0.01);
    sd_bouts_run_on(NULL);
}

/* The process begins where everything is slow. */
TEST(a_core_that_was_slow_in_all_bouts_is_asked_again_when_it_is_quick)
{
    struct sd_bouts b;

    begin(&b);
    for (int i = 0; i < 6; i++)
        add(&b, WHOLE);
    CHECK(is_about(1.4 * LOOP * sd_bouts_cost(&b, 1, 1.4 * LOOP), 1.8 * CALLS));
    CHECK(sd_bouts_have_enough(&b, 6, true));
    CHECK(!sd_bouts_are_due(&b, b.last + (1u << 25)));
    core.is_slow = false;
    CHECK(sd_bouts_pace_start(&(struct sd_bouts_pace){ 0 }) == LOOP);
    CHECK(sd_bouts_are_due(&b, b.last + (1u << 25)));
    for (int i = 0; i < 4; i++)
        add(&b, NONE);
    CHECK(!sd_bouts_are_due(&b, b.last + (1u << 25)));
    CHECK(is_about(LOOP * sd_bouts_cost(&b, 1, LOOP), CALLS));
    CHECK(is_about(1.4 * LOOP * sd_bouts_cost(&b, 1, 1.4 * LOOP), 1.8 * CALLS));
    sd_bouts_run_on(NULL);
}

TEST(bouts_that_all_saw_a_change_give_a_low_one)
{
    struct sd_bouts b;

    begin(&b);
    CHECK(sd_bouts_cost(&b, 1, LOOP) == 0 && sd_bouts_error(&b, 1, LOOP) == 0);
    CHECK(sd_bouts_are_due(&b, core.ticks));
    for (int i = 0; i < 4; i++)
        add(&b, TRACED_CALLS);
    for (int i = 0; i < 4; i++)
        add(&b, ENDS);
    CHECK(!sd_bouts_have_enough(&b, 8, true));
    CHECK(sd_bouts_have_enough(&b, SD_BOUTS_KEPT, true));
    CHECK(sd_bouts_have_enough(&b, 1, false));
    CHECK(LOOP * sd_bouts_cost(&b, 1, LOOP) < 1.02 * CALLS);
    for (int i = 0; i < 2 * SD_BOUTS_KEPT; i++) /* the oldest are gone */
        add(&b, NONE);
    CHECK(is_about(LOOP * sd_bouts_cost(&b, 1, LOOP), CALLS));
    sd_bouts_run_on(NULL);
}

/* Slow at both ends, and looked at between. */
TEST(a_session_goes_at_the_pace_that_its_calls_saw)
{
    struct sd_bouts_pace p = { 0 };
    struct sd_bouts_looks first = { 0 }, second = { 0 };
    struct sd_bouts b;

    begin(&b);
    sd_bouts_pace_start(&p); /* a quick one, long ago */
    sd_bouts_pace_stop(&p, NULL);
    p = (struct sd_bouts_pace){ 0 };
    core.ticks += UINT64_C(1) << 33;
    core.is_slow = true;
    CHECK(sd_bouts_pace_start(&p) == 1.4 * LOOP && sd_bouts_pace_error(&p) == 0);
    core.is_slow = false;
    for (int i = 0; i < 20; i++)
        sd_bouts_looks_take(i % 2 ? &first : &second);
    core.is_slow = true;
    core.ticks += UINT64_C(1) << 33;
    sd_bouts_looks_add(&first, &second);
    CHECK(first.n == 20);
    CHECK(sd_bouts_pace_stop(&p, &first) < 1.05 * LOOP);
    CHECK(sd_bouts_pace_error(&p) > 0.03 && sd_bouts_pace_error(&p) < 0.1);
    CHECK(sd_bouts_pace_start(&p) < 1.05 * LOOP); /* a session that goes on */
    sd_bouts_run_on(NULL);
}

/* It is told by the quickest of the last moments, and that this may be too little. */
TEST(a_short_session_goes_at_the_quickest_pace)
{
    struct sd_bouts_pace p = { 0 };
    struct sd_bouts b;

    begin(&b);
    sd_bouts_pace_start(&p);
    p = (struct sd_bouts_pace){ 0 };
    core.is_slow = true;
    sd_bouts_pace_start(&p);
    run(CALLS);
    CHECK(sd_bouts_pace_stop(&p, NULL) == LOOP);
    CHECK(sd_bouts_pace_error(&p) > 0.39 && sd_bouts_pace_error(&p) < 0.41);
    sd_bouts_run_on(NULL);
}
