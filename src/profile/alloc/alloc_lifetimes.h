/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_LIFETIMES_H
#define SD_PROFILE_ALLOC_LIFETIMES_H
/* alloc_lifetimes: how long the blocks of each stack lived, counted in readings of
 * memory: what began behind one reading and ended behind another.
 *
 * Blocks that lived between two readings are left out, so that memory follows what the
 * readings have seen. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_alloc_history;

struct sd_alloc_lifetime {
    uint32_t track, stack; /* track: UINT32_MAX of all threads together */
    uint32_t by;           /* enum sd_allocator */
    uint32_t from, to;     /* readings before it began, and before it ended;
                              UINT32_MAX: it did not */
    int64_t blocks, bytes;
};

struct sd_alloc_lifetimes {          /* all zero is a fresh one */
    struct sd_alloc_lifetime *items; /* owned; in the order of their fields */
    size_t n, cap;
};

/* Reads a history to its end.  Of its TIMEs every `stride`th is a reading.  0 or < 0.
 */
int sd_alloc_lifetimes_read(struct sd_alloc_lifetimes *l, struct sd_alloc_history *h,
                            bool merges_threads, uint32_t stride);
/* Are they of the same thread, stack and allocator? */
bool sd_alloc_lifetime_is_of(const struct sd_alloc_lifetime *a,
                             const struct sd_alloc_lifetime *b);
void sd_alloc_lifetimes_release(struct sd_alloc_lifetimes *l);
#endif
