/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LINE_TABLES_H
#define SD_PROFILE_LINE_TABLES_H
/* line_tables: turns the cells of counted lines (capture/line_cell.h) into events.
 *
 * As with calls, a name may be defined behind the cell that has it, so a table is
 * gathered first and understood at the end of its stream.  Cells are foreign: numbers
 * that cannot be are bounded, and a site that is not there shows as "[lost name]". */
#include "capture/cells.h"
#include "capture/line_cell.h"
#include "profile/events.h"
#include "profile/lines/line_totals.h"

struct sd_decoder;

struct sd_line_tables {         /* all zero is a fresh one */
    struct sd_line_cell *cells; /* owned; without the root */
    size_t n, cap;
    struct sd_line_root root;
    uint32_t *sites; /* by cell, once settled; owned */
    uint32_t track;
    uint64_t from_ns, to_ns; /* when they were counted */
    double ns_per_tick;
    size_t next;                    /* cell to hand out + 1; 0: none */
    int64_t values[SD_LINE_VALUES]; /* of the event handed out last */
};

/* Takes the cells of a chunk.  0 or SD_ENOMEM. */
int sd_line_tables_add(struct sd_line_tables *t, const struct sd_cells_view *view);
/* The stream has ended.  0 or < 0. */
int sd_line_tables_settle(struct sd_line_tables *t, struct sd_decoder *d);
/* True: *e is the next line's event, borrowed until the next. */
bool sd_line_tables_next(struct sd_line_tables *t, struct sd_event *e);
void sd_line_tables_release(struct sd_line_tables *t);
#endif
