/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_DIFFERENCES_H
#define SD_ANALYSE_HEAP_HEAP_DIFFERENCES_H
/* heap_differences: what is in one snapshot and not in another, and growth over
 * several.
 *
 * An object is the same when its address and the name of its type are; an address that
 * was used again by an object of the same type deceives. */
#include "analyse/heap/heap_groups.h"

struct sd_heap_change {    /* of one type */
    const char *name;      /* borrowed from the graphs */
    uint64_t count, bytes; /* now */
    int64_t count_delta, bytes_delta;
    uint32_t n_rises; /* intervals in which its count rose */
};

struct sd_heap_changes {
    struct sd_heap_change *rows; /* owned; the largest growth in bytes first */
    uint32_t n;
};

/* From the first of `n` snapshots, in the order of time, to the last.  Types that are
 * in none of these two have no row.  0 or SD_ENOMEM with its sentence. */
int sd_heap_changes_make(const struct sd_heap_graph *const *graphs, uint32_t n,
                         struct sd_heap_changes *out);
void sd_heap_changes_release(struct sd_heap_changes *out);

/* The objects of `of` that are not in `other`: their numbers, in order, into `objects`
 * (uint32_t[*n]). */
int sd_heap_objects_only_in(const struct sd_heap_graph *of,
                            const struct sd_heap_graph *other, struct sd_pages *objects,
                            uint32_t *n);
#endif
