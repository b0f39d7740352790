/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_CALL_TREE_H
#define SD_CALLS_CALL_TREE_H
/* call_tree: adds up every call of one thread in one session, in a calling-context
 * tree.
 *
 * A node (capture/call_cell.h) is a function called along one path.  What cProfile
 * keeps (callers, recursion, primitive calls) is derived from it at the end, so a call
 * only finds its node, counts, and adds its time when it returns.
 *
 * The calls that are open stand on a stack of entries, each with the frame it runs in.
 * A call must come from the frame on top and a return must be its own; when they do not
 * match, calls went unseen (greenlets switch, other tools take events away), and the
 * slow path brings entries and frames together again: nothing is booked on a wrong
 * parent.  A stack that belongs to a greenlet which waits is parked, and its clock
 * stands still until its frames come back.
 *
 * A tree has as many cells as it may have, and then it is full: calls along other paths
 * are counted by caller and callee alone (pairs.h).  Each cell has one more for where
 * they left the tree, or two: those of Python functions and of C functions are kept
 * apart as long as all that there are, and may come, are no more than twice as many.
 *
 * One thread writes a tree, with the interpreter's lock held. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/call_cell.h"
#include "capture/cells.h"
#include "capture/open_cell.h"
#include "capture/pair_cell.h"
#include "collect/calls/timeline.h"
#include "collect/shared/bouts.h"
#include "collect/shared/ticks.h"

struct sd_call_tree;
struct sd_pair_function;
struct sd_thread_cpu;
struct sd_writer;

/* Frames are compared, never followed.  In the two lowest bits: */
enum {
    SD_FRAME_C = 1,      /* a C function called from this frame, which has none */
    SD_FRAME_BASE = 2,   /* not a call: what was running when the session began */
    SD_FRAME_BEYOND = 3, /* beyond the tree, whatever it calls: see pairs.h */
    SD_FRAME_TAGS = 3,
};

enum { SD_CALLS_TO_LOOK = 4096 }; /* some 60 looks of 2 us a second, at most */

struct sd_call_entry {
    struct sd_call_cell *cell; /* beyond the tree that of its pair, below which nothing
                                  is found */
    uintptr_t frame;           /* and its tags */
    uint64_t start;            /* ticks; of a parked entry those that it ran so far */
    uint64_t skipped;          /* those of the tree when it began */
    uint64_t cpu_start; /* ns of sd_call_tree_cpu, as start; unused without cpu */
    /* Only beyond the tree (pairs.h): */
    struct sd_pair_function *function; /* by which its callees are called */
    struct sd_open_cell *open; /* what is known of it until it ends; kept in its place
                                  of the stack for the next.  NULL: none yet */
};

/* What the interpreter's side knows of functions.  `what` is the code object or the C
 * function that is called. */
struct sd_call_names {
    /* Defines the function's site in the table and keeps alive what the key stands
     * for.  0: it cannot be. */
    uint32_t (*define)(void *of, struct sd_call_tree *t, uint64_t key,
                       const void *what);
    void *of;
    /* The key of a call that starts in this frame, or goes on there, when its arguments
     * are part of it; NULL: the function's own key is. */
    uint64_t (*sign)(struct sd_call_tree *t, uint64_t key, const void *what,
                     uintptr_t frame, bool goes_on);
    /* The function's own key, of any key that `sign` gives. */
    uint64_t (*function_key)(uint64_t key);
};

/* What a call has besides its count and its time: then it is not the usual case. */
enum sd_call_extra {
    SD_EXTRA_CPU = 1,
    SD_EXTRA_TIMELINE = 2,
};

struct sd_call_slot;
struct sd_call_parking;
struct sd_call_pairs;

