/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_RUNTIME_H
#define SD_CPYTHON_COMPAT_RUNTIME_H
/* compat_runtime: counts the interpreters that the process has made.  Include this file
 * before any other, like compat_frame.h. */
#ifdef Py_PYTHON_H
#error "compat_runtime.h comes before whatever includes Python.h"
#endif
#define Py_BUILD_CORE_MODULE 1
#include "cpython/compat.h"

#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_runtime.h>
#else
#include <internal/pycore_pystate.h>
#endif

/* Does it lie in memory as its headers say?  While Python runs. */
static inline bool sd_compat_runtime_is_known(void)
{
    return _PyRuntime.interpreters.main == PyInterpreterState_Main();
}

/* How many interpreters were ever made in this process, the main one included; also
 * when Python has ended. */
static inline int64_t sd_compat_runtime_interpreters_made(void)
{
    return _PyRuntime.interpreters.next_id;
}
#endif
