/* SPDX-License-Identifier: MIT */
#include "collect/calls/front_profile.h"

#include "cpython/compat.h"
#include "cpython/compat_eval.h"

#if !SD_HAS_MONITORING
#include "base/mem.h"
#include "collect/calls/front.h"
#include "collect/calls/front_eval.h"
#include "collect/calls/front_signed.h"
#include "collect/calls/own_profile.h"

/* What a program had set in a thread before us. */
struct kept {
    PyThreadState *ts; /* compared only, and by its id: threads end */
    uint64_t id;
    Py_tracefunc function;
    PyObject *object; /* owned */
};

/* With the interpreter's lock held. */
static struct {
    struct kept *kept; /* owned */
    size_t n_kept, cap_kept;
    PyObject *object; /* borrowed: what sys.getprofile() gives */
    bool is_for_all;
} state;

/* Ticks since when the program's own profile function stands in our place, in this
 * thread; 0: it does not. */
static _Thread_local __attribute__((tls_model("initial-exec"))) uint64_t missing_since;

/* --- Events ----------------------------------------------------------------------- */

/* On 3.11 a function's first instructions, which make its cells or its generator, come
 * before it is told of. */
static inline uintptr_t caller_of(PyFrameObject *f)
{
    uintptr_t below = sd_eval_profiled_below(f);

    return __builtin_expect(sd_calls_is_on_top(below), 1)
               ? below
               : sd_front_caller((const void *)below);
}

static inline void enter(PyFrameObject *f)
{
    sd_eval_frame *live = sd_eval_profiled_live(f);
    PyCodeObject *code = sd_eval_code(live);

    if (__builtin_expect(sd_eval_is_generators(live) && !sd_eval_profiled_begins(f), 0))
        sd_calls_resume((uintptr_t)code, code, (uintptr_t)live, caller_of(f));
    else
        sd_calls_enter((uintptr_t)code, code, (uintptr_t)live, caller_of(f));
}

static inline void leave(PyFrameObject *f)
{
    enum { CAN_WAIT = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR };
    sd_eval_frame *live = sd_eval_profiled_live(f);

    if (__builtin_expect(sd_eval_is_generators(live), 0) &&
        sd_eval_code(live)->co_flags & CAN_WAIT && sd_eval_is_suspended(live))
        sd_calls_suspend((uintptr_t)live);
    else
        sd_calls_leave((uintptr_t)live);
}

/* What is called is always such a function: of a method the interpreter makes one for
 * us. */
static inline bool is_c_function(PyObject *o)
{
    return __builtin_expect(Py_TYPE(o) == &PyCFunction_Type, 1) || PyCFunction_Check(o);
}

/* The thread is followed no more, and nobody could tell it so from outside. */
static void stop_hearing(void)
{
    if (!sd_calls_follows() && !state.is_for_all)
        sd_front_profile_off(SD_PROFILE_THREAD);
}

/* Everything but a plain call of what was called from here before. */
__attribute__((noinline)) static int profile_with_care(PyFrameObject *f, int what,
                                                       PyObject *arg)
{
    if (!sd_calls_only)
        stop_hearing();
    switch (what) {
    case PyTrace_CALL:
        enter(f);
        break;
    case PyTrace_RETURN:
        leave(f);
        break;
    case PyTrace_C_CALL:
        if (is_c_function(arg))
            sd_calls_enter_c(((PyCFunctionObject *)arg)->m_ml, arg,
                             sd_eval_profiled_frame(f));
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (is_c_function(arg))
            sd_calls_leave_c(sd_eval_profiled_frame(f));
        break;
    }
    return 0;
}

/* hot: a plain call in a tree whose keys have arguments. */
__attribute__((noinline)) static int start_signed(struct sd_call_tree *t,
                                                  PyFrameObject *f, sd_eval_frame *live)
{
    PyCodeObject *code = sd_eval_code(live);

    sd_calls_enter_signed(t, sd_calls_key_at_start(t, code, live), code,
                          (uintptr_t)live, caller_of(f));
    return 0;
}

/* hot: a plain call of a function that is none of the two that were likely to be called
 * from here. */
__attribute__((noinline)) static int start_found(struct sd_call_tree *t, uint64_t key,
                                                 const void *called, uintptr_t frame,
                                                 uintptr_t below)
{
    struct sd_call_entry *e = sd_call_tree_enter_slowly(t, key, called, frame, below);

    if (e)
        e->start = sd_tsc();
    return 0;
}

/* hot: every call and return.  As in the eval-frame hook, the usual case alone stands
 * here. */
