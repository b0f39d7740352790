/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_FRAME_H
#define SD_CPYTHON_COMPAT_FRAME_H
/* compat_frame: reads live frames of the interpreter that we run in.
 *
 * The evaluation loop's own frame, which costs nothing to look at; a frame object would
 * have to be made.  Its layout is the interpreter's own affair and changes with every
 * version, so it is looked at here alone, and through the interpreter's own headers:
 * include this file before any other, since they want to know who is asking.
 *
 * A frame is told as a number: it is compared, and never kept alive by us. */
#ifdef Py_PYTHON_H
#error "compat_frame.h comes before whatever includes Python.h"
#endif
#define Py_BUILD_CORE_MODULE 1
#include "cpython/compat.h"

#if PY_VERSION_HEX >= 0x030c0000
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#else
#include <internal/pycore_frame.h>
#endif

#include "cpython/compat_state.h"

typedef struct _PyInterpreterFrame sd_frame;

/* hot: the frame that runs in this thread. */
static inline sd_frame *sd_frame_now(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return sd_state_now()->current_frame;
#else
    return sd_state_now()->cframe->current_frame;
#endif
}

/* hot: the one before it on the interpreter's chain, be it of a function or not. */
static inline sd_frame *sd_frame_previous(const sd_frame *f) { return f->previous; }

/* Is it one that the interpreter puts where C code calls in?  From 3.14 on its own
 * question whether a frame is complete asks that too. */
static inline bool sd_frame_is_shim(const sd_frame *f)
{
#if PY_VERSION_HEX >= 0x030e0000
    return f->owner >= FRAME_OWNED_BY_INTERPRETER;
#else
    return f->owner == FRAME_OWNED_BY_CSTACK;
#endif
}

/* hot: a local variable, or the cell it lives in; borrowed.  NULL: it has no value.
 * From 3.14 on the low bits of a reference tell how it is counted; a number without an
 * object, which has both of them, is never the value of a variable. */
static inline PyObject *sd_frame_local(const sd_frame *f, int i)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyObject *)(f->localsplus[i].bits & ~(uintptr_t)3);
#else
    return f->localsplus[i];
#endif
}

/* The frame of the function that called: those that the interpreter puts between (one
 * where C code calls in, one around a new object's __init__) are of none. */
static inline sd_frame *sd_frame_below(const sd_frame *f)
{
    sd_frame *below = f->previous;

    while (below && (sd_frame_is_shim(below) || _PyFrame_IsIncomplete(below)))
        below = below->previous;
    return below;
}

/* Does a frame that stands at this offset, as an event tells it, begin?  A generator's
 * is made before its first instruction that counts. */
static inline bool sd_frame_begins_at(PyObject *code, PyObject *offset)
{
    long at = PyLong_AsLong(offset);

    return at / (long)sizeof(_Py_CODEUNIT) < ((PyCodeObject *)code)->_co_firsttraceable;
}
#endif
#endif
