/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_CONTEXT_H
#define SD_CPYTHON_COMPAT_CONTEXT_H
/* compat_context: tells whether a context variable may be another than it was, without
 * looking it up.
 *
 * A thread's state counts how often it has entered or left a context, and a variable
 * caches what was found last, for which thread and at which count.  Whoever sets it or
 * finds it changes that.  Both are the same from 3.8 to 3.15. */
#include "cpython/compat.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_context.h>
#undef Py_BUILD_CORE

/* hot: a number that is the same as before only if the variable has in this thread what
 * it had when it was found last.  The thread's state is in it, since a thread that C
 * code brings has a new one each time. */
static inline uint64_t sd_compat_context_state(void *variable)
{
    const struct _pycontextvarobject *v = variable;
    const PyThreadState *ts = PyThreadState_Get();
    uint64_t here = ts->context_ver + ((uint64_t)ts->id << 32);
    uint64_t found = v->var_cached_tsver + (v->var_cached_tsid << 32);

    return here +
           (found ^ (uint64_t)(uintptr_t)v->var_cached << 8) * 0x9E3779B97F4A7C15u;
}
#endif
