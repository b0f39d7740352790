/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_TOOL_H
#define SD_CALLS_TOOL_H
/* tool: Sonde's one tool id of sys.monitoring (3.12 and later), and who of us hears
 * what through it.
 *
 * The interpreter has few ids, and those of debuggers, coverage, profilers and
 * optimizers are theirs: ours is 3, or 4 where another has it.  An id has one callback
 * for each event.  Where calls and lines both want an event it is one that asks both;
 * that is decided when they say what they want, so that one alone pays nothing.
 *
 * All of it wants the interpreter's lock, and is of one interpreter at a time. */
#include <stdbool.h>

#include "cpython/compat.h"

#if SD_HAS_MONITORING
enum sd_tool_user { SD_TOOL_CALLS, SD_TOOL_LINES, SD_TOOL_USERS };

/* Takes the id, unless one of us has it already.  SD_ELACKS with a sentence, or -1 with
 * an exception. */
int sd_tool_join(enum sd_tool_user who);
/* Hears nothing any more; the last of us gives the id back. */
void sd_tool_leave(enum sd_tool_user who);

/* The callback of an event of this name in sys.monitoring.events, with NULL none.  Its
 * number goes to *number.  -1 with an exception. */
int sd_tool_hear(enum sd_tool_user who, const char *event, vectorcallfunc callback,
                 long *number);
/* These are heard of all code.  A callback may return sd_tool_disable() to hear no more
 * of a place; it does if nobody else wants to. */
int sd_tool_hear_all(enum sd_tool_user who, long events);
/* These are heard of one code object, too. */
int sd_tool_hear_of(PyCodeObject *code, long events);

PyObject *sd_tool_missing(void); /* sys.monitoring.MISSING; borrowed */
PyObject *sd_tool_disable(void); /* sys.monitoring.DISABLE; a new reference */
/* Everything that was left out is heard again, by other tools too. */
int sd_tool_restart(void);
#endif
#endif
