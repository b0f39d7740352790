/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_LINE_TABLE_H
#define SD_CPYTHON_LINE_TABLE_H
/* line_table: finds the line of an instruction in a code object's line table.
 *
 * Three encodings, one reader: it gives the table as runs (from, to, line), in order
 * and without gaps.  The bytes come from a process that changes while it is read, so
 * nothing is believed: a table that ends in the middle of a run ends the reading. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/layout.h"

enum { SD_NO_LINE = -1 }; /* instructions that stand for no line of the source */

struct sd_line_run {
    uint32_t from, to; /* bytes from the first instruction; `to` is not in it */
    int32_t line;      /* or SD_NO_LINE */
};

struct sd_line_table {
    enum sd_lines_style style;
    const uint8_t *at, *end; /* borrowed */
    uint32_t n_code;         /* bytes of bytecode: where the last lnotab run ends */
    uint32_t offset;
    int32_t line;
};

/* Begins at the first instruction of a code object with n_code bytes of bytecode. */
void sd_line_table_init(struct sd_line_table *it, enum sd_lines_style style,
                        const uint8_t *table, size_t n, int32_t first_line,
                        uint32_t n_code);
/* The next run; false at the end of the table. */
bool sd_line_table_next(struct sd_line_table *it, struct sd_line_run *run);

/* Whether a table covers n_code bytes of bytecode as its encoding does: to the last
 * byte, or, where the last run is not written, less.  A table in another encoding
 * rarely does. */
bool sd_line_table_fits(enum sd_lines_style style, const uint8_t *table, size_t n,
                        uint32_t n_code);

/* The line of the instruction at `offset` bytes, as traceback and f_lineno give it:
 * first_line when offset < 0, SD_NO_LINE where there is none. */
int32_t sd_line_table_find(enum sd_lines_style style, const uint8_t *table, size_t n,
                           int32_t first_line, uint32_t n_code, int64_t offset);
#endif
