/* SPDX-License-Identifier: MIT */
/* front_monitoring: traces calls through sys.monitoring (3.12 and later).
 *
 * The interpreter calls an object of ours for each event; with a vectorcall slot that
 * costs half of what a function does.  One tool id serves all sessions (tool.h).
 *
 * C functions are heard by CALL at the caller's instruction.  It would be cheaper to
 * switch that event off where a Python function was called; but the next call from the
 * same place may go to a C function, and counts are exact.
 *
 * Bounded: a function that is called often and is short may be left out, which is what
 * the event's DISABLE is for.  It outlives the tool, so whoever stops puts all back. */
#include "cpython/compat_frame.h"

#include <string.h>

#include "base/error.h"
#include "collect/calls/front.h"
#include "collect/calls/pairs.h"
#include "collect/calls/sessions.h"
#include "collect/shared/tool.h"
#include "cpython/compat.h"

#if SD_HAS_MONITORING
#include "collect/calls/front_signed.h"

enum {
#define EVENT(name, callback, bounded, with_signatures, when) AT_##name,
#include "collect/calls/call_events.def"
#undef EVENT
    N_EVENTS
};

/* What the interpreter has only one of. */
static struct {
    PyInterpreterState *interpreter; /* that is listened to; NULL: none */
    unsigned events;                 /* that are heard now */
    uint64_t short_ticks;            /* bounded: a call is short below this */
    bool has_disabled;               /* something was left out */
    PyObject *missing;               /* of sys.monitoring; the tool's */
} front;

static struct sd_tool_user user; /* of the tool id */

/* --- Events ---------------------------------------------------------------------- */

#define ARGS PyObject *self, PyObject *const *args, size_t n_args, PyObject *names
#define UNUSED (void)self, (void)n_args, (void)names

static inline uint64_t key_of(PyObject *code) { return (uint64_t)(uintptr_t)code; }

/* What is not the usual case has a function of its own, so that the usual one needs no
 * more registers than the call that finds the frame leaves to it. */
#define LESS_USUAL __attribute__((noinline)) static PyObject *

/* The clock is read; what else is asked for comes behind it. */
LESS_USUAL start_more(struct sd_call_tree *t, struct sd_call_entry *e)
{
    sd_call_tree_started(t, e);
    return Py_None;
}

static inline PyObject *started(struct sd_call_tree *t, struct sd_call_entry *e)
{
    e->start = sd_tsc();
    if (__builtin_expect(t->extra, 0) && !sd_call_tree_try_log_start(t, e))
        return start_more(t, e);
    return Py_None; /* immortal where there is monitoring */
}

static uintptr_t below_unheard(const sd_frame *below)
{
    const sd_frame *b = NULL;

    if (below && sd_calls_stands_apart((uintptr_t)below))
        b = sd_frame_below(below);
    for (int i = 0; b && i < SD_CALLS_UNHEARD_MAX; b = sd_frame_below(b), i++)
        if (sd_calls_is_unheard((uintptr_t)below, (uintptr_t)b))
            return (uintptr_t)b;
    return (uintptr_t)below;
}

/* The frame of the caller.  Where callers have been left out, the nearest that has not:
 * a frame that the stack does not know would be taken for another stack's. */
static uintptr_t caller_of(const sd_frame *f)
{
    const struct sd_call_tree *t = sd_calls_only;
    const sd_frame *below = sd_frame_below(f);

    if (front.has_disabled && t)
        for (const sd_frame *b = below; b; b = sd_frame_below(b))
            if (sd_call_tree_stands_on(t, (uintptr_t)b))
                return (uintptr_t)b;
    if (__builtin_expect(sd_calls_is_on_top((uintptr_t)below), 1))
        return (uintptr_t)below;
    return below_unheard(below);
}

/* In large programs one call of four: the function is none of the two that were likely,
 * or was called from C. */
LESS_USUAL start_slowly(sd_frame *f, PyObject *code)
{
    if (!sd_calls_follows())
        return Py_None;
    sd_calls_enter_found(key_of(code), code, (uintptr_t)f, caller_of(f));
    return Py_None;
}