static int profile(PyObject *object, PyFrameObject *f, int what, PyObject *arg)
{
    struct sd_call_tree *t = sd_calls_only;
    sd_eval_frame *live = sd_eval_profiled_live(f);
    uintptr_t frame = (uintptr_t)live;
    struct sd_call_entry *e;

    (void)object;
    if (__builtin_expect(!t || t->extra || sd_eval_is_generators(live), 0))
        return profile_with_care(f, what, arg);
    if (what == PyTrace_CALL) {
        PyCodeObject *code = sd_eval_code(live);
        uintptr_t below = sd_eval_profiled_below(f);

        if (t->names.sign)
            return start_signed(t, f, live);
        e = sd_call_tree_try(t, (uintptr_t)code, frame, below);
        if (__builtin_expect(!e && sd_call_tree_is_on_top(t, below), 0))
            return start_found(t, (uintptr_t)code, code, frame, below);
    } else if (what == PyTrace_RETURN) {
        sd_call_tree_leave(t, frame, sd_tsc());
        return 0;
    } else if (t->sees_c && Py_TYPE(arg) == &PyCFunction_Type) {
        uint64_t key;

        if (what != PyTrace_C_CALL) {
            sd_call_tree_leave(t, frame | SD_FRAME_C, sd_tsc());
            return 0;
        }
        if (t->top->frame == (frame | SD_FRAME_C))
            return profile_with_care(f, what, arg);
        key = sd_calls_c_key(((PyCFunctionObject *)arg)->m_ml);
        e = sd_call_tree_try(t, key, frame | SD_FRAME_C, frame);
        if (__builtin_expect(!e && sd_call_tree_is_on_top(t, frame), 0))
            return start_found(t, key, arg, frame | SD_FRAME_C, frame);
    } else {
        return profile_with_care(f, what, arg);
    }
    if (__builtin_expect(!e, 0))
        return profile_with_care(f, what, arg);
    e->start = sd_tsc();
    return 0;
}

/* --- Threads ---------------------------------------------------------------------- */

/* Without memory it is not put back. */
static void keep(PyThreadState *ts)
{
    struct kept *grown;

    if (!ts->c_profilefunc)
        return;
    grown = sd_grow_array(state.kept, &state.cap_kept, state.n_kept + 1, sizeof *grown);
    if (!grown)
        return;
    state.kept = grown;
    state.kept[state.n_kept++] = (struct kept){
        .ts = ts,
        .id = ts->id,
        .function = sd_own_profile_behind(ts->c_profilefunc),
        .object = Py_XNewRef(ts->c_profileobj),
    };
}

/* What the thread had before, out of the list; nothing when it had none. */
static struct kept take_kept(const PyThreadState *ts)
{
    for (size_t i = 0; i < state.n_kept; i++) {
        struct kept found = state.kept[i];

        if (found.ts != ts || found.id != ts->id)
            continue;
        state.kept[i] = state.kept[--state.n_kept];
        return found;
    }
    return (struct kept){ 0 };
}

/* Of threads that ended with us. */
static void drop_kept(void)
{
    while (state.n_kept) {
        PyObject *object = state.kept[--state.n_kept].object;

        Py_XDECREF(object);
    }
}

static void put_back(PyThreadState *ts)
{
    struct kept before = { 0 };

    if (ts->c_profilefunc != profile)
        return;
    before = take_kept(ts);
    sd_eval_put_profile(ts, before.function, before.object);
    Py_XDECREF(before.object);
}

void sd_front_profile_tell(void)
{
    if (missing_since)
        sd_calls_untraced(missing_since, sd_tsc());
    missing_since = 0;
}

void sd_front_profile_arm(PyThreadState *ts)
{
    if (__builtin_expect(ts->c_profilefunc == profile, 1))
        return;
    if (ts->c_profilefunc) {
        if (!missing_since)
            missing_since = sd_tsc();
        return;
    }
    sd_eval_put_profile(ts, profile, state.object);
    sd_front_profile_tell();
}

/* In the thread that asks, as under cProfile, ours takes the place of what the program
 * had; in the others it respects it. */
void sd_front_profile_on(enum sd_profile_scope scope)
{
    PyThreadState *self = PyThreadState_Get();

    state.is_for_all = scope == SD_PROFILE_ALL;
    sd_own_profile_watch(profile);
    if (self->c_profilefunc != profile) {
        keep(self);
        sd_eval_put_profile(self, profile, state.object);
    } else if (state.object) {
        sd_eval_put_profile(self, profile, state.object);
    }
    if (scope == SD_PROFILE_THREAD)
        return;
    for (PyThreadState *ts = PyInterpreterState_ThreadHead(self->interp); ts;
         ts = PyThreadState_Next(ts))
        if (!ts->c_profilefunc)
            sd_eval_put_profile(ts, profile, state.object);
}

void sd_front_profile_off(enum sd_profile_scope scope)
{
    PyThreadState *self = PyThreadState_Get();

    if (scope == SD_PROFILE_THREAD) {
        put_back(self);
        return;
    }
    state.is_for_all = false;
    sd_own_profile_unwatch();
    for (PyThreadState *ts = PyInterpreterState_ThreadHead(self->interp); ts;
         ts = PyThreadState_Next(ts))
        put_back(ts);
    drop_kept();
}

void sd_calls_profile_is(PyObject *object) { state.object = object; }
#endif
