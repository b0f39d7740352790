/* SPDX-License-Identifier: MIT */
#include "collect/calls/front_eval.h"

#include "cpython/compat.h"
#include "cpython/compat_eval.h"

#if !SD_HAS_MONITORING
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "collect/calls/front.h"
#include "collect/calls/front_profile.h"
#include "collect/calls/front_signed.h"

enum { STACK_LEFT = 256 * 1024 };

/* The interpreter's one place for a hook, and ours in it.  Another interpreter of the
 * process evaluates without us: its frames are no callers of ours. */
static struct {
    PyInterpreterState *interp;  /* whose; NULL: never put in */
    _PyFrameEvalFunction *slot;  /* where it keeps its hook */
    _PyFrameEvalFunction before; /* what stood there when we came, which we call */
    _PyFrameEvalFunction above;  /* another hook, known to call ours; or NULL */
    bool is_in;     /* put in, and not taken out again by us: someone may call it */
    bool is_lifted; /* by a thread whose stack is short, until its frame returns */
    bool is_plain;  /* follows calls, and calls nobody else's hook */
    enum sd_eval_request request;
    uint64_t missing_since; /* ticks: another hook stands there that has not called ours
                               yet, or ours is lifted; 0: neither */
} home;

/* Addresses below this one have little stack left.  Not yet known: every one is. */
static _Thread_local __attribute__((tls_model("initial-exec"))) uintptr_t low_mark =
    UINTPTR_MAX;
/* The frame that we are handing to the hook before us.  When that one calls ours with
 * it again the two stand in a circle. */
static _Thread_local __attribute__((tls_model("initial-exec"))) sd_eval_frame *handed;

static PyObject *hook(SD_EVAL_PARAMETERS);

/* --- The slot --------------------------------------------------------------------- */

static void choose_path(void)
{
    home.is_plain = home.request == SD_EVAL_CALLS && home.before == SD_EVAL_NOBODY;
}

static void put_in(void)
{
    home.before = *home.slot;
    home.is_in = true;
    choose_path();
    *home.slot = hook;
}

/* Only from the top: a hook above goes on calling ours. */
static void take_out(void)
{
    if (*home.slot != hook)
        return;
    *home.slot = home.before;
    home.is_in = false;
}

/* What was kept from us until now. */
static void tell_what_is_missing(uint64_t now)
{
    if (home.missing_since)
        sd_calls_untraced(home.missing_since, now);
    home.missing_since = 0;
}

/* When calls were heard for certain, in this thread. */
static uint64_t last_heard(uint64_t now)
{
    struct sd_call_tree *t = sd_calls_only;

    if (!t)
        return now;
    return t->top->start > t->began ? t->top->start : t->began;
}

/* The slot is not ours, though we were put in.  Whoever only took us away left nobody,
 * and we come back; a hook that stands there instead may call ours or not, which the
 * next call tells. */
__attribute__((noinline)) static void see_who_is_above(void)
{
    uint64_t now = sd_tsc();

    if (home.is_lifted || home.request == SD_EVAL_OFF)
        return;
    if (*home.slot == SD_EVAL_NOBODY) {
        if (!home.missing_since)
            home.missing_since = last_heard(now);
        tell_what_is_missing(now);
        put_in();
    } else if (*home.slot != home.above && !home.missing_since) {
        home.missing_since = last_heard(now);
        home.is_plain = false; /* the next call is to be looked at */
    }
}

/* A call has come while another hook stands in the slot: that one calls ours. */
static void hook_above_calls(void)
{
    home.above = *home.slot;
    home.missing_since = 0;
    choose_path();
}

/* --- The C stack ------------------------------------------------------------------ */

static inline uintptr_t stack_now(void)
{
    uintptr_t here;

    __asm__("mov %%rsp, %0" : "=r"(here));
    return here;
}

/* A thread with a small stack is followed in three quarters of it. */
static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t n;

    low_mark = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &low, &n) == 0)
        low_mark = (uintptr_t)low + (n / 4 < STACK_LEFT ? n / 4 : STACK_LEFT);
    pthread_attr_destroy(&attr);
}

