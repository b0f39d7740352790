/* SPDX-License-Identifier: MIT */
#include "base/sum.h"

#include "base/test.h"

TEST(sums_stop_at_the_largest_and_the_smallest_number)
{
    CHECK(sd_sum_u64(2, 3) == 5 && sd_sum_u64(UINT64_MAX, 0) == UINT64_MAX);
    CHECK(sd_sum_u64(UINT64_MAX - 1, 2) == UINT64_MAX);
    CHECK(sd_sum_i64(2, -3) == -1 && sd_sum_i64(INT64_MAX, INT64_MIN) == -1);
    CHECK(sd_sum_i64(INT64_MAX - 1, 2) == INT64_MAX);
    CHECK(sd_sum_i64(INT64_MIN + 1, -2) == INT64_MIN);
}
