/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SECTIONS_SECTION_BLOCK_H
#define SD_COLLECT_SECTIONS_SECTION_BLOCK_H
/* section_block: the sections that begin and end in a block of the program
 * (sonde.record), kept in memory as the spans of a capture.
 *
 * Any number of blocks may run; each is shown every section.  With the interpreter's
 * lock: libsonde has none of these. */
#include <stdatomic.h>
#include <stdbool.h>

#include "collect/inside.h"
#include "collect/sections/sections.h"

extern const struct sd_inside_block sd_section_block;

/* A block keeps so many sections, and counts the others; a test lowers it. */
extern size_t sd_section_block_max;

/* How many keep sections in memory now. */
extern _Atomic unsigned sd_section_n_blocks;

/* hot: does anybody keep sections besides who opens them: a capture, or a block? */
static inline bool sd_section_is_wanted(void)
{
    return sd_session_has_capture() ||
           atomic_load_explicit(&sd_section_n_blocks, memory_order_relaxed);
}

/* A section has ended, in the process that began it. */
void sd_section_blocks_take(const struct sd_section *s, bool raised);
#endif
