/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_FRONT_H
#define SD_CALLS_FRONT_H
/* front: what the fronts share: they translate an interpreter's events into calls and
 * returns.
 *
 * A front is one file per mechanism (front_monitoring.c, front_eval.c,
 * front_profile.c), built into the extension; each interpreter has those that it needs
 * and one definition of sd_calls_listen.  A front turns events into the calls below and
 * decides nothing: which sessions are active, and in which threads, is known here.
 *
 *     sd_calls_enter(key of code, code, frame, frame below)   a function starts
 *     sd_calls_resume(...)                                     a generator goes on
 *     sd_calls_leave(frame)                                    returned or raised
 *     sd_calls_suspend(frame)                                  a coroutine yields
 *     sd_calls_enter_c(method def, callable, frame)            frame: the caller's
 *     sd_calls_leave_c(frame)
 *
 * All with the interpreter's lock held.  Every one of them costs a thread that is not
 * followed one load and one test, and may be called at any time: after the last session
 * ended, in the middle of a stack, in a child of fork. */
#include <stddef.h>
#include <stdint.h>

#include "collect/calls/call_tree.h"

/* What a front is asked to hear. */
enum sd_calls_events {
    SD_CALLS_PYTHON = 1,
    SD_CALLS_C = 2,       /* C functions, too */
    SD_CALLS_BOUNDED = 4, /* functions that are short and often may be left out */
    SD_CALLS_ALL = 8,     /* some session follows all threads */
    SD_CALLS_SIGNED = 16, /* arguments are part of a function's key */
};

/* Hears these events from now on; 0: stop, and put everything back.  Called after every
 * start and stop of a session, by the thread that did it, whose trees are set.  Fails
 * with a sentence (SD_ELACKS, SD_ENOMEM); leaves no exception. */
int sd_calls_listen(unsigned events);
/* Before the last session ends: has told as not traced whatever others keep from us
 * still.  Needs no Python. */
void sd_calls_tell_missing(void);

/* The tree of this thread when there is just one and its clock is the time-stamp
 * counter; else NULL, and the functions below that are not inline see. */
extern _Thread_local
    __attribute__((tls_model("initial-exec"))) struct sd_call_tree *sd_calls_only;

enum sd_calls_start { SD_CALLS_STARTS, SD_CALLS_RESUMES };
void sd_calls_enter_slowly(uint64_t key, const void *what, uintptr_t frame,
                           uintptr_t below, enum sd_calls_start how);
void sd_calls_leave_others(uintptr_t frame);
void sd_calls_suspend(uintptr_t frame); /* of coroutines; generators just leave */

/* The C function that runs, if it is `from`, is known as `to` in the calling thread:
 * what a session calls itself by while it ends.  Keys as below. */
void sd_calls_rename_c(const void *from, const void *to, const void *callable);

/* Does any session follow the calling thread? */
bool sd_calls_follows(void);
/* Is a C function that was called from this frame open in a tree of the calling thread?
 */
bool sd_calls_is_in_c(uintptr_t frame);
/* Is some call open in a tree of the calling thread, and on top of it another than that
 * of this frame? */
bool sd_calls_stands_apart(uintptr_t frame);
/* Has nobody been told of the function in `frame` yet, and is `caller`, which is below
 * that, the frame of the call that runs? */
bool sd_calls_is_unheard(uintptr_t frame, uintptr_t caller);
/* The call in `frame`, which was told of last, ended before its first instruction. */
void sd_calls_never_ran(uintptr_t frame);
/* Between these ticks calls could not be heard, in no thread. */
void sd_calls_untraced(uint64_t from, uint64_t to);

/* hot: the key of a call in this tree. */
static inline uint64_t sd_calls_signed(struct sd_call_tree *t, uint64_t key,
                                       const void *what, uintptr_t frame, bool goes_on)
{
    if (__builtin_expect(t->names.sign == NULL, 1))
        return key;
    return t->names.sign(t, key, what, frame, goes_on);
}

/* hot: reads the clock of a call that has just begun; whatever else is wanted of it
 * comes behind. */
static inline void sd_calls_started(struct sd_call_tree *t, struct sd_call_entry *e)
{
    e->start = sd_tsc();
    if (__builtin_expect(t->extra, 0) && !sd_call_tree_try_log_start(t, e))
        sd_call_tree_started(t, e);
}

/* Before its first instruction is told of, a function can be interrupted: by a signal's
 * handler, or by the collector, which closes generators.  What runs then stands on a
 * frame that no stack knows, and is called by the call that runs, a frame or some
 * further down: a handler is interrupted like others. */
enum { SD_CALLS_UNHEARD_MAX = 8 };

