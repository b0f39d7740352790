/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_SECTION_GROUPS_H
#define SD_ANALYSE_SECTION_GROUPS_H
/* section_groups: groups sections of the same path, over threads and processes. */
#include "profile/profile.h"

struct sd_group {
    const char *path, *name; /* in the caller's arena */
    uint32_t parent;         /* group, or UINT32_MAX */
    uint64_t count, n_raised, n_unfinished;
    struct sd_sum wall;
    struct sd_sum *values; /* n_metrics of the profile */
};

struct sd_groups {
    struct sd_intern paths; /* path to place */
    struct sd_group *items; /* in the caller's arena */
    size_t n;
    bool *is_measured; /* by metric: some group has it */
};

/* One group per path that has spans, in order of first appearance; with
 * SD_GROUPS_TREE also one for each path that only has others inside it. */
enum sd_groups_flags { SD_GROUPS_FLAT = 0, SD_GROUPS_TREE = 1 };
int sd_section_groups_make(const struct sd_profile *p, enum sd_groups_flags flags,
                           struct sd_arena *a, struct sd_groups *out);
void sd_groups_release(struct sd_groups *g);
#endif
