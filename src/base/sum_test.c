/* SPDX-License-Identifier: MIT */
#include "base/sum.h"

#include <math.h>

#include "base/test.h"

TEST(sums_stop_at_the_largest_and_the_smallest)
{
    CHECK(sd_sum_u64(UINT64_MAX, 1) == UINT64_MAX && sd_sum_u64(2, 3) == 5);
    CHECK(sd_sum_i64(INT64_MAX, 1) == INT64_MAX);
    CHECK(sd_sum_i64(INT64_MIN, -1) == INT64_MIN && sd_sum_i64(2, -3) == -1);
}

TEST(differences_stop_there_too)
{
    CHECK(sd_difference_i64(INT64_MIN, 1) == INT64_MIN);
    CHECK(sd_difference_i64(0, INT64_MIN) == INT64_MAX);
    CHECK(sd_difference_i64(2, 5) == -3);
}

TEST(rounding_stops_there_too)
{
    CHECK(sd_round_i64(2.5) == 3 && sd_round_i64(-2.5) == -3 && sd_round_i64(0) == 0);
    CHECK(sd_round_i64(1e300) == INT64_MAX && sd_round_i64(INFINITY) == INT64_MAX);
    CHECK(sd_round_i64(-1e300) == INT64_MIN && sd_round_i64(NAN) == 0);
}
