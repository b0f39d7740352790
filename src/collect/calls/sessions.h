/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_SESSIONS_H
#define SD_CALLS_SESSIONS_H
/* sessions: knows who traces calls now, and in which threads.
 *
 * A session is one Profile, or the one that fills a capture.  It has a tree for each
 * thread that it follows: only those that started it, or all.  Any number may be active
 * at once; each has its own trees and sees every call.
 *
 * A thread finds out at its next event that sessions came or went: whoever changes
 * their list empties the pointer by which every thread finds its one tree.  All of it
 * happens with the interpreter's lock held but for the end of a thread and fork, which
 * a lock of ours keeps apart.
 *
 * A session with a scope (scope.h) follows, in all threads, only what runs in its
 * contexts.  While there is one no thread has its tree at hand: each event asks first
 * whether the thread can have come into a scope, or out of one, since the event before.
 * All scopes of an interpreter have the same variable.
 *
 * Fork: the trees of a capture are the parent's, and the child makes its own at its
 * first event; those in memory are a copy, in which the child goes on, but for those
 * with a scope (sd_calls_sessions_end_scoped). */
#include <stdbool.h>
#include <stdint.h>

#include "collect/calls/front.h"
#include "collect/calls/scope.h"
#include "collect/shared/bouts.h"

struct sd_calls_request {
    unsigned events;   /* enum sd_calls_events; with SD_CALLS_ALL all threads */
    bool has_cpu;      /* CPU time, too */
    bool has_timeline; /* when each call was, too: into the capture, if there is one */
    bool is_trial;     /* to measure what it costs: nothing goes to the capture */
    bool in_capture;   /* tables go to the capture that the process has joined */
    uint32_t n_max;    /* nodes of one tree; 0: a million */
    /* With SD_CALLS_ALL: is the calling thread, which has not started it, one of those
     * that are followed?  NULL: they all are. */
    bool (*follows)(const void *threads);
    const void *threads;
    uint64_t (*timer)(void *of); /* instead of ticks, or NULL */
    void *of;                    /* the timer's */
    struct sd_call_names names;
    struct sd_scope scope; /* nothing outside it is followed, in no thread */
    /* Nothing is followed before a call from no frame that this says yes to; NULL: at
     * once. */
    bool (*begins)(const void *what);
};

struct sd_calls_session {
    struct sd_calls_request request; /* `events` may change while it is not active */
    bool is_active;
    bool is_waiting; /* for what `begins` */
    enum sd_clock_kind clock;
    struct sd_call_tree **trees; /* owned; of threads that ended, too */
    size_t n_trees, cap_trees;
    struct sd_call_costs costs;    /* of its trees, and those to come */
    struct sd_bouts_pace pace;     /* of who calibrates */
    struct sd_calls_session *next; /* among the active ones */
};

/* A number for a scope, and: the calling thread has marked the context that it is in,
 * or unmarked it. */
uint64_t sd_calls_new_scope(void);
void sd_calls_scope_changed(void);
/* Sessions that the calling thread makes from now on have this scope; returns the one
 * that they had until now.  All zero: none. */
struct sd_scope sd_calls_limit(struct sd_scope scope);

int sd_calls_session_new(const struct sd_calls_request *request,
                         struct sd_calls_session **out);
/* Follows the calling thread (or all) from now on; once more is nothing.  The caller
 * then tells the front what is wanted (sd_calls_sessions_want). */
int sd_calls_session_start(struct sd_calls_session *s);
/* Ends what is open in all its trees, and follows no more. */
void sd_calls_session_stop(struct sd_calls_session *s);
/* Stops all that have a scope, as a child of fork does: it is no part of the work that
 * forked, and may live long.  The caller then tells the front what is wanted. */
void sd_calls_sessions_end_scoped(void);
/* What tracing it costs is this, by what is known now. */
void sd_calls_session_set_costs(struct sd_calls_session *s,
                                const struct sd_call_costs *costs);
/* How fast the machine was meanwhile, as its trees saw it; which is told once. */
struct sd_bouts_looks sd_calls_session_looks(struct sd_calls_session *s);
/* Forgets all that was counted, and what is open. */
int sd_calls_session_clear(struct sd_calls_session *s);
void sd_calls_session_free(struct sd_calls_session *s); /* stopped before */

/* Writes into the capture, through the log of the calling thread, which threads found
 * no room for a tree of theirs. */
void sd_calls_sessions_tell_unfollowed(void);
/* All that any active session wants to hear. */
unsigned sd_calls_sessions_want(void);
/* Some want to hear C functions and some do not. */
bool sd_calls_sessions_are_mixed(void);
/* The first moment on both clocks that this process knows; made at the first call. */
struct sd_ticks_pair sd_calls_sessions_first_pair(void);
#endif
