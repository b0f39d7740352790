/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_EVAL_H
#define SD_CPYTHON_COMPAT_EVAL_H
/* compat_eval: the eval loop of CPython 3.8 to 3.11, as the eval-frame function (PEP
 * 523) and profile functions see it.
 *
 * Later versions have sys.monitoring and need none of this.  All of it wants the
 * interpreter's lock. */
#include "cpython/compat.h"

#if !SD_HAS_MONITORING
#include <frameobject.h>
#include <opcode.h>

#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#endif
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#undef Py_BUILD_CORE

/* --- A frame that runs ----------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame sd_eval_frame;
#else
typedef PyFrameObject sd_eval_frame;
#endif

static inline PyCodeObject *sd_eval_code(const sd_eval_frame *f) { return f->f_code; }

/* The frame that runs, seen from the eval-frame function: the one that called. */
static inline uintptr_t sd_eval_below(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)ts->cframe->current_frame;
#else
    return (uintptr_t)ts->frame;
#endif
}

/* Does the frame belong to a generator, coroutine or asynchronous generator? */
static inline bool sd_eval_is_generators(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return f->owner == FRAME_OWNED_BY_GENERATOR;
#else
    return f->f_gen != NULL;
#endif
}

/* 3.11 calls the function first in a frame that only makes the generator; that is not
 * yet a call of it. */
static inline bool sd_eval_makes_generator(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (f->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
           f->owner != FRAME_OWNED_BY_GENERATOR;
#else
    (void)f;
    return false;
#endif
}

/* Neither of the two. */
static inline bool sd_eval_is_plain(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return !(f->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR));
#else
    return !f->f_gen;
#endif
}

/* Where the frame stands, and where one stands of which no instruction has run. */
static inline uintptr_t sd_eval_position(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)f->prev_instr;
#else
    return (uintptr_t)f->f_lasti;
#endif
}

static inline uintptr_t sd_eval_start(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)(_PyCode_CODE(f->f_code) - 1);
#else
    (void)f;
    return (uintptr_t)-1;
#endif
}

/* Of a generator's frame: it begins, instead of going on. */
static inline bool sd_eval_begins(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return _Py_OPCODE(*f->prev_instr) == RETURN_GENERATOR;
#else
    return sd_eval_position(f) == sd_eval_start(f);
#endif
}

/* Of a generator's frame that has just left the eval loop: it will go on. */
static inline bool sd_eval_is_suspended(sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return _PyFrame_GetGenerator(f)->gi_frame_state == FRAME_SUSPENDED;
#elif PY_VERSION_HEX >= 0x030a0000
    return f->f_state == FRAME_SUSPENDED;
#else
    return f->f_stacktop != NULL;
#endif
}

/* Of a generator's frame that waits: where it stands in its code, in bytes. */
static inline int sd_eval_offset(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT);
#elif PY_VERSION_HEX >= 0x030a0000
    return f->f_lasti * (int)sizeof(_Py_CODEUNIT);
#else
    return f->f_lasti;
#endif
}

/* The frame that runs in this thread, and who called it; NULL: nobody. */
static inline sd_eval_frame *sd_eval_top(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030b0000
    return ts->cframe->current_frame;
#else
    return ts->frame;
#endif
}

static inline sd_eval_frame *sd_eval_caller(const sd_eval_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return f->previous;
#else
    return f->f_back;
#endif
}

/* --- The eval-frame function ------------------------------------------------------ */

/* What an eval-frame function takes, and how it is handed on. */
#if PY_VERSION_HEX >= 0x03090000
#define SD_EVAL_PARAMETERS PyThreadState *ts, sd_eval_frame *f, int raises
#define SD_EVAL_THREAD(ts) ((void)0)
#define SD_EVAL_CALL(function, ts, f, raises) ((function)((ts), (f), (raises)))
#else
#define SD_EVAL_PARAMETERS sd_eval_frame *f, int raises
#define SD_EVAL_THREAD(ts) PyThreadState *ts = _PyThreadState_GET()
#define SD_EVAL_CALL(function, ts, f, raises) ((function)((f), (raises)))
#endif

/* Where the interpreter keeps it. */
static inline _PyFrameEvalFunction *sd_eval_slot(PyInterpreterState *interp)
{
    return &interp->eval_frame;
}

/* What stands there when it is nobody's. */
#if PY_VERSION_HEX >= 0x030b0000
#define SD_EVAL_NOBODY ((_PyFrameEvalFunction)NULL)
#else
#define SD_EVAL_NOBODY ((_PyFrameEvalFunction)_PyEval_EvalFrameDefault)
#endif

static inline PyInterpreterState *sd_eval_interpreter(void)
{
    return _PyThreadState_GET()->interp;
}

