/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_BLOCKS_H
#define SD_PROFILE_ALLOC_BLOCKS_H
/* alloc_blocks: the blocks that are live while allocations are replayed, by address.
 *
 * Open addressing with linear probing; a block that goes is closed up behind it, so
 * there are no tombstones and the table is never larger than its most blocks need.
 * Addresses that are near each other stand apart: where their order was kept, to meet
 * the same cache lines, blocks of one size made long rows of full slots, and a replay
 * took five times as long. */
#include <stddef.h>
#include <stdint.h>

struct sd_alloc_block {
    uint64_t address; /* 0: the slot is free */
    uint64_t size;    /* bytes */
    uint32_t place;   /* who allocated it: of the replay */
    uint32_t index;   /* how many blocks its thread had allocated, with this one */
};

struct sd_alloc_blocks {          /* all zero is a fresh one */
    struct sd_alloc_block *slots; /* owned */
    size_t n, n_slots;            /* n_slots is 0 or a power of two, ... */
    unsigned shift;               /* ... which is 64 less this */
};

static inline size_t sd_alloc_blocks_slot(const struct sd_alloc_blocks *b,
                                          uint64_t address)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> b->shift);
}

/* hot: the block that begins there, or NULL; until the table changes. */
static inline struct sd_alloc_block *sd_alloc_blocks_find(struct sd_alloc_blocks *b,
                                                          uint64_t address)
{
    if (b->n_slots == 0 || address == 0)
        return NULL;
    for (size_t i = sd_alloc_blocks_slot(b, address);; i = (i + 1) & (b->n_slots - 1)) {
        if (b->slots[i].address == address)
            return &b->slots[i];
        if (b->slots[i].address == 0)
            return NULL;
    }
}

/* hot: the block there is, or room for a new one, whose address is 0 until the caller
 * fills it and counts it in `n`.  NULL: no memory.  The address is not 0. */
struct sd_alloc_block *sd_alloc_blocks_room(struct sd_alloc_blocks *b,
                                            uint64_t address);
/* hot: removes what was found. */
void sd_alloc_blocks_remove(struct sd_alloc_blocks *b, struct sd_alloc_block *block);
void sd_alloc_blocks_release(struct sd_alloc_blocks *b);
#endif