/* hot: every call of a Python function.  Mostly the frame before is the caller's. */
static PyObject *on_start(ARGS)
{
    sd_frame *f = sd_frame_now();
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e = NULL;

    UNUSED;
    if (__builtin_expect(t != NULL, 1))
        e = sd_call_tree_try(t, key_of(args[0]), (uintptr_t)f,
                             (uintptr_t)sd_frame_previous(f));
    if (__builtin_expect(e == NULL, 0))
        return start_slowly(f, args[0]);
    return started(t, e);
}

LESS_USUAL resume_slowly(sd_frame *f, PyObject *code)
{
    if (!sd_calls_follows())
        return Py_None;
    sd_calls_resume(key_of(code), code, (uintptr_t)f, caller_of(f));
    return Py_None;
}

static PyObject *on_resume(ARGS)
{
    sd_frame *f = sd_frame_now();
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e = NULL;

    UNUSED;
    if (__builtin_expect(t && t->waiting.n == 0, 1))
        e = sd_call_tree_try(t, key_of(args[0]), (uintptr_t)f,
                             (uintptr_t)sd_frame_previous(f));
    if (__builtin_expect(e == NULL, 0))
        return resume_slowly(f, args[0]);
    e->cell->resumes++;
    return started(t, e);
}

/* Arguments are read once, whatever becomes of the call: where one function calls many,
 * none of the two that are likely is the usual case. */
LESS_USUAL start_signed_slowly(struct sd_call_tree *t, sd_frame *f, PyObject *code,
                               uint64_t key)
{
    sd_calls_enter_signed(t, key, code, (uintptr_t)f, caller_of(f));
    return Py_None;
}

/* hot: the two of them where some session has arguments in its keys. */
static PyObject *on_start_signed(ARGS)
{
    sd_frame *f = sd_frame_now();
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e;
    uint64_t key;

    UNUSED;
    if (__builtin_expect(t == NULL, 0))
        return start_slowly(f, args[0]);
    key = t->names.sign ? sd_calls_key_at_start(t, (PyCodeObject *)args[0], f)
                        : key_of(args[0]);
    e = sd_call_tree_try(t, key, (uintptr_t)f, (uintptr_t)sd_frame_previous(f));
    if (__builtin_expect(e == NULL, 0))
        return start_signed_slowly(t, f, args[0], key);
    return started(t, e);
}

static PyObject *on_resume_signed(ARGS)
{
    sd_frame *f = sd_frame_now();
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e = NULL;

    UNUSED;
    if (__builtin_expect(t && t->waiting.n == 0, 1))
        e = sd_call_tree_try(
            t, sd_calls_signed(t, key_of(args[0]), args[0], (uintptr_t)f, true),
            (uintptr_t)f, (uintptr_t)sd_frame_previous(f));
    if (__builtin_expect(e == NULL, 0))
        return resume_slowly(f, args[0]); /* no argument is read twice: it goes on */
    e->cell->resumes++;
    return started(t, e);
}

/* A generator that is thrown into begins where it has not run yet. */
static PyObject *on_throw(ARGS)
{
    return sd_frame_begins_at(args[0], args[1]) ? on_start(self, args, n_args, names)
                                                : on_resume(self, args, n_args, names);
}

static PyObject *on_throw_signed(ARGS)
{
    return sd_frame_begins_at(args[0], args[1])
               ? on_start_signed(self, args, n_args, names)
               : on_resume_signed(self, args, n_args, names);
}

/* hot: every return of a Python function. */
static PyObject *on_leave(ARGS)
{
    uint64_t now = sd_tsc();

    UNUSED;
    (void)args;
    sd_calls_leave_at((uintptr_t)sd_frame_now(), now);
    return Py_None;
}

static PyObject *on_yield(ARGS)
{
    const PyCodeObject *code = (PyCodeObject *)args[0];
    uint64_t now = sd_tsc();

    UNUSED;
    if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
        sd_calls_suspend((uintptr_t)sd_frame_now());
    else
        sd_calls_leave_at((uintptr_t)sd_frame_now(), now);
    return Py_None;
}

/* hot: what a call site calls, if it is a C function that cProfile would show: a
 * builtin, or a method found on its type and called with an object of that type. */
static inline const PyMethodDef *c_function(PyObject *called, PyObject *first)
{
    if (PyCFunction_Check(called))
        return ((PyCFunctionObject *)called)->m_ml;
    if (Py_IS_TYPE(called, &PyMethodDescr_Type) && first != front.missing &&
        PyObject_TypeCheck(first, PyDescr_TYPE(called)))
        return ((PyMethodDescrObject *)called)->d_method;
    return NULL;
}

