/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_FOREIGN_TRACES_H
#define SD_ALLOC_FOREIGN_TRACES_H
/* foreign_traces: blocks that a C extension allocates by itself and reports by
 * PyTraceMalloc_Track, in a domain of its own, as numpy does with its buffers.
 *
 * Its calls are taken over as those of malloc are (got_slots.h), for traces.c alone.
 * Such a block has the address that was reported with the lowest bit set, so that it is
 * none of Python's; its domain stands in its stack as an allocator. */
#include <stdbool.h>
#include <stdint.h>

/* Nothing is reported where this fails. */
void sd_foreign_traces_start(void);
void sd_foreign_traces_stop(void);
/* Looks for libraries that were loaded since. */
void sd_foreign_traces_update(void);
void sd_foreign_traces_before_fork(void);
void sd_foreign_traces_after_fork(bool is_child);
/* The domain behind an allocator of a stack; 0: it is Python's. */
unsigned sd_foreign_traces_domain(uint32_t by);
#endif
