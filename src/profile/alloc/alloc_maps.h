/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_MAPS_H
#define SD_PROFILE_ALLOC_MAPS_H
/* alloc_maps: the mappings that are live while allocations are replayed, in order of
 * their addresses, because a range that is unmapped may be a part of one, or parts of
 * several.
 *
 * A sorted array, the highest first: the kernel puts a new mapping below those that
 * there are, hence at the end.  It allows a process 65,530 of them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a sample the weights of parts, taken alone, are not those of the whole. */
struct sd_alloc_map_weight {
    uint64_t bytes, blocks;
    double variance;
};

struct sd_alloc_map {
    uint64_t from, to; /* addresses */
    uint32_t place;    /* who mapped it: of the replay */
    uint32_t index;    /* as of a block */
    bool is_rest;      /* cut off from one that counts: it is no block of its own */
    struct sd_alloc_map_weight weight; /* what all of it counts for */
};

struct sd_alloc_maps {          /* all zero is a fresh one */
    struct sd_alloc_map *items; /* owned; none overlaps another */
    size_t n, cap;
};

/* The highest part of a mapping that lies in the range, without changing it.  False:
 * there is none. */
bool sd_alloc_maps_in(const struct sd_alloc_maps *m, uint64_t from, uint64_t to,
                      struct sd_alloc_map *part);
/* The mapping that begins there, or NULL; until they change. */
struct sd_alloc_map *sd_alloc_maps_at(const struct sd_alloc_maps *m, uint64_t from);
/* Where nothing is mapped.  0 or SD_ENOMEM. */
int sd_alloc_maps_add(struct sd_alloc_maps *m, const struct sd_alloc_map *one);
/* Takes away a range that lies in one mapping.  *is_ended: that has nothing left, and
 * its block is freed; what remains of one counts where its lowest part was.  *weight,
 * or NULL: the share of what is taken away; all shares of a mapping add up to its
 * weight.  0 or SD_ENOMEM. */
int sd_alloc_maps_cut(struct sd_alloc_maps *m, uint64_t from, uint64_t to,
                      bool *is_ended, struct sd_alloc_map_weight *weight);
void sd_alloc_maps_release(struct sd_alloc_maps *m);
#endif
