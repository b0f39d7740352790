/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_SCOPE_H
#define SD_CALLS_SCOPE_H
/* scope: marks contexts (contextvars), so that a session follows the calls of one piece
 * of work alone: a request, say, beside others on the same event loop.
 *
 * A context variable of ours holds the numbers of the scopes that a context is in.
 * Whoever starts a task or hands work to another thread copies the context, and the
 * mark with it: so a scope holds a task, the tasks that it starts, and the threads that
 * work for it.
 *
 * Most events come in the same context as the one before.  So the variable is asked
 * only when the thread has entered or left a context since, which the interpreter
 * counts, or when the variable may have been set in the one that runs: asgiref, for
 * one, copies all variables from one context into another.  The address of the context
 * would not do: a new one may lie where an old one was. */
#include <stdbool.h>
#include <stdint.h>

struct sd_scope {
    uint64_t id;    /* never used twice in a process; 0: no scope, all calls */
    void *variable; /* the ContextVar; borrowed */
    /* A number that changes with whatever can change `is_here` in this thread. */
    uint64_t (*state)(const struct sd_scope *s);
    bool (*is_here)(const struct sd_scope *s); /* is the thread's context in it? */
};

struct sd_scope sd_scope_new(void *variable);
/* Marks the context that runs: 1; 0 when it is in the scope already; -1 with an
 * exception.  Each 1 wants a leave, in the same context. */
int sd_scope_enter(const struct sd_scope *s);
int sd_scope_leave(const struct sd_scope *s); /* -1 with an exception */
#endif
