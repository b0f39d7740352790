/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_WALK_H
#define SD_ALLOC_WALK_H
/* walk: finds the node of the stack that runs in this thread.
 *
 * The thread keeps its last walk.  A new one finds the newest frame among the last
 * steps and compares downwards, two words a frame, to the bottom: a frame that is gone
 * may have been followed by another at the same place, and only the whole chain tells.
 * What changed is looked up, mostly one node. */
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"

struct sd_alloc_thread;

/* hot: of what allocates by this allocator here and now; 0: there is no room for it. */
uint32_t sd_alloc_walk(struct sd_alloc_thread *t, enum sd_allocator by);
/* The node of the thread's newest frame, as one that others stand on; 0: none. */
uint32_t sd_alloc_walk_inner(struct sd_alloc_thread *t);
#endif
