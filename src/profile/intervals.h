/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_INTERVALS_H
#define SD_PROFILE_INTERVALS_H
/* intervals: remembers when something was going on, in bounded memory.
 *
 * Kept sorted and apart.  When there would be more than the caller's limit, those
 * with the smallest gaps between them become one, so a loop of a million steps is
 * remembered as a few long stretches, each with the number of steps in it. */
#include <stdbool.h>
#include <stdint.h>

struct sd_interval {
    uint64_t from_ns, to_ns;
    uint64_t n; /* how many were added into it */
};

struct sd_intervals {          /* all zero is a fresh one */
    struct sd_interval *items; /* owned; sorted, not touching */
    uint32_t n;
    uint32_t cap;
    uint64_t gap_ns; /* neighbours at most this far apart are one */
};

/* 0 or SD_ENOMEM.  `limit` is at least 2. */
int sd_intervals_add(struct sd_intervals *s, uint32_t limit, struct sd_interval i);
/* Does any of them share a moment with from..to, both ends included? */
bool sd_intervals_touch(const struct sd_intervals *s, uint64_t from_ns, uint64_t to_ns);
void sd_intervals_release(struct sd_intervals *s);
#endif