/* A stack that lies elsewhere (coroutines of C libraries) is not judged. */
static bool stack_is_short(void)
{
    uintptr_t here = stack_now();

    if (low_mark == UINTPTR_MAX)
        find_stack();
    return here < low_mark && low_mark - here <= STACK_LEFT;
}

/* --- The hook --------------------------------------------------------------------- */

/* To whom stood there before us, unless that one stands above us too, by now. */
static PyObject *hand_on(PyThreadState *ts, sd_eval_frame *f, int raises)
{
    PyObject *result;

    (void)ts;
    if (home.before == SD_EVAL_NOBODY || *home.slot == home.before)
        return SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    handed = f;
    result = SD_EVAL_CALL(home.before, ts, f, raises);
    handed = NULL;
    return result;
}

/* Without the hook until the frame returns, in all threads: there is one for all.  It
 * comes back only to a slot that is as we left it. */
static PyObject *hand_on_lifted(PyThreadState *ts, sd_eval_frame *f, int raises)
{
    PyObject *result;

    if (*home.slot != hook)
        return hand_on(ts, f, raises);
    if (home.request == SD_EVAL_CALLS)
        home.missing_since = sd_tsc();
    home.is_lifted = true;
    *home.slot = home.before;
    result = SD_EVAL_CALL(home.before == SD_EVAL_NOBODY ? _PyEval_EvalFrameDefault
                                                        : home.before,
                          ts, f, raises);
    home.is_lifted = false;
    if (*home.slot == home.before && home.request != SD_EVAL_OFF)
        *home.slot = hook;
    tell_what_is_missing(sd_tsc());
    return result;
}

/* A coroutine or asynchronous generator, whose time between its steps counts too. */
static inline bool can_wait(const sd_eval_frame *f)
{
    enum { CAN_WAIT = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR };

    return sd_eval_code(f)->co_flags & CAN_WAIT && sd_eval_is_generators(f);
}

uintptr_t sd_front_caller(const void *below)
{
    const sd_eval_frame *b = sd_calls_stands_apart((uintptr_t)below) ? below : NULL;

    for (int i = 0; b && i < SD_CALLS_UNHEARD_MAX; i++) {
        b = sd_eval_caller(b);
        if (b && sd_calls_is_unheard((uintptr_t)below, (uintptr_t)b))
            return (uintptr_t)b;
    }
    return (uintptr_t)below;
}

/* On 3.11 nobody is told of a frame that makes a generator. */
static inline uintptr_t caller_of(PyThreadState *ts)
{
    uintptr_t below = sd_eval_below(ts);

    return __builtin_expect(sd_calls_is_on_top(below), 1)
               ? below
               : sd_front_caller((const void *)below);
}

static PyObject *leave_with_care(PyObject *result, sd_eval_frame *f, uintptr_t position,
                                 int raises);

static PyObject *follow(PyThreadState *ts, sd_eval_frame *f, int raises)
{
    PyCodeObject *code = sd_eval_code(f);
    uintptr_t position = sd_eval_position(f);
    PyObject *result;

    if (sd_eval_is_generators(f) && !sd_eval_begins(f))
        sd_calls_resume((uintptr_t)code, code, (uintptr_t)f, caller_of(ts));
    else
        sd_calls_enter((uintptr_t)code, code, (uintptr_t)f, caller_of(ts));
    if (stack_is_short())
        result = hand_on_lifted(ts, f, raises);
    else
        result = hand_on(ts, f, raises);
    return leave_with_care(result, f, position, raises);
}

/* Everything but a plain function, called with enough stack, with no other tool's hook
 * about. */
__attribute__((noinline)) static PyObject *hook_with_care(PyThreadState *ts,
                                                          sd_eval_frame *f, int raises)
{
    if (handed == f) { /* it has been with us, and with who was before us */
        handed = NULL;
        return SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    }
    if (*home.slot == hook && home.request == SD_EVAL_OFF)
        take_out();
    else if (*home.slot != hook && *home.slot != SD_EVAL_NOBODY)
        hook_above_calls();
    if (home.request == SD_EVAL_CALLS && !sd_eval_makes_generator(f))
        return follow(ts, f, raises);
    if (home.request == SD_EVAL_THREADS)
        sd_front_profile_arm(ts);
    if (stack_is_short())
        return hand_on_lifted(ts, f, raises);
    return hand_on(ts, f, raises);
}

