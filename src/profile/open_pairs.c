/* SPDX-License-Identifier: MIT */
#include "profile/open_pairs.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

struct place {          /* of a call among those that are open */
    uint32_t caller;    /* NONE: in the tree, or not known */
    uint32_t n_callees; /* that have not been added to it yet */
    bool is_settled;
};

int sd_open_pairs_add(struct sd_open_pairs *o, const struct sd_cells_view *view)
{
    struct sd_open_pair *items;

    if (view->cell_bytes < sizeof items->cell || view->first < o->end ||
        view->first > UINT32_MAX - view->n)
        return 0;
    items = sd_grow_array(o->items, &o->cap, o->n + view->n, sizeof *items);
    if (!items)
        return sd_no_memory();
    o->items = items;
    for (uint32_t i = 0; i < view->n; i++) {
        struct sd_open_pair *call = &items[o->n];

        memset(call, 0, sizeof *call);
        memcpy(&call->cell, view->cells + (size_t)i * view->cell_bytes,
               sizeof call->cell);
        call->cell.number = (uint32_t)view->first + i;
        o->n += (call->cell.flags & SD_BEYOND_OPEN) != 0;
    }
    o->end = view->first + view->n;
    sd_assert(o->n <= o->cap);
    return 1;
}

static uint32_t place_of(const struct sd_open_pairs *o, uint32_t number)
{
    size_t low = 0, high = o->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (o->items[mid].cell.number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low < o->n && o->items[low].cell.number == number ? (uint32_t)low : NONE;
}

static struct sd_call_counts_calls sum(struct sd_call_counts_calls a,
                                       struct sd_call_counts_calls b)
{
    return (struct sd_call_counts_calls){ sd_sum_u64(a.python, b.python),
                                          sd_sum_u64(a.c, b.c) };
}

static struct sd_call_counts_calls traced(struct sd_calls_inside n)
{
    return (struct sd_call_counts_calls){ n.python, n.c };
}

/* What it made is known by the cell alone, and of the calls above it by theirs. */
static void begin(struct sd_open_pair *call)
{
    const struct sd_open_cell *cell = &call->cell;

    call->ticks = cell->callee_ticks;
    call->cpu_ns = cell->callee_cpu_ns;
    call->calls = sum(traced(cell->direct), traced(cell->deeper));
    call->inside = call->calls;
    call->around = traced(cell->deeper);
}

static void leave_out_one(uint64_t *n) { *n -= *n > 0; }

static void add_to_caller(struct sd_open_pair *caller, const struct sd_open_pair *call)
{
    unsigned flags = call->cell.flags;

    caller->ticks = sd_sum_u64(caller->ticks, call->ticks);
    caller->cpu_ns = sd_sum_u64(caller->cpu_ns, call->cpu_ns);
    caller->calls = sum(caller->calls, call->calls);
    caller->around = sum(caller->around, call->around);
    /* The callee is one of what its caller made, and has not ended. */
    if (!(flags & SD_BEYOND_LOST))
        leave_out_one(flags & SD_BEYOND_C ? &caller->inside.c : &caller->inside.python);
    caller->inside = sum(caller->inside, call->inside);
}

static uint32_t caller_of(const struct sd_open_pairs *o, const struct sd_open_pair *c)
{
    return c->cell.flags & (SD_BEYOND_FIRST | SD_BEYOND_CUT)
               ? NONE
               : place_of(o, c->cell.below);
}

/* Adds this call to its caller, and that one to its own if it was the last to wait for.
 */
static void settle_from(struct sd_open_pairs *o, struct place *places, uint32_t at)
{
    while (at != NONE && places[at].n_callees == 0 && !places[at].is_settled) {
        uint32_t caller = places[at].caller;

        places[at].is_settled = true;
        if (caller != NONE) {
            sd_assert(places[caller].n_callees > 0);
            add_to_caller(&o->items[caller], &o->items[at]);
            places[caller].n_callees--;
        }
        at = caller;
    }
}

int sd_open_pairs_settle(struct sd_open_pairs *o)
{
    struct place *places = sd_zalloc((o->n + 1) * sizeof *places);

    if (!places)
        return sd_no_memory();
    for (uint32_t i = 0; i < o->n; i++) {
        begin(&o->items[i]);
        places[i].caller = caller_of(o, &o->items[i]);
        if (places[i].caller != NONE)
            places[places[i].caller].n_callees++;
    }
    for (uint32_t i = 0; i < o->n; i++)
        settle_from(o, places, i);
    for (uint32_t i = 0; i < o->n; i++)
        if (!places[i].is_settled)
            o->items[i].cell.flags = 0;
    sd_free(places);
    return 0;
}

void sd_open_pairs_clear(struct sd_open_pairs *o)
{
    o->n = 0;
    o->end = 0;
}

void sd_open_pairs_release(struct sd_open_pairs *o)
{
    sd_free(o->items);
    *o = (struct sd_open_pairs){ 0 };
}
