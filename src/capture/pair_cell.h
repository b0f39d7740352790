/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_PAIR_CELL_H
#define SD_CAPTURE_PAIR_CELL_H
/* pair_cell: the layout of calls of one function by another, beyond a full tree
 * (call_cell.h).
 *
 * A tree knows each call by its whole path, and its cells are limited.  For calls along
 * further paths this is what cProfile knows of calls: how often each function called
 * each other one, how many of these calls were not made below the same function (or the
 * same pair) already, and their times.  Pairs stand in the table of their tree, as
 * cells of a kind of their own, with the same sites and clocks.
 *
 * The first of them has no site: its calls are those for whose pair there was no room.
 *
 * Cost of tracing can be subtracted later because the calls that are inside of each
 * time are counted beside it. */
#include "capture/call_cell.h"

enum { SD_CELLS_PAIRS = 3 }; /* the kind of such cells */

struct sd_calls_inside { /* traced calls in a stretch of time */
    uint64_t python, c;
};

/* A call is outermost when its function is not open already; it is inner when its
 * function is, but not as called by the same caller.  cProfile's numbers of a function
 * are those of its outermost calls, those of a pair the sum of both. */
struct sd_pair_cell {
    /* The callee: site, calls, resumes are as in a tree; `parent` is the site of the
     * caller, 0 when there is none; ticks, cpu_ns and awaited are of outermost calls,
     * ticks and cpu_ns inclusive. */
    struct sd_call_cell callee;
    uint64_t primitive;                  /* outermost calls */
    uint64_t own_ticks;                  /* of all calls, without what they called */
    struct sd_calls_inside own_calls;    /* made by these calls directly */
    struct sd_calls_inside inside_calls; /* inside of callee.ticks, at any depth */
    uint64_t own_cpu_ns;
    uint64_t inner_primitive; /* inner calls, ... */
    uint64_t inner_ticks;     /* ... and their inclusive times */
    uint64_t inner_cpu_ns;
    struct sd_calls_inside inner_calls; /* inside of inner_ticks */
    uint32_t whole; /* with signatures: index of the pair of functions, see below */
    uint32_t zero;  /* these are of no meaning in older captures */
    uint64_t zeros[3];
};

/* With signatures, callers and callees are those, and a call is outermost when its
 * signature is not open.  What that is of the functions, whatever their signatures are,
 * does not follow from it, so each pair of functions has a cell, too: `callee.next` is
 * this, the sites are the functions', and it has no calls and no own time, since those
 * are the sums over the signatures. */
enum { SD_PAIR_OF_WHOLES = 1 };
_Static_assert(sizeof(struct sd_pair_cell) == 3 * sizeof(struct sd_call_cell),
               "on disk, and the distance between any two callees is one of cells");
#endif
