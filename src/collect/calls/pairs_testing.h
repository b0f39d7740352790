/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_PAIRS_TESTING_H
#define SD_CALLS_PAIRS_TESTING_H
/* pairs_testing: what tests of calls beyond the tree look at. */
#include "collect/calls/call_tree_testing.h"
#include "collect/calls/pairs.h"

/* What `caller` ('\0': nobody) called beyond the tree; NULL: nothing. */
static inline const struct sd_pair_cell *find_pair(const struct world *w, char caller,
                                                   char callee, bool is_of_wholes)
{
    for (uint32_t i = 0; i < sd_call_pairs_n(w->tree); i++) {
        uint64_t from, to;

        sd_call_pairs_keys(w->tree, i, &from, &to);
        if (sd_pair_cell_is_of_wholes(sd_call_pairs_at(w->tree, i)) == is_of_wholes &&
            from == (uint64_t)caller * 10 && to == (uint64_t)callee * 10)
            return sd_call_pairs_at(w->tree, i);
    }
    return NULL;
}

static inline const struct sd_pair_cell *pair(const struct world *w, char caller,
                                              char callee)
{
    return find_pair(w, caller, callee, false);
}

static inline const struct sd_pair_cell *wholes(const struct world *w, char caller,
                                                char callee)
{
    return find_pair(w, caller, callee, true);
}

static inline bool counts(const struct sd_pair_cell *p, uint64_t calls,
                          uint64_t primitive, uint64_t pair_primitive)
{
    return p && p->callee.calls == calls && p->primitive == primitive &&
           p->primitive + p->inner_primitive == pair_primitive;
}

static inline bool times(const struct sd_pair_cell *p, uint64_t own, uint64_t total,
                         uint64_t pair_total)
{
    return p && p->own_ticks == own && p->callee.ticks == total &&
           p->callee.ticks + p->inner_ticks == pair_total;
}

static inline const struct sd_beyond_cell *exit_from(const struct world *w,
                                                     uint32_t parent)
{
    for (uint32_t i = 1; i < sd_cells_n(w->tree->table); i++) {
        const struct sd_beyond_cell *c = sd_cells_at(w->tree->table, i);

        if (sd_call_key_is_beyond(c->key) && c->parent == parent)
            return c;
    }
    return NULL;
}

/* The open cells that are in use. */
static inline uint32_t n_open(const struct world *w)
{
    struct sd_cells *cells;
    uint32_t n = 0;

    CHECK(sd_cells_beside(w->tree->table, SD_CELLS_OPEN, sizeof(struct sd_open_cell),
                          &cells) == 0);
    for (uint32_t i = 0; i < sd_cells_n(cells); i++) {
        const struct sd_open_cell *open = sd_cells_at(cells, i);

        CHECK(open->number == i);
        n += (open->flags & SD_BEYOND_OPEN) != 0;
    }
    return n;
}
#endif