/* What a call that ended may yet be: refused, suspended, or ended without the hook. */
__attribute__((noinline)) static PyObject *
leave_with_care(PyObject *result, sd_eval_frame *f, uintptr_t position, int raises)
{
    if (home.is_in && *home.slot != hook)
        see_who_is_above();
    if (!result && !raises && sd_eval_position(f) == position)
        sd_calls_never_ran((uintptr_t)f); /* RecursionError before the first step */
    else if (can_wait(f) && sd_eval_is_suspended(f))
        sd_calls_suspend((uintptr_t)f);
    else
        sd_calls_leave((uintptr_t)f);
    return result;
}

/* hot: a plain call of a function that is none of the two that were likely to be called
 * from here: one call of four, in large programs.  Nothing else is unusual. */
__attribute__((noinline)) static PyObject *
hook_found(PyThreadState *ts, sd_eval_frame *f, int raises, struct sd_call_tree *t)
{
    PyCodeObject *code = sd_eval_code(f);
    uintptr_t below = sd_eval_below(ts);
    struct sd_call_entry *e;
    PyObject *result;

    if (__builtin_expect(!sd_call_tree_is_on_top(t, below), 0))
        return hook_with_care(ts, f, raises);
    e = sd_call_tree_enter_slowly(t, (uintptr_t)code, code, (uintptr_t)f, below);
    if (e)
        sd_calls_started(t, e);
    result = SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (__builtin_expect(!result || *home.slot != hook, 0))
        return leave_with_care(result, f, sd_eval_start(f), 0);
    sd_calls_leave((uintptr_t)f);
    return result;
}

/* hot: a plain call with a timeline and nothing else extra. */
__attribute__((noinline)) static PyObject *
hook_logged(PyThreadState *ts, sd_eval_frame *f, int raises, struct sd_call_tree *t)
{
    struct sd_call_entry *e = sd_call_tree_try(t, (uintptr_t)sd_eval_code(f),
                                               (uintptr_t)f, sd_eval_below(ts));
    PyObject *result;

    if (__builtin_expect(!e, 0))
        return hook_found(ts, f, raises, t);
    e->start = sd_tsc();
    if (__builtin_expect(!sd_call_tree_try_log_start(t, e), 0))
        sd_call_tree_started(t, e);
    result = SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (__builtin_expect(!result || *home.slot != hook, 0))
        return leave_with_care(result, f, sd_eval_start(f), 0);
    sd_calls_leave((uintptr_t)f);
    return result;
}

/* hot: a plain call in a tree whose keys have arguments, and nothing else extra. */
__attribute__((noinline)) static PyObject *
hook_signed(PyThreadState *ts, sd_eval_frame *f, int raises, struct sd_call_tree *t)
{
    PyCodeObject *code = sd_eval_code(f);
    uintptr_t below = caller_of(ts);
    uint64_t key = sd_calls_key_at_start(t, code, f);
    struct sd_call_entry *e = sd_call_tree_try(t, key, (uintptr_t)f, below);
    PyObject *result;

    if (__builtin_expect(e != NULL, 1))
        e->start = sd_tsc();
    else
        sd_calls_enter_signed(t, key, code, (uintptr_t)f, below);
    result = SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (__builtin_expect(!result || *home.slot != hook, 0))
        return leave_with_care(result, f, sd_eval_start(f), 0);
    sd_calls_leave((uintptr_t)f);
    return result;
}

/* hot: arguments are read once, also of a call that is none of the two likely ones. */
static inline void step_in(struct sd_call_tree *t, PyCodeObject *code, sd_eval_frame *f,
                           uintptr_t below, bool goes_on)
{
    uint64_t key = sd_calls_signed(t, (uintptr_t)code, code, (uintptr_t)f, goes_on);

    if (goes_on)
        sd_calls_resume_signed(t, key, code, (uintptr_t)f, below);
    else
        sd_calls_enter_signed(t, key, code, (uintptr_t)f, below);
}