struct sd_call_tree {
    struct sd_call_entry *top;   /* the call that runs; at the bottom an entry BASE */
    struct sd_call_entry *last;  /* that there is room for */
    struct sd_call_entry *stack; /* owned */
    uint64_t skipped;       /* ticks, of all that there were, that passed for no call */
    uint64_t skipped_cpu;   /* ns, the same */
    struct sd_cells *table; /* owned */
    bool sees_c;            /* C functions are wanted */
    uint8_t extra;          /* enum sd_call_extra */
    bool has_more;  /* something extra, or signatures: no start is the usual one */
    bool is_logged; /* but for a timeline alone */
    enum sd_clock_kind clock;
    struct sd_timeline timeline; /* when calls were, if that is wanted */
    struct sd_thread_cpu *cpu;   /* NULL: CPU time is not wanted; borrowed */
    uint64_t (*timer)(void *of); /* a user's own clock, or NULL */
    void *timer_of;
    struct sd_call_names names;
    struct sd_call_slot *slots;      /* (caller, key) to cell; owned */
    size_t n_slots;                  /* a power of two */
    uint32_t n_max;                  /* nodes that there may be */
    uint32_t n_beyond, n_leaving;    /* cells for calls beyond them, and cells that have
                                        one of those, or two */
    struct sd_call_pairs *pairs;     /* calls beyond them; NULL: none yet; owned */
    bool is_followed;                /* between begin and end */
    uint32_t pause_ticks, pause_cpu; /* of a pause itself; ns */
    uint32_t until_look;             /* calls that are not the usual case, to the next
                                        look at the speed of the machine; 0: 2^32 */
    struct sd_bouts_looks looks;     /* those since the session started */
    uint64_t began;                  /* ticks */
    uint64_t paired;                 /* ticks of the last CLOCK record */
    struct sd_table sites;           /* key to site */
    struct sd_table strings;         /* for `define`: what it has defined already */
    uint64_t thread;                 /* for sessions: a number, whose it is */
    uint64_t ident;                  /* the thread's pthread_t ... */
    uint32_t tid;                    /* ... and the kernel's number */
    bool is_named;                   /* its thread is known by the program's name */
    bool waits;                      /* for the first call of the program */
    struct sd_table waiting;         /* frame of a suspended coroutine to ticks */
    struct sd_table parked_by_frame; /* of a waiting stack's last entry to its place */
    struct sd_call_parking *parked;  /* stacks that wait; owned */
    size_t n_parked, cap_parked;
};

/* --- The hot path ---------------------------------------------------------------- */

/* The cell that lies `distance` cells further on in memory. */
static inline struct sd_call_cell *sd_call_tree_cell_at(struct sd_call_cell *from,
                                                        int32_t distance)
{
    return from + (ptrdiff_t)distance;
}

/* hot: is it the frame of the call that runs? */
static inline bool sd_call_tree_is_on_top(const struct sd_call_tree *t, uintptr_t frame)
{
    return (t->top->frame & ~(uintptr_t)SD_FRAME_TAGS) == frame;
}

/* Not inlined, and rare. */
struct sd_call_entry *sd_call_tree_enter_slowly(struct sd_call_tree *t, uint64_t key,
                                                const void *what, uintptr_t frame,
                                                uintptr_t below);
void sd_call_tree_leave_slowly(struct sd_call_tree *t, uintptr_t frame, uint64_t now,
                               uint64_t cpu);
/* With something extra, too: after `start` was read, and instead of leave. */
void sd_call_tree_started(struct sd_call_tree *t, struct sd_call_entry *e);
void sd_call_tree_leave_more(struct sd_call_tree *t, uintptr_t frame, uint64_t now);
/* The slow ones first see (pairs.c) whether the call lies beyond the tree as an earlier
 * one did; if not, these do the rest. */
struct sd_call_entry *sd_call_tree_enter_any(struct sd_call_tree *t, uint64_t key,
                                             const void *what, uintptr_t frame,
                                             uintptr_t below);
void sd_call_tree_leave_any(struct sd_call_tree *t, uintptr_t frame, uint64_t now);

/* hot: a call begins in `frame`, which was called from `below` (0: from none).  The
 * entry is on the stack and counted; the caller reads the clock last, into `start`.
 *
 * NULL: it is not the usual case, in which the function is one of the two that were
 * likely to be called; nothing has changed, and sd_call_tree_enter does the rest.  A
 * cell that has no child yet points to the root, whose key is no function's. */
