/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_COUNTS_H
#define SD_PROFILE_ALLOC_COUNTS_H
/* alloc_counts: how often each size was allocated, by which allocators, and where: sums
 * over all allocations of a history that a profile does not keep. */
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/alloc/alloc_cell.h"

struct sd_alloc_history;

struct sd_alloc_count {
    uint64_t blocks, bytes;
};

/* What was allocated on a line, or in a file. */
struct sd_alloc_place_count {
    const char *function, *file; /* of the history's profile; function NULL: a file's */
    uint32_t line;
    struct sd_alloc_count count;
};

struct sd_alloc_counts { /* all zero is a fresh one */
    struct sd_alloc_count all;
    uint64_t by[SD_ALLOCATORS];    /* blocks; by enum sd_allocator */
    struct sd_table sizes;         /* bytes of a block to how many there were */
    struct sd_alloc_count *stacks; /* owned; by stack + 1, the first of no frame */
    size_t n_stacks, cap_stacks;
    uint64_t n_frees;
};

/* Reads a history to its end.  0 or < 0. */
int sd_alloc_counts_read(struct sd_alloc_counts *c, struct sd_alloc_history *h);
/* The lines of Python that allocated; *places is the caller's. */
int sd_alloc_counts_lines(const struct sd_alloc_counts *c,
                          const struct sd_alloc_history *h,
                          struct sd_alloc_place_count **places, size_t *n);
/* The files on whose behalf: of the innermost frame that is no library's, else the
 * innermost of all. */
int sd_alloc_counts_files(const struct sd_alloc_counts *c,
                          const struct sd_alloc_history *h,
                          struct sd_alloc_place_count **places, size_t *n);
/* Orders them by bytes or blocks, the largest first. */
void sd_alloc_counts_by_bytes(struct sd_alloc_place_count *places, size_t n);
void sd_alloc_counts_by_blocks(struct sd_alloc_place_count *places, size_t n);
void sd_alloc_counts_release(struct sd_alloc_counts *c);
#endif
