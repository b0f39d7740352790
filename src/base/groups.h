/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_GROUPS_H
#define SD_BASE_GROUPS_H
/* groups: sorts the items of an array by group, without comparing them; order within a
 * group is kept.
 *
 * Count each thing, sum up, then place each: no sorting, no list for each group.
 * `first` has two places more than there are groups, all zero before.  Once everything
 * is placed, group i stands from first[i] to first[i + 1]; until then first[i + 1] is
 * where the next thing of group i goes, which is why things are counted two places on.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

static inline void sd_groups_count(uint32_t *first, uint32_t group)
{
    first[(size_t)group + 2]++;
}

static inline void sd_groups_sum(uint32_t *first, size_t n_groups)
{
    for (size_t i = 1; i <= n_groups; i++)
        first[i + 1] += first[i];
}

static inline uint32_t sd_groups_place(uint32_t *first, uint32_t group)
{
    sd_assert_slow(first[(size_t)group + 1] <
                   first[(size_t)group + 2]); /* was counted */
    return first[(size_t)group + 1]++;
}
#endif
