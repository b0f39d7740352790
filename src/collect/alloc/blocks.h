/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_BLOCKS_H
#define SD_ALLOC_BLOCKS_H
/* blocks: adds up in this process what each stack allocated (the mode `aggregate`).
 *
 * Live blocks are in memory of this process; the sums are cells of the table of stacks
 * (capture/alloc/alloc_cell.h) and survive any death.  One lock is over all of it. */
#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"

struct sd_alloc_thread;

/* The table of stacks has begun: so do the sums.  0 or < 0. */
int sd_blocks_begin(void);
/* `stack` 0: there was no room for it, and the block is not known. */
void sd_blocks_add(struct sd_alloc_thread *t, const void *p, size_t size,
                   uint32_t stack, enum sd_allocator by);
void sd_blocks_remove(struct sd_alloc_thread *t, const void *p);
/* The same where it need not be known. */
void sd_blocks_drop(struct sd_alloc_thread *t, const void *p);
/* What this thread removed last is there again. */
void sd_blocks_undo(struct sd_alloc_thread *t, const void *p);
void sd_blocks_unmap(const void *p, size_t size);
/* Forgets all; before the table of stacks ends. */
void sd_blocks_end(void);
#endif
