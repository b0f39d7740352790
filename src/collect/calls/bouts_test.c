/* SPDX-License-Identifier: MIT */
#include "collect/calls/bouts.h"

#include "base/test.h"
#include "collect/calls/ticks.h"

/* A bout that found this, in a moment as quick as any, or in one that changed. */
static void add(struct sd_bouts *b, double cost, bool is_steady)
{
    struct sd_bout *bout = sd_bout_begin(b);

    CHECK(sd_bout_end(bout) > 0);
    bout->slowest = 1e-9; /* quicker than the machine ever was */
    bout->is_steady = is_steady;
    bout->costs[1] = cost;
    sd_bouts_keep(b);
}

TEST(bouts_give_the_middle_one_of_quick_moments)
{
    struct sd_bouts b = { 0 };

    CHECK(sd_bouts_cost(&b, 1) == 0);
    CHECK(sd_bouts_are_due(&b, sd_tsc()));
    add(&b, 5, true);
    add(&b, 900, false); /* was interrupted, and says so */
    add(&b, 4, true);
    add(&b, 700, true); /* was, and does not */
    CHECK(sd_bouts_cost(&b, 1) == 5);
    CHECK(!sd_bouts_have_enough(&b, 4, true) && sd_bouts_have_enough(&b, 1, false));
    for (int i = 0; i < 2 * SD_BOUTS_KEPT; i++)
        add(&b, 7, true);
    CHECK(sd_bouts_cost(&b, 1) == 7); /* the oldest are gone */
    CHECK(!sd_bouts_are_due(&b, b.last));
    CHECK(sd_bouts_have_enough(&b, SD_BOUTS_KEPT, true));
}

TEST(the_pace_of_a_session_is_that_of_its_parts)
{
    struct sd_pace p = { 0 };
    double first = sd_pace_start(&p), last;

    CHECK(first > 0 && p.since > 0);
    last = sd_pace_stop(&p);
    CHECK(last > 0 && p.weight > 0);
    CHECK(sd_pace_start(&p) == last); /* a session that goes on */
}