static inline struct sd_call_entry *
sd_call_tree_try(struct sd_call_tree *t, uint64_t key, uintptr_t frame, uintptr_t below)
{
    struct sd_call_entry *top = t->top;
    struct sd_call_cell *parent = top->cell;
    struct sd_call_cell *cell = sd_call_tree_cell_at(parent, parent->last_child);

    if (__builtin_expect(
            (top->frame & ~(uintptr_t)SD_FRAME_TAGS) != below || top == t->last, 0))
        return NULL;
    if (__builtin_expect(cell->key != key, 0)) {
        cell = sd_call_tree_cell_at(cell, cell->next);
        if (__builtin_expect(cell->key != key, 0))
            return NULL;
        parent->last_child = (int32_t)(cell - parent);
    }
    top++;
    top->cell = cell;
    top->frame = frame;
    top->skipped = t->skipped;
    cell->calls++;
    t->top = top;
    return top;
}

/* hot: the same in every case.  NULL: no memory, and the call is not followed. */
static inline struct sd_call_entry *sd_call_tree_enter(struct sd_call_tree *t,
                                                       uint64_t key, const void *what,
                                                       uintptr_t frame, uintptr_t below)
{
    struct sd_call_entry *e = sd_call_tree_try(t, key, frame, below);

    if (__builtin_expect(e != NULL, 1))
        return e;
    return sd_call_tree_enter_slowly(t, key, what, frame, below);
}

/* hot: the two ends of a call with a timeline and nothing else extra; false: not so, or
 * its event has no short form, and nothing has changed.  The event is put after the
 * clock was read for the beginning, and so is part of the call, as all of its end is
 * part of the caller. */
static inline bool sd_call_tree_try_log_start(struct sd_call_tree *t,
                                              const struct sd_call_entry *e)
{
    return t->extra == SD_EXTRA_TIMELINE &&
           sd_timeline_try(&t->timeline,
                           sd_record_call_short(SD_CALL_SHORT_BEGINS, e->cell->site),
                           e->start);
}

static inline bool sd_call_tree_try_log_end(struct sd_call_tree *t, uint64_t now)
{
    return t->extra == SD_EXTRA_TIMELINE &&
           sd_timeline_try(&t->timeline, SD_CALL_SHORT_ENDS, now);
}

/* hot: the ticks that have passed for an open call, at `now`. */
static inline uint64_t sd_call_ticks(const struct sd_call_tree *t,
                                     const struct sd_call_entry *e, uint64_t now)
{
    return now - e->start - (t->skipped - e->skipped);
}

/* hot: the call in `frame` (tagged, of a C function) ended at `now`. */
static inline void sd_call_tree_leave(struct sd_call_tree *t, uintptr_t frame,
                                      uint64_t now)
{
    struct sd_call_entry *top = t->top;

    if (__builtin_expect(top->frame != frame, 0) ||
        (__builtin_expect(t->extra, 0) && !sd_call_tree_try_log_end(t, now))) {
        sd_call_tree_leave_more(t, frame, now);
        return;
    }
    top->cell->ticks += sd_call_ticks(t, top, now);
    t->top = top - 1;
}

/* --- The rest -------------------------------------------------------------------- */

/* What tracing costs, of one call and return, in ticks x 1024, as a root has it. */
struct sd_call_costs {
    uint32_t python_inside, python_outside;
    uint32_t c_inside, c_outside;
    uint32_t python_plain, c_plain; /* ticks x 1024 of an empty call, untraced */
    uint32_t error; /* in 1024ths of the costs, by how much they may be wrong */
};

struct sd_call_tree_how {
    struct sd_writer *writer; /* NULL: in memory only */
    struct sd_call_names names;
    uint64_t (*timer)(void *of); /* or NULL */
    void *timer_of;
    uint32_t n_max;             /* nodes; 0: a million */
    enum sd_clock_kind clock;   /* unless there is a timer */
    struct sd_ticks_pair first; /* an earlier moment of the process: two pairs from the
                                   start give a rate, whatever happens */
    struct sd_thread_cpu *cpu;  /* or NULL */
    bool sees_c;
    bool has_timeline;
    bool is_trial; /* to measure what it costs: the timeline is written nowhere */
};

