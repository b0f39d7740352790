/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_blocks.h"

#include "base/assert.h"
#include "base/mem.h"

#ifdef SD_TINY
enum { FIRST_SLOTS = 4 };
#else
enum { FIRST_SLOTS = 1024 };
#endif

/* The slot of this address, or the free one where it belongs. */
static struct sd_alloc_block *slot_for(struct sd_alloc_blocks *b, uint64_t address)
{
    size_t i = sd_alloc_blocks_slot(b, address);

    while (b->slots[i].address != 0 && b->slots[i].address != address)
        i = (i + 1) & (b->n_slots - 1);
    return &b->slots[i];
}

static int grow(struct sd_alloc_blocks *b)
{
    struct sd_alloc_blocks larger = { .n = b->n,
                                      .n_slots =
                                          b->n_slots ? b->n_slots * 2 : FIRST_SLOTS };

    larger.shift = 64 - (unsigned)__builtin_ctzll(larger.n_slots);
    larger.slots = sd_zalloc(larger.n_slots * sizeof *larger.slots);
    if (!larger.slots)
        return sd_no_memory();
    for (size_t i = 0; i < b->n_slots; i++)
        if (b->slots[i].address)
            *slot_for(&larger, b->slots[i].address) = b->slots[i];
    sd_free(b->slots);
    *b = larger;
    return 0;
}

struct sd_alloc_block *sd_alloc_blocks_room(struct sd_alloc_blocks *b, uint64_t address)
{
    sd_assert_slow(address != 0);
    if ((b->n + 1) * 3 > b->n_slots * 2 && grow(b) < 0)
        return NULL;
    return slot_for(b, address);
}

/* What stands behind and could stand here moves here, until a slot is free. */
void sd_alloc_blocks_remove(struct sd_alloc_blocks *b, struct sd_alloc_block *block)
{
    size_t mask = b->n_slots - 1, hole = (size_t)(block - b->slots), i = hole;

    sd_assert_slow(block->address != 0 && b->n > 0);
    for (i = (i + 1) & mask; b->slots[i].address; i = (i + 1) & mask) {
        size_t home = sd_alloc_blocks_slot(b, b->slots[i].address);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* it would stand before its home */
        b->slots[hole] = b->slots[i];
        hole = i;
    }
    b->slots[hole].address = 0;
    b->n--;
}

void sd_alloc_blocks_release(struct sd_alloc_blocks *b)
{
    sd_free(b->slots);
    *b = (struct sd_alloc_blocks){ 0 };
}
