/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_TOOL_H
#define SD_COLLECT_SHARED_TOOL_H
/* tool: holds Sonde's one tool id of sys.monitoring (3.12 and later) and passes its
 * events to calls and lines.
 *
 * The interpreter has few ids, and those of debuggers, coverage, profilers and
 * optimizers are theirs: ours is 3, or 4 where another has it.  An id has one callback
 * for each event.  Where several users want an event it is one that asks them all; that
 * is decided when they say what they want, so that one alone pays nothing.
 *
 * All of it wants the interpreter's lock, and is of one interpreter at a time. */
#include <stdbool.h>

#include "cpython/compat.h"

#if SD_HAS_MONITORING
enum { SD_TOOL_EVENTS = 32 }; /* the number of an event is one bit of so many */

/* Who hears through the id: a variable of each collector, all zero before it joins and
 * after it leaves.  Only tool.c looks inside. */
struct sd_tool_user {
    struct sd_tool_user *next;
    bool has_joined;
    long everywhere;                          /* events that it hears of all code */
    vectorcallfunc callbacks[SD_TOOL_EVENTS]; /* by the bit of the event; or NULL */
};

/* Takes the id, unless one of us has it already.  SD_ELACKS with a sentence, or -1 with
 * an exception. */
int sd_tool_join(struct sd_tool_user *who);
/* Hears nothing any more; the last of us gives the id back. */
void sd_tool_leave(struct sd_tool_user *who);

/* The callback of an event of this name in sys.monitoring.events, with NULL none.  Its
 * number goes to *number.  Fails as sd_tool_join does, as all of these; also when an
 * audit hook of the program made `who` leave meanwhile. */
int sd_tool_hear(struct sd_tool_user *who, const char *event, vectorcallfunc callback,
                 long *number);
/* These are heard of all code.  A callback may return sd_tool_disable() to hear no more
 * of a place; it does if nobody else wants to. */
int sd_tool_hear_all(struct sd_tool_user *who, long events);
/* These are heard of one code object, too. */
int sd_tool_hear_of(PyCodeObject *code, long events);

PyObject *sd_tool_missing(void); /* sys.monitoring.MISSING; borrowed */
/* sys.monitoring.DISABLE, or None where hearing again could hang; a new reference. */
PyObject *sd_tool_disable(void);
/* Everything that was left out is heard again, by other tools too. */
int sd_tool_restart(void);
/* What one of these returned, with a sentence where it was an exception, which is gone
 * then.  `what`: the events were for. */
int sd_tool_said(int rc, const char *what);
#endif
#endif