LESS_USUAL c_call_slowly(sd_frame *f, const PyMethodDef *def, PyObject *called)
{
    const struct sd_call_tree *t = sd_calls_only;

    /* Of a function that has been left out: as that is, a part of its caller. */
    if (front.has_disabled && t && !sd_call_tree_stands_on(t, (uintptr_t)f))
        return Py_None;
    sd_calls_enter_c(def, called, (uintptr_t)f);
    return Py_None;
}

/* hot: every call in the program's code, whatever it calls. */
static PyObject *on_c_call(ARGS)
{
    const PyMethodDef *def = c_function(args[2], args[3]);
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e = NULL;
    sd_frame *f;

    UNUSED;
    if (!def)
        return Py_None;
    f = sd_frame_now();
    if (__builtin_expect(t && t->sees_c && t->top->frame == (uintptr_t)f, 1))
        e = sd_call_tree_try(t, sd_calls_c_key(def), (uintptr_t)f | SD_FRAME_C,
                             (uintptr_t)f);
    if (__builtin_expect(e == NULL, 0))
        return c_call_slowly(f, def, args[2]);
    return started(t, e);
}

static PyObject *on_c_end(ARGS)
{
    uint64_t now = sd_tsc();

    UNUSED;
    if (c_function(args[2], args[3]))
        sd_calls_leave_c_at((uintptr_t)sd_frame_now(), now);
    return Py_None;
}

/* --- Bounded --------------------------------------------------------------------- */

enum { OFTEN = 2000 };

static PyObject *leave_out(void)
{
    front.has_disabled = true;
    return sd_tool_disable();
}

/* The call that was just put on the stack is one of many short ones. */
static bool is_too_small(const struct sd_call_tree *t, uintptr_t frame)
{
    const struct sd_call_cell *cell = t->top->cell;

    return sd_call_entry_frame(t->top) == frame && cell->calls > OFTEN &&
           cell->ticks < cell->calls * front.short_ticks;
}

static PyObject *on_start_bounded(ARGS)
{
    uintptr_t frame = (uintptr_t)sd_frame_now();
    struct sd_call_tree *t;

    on_start(self, args, n_args, names);
    t = sd_calls_only;
    if (!t || !is_too_small(t, frame))
        return Py_None;
    sd_call_tree_undo(t, frame);
    return leave_out();
}

static PyObject *on_resume_bounded(ARGS)
{
    uintptr_t frame = (uintptr_t)sd_frame_now();
    struct sd_call_tree *t;

    on_resume(self, args, n_args, names);
    t = sd_calls_only;
    if (!t || !is_too_small(t, frame))
        return Py_None;
    t->top->cell->resumes--;
    sd_call_tree_undo(t, frame);
    return leave_out();
}

/* A place where functions end that nobody follows is left out, too; not so while one of
 * them is open, since its end must be heard. */
static bool is_open(const struct sd_call_tree *t, uint64_t key)
{
    for (const struct sd_call_entry *e = t->top; e > t->stack; e--)
        if (e->cell->key == key)
            return true;
    return false;
}

static PyObject *on_leave_bounded(ARGS)
{
    struct sd_call_tree *t = sd_calls_only;
    bool is_known = !t || is_open(t, key_of(args[0]));

    on_leave(self, args, n_args, names);
    return is_known || t->n_parked ? Py_None : leave_out();
}

static PyObject *on_yield_bounded(ARGS)
{
    struct sd_call_tree *t = sd_calls_only;
    bool is_known = !t || is_open(t, key_of(args[0]));

    on_yield(self, args, n_args, names);
    return is_known || t->n_parked ? Py_None : leave_out();
}

/* --- Listening ------------------------------------------------------------------- */

enum { TURNS_MOST = 100 }; /* in which audit hooks change what is wanted */

