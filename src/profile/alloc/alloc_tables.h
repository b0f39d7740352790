/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_TABLES_H
#define SD_PROFILE_ALLOC_TABLES_H
/* alloc_tables: the stacks that allocated, and sums over them, of every process: cells
 * (capture/alloc/alloc_cell.h) in ids of the profile.
 *
 * As with calls a name may be defined behind the cell that has it, so a table is
 * gathered first and understood at the end of its stream.  It is then kept until the
 * logs that name its cells are replayed, at 8 bytes a stack.
 *
 * Cells are foreign: a parent stands before its child, or the stack is lost. */
#include "capture/alloc/alloc_cell.h"
#include "capture/cells.h"
#include "profile/profile.h"

struct sd_decoder;

struct sd_alloc_stack { /* what a cell is in the profile */
    uint32_t stack;     /* UINT32_MAX: no frame */
    uint8_t by;         /* enum sd_allocator; a domain of PyMem as a whole, ... */
    uint8_t function;   /* ... and the function of it */
};

struct sd_alloc_table {
    uint64_t stream;                /* its name in records */
    uint32_t process;               /* track; UINT32_MAX: the table does not say */
    uint32_t n_stacks;              /* cells up to the last that is there */
    struct sd_alloc_stack *stacks;  /* owned; by cell, and one for all that are lost */
    struct sd_alloc_sum_cell *sums; /* owned; without the root */
    size_t n_sums;
    struct sd_alloc_sum_root root;
    bool has_root;
};

struct sd_alloc_tables {          /* all zero is a fresh one */
    struct sd_alloc_table *items; /* owned; in the order of their streams */
    size_t n, cap;
    struct sd_alloc_stack_cell *cells; /* owned; of the stream at hand, by number */
    uint32_t n_cells;
    size_t cap_cells;
    struct sd_alloc_sum_cell *sums; /* owned; the same */
    size_t n_sums, cap_sums;
    struct sd_alloc_sum_root root;
    bool has_root;
};

/* Takes the cells of a chunk.  0 or SD_ENOMEM. */
int sd_alloc_tables_add(struct sd_alloc_tables *t, struct sd_profile *p,
                        const struct sd_cells_view *view);
/* This stream has ended.  0 or < 0. */
int sd_alloc_tables_settle(struct sd_alloc_tables *t, struct sd_decoder *d,
                           uint64_t stream);
/* The table of this stream, or NULL. */
const struct sd_alloc_table *sd_alloc_tables_find(const struct sd_alloc_tables *t,
                                                  uint64_t stream);
void sd_alloc_tables_release(struct sd_alloc_tables *t);
#endif