/* hot: every step of a generator, and every call when something extra is asked for;
 * nothing else is unusual. */
__attribute__((noinline)) static PyObject *
hook_step(PyThreadState *ts, sd_eval_frame *f, int raises, struct sd_call_tree *t)
{
    PyCodeObject *code = sd_eval_code(f);
    uintptr_t position;
    PyObject *result;
    bool goes_on;

    if (sd_eval_is_plain(f) && t->names.sign && !t->extra)
        return hook_signed(ts, f, raises, t);
    position = sd_eval_position(f);
    if (sd_eval_makes_generator(f))
        return SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (can_wait(f))
        return hook_with_care(ts, f, raises);
    goes_on = sd_eval_is_generators(f) && !sd_eval_begins(f);
    step_in(t, code, f, caller_of(ts), goes_on);
    result = SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (__builtin_expect(!result || *home.slot != hook, 0))
        return leave_with_care(result, f, position, raises);
    sd_calls_leave((uintptr_t)f);
    return result;
}

/* hot: every frame that the interpreter evaluates.
 *
 * The usual case alone stands here, and whatever is not it is handed over whole, so
 * that nothing but the frame has to be kept over the evaluation: with the slow paths
 * in this function it saved and restored six registers instead of three. */
static PyObject *hook(SD_EVAL_PARAMETERS)
{
    SD_EVAL_THREAD(ts);
    struct sd_call_tree *t = sd_calls_only;
    struct sd_call_entry *e;
    PyObject *result;

    if (__builtin_expect(stack_now() < low_mark || !home.is_plain || !t, 0))
        return hook_with_care(ts, f, raises);
    if (__builtin_expect(!sd_eval_is_plain(f) || t->has_more, 0))
        return t->is_logged && sd_eval_is_plain(f) ? hook_logged(ts, f, raises, t)
                                                   : hook_step(ts, f, raises, t);
    e = sd_call_tree_try(t, (uintptr_t)sd_eval_code(f), (uintptr_t)f,
                         sd_eval_below(ts));
    if (__builtin_expect(!e, 0))
        return hook_found(ts, f, raises, t);
    e->start = sd_tsc();
    result = SD_EVAL_CALL(_PyEval_EvalFrameDefault, ts, f, raises);
    if (__builtin_expect(!result || *home.slot != hook, 0))
        return leave_with_care(result, f, sd_eval_start(f), 0);
    sd_calls_leave((uintptr_t)f);
    return result;
}

/* --- Verbs ------------------------------------------------------------------------ */

/* Ours may still be called by the hooks of an interpreter that lives; one that ended
 * took them with it. */
static int follow_this_interpreter(void)
{
    PyInterpreterState *interp = sd_eval_interpreter();

    if (home.interp == interp)
        return 0;
    if (home.is_in && sd_compat_interpreter_lives(home.interp))
        return sd_fail(SD_EEXISTS, "another interpreter in this process is already "
                                   "tracing calls; stop its profiler first");
    memset(&home, 0, sizeof home);
    home.interp = interp;
    home.slot = sd_eval_slot(interp);
    return 0;
}

void sd_front_eval_tell(void) { tell_what_is_missing(sd_tsc()); }

int sd_front_eval_set(enum sd_eval_request request)
{
    int rc;

    if (request == SD_EVAL_OFF && !home.is_in)
        return 0;
    rc = follow_this_interpreter();
    if (rc < 0)
        return rc;
    if (home.is_in && *home.slot != hook)
        see_who_is_above();
    if (request == SD_EVAL_OFF)
        tell_what_is_missing(sd_tsc());
    home.request = request;
    choose_path();
    if (request == SD_EVAL_OFF)
        take_out();
    else if (!home.is_in || (*home.slot == SD_EVAL_NOBODY && !home.is_lifted))
        put_in();
    return 0;
}
#endif