static const struct event {
    const char *name;
    vectorcallfunc callback, bounded, with_signatures;
    unsigned when;
} heard[] = {
#define EVENT(name, callback, bounded, with_signatures, when)                          \
    { #name, callback, bounded, with_signatures, when },
#include "collect/calls/call_events.def"
#undef EVENT
};

static vectorcallfunc callback_of(const struct event *e, unsigned wanted)
{
    if (wanted & SD_CALLS_SIGNED)
        return e->with_signatures;
    return wanted & SD_CALLS_BOUNDED ? e->bounded : e->callback;
}

static int set_listener(const struct event *e, unsigned wanted, long *mask)
{
    bool is_wanted = wanted & e->when;
    long number;
    int rc = sd_tool_hear(&user, e->name, is_wanted ? callback_of(e, wanted) : NULL,
                          &number);

    if (rc == 0 && is_wanted)
        *mask |= number;
    return rc;
}

/* Every function that was left out is heard again, by other tools too. */
static int put_back(void)
{
    if (!front.has_disabled)
        return 0;
    front.has_disabled = false;
    return sd_tool_restart();
}

static int set_listeners(unsigned wanted)
{
    long mask = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && i < N_EVENTS; i++)
        rc = set_listener(&heard[i], wanted, &mask);
    if (rc == 0)
        rc = sd_tool_hear_all(&user, mask);
    return rc == 0 ? put_back() : rc;
}

/* A microsecond, by what has passed since the process knows the time. */
static uint64_t ticks_of_short(void)
{
    enum sd_clock_kind kind = sd_ticks_kind();
    struct sd_ticks_pair first = sd_calls_sessions_first_pair(),
                         now = sd_ticks_pair(kind);
    double ns = sd_ticks_ns(kind, &first, &now);

    return ns > 0 ? (uint64_t)(1000 / ns) : 0;
}

/* Audit hooks run while the tool is left, and may start to listen again: nothing is
 * known of the front by then. */
static void stop_listening(void)
{
    if (!front.interpreter)
        return;
    if (put_back() < 0)
        PyErr_Clear();
    memset(&front, 0, sizeof front);
    sd_tool_leave(&user);
}

static int start_listening(void)
{
    int rc = sd_tool_join(&user);

    if (rc != 0)
        return rc;
    front.missing = sd_tool_missing();
    front.interpreter = PyInterpreterState_Get();
    return 0;
}

static int listen_to(unsigned events)
{
    int rc = 0;

    if (!front.interpreter)
        rc = start_listening();
    front.short_ticks = ticks_of_short();
    if (rc == 0)
        rc = set_listeners(events);
    if (rc == 0)
        front.events = events;
    return rc;
}

/* Listeners of another interpreter go on, since nothing of it can be reached from here.
 * One that has ended took them with it, and all that we held of it. */
static bool can_listen_here(void)
{
    if (!front.interpreter || front.interpreter == PyInterpreterState_Get())
        return true;
    if (sd_compat_interpreter_lives(front.interpreter))
        return false;
    memset(&front, 0, sizeof front);
    return true;
}

static unsigned heard_of(unsigned events)
{
    return events & (SD_CALLS_PYTHON | SD_CALLS_C | SD_CALLS_BOUNDED | SD_CALLS_SIGNED);
}

static int turn_to(unsigned events)
{
    if (events)
        return listen_to(events);
    stop_listening();
    return 0;
}

/* An audit hook may start or stop a profiler in the midst of this, and turn the front
 * to what is wanted then: it is asked again until both agree. */
static int turn_to_wanted(unsigned events)
{
    int rc = 0;

    for (int i = 0; rc == 0 && events != front.events; i++) {
        if (i == TURNS_MOST)
            return sd_fail(SD_ELACKS,
                           "an audit hook of the program (sys.addaudithook) starts or "
                           "stops a profiler whenever one starts or stops, so calls "
                           "cannot be traced; run the program without it");
        rc = turn_to(events);
        events = heard_of(sd_calls_sessions_want());
    }
    return rc;
}

int sd_calls_listen(unsigned events)
{
    struct sd_pending_exception raised, why;
    int rc;

    /* Before anything is touched: what that one hears goes on. */
    if (!can_listen_here())
        return sd_fail(SD_ELACKS, "another interpreter in this process is already "
                                  "tracing calls; stop its profiler first");
    raised = sd_pending_exception_take();
    rc = turn_to_wanted(heard_of(events));
    if (rc != 0) {
        why = sd_pending_exception_take();
        stop_listening();
        sd_pending_exception_give_back(why);
        rc = sd_tool_said(rc, "calls");
    }
    sd_pending_exception_give_back(raised);
    return rc;
}
#endif
