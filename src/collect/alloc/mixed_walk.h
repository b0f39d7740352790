/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_MIXED_WALK_H
#define SD_ALLOC_MIXED_WALK_H
/* mixed_walk: puts the Python frames of this thread between its native functions.
 *
 * Each call of CPython's evaluator stands for the Python functions that it runs.  From
 * 3.10 on such a call leaves a mark in its own part of the C stack, which tells which
 * one it is; before, its name tells, and it runs one function. */
#include <stdbool.h>

#include "capture/alloc/alloc_cell.h"

struct sd_alloc_frame;
struct sd_mixed_stack;

/* As `merge` and `describe` of struct sd_alloc_language. */
bool sd_mixed_walk_merge(struct sd_mixed_stack *s);
bool sd_mixed_walk_describe(const void *frame, enum sd_allocator by,
                            struct sd_alloc_frame *to);
#endif
