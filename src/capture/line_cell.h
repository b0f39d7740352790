/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_LINE_CELL_H
#define SD_CAPTURE_LINE_CELL_H
/* line_cell: the layout of the counters of one line of one function, in a table
 * (cells.h) of the kind SD_CELLS_LINES.
 *
 * One table per process and session, for all its threads.  Cell 0 is the root.  A table
 * may be read at any moment, also after a death: a line is counted when it begins, and
 * its time is added when it ends, so of a line that is open the last hit has no time
 * yet.
 *
 * Sites are functions in the table's definitions.  Ticks are those of the CLOCK records
 * there, as those of calls (call_cell.h). */
#include <stdint.h>

enum { SD_CELLS_LINES = 2 }; /* the kind of such tables */

/* A META of this key with the path of a source file behind it has the mark
 * (base/mark.h) of that file when its first function was chosen. */
#define SD_META_SOURCE "lines.source:"

struct sd_line_cell {
    uint32_t site;  /* the function */
    uint32_t line;  /* in its file */
    uint64_t hits;  /* times that it was begun, from another line or as the first */
    uint64_t ticks; /* from the beginning to the end of each hit, with all that
                       was called */
    uint64_t child_ticks; /* of these, in functions whose lines are counted, too */
    uint64_t min_ticks, max_ticks; /* of one hit; min 0: none has ended */
    uint64_t cpu_ns;               /* of the thread, as ticks; 0 where not measured */
    uint64_t n_read;    /* times that memory was read: at ends of hits, and of the def's
                           line when its function was entered; 0: never */
    int64_t grew_bytes; /* changes of resident memory since the reading before, by
                           whatever thread, summed */
    int64_t after_bytes;  /* the largest reading */
    int64_t peak_bytes;   /* largest of the process inside of a hit; 0: not known */
    uint64_t child_hits;  /* of lines in the functions of `child_ticks` ... */
    uint64_t child_calls; /* ... and calls and resumes of these functions */
    uint64_t stays;       /* times that it was told of again while a hit went on: a loop
                             on one line; no hits */
    uint64_t child_stays; /* of lines in the functions of `child_ticks` */
    uint64_t zero[1];
};
_Static_assert(sizeof(struct sd_line_cell) == 128, "on disk");

enum sd_line_root_flags {
    SD_LINES_HAVE_CPU = 1,
    SD_LINES_HAVE_MEMORY = 2,
    SD_LINES_HAVE_PEAK = 4,
};

/* What is told costs time, which was measured in this process: ticks x 1024; 0: not
 * known.  A hit has `hit_cost` of it in its own time; who waits for a line that is
 * counted, too, has `line_cost` (that and what falls between two lines) in its time for
 * each, and `call_cost` for each call.  A stay has all of its `stay_cost` in the time
 * of its line and of whoever waits for it. */
struct sd_line_root { /* cell 0 */
    uint32_t track;   /* the thread that made the table, among its definitions */
    uint32_t flags;   /* enum sd_line_root_flags */
    uint64_t hit_cost, line_cost, call_cost, stay_cost;
    uint64_t zero[11];
};
_Static_assert(sizeof(struct sd_line_root) == 128, "on disk");
#endif
