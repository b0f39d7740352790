/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_ARGS_H
#define SD_CPYTHON_COMPAT_ARGS_H
/* compat_args: reads the arguments of a function from its frame when it starts.
 *
 * Nothing is asked of the frame: a frame object, or its f_locals, would have to be
 * made, and both can be seen by the program.  An argument that an inner function uses
 * lives in a cell, and where that is depends on the version: include this file before
 * any other, as compat_frame.h. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030c0000
#include "cpython/compat_frame.h"
typedef sd_frame sd_args_frame;
#else
#include "cpython/compat.h"
#include "cpython/compat_eval.h"
typedef sd_eval_frame sd_args_frame;
#endif

/* Parameters of all kinds, *args and **kwargs behind the others. */
static inline int sd_args_n_named(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount;
}

static inline bool sd_args_has_rest(const PyCodeObject *code)
{
    return code->co_flags & CO_VARARGS;
}

static inline bool sd_args_has_keywords(const PyCodeObject *code)
{
    return code->co_flags & CO_VARKEYWORDS;
}

/* A parameter's name; borrowed from the code. */
static inline PyObject *sd_args_parameter(const PyCodeObject *code, int i)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyTuple_GET_ITEM(code->co_localsplusnames, i);
#else
    return PyTuple_GET_ITEM(code->co_varnames, i);
#endif
}

#if PY_VERSION_HEX >= 0x030b0000
/* The function begins with the instructions that put arguments into cells; of 3.11 we
 * hear before them, unless it is a generator's or the profile function tells us. */
static inline bool sd_args_are_in_cells(const sd_args_frame *f,
                                        const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030c0000
    (void)f, (void)code;
    return true;
#else
    return f->prev_instr >= (_Py_CODEUNIT *)_PyCode_CODE((PyCodeObject *)code);
#endif
}

/* hot: the argument; borrowed.  NULL: it has none any more. */
static inline PyObject *sd_args_get(const sd_args_frame *f, const PyCodeObject *code,
                                    int i)
{
    enum { IS_CELL = 0x40 }; /* CO_FAST_CELL */
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *o = sd_frame_local(f, i);
#else
    PyObject *o = f->localsplus[i];
#endif

    if (__builtin_expect(o && Py_TYPE(o) == &PyCell_Type, 0) &&
        (PyBytes_AS_STRING(code->co_localspluskinds)[i] & IS_CELL) &&
        sd_args_are_in_cells(f, code))
        return PyCell_GET(o);
    return o;
}
#else
/* Where the cells of the frame are, each of an argument or of a local variable. */
static inline PyObject *sd_args_from_cell(const sd_args_frame *f,
                                          const PyCodeObject *code, int i)
{
    Py_ssize_t n = code->co_cell2arg ? PyTuple_GET_SIZE(code->co_cellvars) : 0;

    for (Py_ssize_t c = 0; c < n; c++)
        if (code->co_cell2arg[c] == i) {
            PyObject *cell = f->f_localsplus[code->co_nlocals + c];

            return cell && PyCell_Check(cell) ? PyCell_GET(cell) : NULL;
        }
    return NULL;
}

static inline PyObject *sd_args_get(const sd_args_frame *f, const PyCodeObject *code,
                                    int i)
{
    PyObject *o = f->f_localsplus[i];

    return __builtin_expect(o != NULL, 1) ? o : sd_args_from_cell(f, code, i);
}
#endif
#endif
