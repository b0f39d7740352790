/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_FRAME_H
#define SD_CPYTHON_COMPAT_FRAME_H
/* compat_frame: live frames of the interpreter that we are in.
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
#include <internal/pycore_frame.h>

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

/* The frame of the function that called: those that the interpreter puts between (one
 * where C code calls in, one around a new object's __init__) are of none. */
static inline sd_frame *sd_frame_below(const sd_frame *f)
{
    sd_frame *below = f->previous;

    while (below &&
           (below->owner == FRAME_OWNED_BY_CSTACK || _PyFrame_IsIncomplete(below)))
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