/* --- The profile function --------------------------------------------------------- */

/* The frame of a profile function's frame object, and the one that called it. */
static inline uintptr_t sd_eval_profiled_frame(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)f->f_frame;
#else
    return (uintptr_t)f;
#endif
}

static inline uintptr_t sd_eval_profiled_below(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)f->f_frame->previous;
#else
    return (uintptr_t)f->f_back;
#endif
}

static inline sd_eval_frame *sd_eval_profiled_live(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return f->f_frame;
#else
    return f;
#endif
}

/* Of a generator's frame, at the profile function's CALL: it begins.  3.11 has already
 * come to its RESUME, whose argument tells what it goes on from; a frame that is thrown
 * into has not, and stands where it was suspended, or made. */
static inline bool sd_eval_profiled_begins(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    _Py_CODEUNIT at = *f->f_frame->prev_instr;

    return ((_Py_OPCODE(at) == RESUME || _Py_OPCODE(at) == RESUME_QUICK) &&
            _Py_OPARG(at) == 0) ||
           _Py_OPCODE(at) == RETURN_GENERATOR;
#else
    return sd_eval_begins(f);
#endif
}

/* Says to the eval loop whether anyone listens. */
static inline void sd_eval_tracing_changed(PyThreadState *ts)
{
    bool is_heard = ts->c_profilefunc || ts->c_tracefunc;

#if PY_VERSION_HEX >= 0x030b0000
    ts->cframe->use_tracing = ts->tracing == 0 && is_heard ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030a0000
    ts->cframe->use_tracing = is_heard;
#else
    ts->use_tracing = is_heard;
#endif
}

/* Sets the profile function of any thread of this interpreter; the public call knows
 * only the current one, and tells audit hooks, which are the program's code. */
static inline void sd_eval_put_profile(PyThreadState *ts, Py_tracefunc function,
                                       PyObject *object)
{
    PyObject *old = ts->c_profileobj;

    Py_XINCREF(object);
    ts->c_profilefunc = NULL;
    ts->c_profileobj = object;
    ts->c_profilefunc = function;
    sd_eval_tracing_changed(ts);
    Py_XDECREF(old);
}

/* Sets the trace function of this thread, and not its object, which sys.gettrace()
 * shows.  Before 3.10 the eval loop asks first whether any thread has one. */
static inline void sd_eval_put_trace(PyThreadState *ts, Py_tracefunc function)
{
#if PY_VERSION_HEX < 0x030a0000
    int more = (function != NULL) - (ts->c_tracefunc != NULL);

#if PY_VERSION_HEX >= 0x03090000
    ts->interp->ceval.tracing_possible += more;
#else
    _PyRuntime.ceval.tracing_possible += more;
#endif
#endif
    ts->c_tracefunc = function;
    sd_eval_tracing_changed(ts);
}

/* The program's own trace and profile functions, put aside while code of ours runs in
 * this thread. */
struct sd_paused_tracing {
    Py_tracefunc trace, profile;
    PyObject *object; /* of the profile function; owned */
};

static inline struct sd_paused_tracing sd_eval_tracing_pause(void)
{
    PyThreadState *ts = PyThreadState_Get();
    struct sd_paused_tracing paused = {
        .trace = ts->c_tracefunc,
        .profile = ts->c_profilefunc,
        .object = Py_XNewRef(ts->c_profileobj),
    };

    ts->c_tracefunc = NULL;
    sd_eval_put_profile(ts, NULL, NULL);
    return paused;
}

static inline void sd_eval_tracing_go_on(struct sd_paused_tracing paused)
{
    PyThreadState *ts = PyThreadState_Get();

    ts->c_tracefunc = paused.trace;
    sd_eval_put_profile(ts, paused.profile, paused.object);
    Py_XDECREF(paused.object);
}
#else
/* Where there is monitoring, sys.settrace and sys.setprofile are tools like others and
 * stay listening; without their functions in this thread's state they do nothing. */
struct sd_paused_tracing {
    Py_tracefunc trace, profile;
};

static inline struct sd_paused_tracing sd_eval_tracing_pause(void)
{
    PyThreadState *ts = PyThreadState_Get();
    struct sd_paused_tracing paused = { ts->c_tracefunc, ts->c_profilefunc };

    ts->c_tracefunc = NULL;
    ts->c_profilefunc = NULL;
    return paused;
}

static inline void sd_eval_tracing_go_on(struct sd_paused_tracing paused)
{
    PyThreadState *ts = PyThreadState_Get();

    ts->c_tracefunc = paused.trace;
    ts->c_profilefunc = paused.profile;
}
#endif
#endif