int sd_call_tree_new(const struct sd_call_tree_how *how, struct sd_call_tree **out);
void sd_call_tree_free(struct sd_call_tree *t);

/* Follows the thread from now on; what runs already is below everything. */
void sd_call_tree_begin(struct sd_call_tree *t);
/* Ends what is open, parked stacks too, as if it returned now.  By any thread. */
void sd_call_tree_end(struct sd_call_tree *t);
/* The thread's CPU clock, which stood at `cpu`, begins at 0 again: a child of fork. */
void sd_call_tree_cpu_begins_anew(struct sd_call_tree *t, uint64_t cpu);

/* The entry of a call that goes on with a generator or coroutine: after
 * sd_call_tree_enter, at `now`. */
void sd_call_tree_resumed(struct sd_call_tree *t, struct sd_call_entry *e,
                          uint64_t now);
/* A coroutine is suspended: before its leave. */
void sd_call_tree_suspended(struct sd_call_tree *t, uintptr_t frame, uint64_t now);

/* A call of this frame is open on the stack, or the frame is what the stack stands on.
 */
bool sd_call_tree_stands_on(const struct sd_call_tree *t, uintptr_t frame);

/* The call on top runs in the frame `caller`, and this frame, above that, is of no
 * stack. */
bool sd_call_tree_is_unheard(const struct sd_call_tree *t, uintptr_t frame,
                             uintptr_t caller);

static inline struct sd_call_root *sd_call_tree_root(struct sd_call_tree *t)
{
    return sd_cells_at(t->table, 0);
}

/* Now, on the tree's clock and the thread's (0 where that is not wanted), which stands
 * still in a pause. */
uint64_t sd_call_tree_now(const struct sd_call_tree *t);
uint64_t sd_call_tree_cpu(const struct sd_call_tree *t);

/* Work of ours that may take longer than a call does: between the two, and for what
 * they take themselves, no time passes for the calls that are open, as far as the tree
 * goes; a timeline shows it.  A user's clock is not asked for it, and goes on. */
struct sd_call_pause {
    uint64_t ticks, cpu;
};
struct sd_call_pause sd_call_tree_pause(const struct sd_call_tree *t);
void sd_call_tree_go_on(struct sd_call_tree *t, struct sd_call_pause since);

/* So much time, in the tree's ticks and ns of CPU, has not passed.  However deep the
 * stack is, this is all there is to do: every entry knows what had been skipped when it
 * began. */
static inline void sd_call_tree_skip(struct sd_call_tree *t, uint64_t ticks,
                                     uint64_t cpu)
{
    t->skipped += ticks;
    t->skipped_cpu += cpu;
}

/* The call on top never ran, though it was told of: it is not counted. */
void sd_call_tree_undo(struct sd_call_tree *t, uintptr_t frame);

/* The site of this function in the tree's definitions, new or known; 0: none. */
uint32_t sd_call_tree_site(struct sd_call_tree *t, uint64_t key, const void *what);
/* The cell for all calls along paths that leave the tree from `parent`, with a call of
 * a C function or not (where there is no more room for two: with either): new or known;
 * NULL: no memory. */
struct sd_beyond_cell *sd_call_tree_beyond(struct sd_call_tree *t,
                                           struct sd_call_cell *parent, bool is_c);
/* Does this key of a cell stand for calls beyond the tree? */
bool sd_call_key_is_beyond(uint64_t key);

/* Tells every call that is open, parked ones too, the newest of each stack first, and
 * how long it has run: what a look at a running tree has to leave out.  `inside` are
 * the calls beyond the tree that were made in it, `exit` the cell to which it will add
 * when it is the first of those. */
struct sd_open_entry {
    const struct sd_call_entry *entry;
    uint64_t ticks;
    struct sd_calls_inside inside;
    const struct sd_beyond_cell *exit;
};
void sd_call_tree_each_open(const struct sd_call_tree *t,
                            void (*tell)(void *of, const struct sd_open_entry *open),
                            void *of);
#endif
