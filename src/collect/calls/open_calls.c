/* SPDX-License-Identifier: MIT */
#include "collect/calls/open_calls.h"

#include "base/assert.h"
#include "base/mem.h"

struct sd_open_cell *sd_open_calls_make(struct sd_open_calls *o, struct sd_arena *a)
{
    struct sd_open_cell fresh = { .number = sd_cells_n(o->cells) };
    struct sd_open_cell **grown =
        sd_grow_array(o->spare, &o->cap_spare, o->n + 1, sizeof *grown);
    struct sd_open_cell *open;

    if (!grown)
        return NULL;
    o->spare = grown;
    if (sd_cells_add(o->cells, &fresh) != SD_NO_CELL)
        open = sd_cells_at(o->cells, fresh.number);
    else
        open = sd_arena_alloc(a, sizeof *open);
    if (!open)
        return NULL;
    *open = fresh;
    o->n++;
    sd_assert(o->n <= o->cap_spare); /* all of them */
    return open;
}

void sd_open_calls_spare(struct sd_open_calls *o, struct sd_open_cell *open)
{
    sd_assert(o->n_spare < o->n && sd_open_calls_cell_is_empty(open));
    o->spare[o->n_spare++] = open;
}
