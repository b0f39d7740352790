/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_TIMELINE_H
#define SD_CALLS_TIMELINE_H
/* timeline: logs when each call of a tree began and ended.
 *
 * A tree only adds up.  With a timeline its thread has a log of its own besides, and
 * every call puts two events of 4 bytes there: a run (capture/log.h) is filled in
 * place, so that an event costs one store and survives any death.  They name sites of
 * the tree's table, whose definitions are copied into the log before their first use;
 * each chunk begins with what is open, so that it can be read when others were lost
 * (capture/record.h has the bytes).
 *
 * Without a log (while the cost of tracing is measured) they go to a piece of
 * memory that is filled again and again.  So do they for a while where the disk has no
 * room, or only what the tables of calls may need: what is given up costs no more than
 * what is kept, and is counted. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/record.h"

struct sd_call_entry;
struct sd_call_tree;
struct sd_log;
struct sd_rec_calls;

struct sd_timeline {    /* all zero: there is none */
    uint32_t *at, *end; /* the next unit, and where the run ends */
    uint64_t last;      /* ticks of the last event */
    uint64_t due;       /* ticks after which the run is not gone on with */
    uint32_t n_long;    /* events of the run that took two units */
    uint32_t *scratch;  /* instead of a run, where there is none; owned */
    bool is_trial;      /* there is never one */
    bool has_begun;     /* something of it stands in the capture */
    bool is_given_up;  /* no room: events are only counted, in `scratch`, for a while */
    uint64_t retry_ns; /* until then */
    struct sd_log *log; /* ours until it is given back; NULL: none now, or scratch */
    const struct sd_log *was; /* the one before it: compared, never looked into */
    struct sd_rec_calls *run; /* that is being filled, or NULL */
    uint64_t table;           /* what it is known by in the log */
    uint64_t number;          /* events so far, those that were dropped too */
    uint64_t given;           /* the same when the log was given back */
    uint64_t names;           /* mark: definitions up to here are copied */
    uint32_t chunk, seq;      /* of the log, in which `from` stands */
    struct {
        uint64_t ticks, mono_ns;
    } pair; /* a moment on both clocks, a second old at most when a chunk begins */
};

/* A timeline that streams into the capture of the process; as a trial it goes into
 * memory that nobody reads.  0 or SD_ENOMEM. */
int sd_timeline_init(struct sd_timeline *l, bool is_trial);
/* Nothing is open, and nothing more comes for now: the run at hand ends, the table's
 * last definitions, its clock's among them, are copied, and the log is given back.  A
 * tree that rests may do so for long (a Profile that is off, a thread that ended), and
 * must hold nothing then: neither room in the capture, nor what a child of fork frees.
 */
void sd_timeline_rest(struct sd_call_tree *t);
/* The table has a new definition: it is copied before the next event. */
void sd_timeline_renames(struct sd_timeline *l);
/* In the child of a fork: the log is the parent's, and another one is taken. */
void sd_timeline_after_fork(struct sd_timeline *l);
/* All is in the capture; the log is given back. */
void sd_timeline_release(struct sd_timeline *l);

/* Not inlined, and rare: the event has no short form, the run is full, or there is
 * none.  One that is told late goes behind the one before it. */
void sd_timeline_put(struct sd_call_tree *t, enum sd_call_event event,
                     const struct sd_call_entry *e, uint64_t now);

/* hot: stores an event in its short form (sd_record_call_short), if it has one and
 * there is place for it; false: do it slowly. */
static inline bool sd_timeline_try(struct sd_timeline *l, uint32_t what, uint64_t now)
{
    uint64_t since = now - l->last;

    if (__builtin_expect(l->at == l->end || (since | what) >> SD_CALL_SHORT_BITS, 0))
        return false;
    l->last = now;
    __atomic_store_n(l->at++, (uint32_t)since << SD_CALL_SHORT_BITS | what,
                     __ATOMIC_RELAXED);
    return true;
}
#endif
