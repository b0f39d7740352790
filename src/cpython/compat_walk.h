/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_WALK_H
#define SD_CPYTHON_COMPAT_WALK_H
/* compat_walk: walks the frames of the calling thread as plain memory, on every
 * version.
 *
 * It needs no lock of the interpreter: what a thread runs changes only when that thread
 * goes on.  Nothing is counted, made or asked for.  Include this file before any other,
 * like compat_frame.h. */
#ifdef Py_PYTHON_H
#error "compat_walk.h comes before whatever includes Python.h"
#endif
#define Py_BUILD_CORE_MODULE 1
#include "cpython/compat.h"

#include <frameobject.h>
#include <opcode.h>
#include <stdint.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#elif PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif

#include "cpython/compat_state.h"

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame sd_walked;
#else
typedef PyFrameObject sd_walked;
#endif

/* Is it a frame that the interpreter puts where C code calls in? */
static inline bool sd_walk_is_shim(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030e0000
    return f->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030c0000
    return f->owner >= FRAME_OWNED_BY_CSTACK;
#else
    (void)f;
    return false;
#endif
}

/* hot: the next one on the interpreter's chain, be it a function's or not. */
static inline sd_walked *sd_walk_next(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030b0000
    return f->previous;
#else
    return f->f_back;
#endif
}

/* hot: the frame itself, or the nearest below it that is a function's; may be NULL. */
static inline sd_walked *sd_walk_visible(sd_walked *f)
{
    while (f && __builtin_expect(sd_walk_is_shim(f), 0))
        f = sd_walk_next(f);
    return f;
}

/* The state of this thread, with the interpreter's lock or without; NULL: none. */
static inline PyThreadState *sd_walk_state(void)
{
#if SD_HAS_MONITORING
    PyThreadState *ts = sd_state_now();

    if (__builtin_expect(ts != NULL, 1))
        return ts;
#endif
    return PyGILState_GetThisThreadState();
}

/* Does this thread hold the interpreter's lock, so that Python may be called? */
static inline bool sd_walk_has_lock(void)
{
    PyThreadState *ts = PyGILState_GetThisThreadState();

#if PY_VERSION_HEX >= 0x030d0000
    return ts && PyThreadState_GetUnchecked() == ts;
#else
    return ts && _PyThreadState_UncheckedGet() == ts;
#endif
}

/* hot: the newest frame of this thread in which a function has begun; NULL: none. */
static inline sd_walked *sd_walk_top(void)
{
    PyThreadState *ts = sd_walk_state();
#if PY_VERSION_HEX >= 0x030b0000
    sd_walked *f;

    if (!ts)
        return NULL;
#if PY_VERSION_HEX >= 0x030d0000
    f = sd_walk_visible(ts->current_frame);
#else
    f = sd_walk_visible(ts->cframe ? ts->cframe->current_frame : NULL);
#endif
    while (f && __builtin_expect(_PyFrame_IsIncomplete(f), 0))
        f = sd_walk_visible(f->previous);
    return f;
#else
    return ts ? ts->frame : NULL;
#endif
}

static inline PyCodeObject *sd_walk_code(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyCodeObject *)(f->f_executable.bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030d0000
    return (PyCodeObject *)f->f_executable;
#else
    return f->f_code;
#endif
}

/* The first local variable of a function, borrowed; NULL: it has no value. */
static inline PyObject *sd_walk_first_local(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyObject *)(f->localsplus[0].bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030b0000
    return f->localsplus[0];
#else
    return f->f_localsplus[0];
#endif
}

/* hot: a number for code and instruction.  Of all code objects that live, no two have
 * the same; from 3.11 on an instruction is a place inside its code object. */
static inline uint64_t sd_walk_place(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030d0000
    return (uint64_t)(uintptr_t)f->instr_ptr;
#elif PY_VERSION_HEX >= 0x030b0000
    return (uint64_t)(uintptr_t)f->prev_instr;
#else
    return (uint64_t)(uintptr_t)f->f_code >> 4 << 20 ^ ((uint64_t)f->f_lasti & 0xfffff);
#endif
}

/* Has its function just begun, or been resumed?  There the interpreter itself makes
 * what it needs to tell of this function's events (sys.monitoring). */
static inline bool sd_walk_begins(const sd_walked *f)
{
#if SD_HAS_MONITORING
    switch (((const _Py_CODEUNIT *)sd_walk_place(f))->op.code) {
    case RESUME:
    case INSTRUMENTED_RESUME:
#ifdef RESUME_CHECK
    case RESUME_CHECK:
#endif
#ifdef RESUME_CHECK_JIT
    case RESUME_CHECK_JIT:
#endif
        return true;
    }
#endif
    (void)f;
    return false;
}