/* hot: is it that call's frame?  False where there are several trees. */
static inline bool sd_calls_is_on_top(uintptr_t frame)
{
    const struct sd_call_tree *t = sd_calls_only;

    return t && sd_call_tree_is_on_top(t, frame);
}

/* hot: a function starts, in the only tree of this thread, whose key it has. */
static inline void sd_calls_enter_signed(struct sd_call_tree *t, uint64_t key,
                                         const void *what, uintptr_t frame,
                                         uintptr_t below)
{
    struct sd_call_entry *e = sd_call_tree_enter(t, key, what, frame, below);

    if (__builtin_expect(e != NULL, 1))
        sd_calls_started(t, e);
}

/* hot: a function starts that is none of the two that were likely. */
static inline void sd_calls_enter_found(uint64_t key, const void *what, uintptr_t frame,
                                        uintptr_t below)
{
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e;

    if (__builtin_expect(!t, 0)) {
        sd_calls_enter_slowly(key, what, frame, below, SD_CALLS_STARTS);
        return;
    }
    key = sd_calls_signed(t, key, what, frame, false);
    e = sd_call_tree_enter_slowly(t, key, what, frame, below);
    if (__builtin_expect(e != NULL, 1))
        sd_calls_started(t, e);
}

/* hot: a function starts. */
static inline void sd_calls_enter(uint64_t key, const void *what, uintptr_t frame,
                                  uintptr_t below)
{
    struct sd_call_tree *t = sd_calls_only;

    if (__builtin_expect(!t, 0))
        sd_calls_enter_slowly(key, what, frame, below, SD_CALLS_STARTS);
    else
        sd_calls_enter_signed(t, sd_calls_signed(t, key, what, frame, false), what,
                              frame, below);
}

/* hot: the two of a generator or coroutine that goes on. */
static inline void sd_calls_resume_signed(struct sd_call_tree *t, uint64_t key,
                                          const void *what, uintptr_t frame,
                                          uintptr_t below)
{
    struct sd_call_entry *e = sd_call_tree_enter(t, key, what, frame, below);

    if (__builtin_expect(e == NULL, 0))
        return;
    e->cell->resumes++;
    if (__builtin_expect(t->waiting.n != 0, 0))
        sd_call_tree_resumed(t, e, sd_tsc());
    sd_calls_started(t, e);
}

static inline void sd_calls_resume(uint64_t key, const void *what, uintptr_t frame,
                                   uintptr_t below)
{
    struct sd_call_tree *t = sd_calls_only;

    if (__builtin_expect(!t, 0))
        sd_calls_enter_slowly(key, what, frame, below, SD_CALLS_RESUMES);
    else
        sd_calls_resume_signed(t, sd_calls_signed(t, key, what, frame, true), what,
                               frame, below);
}

/* hot: it returned, raised or, being a generator, yielded, when the clock was `now`:
 * whoever reads it first has its own work outside of the call, and the processor goes
 * on meanwhile. */
static inline void sd_calls_leave_at(uintptr_t frame, uint64_t now)
{
    struct sd_call_tree *t = sd_calls_only;

    if (__builtin_expect(t != NULL, 1))
        sd_call_tree_leave(t, frame, now);
    else
        sd_calls_leave_others(frame);
}

static inline void sd_calls_leave(uintptr_t frame)
{
    sd_calls_leave_at(frame, sd_tsc());
}

/* The key of a C function: its PyMethodDef. */
static inline uint64_t sd_calls_c_key(const void *method_def)
{
    return (uint64_t)(uintptr_t)method_def | 1;
}

/* hot: the code in `frame` calls a C function. */
static inline void sd_calls_enter_c(const void *method_def, const void *callable,
                                    uintptr_t frame)
{
    struct sd_call_tree *t = sd_calls_only;

    if (t && !t->sees_c)
        return;
    /* A C function cannot call another from here: the end of the last went unheard. */
    if (t && __builtin_expect(t->top->frame == (frame | SD_FRAME_C), 0))
        sd_calls_leave(frame | SD_FRAME_C);
    sd_calls_enter(sd_calls_c_key(method_def), callable, frame | SD_FRAME_C, frame);
}

/* hot: the C function returned to `frame`. */
static inline void sd_calls_leave_c_at(uintptr_t frame, uint64_t now)
{
    struct sd_call_tree *t = sd_calls_only;

    if (!t || t->sees_c)
        sd_calls_leave_at(frame | SD_FRAME_C, now);
}

static inline void sd_calls_leave_c(uintptr_t frame)
{
    sd_calls_leave_c_at(frame, sd_tsc());
}
#endif
