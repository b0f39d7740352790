/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_JIT_H
#define SD_CPYTHON_COMPAT_JIT_H
/* compat_jit: tells whether the interpreter compiles hot code (3.14 and later, mostly
 * with PYTHON_JIT=1). */
#include <stdlib.h>

#include "cpython/compat.h"

/* The interpreter turns it on when it has started.  Before, in a sitecustomize, the
 * variable tells that it will; afterwards a program may set it for its children. */
enum sd_jit_when { SD_JIT_BEFORE_MAIN, SD_JIT_RUNNING };

/* What the interpreter's own function of sys._jit answers, and no other that a program
 * put in its place. */
static inline bool sd_jit_says(const char *function)
{
    PyObject *jit = sd_compat_sys_get("_jit"), *answer;
    PyObject *ask = jit && PyModule_Check(jit)
                        ? sd_compat_dict_get(PyModule_GetDict(jit), function)
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

/* With -E and -I the interpreter reads no variables. */
static inline bool sd_jit_reads_environment(void)
{
    int reads = 1;

#if PY_VERSION_HEX >= 0x030e0000
    if (PyConfig_GetInt("use_environment", &reads) < 0)
        PyErr_Clear();
#endif
    return reads;
}

static inline bool sd_jit_is_on(enum sd_jit_when when)
{
    const char *request = when == SD_JIT_BEFORE_MAIN ? getenv("PYTHON_JIT") : NULL;

    if (PY_VERSION_HEX < 0x030e0000)
        return false;
    return sd_jit_says("is_enabled") ||
           (request && *request && *request != '0' && sd_jit_reads_environment() &&
            sd_jit_says("is_available"));
}

/* CPython 3.14 with its JIT compiler may wait for a lock that it holds itself when it
 * instruments code again for sys.monitoring.restart_events. */
static inline bool sd_jit_restart_hangs(void)
{
    return PY_VERSION_HEX < 0x030f0000 && sd_jit_is_on(SD_JIT_BEFORE_MAIN);
}

/* It is there and off, in a Python that may still start: where it is on by its build,
 * nothing tells so before. */
static inline bool sd_jit_may_come(void)
{
    return PY_VERSION_HEX >= 0x030e0000 && !getenv("PYTHON_JIT") &&
           sd_jit_says("is_available") && !sd_jit_says("is_enabled");
}
#endif
