/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_JIT_H
#define SD_CPYTHON_COMPAT_JIT_H
/* compat_jit: tells whether the interpreter compiles hot code (3.14 and later, mostly
 * with PYTHON_JIT=1). */
#include <stdlib.h>

#include "cpython/compat.h"

/* What the interpreter's own function of sys._jit answers, and no other that a program
 * put in its place. */
static inline bool sd_jit_says(const char *function)
{
    PyObject *jit = sd_sys_get("_jit"), *answer;
    PyObject *ask = jit && PyModule_Check(jit)
                        ? sd_dict_get(PyModule_GetDict(jit), function)
                        : NULL;
    bool is;

    if (!ask || !PyCFunction_Check(ask))
        return false;
    answer = PyObject_CallObject(ask, NULL);
    is = answer == Py_True;
    if (!answer)
        PyErr_Clear();
    Py_XDECREF(answer);
    return is;
}

/* The interpreter turns it on when it has started: before, in a sitecustomize, the
 * variable tells that it will. */
static inline bool sd_jit_is_on(void)
{
    const char *request = getenv("PYTHON_JIT");

    if (PY_VERSION_HEX < 0x030e0000)
        return false;
    return sd_jit_says("is_enabled") ||
           (request && *request && *request != '0' && sd_jit_says("is_available"));
}

/* It is there and off, in a Python that may still start: where it is on by its build,
 * nothing tells so before. */
static inline bool sd_jit_may_come(void)
{
    return PY_VERSION_HEX >= 0x030e0000 && !getenv("PYTHON_JIT") &&
           sd_jit_says("is_available") && !sd_jit_says("is_enabled");
}
#endif
