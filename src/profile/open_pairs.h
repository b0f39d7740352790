/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_OPEN_PAIRS_H
#define SD_PROFILE_OPEN_PAIRS_H
/* open_pairs: finds the calls beyond a full tree that were open when a table was read
 * (capture/open_cell.h), and what had ended in each of them.
 *
 * Cells are foreign.  One whose caller's cell is not there counts for itself, and those
 * that would be called by each other in a ring for nothing. */
#include <stddef.h>

#include "capture/cells.h"
#include "capture/open_cell.h"
#include "profile/call_nodes.h"

struct sd_open_pair {
    struct sd_open_cell cell; /* as it was read */
    /* Once settled: what had ended in it, at any depth. */
    uint64_t ticks, cpu_ns;
    struct sd_call_counts_calls calls;  /* all that were made in it, open ones too */
    struct sd_call_counts_calls inside; /* those of them that have ended */
    struct sd_call_counts_calls around; /* those whose caller has */
};

struct sd_open_pairs {          /* all zero is a fresh one */
    struct sd_open_pair *items; /* owned; by number of their cells */
    size_t n, cap;
    uint64_t end; /* number behind the last cell that was read */
};

/* Takes the open ones of a chunk's cells.  1, 0 when the chunk cannot be, or < 0. */
int sd_open_pairs_add(struct sd_open_pairs *o, const struct sd_cells_view *view);
/* All are there: adds up each with those above it.  Those of rings have no flags
 * afterwards.  0 or SD_ENOMEM. */
int sd_open_pairs_settle(struct sd_open_pairs *o);
void sd_open_pairs_clear(struct sd_open_pairs *o); /* keeps the memory */
void sd_open_pairs_release(struct sd_open_pairs *o);
#endif
