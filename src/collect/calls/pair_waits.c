/* SPDX-License-Identifier: MIT */
#include "collect/calls/pair_waits.h"

#include "base/assert.h"
#include "collect/calls/open_calls.h"
#include "collect/calls/pairs.h"

/* The first of them that is beyond the tree; n: none is. */
static size_t first_beyond(const struct sd_call_entry *entries, size_t n)
{
    size_t first = n;

    while (first > 0 && sd_call_entry_is_beyond(&entries[first - 1]))
        first--;
    return first;
}

/* A stack may be cut in the midst of what is beyond the tree: what its upper part ran
 * so far is no more the lower part's own, and what it will run is nobody's but its own.
 */
static void cut(const struct sd_call_entry *entries, size_t n,
                struct sd_open_cell *below)
{
    sd_assert(n > 0 && sd_call_entry_is_beyond(entries));
    entries->open->flags |= SD_BEYOND_CUT;
    below->callee_ticks += entries->start;
    below->callee_cpu_ns += entries->cpu_start;
    for (size_t i = 0; i < n; i++)
        sd_calls_inside_add(&below->deeper, sd_open_calls_cell_inside(entries[i].open));
}

struct sd_beyond_cell *sd_pair_waits_park(struct sd_call_tree *t,
                                          struct sd_call_entry *entries, size_t n)
{
    size_t first = first_beyond(entries, n);

    if (first == n)
        return NULL;
    if (!(entries[first].open->flags & (SD_BEYOND_FIRST | SD_BEYOND_CUT)))
        cut(entries + first, n - first, t->top[-(ptrdiff_t)n].open);
    for (size_t i = 0; i < n - first; i++) /* they keep their cells */
        t->top[-(ptrdiff_t)i].open = NULL;
    return sd_call_pairs_exit(t);
}

/* They end here, without a time. */
static void drop_above(struct sd_call_tree *t, const struct sd_call_entry *keep)
{
    for (; t->top > keep; t->top--) {
        sd_open_calls_cell_close(t->top->open);
        sd_open_calls_cell_empty(t->top->open);
    }
}

void sd_pair_waits_make_place(struct sd_call_tree *t, struct sd_call_entry *entries,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sd_call_entry *place = &t->stack[i + 1];

        if (!sd_call_entry_is_beyond(&entries[i]))
            entries[i].open = place->open;
        else if (place->open)
            sd_open_calls_spare(sd_call_pairs_open_calls(t), place->open);
    }
}

void sd_pair_waits_unpark(struct sd_call_tree *t, size_t n, struct sd_beyond_cell *exit)
{
    size_t n_beyond = n - first_beyond(t->top - n + 1, n);
    const struct sd_call_entry *keep = t->top - n_beyond;

    sd_assert(n <= (size_t)(t->top - t->stack));
    if (exit && !sd_call_pairs_reopen(t, keep, exit))
        drop_above(t, keep);
}

void sd_pair_waits_bury(struct sd_call_tree *t, struct sd_call_entry *entries, size_t n,
                        struct sd_beyond_cell *exit)
{
    size_t first = first_beyond(entries, n);

    for (size_t i = n; i-- > first;) {
        sd_call_pairs_book(t, &entries[i], exit, entries[i].start,
                           t->cpu ? entries[i].cpu_start : 0);
        sd_open_calls_spare(sd_call_pairs_open_calls(t), entries[i].open);
    }
}
