/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_PAGE_H
#define SD_LINES_LINE_PAGE_H
/* line_page: one chosen code object in one session, and the counters of its lines in
 * the session's table.
 *
 * The table is made when the first line is counted, and a line's cell when that line
 * first runs: what was chosen and never runs costs nothing.
 *
 * Everything here wants the interpreter's lock. */
#include "cpython/compat.h"

#include "collect/lines/code_selection.h"

struct sd_line_session;

struct sd_line_page { /* a code object in a session */
    struct sd_line_book book;
    struct sd_line_session *session;
    struct sd_line_target *chosen;
    uint32_t site; /* in the session's table; 0: not defined yet */
    unsigned twin; /* which of those that are alike (sd_code_place), as chosen */
};

/* NULL: no memory. */
struct sd_line_page *sd_line_page_new(struct sd_line_session *s, PyCodeObject *code);
void sd_line_page_free(struct sd_line_page *p);
/* Its lines are counted while its session is on, or no more. */
int sd_line_page_open(struct sd_line_page *p);
void sd_line_page_close(struct sd_line_page *p);
/* Hits that stand in no cell are not passed over in silence: the table has them now. */
void sd_line_page_put_lost(struct sd_line_page *p);
/* Tables show it, whether it ever runs or not. */
void sd_line_page_mention(struct sd_line_page *p);

/* The session's table, with all cells of its pages, is gone: the next line that is
 * counted makes another. */
void sd_line_page_drop_table(struct sd_line_session *s);
/* What time it is, for who reads the table. */
void sd_line_page_put_clock(struct sd_line_session *s);
/* The session's costs, where there is a table already. */
void sd_line_page_put_costs(struct sd_line_session *s);
#endif
