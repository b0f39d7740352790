/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_tables.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/decode.h"
#include "profile/local_ids.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

enum { NONE = UINT32_MAX };

/* --- Gathering */

/* A parent that is not there: what its chunk would have said is lost. */
static const struct sd_alloc_stack_cell lost_cell = { .parent = NONE };

/* Cells come in order; those of a lost chunk between them are made up, where the
 * profile has room for them. */
static bool may_follow(const struct sd_alloc_tables *t, struct sd_profile *p,
                       const struct sd_cells_view *view)
{
    uint64_t gap = view->first - t->n_cells;

    if (view->first < t->n_cells || view->first > SD_NO_CELL - view->n)
        return false;
    return gap == 0 || sd_profile_has_room(p, gap * 2 * sizeof *t->cells);
}

static int add_stacks(struct sd_alloc_tables *t, struct sd_profile *p,
                      const struct sd_cells_view *view)
{
    struct sd_alloc_stack_cell *cells;
    uint64_t end = view->first + view->n;

    if (view->cell_bytes < sizeof *cells || !may_follow(t, p, view))
        return 0;
    cells = sd_grow_array(t->cells, &t->cap_cells, (size_t)end, sizeof *cells);
    if (!cells)
        return sd_no_memory();
    t->cells = cells;
    for (; t->n_cells < view->first; t->n_cells++)
        cells[t->n_cells] = lost_cell;
    for (uint32_t i = 0; i < view->n; i++)
        memcpy(&cells[t->n_cells++], view->cells + (size_t)i * view->cell_bytes,
               sizeof *cells);
    sd_assert(t->n_cells == end);
    return 0;
}

static int add_sums(struct sd_alloc_tables *t, const struct sd_cells_view *view)
{
    struct sd_alloc_sum_cell *sums;

    if (view->cell_bytes < sizeof *sums)
        return 0;
    sums = sd_grow_array(t->sums, &t->cap_sums, t->n_sums + view->n, sizeof *sums);
    if (!sums)
        return sd_no_memory();
    t->sums = sums;
    for (uint32_t i = 0; i < view->n; i++) {
        const uint8_t *at = view->cells + (size_t)i * view->cell_bytes;

        if (view->first + i == 0) {
            memcpy(&t->root, at, sizeof t->root);
            t->has_root = true;
        } else {
            memcpy(&sums[t->n_sums++], at, sizeof *sums);
        }
    }
    return 0;
}

int sd_alloc_tables_add(struct sd_alloc_tables *t, struct sd_profile *p,
                        const struct sd_cells_view *view)
{
    switch (view->kind) {
    case SD_CELLS_ALLOC_STACKS:
        return add_stacks(t, p, view);
    case SD_CELLS_ALLOC_SUMS:
        return add_sums(t, view);
    }
    return 0;
}

/* --- Understanding */

static int place_lost(struct sd_decoder *d, struct sd_alloc_stack *to)
{
    to->by = to->function = SD_BY_NONE;
    return sd_local_lost_stack(d, &to->stack);
}

/* A cell without a function is an allocation outside of all Python code: its stack is
 * what stands below. */
static int place_cell(struct sd_decoder *d, const struct sd_alloc_stack_cell *c,
                      struct sd_alloc_stack *stacks, uint32_t i)
{
    struct sd_stack key = { .line = c->line };
    int rc;

    if (c->parent >= i)
        return place_lost(d, &stacks[i]);
    stacks[i].function = (uint8_t)(c->flags & SD_ALLOC_ALLOCATOR);
    stacks[i].by = (uint8_t)sd_allocator_domain(stacks[i].function);
    stacks[i].stack = stacks[c->parent].stack;
    if (c->site == 0)
        return 0;
    key.parent.at = stacks[i].stack;
    rc = sd_decoder_site(d, c->site, &key.site);
    return rc < 0 ? rc : sd_define_stack(d->grow, &key, &stacks[i].stack);
}

/* A table is one process's, which its definitions name, behind its parent. */
static uint32_t process_of(const struct sd_decoder *d)
{
    uint32_t process = NONE;

    for (uint32_t id = 1; id < d->n_locals; id++) {
        uint32_t track = sd_local_of(d, id, SD_REC_TRACK);

        if (track != NONE && d->grow->tracks[track].kind == SD_TRACK_PROCESS)
            process = track;
    }
    return process;
}

static int place_cells(struct sd_alloc_tables *t, struct sd_decoder *d,
                       struct sd_alloc_table *to)
{
    int rc;

    to->n_stacks = t->n_cells;
    to->stacks = sd_alloc(((size_t)t->n_cells + 1) * sizeof *to->stacks);
    if (!to->stacks)
        return sd_no_memory();
    rc = place_lost(d, &to->stacks[t->n_cells]);
    if (t->n_cells > 0)
        to->stacks[0] = (struct sd_alloc_stack){ .stack = NONE };
    for (uint32_t i = 1; i < t->n_cells && rc == 0; i++)
        rc = place_cell(d, &t->cells[i], to->stacks, i);
    return rc;
}

static void forget(struct sd_alloc_tables *t)
{
    t->n_cells = 0;
    t->n_sums = 0;
    t->has_root = false;
    t->root = (struct sd_alloc_sum_root){ 0 };
}

static void take_sums(struct sd_alloc_tables *t, struct sd_alloc_table *to)
{
    to->sums = t->sums;
    to->n_sums = t->n_sums;
    to->root = t->root;
    to->has_root = t->has_root;
    t->sums = NULL;
    t->n_sums = t->cap_sums = 0;
}

int sd_alloc_tables_settle(struct sd_alloc_tables *t, struct sd_decoder *d,
                           uint64_t stream)
{
    struct sd_alloc_table one = { .stream = stream };
    struct sd_alloc_table *items;
    int rc;

    if (t->n_cells == 0 && !t->has_root)
        return 0;
    one.process = process_of(d);
    items = sd_grow_array(t->items, &t->cap, t->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    t->items = items;
    rc = place_cells(t, d, &one);
    take_sums(t, &one);
    items[t->n++] = one;
    forget(t);
    return rc;
}

const struct sd_alloc_table *sd_alloc_tables_find(const struct sd_alloc_tables *t,
                                                  uint64_t stream)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].stream == stream)
            return &t->items[i];
    return NULL;
}

void sd_alloc_tables_release(struct sd_alloc_tables *t)
{
    for (size_t i = 0; i < t->n; i++) {
        sd_free(t->items[i].stacks);
        sd_free(t->items[i].sums);
    }
    sd_free(t->items);
    sd_free(t->cells);
    sd_free(t->sums);
    *t = (struct sd_alloc_tables){ 0 };
}
