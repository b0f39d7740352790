/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_OPEN_CALLS_H
#define SD_CALLS_OPEN_CALLS_H
/* open_calls: the cells of calls that are open beyond the tree (capture/open_cell.h):
 * what is added up in them, and those that no call has.
 *
 * A place of the stack keeps its cell for the calls that come to stand there.  An entry
 * that waits takes its cell along, so that places without one and cells without a place
 * come to be; a cell that is free is always empty. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "capture/cells.h"
#include "capture/open_cell.h"
#include "capture/pair_cell.h"

struct sd_open_calls {
    struct sd_cells *cells;      /* of the capture; borrowed */
    struct sd_open_cell **spare; /* those that no place of the stack has; owned */
    size_t n_spare, cap_spare;   /* with room for all of them */
    size_t n;                    /* cells that there are */
};

/* A cell that no call has.  On a full disk it comes from the arena and is not in the
 * capture, and all else is as it should be.  NULL: no memory. */
struct sd_open_cell *sd_open_calls_make(struct sd_open_calls *o, struct sd_arena *a);
/* The cell of an entry that no longer has a place in the stack. */
void sd_open_calls_spare(struct sd_open_calls *o, struct sd_open_cell *open);

/* --- What is in a cell */

/* hot: both numbers are one of the processor's, so that C functions cost no more. */
typedef uint64_t sd_both_calls __attribute__((vector_size(16), aligned(8), may_alias));

static inline sd_both_calls sd_calls_inside_load(const struct sd_calls_inside *n)
{
    return *(const sd_both_calls *)n;
}

static inline void sd_calls_inside_add(struct sd_calls_inside *to, sd_both_calls n)
{
    *(sd_both_calls *)to += n;
}

_Static_assert(offsetof(struct sd_calls_inside, c) == sizeof(uint64_t), "C is behind");
static inline uint64_t *sd_calls_inside_of_kind(struct sd_calls_inside *n, uint64_t key)
{
    return (uint64_t *)n + (key & 1); /* no branch */
}

static inline sd_both_calls sd_open_calls_cell_inside(const struct sd_open_cell *open)
{
    return sd_calls_inside_load(&open->direct) + sd_calls_inside_load(&open->deeper);
}

/* hot: whoever reads it from now on finds no call there. */
static inline void sd_open_calls_cell_close(struct sd_open_cell *open)
{
    open->flags = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

/* hot: a call that made no others left its cell as it was: nothing is in it. */
static inline bool sd_open_calls_cell_made_no_calls(const struct sd_open_cell *open)
{
    return !(open->direct.python | open->direct.c);
}

/* Every free cell is empty. */
static inline void sd_open_calls_cell_empty(struct sd_open_cell *open)
{
    memset(&open->callee_ticks, 0,
           sizeof *open - offsetof(struct sd_open_cell, callee_ticks));
}

static inline bool sd_open_calls_cell_is_empty(const struct sd_open_cell *open)
{
    return !open->flags && !open->callee_ticks && !open->callee_cpu_ns &&
           sd_open_calls_cell_made_no_calls(open) &&
           !(open->deeper.python | open->deeper.c);
}
#endif