/* The line that is being executed, or 0.  Reads memory only. */
static inline uint32_t sd_walk_line(const sd_walked *f)
{
    PyCodeObject *code = sd_walk_code(f);
    int line, at;

#if PY_VERSION_HEX >= 0x030d0000
    at = (int)((const char *)f->instr_ptr - (const char *)_PyCode_CODE(code));
#elif PY_VERSION_HEX >= 0x030b0000
    at = (int)((const char *)f->prev_instr - (const char *)_PyCode_CODE(code));
#elif PY_VERSION_HEX >= 0x030a0000
    at = f->f_lasti * (int)sizeof(_Py_CODEUNIT);
#else
    at = f->f_lasti;
#endif
    line = PyCode_Addr2Line(code, at);
    return line > 0 ? (uint32_t)line : (uint32_t)code->co_firstlineno;
}

/* The frames of this thread by calls of the evaluator: a group is what one call runs,
 * the newest group first.
 *
 *     for (has = sd_walk_groups_begin(&g); has && g.is_there; sd_walk_group_end(&g))
 *         while ((f = sd_walk_group_next(&g)))
 *             ...
 *
 * `mark` is an address in the part of the C stack that is this call's; 0: it left none.
 */
struct sd_walk_groups {
    sd_walked *f; /* the next one */
    bool is_there, is_over;
    uintptr_t mark;
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030c0000
    PyThreadState *ts;
    const void *place; /* of the evaluator's own frame */
#endif
};

#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030c0000
#if PY_VERSION_HEX >= 0x030b0000
typedef _PyCFrame sd_walk_call;
#else
typedef CFrame sd_walk_call;
#endif

static inline void sd_walk_group_find_mark(struct sd_walk_groups *g)
{
    bool is_root = g->place == (const void *)&g->ts->root_cframe;

    g->mark = is_root ? 0 : (uintptr_t)g->place;
}

static inline void sd_walk_group_leave(struct sd_walk_groups *g)
{
    if (g->mark)
        g->place = ((const sd_walk_call *)g->place)->previous;
    sd_walk_group_find_mark(g);
}
#elif PY_VERSION_HEX >= 0x030c0000
static inline void sd_walk_group_find_mark(struct sd_walk_groups *g)
{
    sd_walked *f = g->f;

    while (f && !sd_walk_is_shim(f))
        f = sd_walk_next(f);
    g->mark = (uintptr_t)f;
}
#endif

/* Is it the last of its group? */
static inline bool sd_walk_is_entry(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030c0000
    return !f->previous || sd_walk_is_shim(f->previous);
#elif PY_VERSION_HEX >= 0x030b0000
    return f->is_entry;
#else
    (void)f;
    return true;
#endif
}

/* The next frame of the group; NULL: there is none. */
static inline sd_walked *sd_walk_group_next(struct sd_walk_groups *g)
{
    sd_walked *f = g->f;

    if (g->is_over || !f || sd_walk_is_shim(f))
        return NULL;
    g->is_over = sd_walk_is_entry(f);
    g->f = sd_walk_next(f);
#if PY_VERSION_HEX >= 0x030b0000
    if (_PyFrame_IsIncomplete(f))
        return sd_walk_group_next(g);
#endif
    return f;
}

static inline void sd_walk_group_end(struct sd_walk_groups *g)
{
    while (sd_walk_group_next(g))
        continue;
    g->is_over = false;
#if PY_VERSION_HEX >= 0x030c0000
    if (g->f)
        g->f = sd_walk_next(g->f);
    sd_walk_group_find_mark(g);
#elif PY_VERSION_HEX >= 0x030a0000
    sd_walk_group_leave(g);
#endif
    g->is_there = sd_walk_visible(g->f) != NULL; /* else the bottom's own frame */
}

/* False: there is no frame in which a function has begun. */
static inline bool sd_walk_groups_begin(struct sd_walk_groups *g)
{
    PyThreadState *ts = sd_walk_state();

    *g = (struct sd_walk_groups){ .f = NULL };
    if (!ts || !sd_walk_top())
        return false;
#if PY_VERSION_HEX >= 0x030d0000
    g->f = ts->current_frame;
#elif PY_VERSION_HEX >= 0x030b0000
    g->f = ts->cframe->current_frame;
#else
    g->f = ts->frame;
#endif
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030c0000
    g->ts = ts;
    g->place = ts->cframe;
#endif
#if PY_VERSION_HEX >= 0x030a0000
    sd_walk_group_find_mark(g);
#endif
    g->is_there = true;
    return true;
}
#endif
