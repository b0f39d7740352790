/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_SUM_H
#define SD_BASE_SUM_H
/* sum: adds numbers without overflow.  A capture may hold any numbers.  Sums of them
 * stop at the largest and the smallest number there is, and never wrap. */
#include <stdint.h>

static inline uint64_t sd_sum_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline int64_t sd_sum_i64(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* a - b */
static inline int64_t sd_difference_i64(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return difference;
}

/* The nearest whole number, or the largest there is: input may say 1e300. */
static inline int64_t sd_round_i64(double v)
{
    return v >= 9.2e18    ? INT64_MAX
           : v <= -9.2e18 ? INT64_MIN
           : v >= 0       ? (int64_t)(v + 0.5)
           : v < 0        ? -(int64_t)(0.5 - v)
                          : 0; /* no number */
}
#endif
