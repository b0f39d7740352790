/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_BLOCKS_H
#define SD_ALLOC_BLOCKS_H
/* blocks: adds up in this process what each stack allocated (the mode `aggregate`).
 *
 * Live blocks are in memory of this process; the sums are cells of the table of stacks
 * (capture/alloc/alloc_cell.h) and survive any death.  One lock is over all of it. */
#include <stdbool.h>
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

/* For traces.c: what lives now.  Where nothing is recorded they do nothing. */
struct sd_trace;
bool sd_blocks_lock(void); /* also taken before a fork; false: nothing is locked */
void sd_blocks_unlock(void);
void sd_blocks_figures(uint64_t *live_bytes, uint64_t *peak_bytes, uint64_t *own_bytes);
void sd_blocks_reset_peak(void);
void sd_blocks_clear(void);
/* Copies them unless there are more than `room`; returns how many there are. */
size_t sd_blocks_copy(struct sd_trace *to, size_t room);
bool sd_blocks_find(uint64_t address, struct sd_trace *out);
#endif
