/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_maps.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* The first that begins below this address. */
static size_t first_below(const struct sd_alloc_maps *m, uint64_t address)
{
    size_t low = 0, high = m->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (m->items[mid].from < address)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

bool sd_alloc_maps_in(const struct sd_alloc_maps *m, uint64_t from, uint64_t to,
                      struct sd_alloc_map *part)
{
    size_t i = first_below(m, to);

    if (i == m->n || m->items[i].to <= from)
        return false;
    *part = m->items[i];
    part->from = part->from < from ? from : part->from;
    part->to = part->to > to ? to : part->to;
    sd_assert(part->from < part->to);
    return true;
}

struct sd_alloc_map *sd_alloc_maps_at(const struct sd_alloc_maps *m, uint64_t from)
{
    size_t i = from < UINT64_MAX ? first_below(m, from + 1) : m->n;

    return i < m->n && m->items[i].from == from ? &m->items[i] : NULL;
}

static int insert(struct sd_alloc_maps *m, size_t i, const struct sd_alloc_map *one)
{
    struct sd_alloc_map *items =
        sd_grow_array(m->items, &m->cap, m->n + 1, sizeof *items);

    sd_assert(one->from < one->to && i <= m->n);
    if (!items)
        return sd_no_memory();
    m->items = items;
    memmove(items + i + 1, items + i, (m->n - i) * sizeof *items);
    items[i] = *one;
    m->n++;
    return 0;
}

int sd_alloc_maps_add(struct sd_alloc_maps *m, const struct sd_alloc_map *one)
{
    return insert(m, first_below(m, one->from), one);
}

static void drop(struct sd_alloc_maps *m, size_t i)
{
    memmove(m->items + i, m->items + i + 1, (m->n - i - 1) * sizeof *m->items);
    m->n--;
}

/* Takes the share of `part` bytes from the weight of `all` bytes; the blocks stay. */
static struct sd_alloc_map_weight take_share(struct sd_alloc_map_weight *of,
                                             uint64_t part, uint64_t all)
{
    struct sd_alloc_map_weight share = {
        .bytes = (uint64_t)((unsigned __int128)of->bytes * part / all),
        .variance = of->variance * ((double)part / (double)all),
    };

    of->bytes -= share.bytes;
    of->variance -= share.variance;
    return share;
}

/* The lowest part keeps the count: a block is gone with it, whatever is left above. */
int sd_alloc_maps_cut(struct sd_alloc_maps *m, uint64_t from, uint64_t to,
                      bool *is_ended, struct sd_alloc_map_weight *weight)
{
    size_t i = first_below(m, to);
    struct sd_alloc_map *one = &m->items[i], above = *one;
    bool has_below = one->from < from, has_above = to < one->to;
    struct sd_alloc_map_weight w = one->weight;

    sd_assert(i < m->n && one->from <= from && to <= one->to);
    if (has_below || has_above)
        w = take_share(&one->weight, to - from, one->to - one->from);
    if (weight)
        *weight = w;
    *is_ended = !has_below && !has_above && !one->is_rest;
    above.from = to;
    above.is_rest |= has_below;
    if (has_below && has_above)
        above.weight =
            take_share(&one->weight, above.to - to, above.to - to + from - one->from);
    if (has_below)
        one->to = from;
    if (has_below && has_above)
        return insert(m, i, &above);
    if (has_above)
        one->from = to;
    else if (!has_below)
        drop(m, i);
    return 0;
}

void sd_alloc_maps_release(struct sd_alloc_maps *m)
{
    sd_free(m->items);
    *m = (struct sd_alloc_maps){ 0 };
}
