/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_RANGES_H
#define SD_BASE_RANGES_H
/* ranges: ranges of addresses that do not overlap, each with a number, in order.
 *
 * Parts can be cut out of them, as munmap does with mappings. */
#include <stddef.h>
#include <stdint.h>

struct sd_range {
    uint64_t from, to;
    uint64_t value;
};

struct sd_ranges {       /* all zero is a fresh one */
    struct sd_range *at; /* owned; by `from` */
    size_t n, cap;
};

/* Told of each range of which something is cut: what it was, and how many bytes of it
 * go. */
typedef void sd_range_cut(void *of, const struct sd_range *was, uint64_t bytes);

/* Cuts `bytes` bytes from `from` on out of whatever is there.  0 or SD_ENOMEM: a hole
 * makes two of one. */
int sd_ranges_cut(struct sd_ranges *r, uint64_t from, uint64_t bytes, sd_range_cut *cut,
                  void *of);
/* Adds one; what it overlaps is to be cut before.  0 or SD_ENOMEM. */
int sd_ranges_add(struct sd_ranges *r, uint64_t from, uint64_t bytes, uint64_t value);
/* The one that begins exactly there, or NULL. */
const struct sd_range *sd_ranges_find(const struct sd_ranges *r, uint64_t from);
void sd_ranges_release(struct sd_ranges *r);
#endif
