/* SPDX-License-Identifier: MIT */
#include "machine/machine_best.h"

#include "base/test.h"

TEST(machine_best_was_reached_twice)
{
    struct sd_best b = { { 0 } };

    sd_best_add(&b, 136.8); /* a slow moment */
    CHECK(!sd_best_is_settled(&b));
    sd_best_add(&b, 176);
    CHECK(!sd_best_is_settled(&b));
    sd_best_add(&b, 194.4); /* the clock was wrong */
    CHECK(!sd_best_is_settled(&b));
    sd_best_add(&b, 175);
    CHECK(sd_best_is_settled(&b) && sd_best_of(&b) == 176);
    sd_best_add(&b, 177);
    sd_best_add(&b, 12);
    CHECK(sd_best_of(&b) == 177);
}
