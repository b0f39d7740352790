/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_STEP_WRAPPER_H
#define SD_EXT_STEP_WRAPPER_H
/* step_wrapper: `_sonde.Resumed(begin, end, body)`, what `yield from` and `await`
 * resume in place of a generator or of something that is awaited: begin() is called
 * before each step of the body and end() behind it, so a profiler is on for these and
 * for nothing that runs in between.  Where begin() gives False there is nothing to end.
 *
 * The interpreter hands on to it whatever is sent, thrown or closed, so a program finds
 * the same as without it.  It is no Python, since a recursion of generators would reach
 * the interpreter's limit earlier with another frame at each level. */
#include "ext/ext.h"

#endif
