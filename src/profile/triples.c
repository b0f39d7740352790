/* SPDX-License-Identifier: MIT */
#include "profile/triples.h"

#include "base/assert.h"
#include "base/mem.h"

enum { SLOTS_FIRST = 64 };

static uint64_t hash(struct sd_triple k)
{
    uint64_t h = ((uint64_t)k.a << 32 | k.b) * 0x9E3779B97F4A7C15u;

    h = (h ^ h >> 32 ^ k.c) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

/* The slot that holds the triple, or the empty one where it would go. */
static size_t slot_of(const struct sd_triples *t, struct sd_triple key)
{
    size_t mask = t->n_slots - 1, at = (size_t)hash(key) & mask;

    sd_assert_slow(t->n < t->n_slots); /* or the search would not end */
    while (t->slots[at] && !sd_triple_is_equal(t->items[t->slots[at] - 1], key))
        at = (at + 1) & mask;
    return at;
}

/* Keeps a quarter of the slots empty. */
static int grow_slots(struct sd_triples *t)
{
    struct sd_triples wider = *t;

    if ((t->n + 1) * 4 <= t->n_slots * 3)
        return 0;
    wider.n_slots = t->n_slots ? t->n_slots * 2 : SLOTS_FIRST;
    wider.slots = sd_zalloc(wider.n_slots * sizeof *wider.slots);
    if (!wider.slots)
        return sd_no_memory();
    for (size_t i = 0; i < t->n; i++)
        wider.slots[slot_of(&wider, t->items[i])] = (uint32_t)i + 1;
    sd_free(t->slots);
    *t = wider;
    sd_assert((t->n_slots & (t->n_slots - 1)) == 0);
    return 0;
}

int sd_triples_add(struct sd_triples *t, struct sd_triple key, uint32_t *id)
{
    struct sd_triple *items;
    size_t at;
    int rc = grow_slots(t);

    if (rc < 0)
        return rc;
    at = slot_of(t, key);
    if (t->slots[at]) {
        *id = t->slots[at] - 1;
        return 0;
    }
    items = sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    t->items = items;
    items[t->n] = key;
    *id = (uint32_t)t->n++;
    sd_assert(t->n <= t->cap && *id + 1 > *id);
    t->slots[at] = *id + 1;
    return 0;
}

uint32_t sd_triples_find(const struct sd_triples *t, struct sd_triple key)
{
    return t->n ? t->slots[slot_of(t, key)] - 1 : UINT32_MAX;
}

void sd_triples_release(struct sd_triples *t)
{
    sd_free(t->items);
    sd_free(t->slots);
    *t = (struct sd_triples){ 0 };
}
