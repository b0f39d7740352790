/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_OPEN_CELL_H
#define SD_CAPTURE_OPEN_CELL_H
/* open_cell: the layout of a call beyond a full tree that has not ended.
 *
 * Pairs (pair_cell.h) have the inclusive time of a call when it ends.  While it is open
 * this cell, of a kind of its own in the table of its tree, has what its callees took
 * until they ended; so the stack of a thread that was killed is in its capture, and a
 * reader adds to each of these calls what it and the calls above it had in them.  That
 * is what a tree tells of open calls: all that has ended, and of the last activation of
 * each nothing of its own.
 *
 * A cell is used again when its call has ended; after an orderly end all are free. */
#include <stdint.h>

#include "capture/pair_cell.h"

enum { SD_CELLS_OPEN = 4 }; /* the kind of such cells */

enum sd_beyond_flags {
    SD_BEYOND_OUTERMOST = 1, /* its function was not open */
    SD_BEYOND_INNER = 2,     /* it was, but not as called by the same caller */
    SD_BEYOND_FIRST = 4,     /* its caller is in the tree */
    SD_BEYOND_LOST = 8,      /* there was no room for its pair */
    SD_BEYOND_CUT = 16,      /* its caller's stack went on without it */
    SD_BEYOND_OPEN = 32,     /* the cell is in use */
    SD_BEYOND_C = 64,        /* of a C function */
    /* The first two once more, of functions whatever their signatures are: */
    SD_BEYOND_WHOLE_OUTERMOST = 128,
    SD_BEYOND_WHOLE_INNER = 256,
    SD_BEYOND_WHOLE = SD_BEYOND_WHOLE_OUTERMOST | SD_BEYOND_WHOLE_INNER,
};

struct sd_open_cell {
    uint32_t pair;   /* index of its pair; of no meaning when it is lost */
    uint32_t flags;  /* enum sd_beyond_flags; 0: the cell is free.  Written last when a
                        call begins, first when it ends */
    uint32_t below;  /* index of its caller's open cell; of a first call that of the
                        tree's cell that stands for all calls beyond it from there */
    uint32_t number; /* its own index */
    uint64_t callee_ticks;  /* inclusive, of calls that it made and that have ended */
    uint64_t callee_cpu_ns; /* the same */
    struct sd_calls_inside direct; /* calls that it made, open ones too */
    struct sd_calls_inside deeper; /* calls below those of them that have ended */
};
_Static_assert(sizeof(struct sd_open_cell) == 64, "on disk");
#endif
