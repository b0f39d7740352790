/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_BLOCK_H
#define SD_LINES_LINE_BLOCK_H
/* line_block: the lines of a block of the program. */
#include "cpython/compat.h"

#include "collect/inside.h"

extern const struct sd_inside_block sd_line_block;

/* Chooses a code object, in a block that has begun. */
int sd_line_block_choose(void *state, PyCodeObject *code);
#endif
