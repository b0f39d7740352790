/* SPDX-License-Identifier: MIT */
#include "collect/shared/speed.h"

#include "base/clock.h"
#include "base/test.h"

/* Of many, since others use the machine too. */
TEST(speed_is_known_in_few_microseconds)
{
    uint64_t quickest = UINT64_MAX, longest = 0;

    for (int i = 0; i < 100; i++) {
        uint64_t from = sd_clock_ns(), loop = sd_speed_loop(),
                 ns = sd_clock_ns() - from;

        CHECK(loop > 0);
        quickest = ns < quickest ? ns : quickest;
        longest = loop > longest ? loop : longest;
    }
    CHECK(longest > 0 && quickest < 100 * 1000);
}
