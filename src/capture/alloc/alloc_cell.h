/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_ALLOC_CELL_H
#define SD_CAPTURE_ALLOC_CELL_H
/* alloc_cell: the layout of the stacks that allocated, and of the sums over what each
 * of them allocated, in a table (cells.h) of the kinds SD_CELLS_ALLOC_STACKS and
 * SD_CELLS_ALLOC_SUMS.
 *
 * One table per process, for all its threads, which add cells under a lock.  Sites are
 * functions in the table's definitions.  Cell 0 of either kind is the root; parents
 * stand before their children.  A table may be read at any moment, also after a death.
 *
 * In the mode `full` and `sample` the allocations themselves are in logs
 * (alloc_events.h), which name cells of stacks.  In the mode `aggregate` there is no
 * log, and each stack that has allocated has a cell of sums. */
#include <stdint.h>

enum { SD_CELLS_ALLOC_STACKS = 5, SD_CELLS_ALLOC_SUMS = 6 };

/* By what a block was allocated.  On disk: values never change. */
enum sd_allocator {
    SD_BY_NONE, /* the stack goes on: nothing was allocated at this very place */
#define ALLOCATOR(id, value, name, layer) SD_BY_##id = value,
#include "capture/alloc/allocators.def"
#undef ALLOCATOR
};
enum { SD_ALLOCATORS = 32 }; /* more than any of these values */
enum sd_alloc_layer { SD_LAYER_PY = 1, SD_LAYER_MALLOC = 2, SD_LAYER_MAPPED = 4 };

/* Its name ("malloc"), or NULL; and whether its blocks are mappings, which may lose
 * parts. */
const char *sd_allocator_name(uint32_t by);
/* The same, but of a domain of PyMem whichever of its functions it was. */
static inline uint32_t sd_allocator_domain(uint32_t by)
{
    return by >= SD_BY_RAW_CALLOC && by <= SD_BY_OBJECT_REALLOC
               ? SD_BY_RAW + (by - SD_BY_RAW_CALLOC) / 2
               : by;
}
static inline int sd_allocator_maps(uint32_t by)
{
    return by == SD_BY_MMAP || by == SD_BY_MREMAP || by == SD_BY_FILE ||
           by == SD_BY_RESERVED;
}

enum sd_alloc_stack_flags {
    SD_ALLOC_ALLOCATOR = 0xff, /* enum sd_allocator, in these bits */
    SD_ALLOC_CREATOR = 0x100,  /* the frames below made the thread in which those above
                                  are; it runs no Python */
};

/* One frame on top of its parent's.  The innermost frame of an allocation is a cell of
 * its own for each allocator. */
struct sd_alloc_stack_cell {
    uint32_t parent; /* index; the root's: no frame */
    uint32_t site;   /* the function; 0: none (an allocation without any frame) */
    uint32_t line;   /* that was being executed; 0: not known */
    uint32_t flags;  /* enum sd_alloc_stack_flags */
};
_Static_assert(sizeof(struct sd_alloc_stack_cell) == 16, "on disk");

/* What was allocated by one stack, in the mode `aggregate`.  `peak_*` are what was live
 * when the memory of the process was at its peak number `epoch`; where the root's epoch
 * is a later one, nothing has changed since: then they are what is live now. */
struct sd_alloc_sum_cell {
    uint32_t stack; /* cell of stacks */
    uint32_t pad;
    uint64_t count, bytes;           /* in all */
    uint64_t live_count, live_bytes; /* that were not freed */
    uint64_t peak_count, peak_bytes;
    uint64_t epoch;
};
_Static_assert(sizeof(struct sd_alloc_sum_cell) == 64, "on disk");

struct sd_alloc_sum_root { /* cell 0 of sums: the process as a whole */
    uint64_t live_bytes, peak_bytes;
    uint64_t peak_ns;                  /* CLOCK_MONOTONIC, to 10 ms */
    uint64_t unknown_frees;            /* of blocks from before the recording */
    uint64_t overlaps;                 /* blocks that began over a live one */
    uint64_t peak_rss, rss_live_bytes; /* largest RSS seen, and the bytes live then */
    uint64_t epoch;
};
_Static_assert(sizeof(struct sd_alloc_sum_root) == 64, "on disk");

/* Facts about the recording, one of each per capture (META). */
#define SD_META_ALLOC_MODE "alloc.mode"           /* full, aggregate or sample */
#define SD_META_ALLOC_LAYER "alloc.layer"         /* all, py or malloc */
#define SD_META_ALLOC_SAMPLE "alloc.sample_bytes" /* mean distance, in sample */
#define SD_META_ALLOC_NATIVE "alloc.native"       /* 1: with native functions */
#define SD_META_ALLOC_ONE "alloc.one_thread"      /* 1: what one thread allocates */
#endif
