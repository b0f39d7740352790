/* SPDX-License-Identifier: MIT */
#include "profile/lines/line_cost.h"

#include "base/test.h"

static const struct sd_line_root root = { .hit_cost = 10 << 10,
                                          .line_cost = 30 << 10,
                                          .call_cost = 50 << 10,
                                          .stay_cost = 20 << 10 };

TEST(line_times_are_without_hits_and_stays_of_their_own_and_below)
{
    const struct sd_line_cell c = { .hits = 2,
                                    .ticks = 1000,
                                    .child_ticks = 400,
                                    .child_hits = 3,
                                    .child_calls = 1,
                                    .stays = 7,
                                    .child_stays = 5 };
    struct sd_line_times t = sd_line_times_of(&c, &root);

    CHECK(t.child == 400 - 3 * 30 - 50 - 5 * 20);
    CHECK(t.ticks == t.child + 600 - 2 * 10 - 7 * 20);
    CHECK(t.cost == 1000 - t.ticks);
}

TEST(line_times_are_never_less_than_nothing)
{
    const struct sd_line_cell c = { .hits = 1, .ticks = 100, .stays = UINT64_MAX };
    struct sd_line_times t = sd_line_times_of(&c, &root);

    CHECK(t.ticks == 0 && t.cost == 100 && t.max == 0);
}
