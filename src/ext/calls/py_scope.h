/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_CALLS_PY_SCOPE_H
#define SD_EXT_CALLS_PY_SCOPE_H
/* py_scope: `_sonde.Scope`, one piece of work among others: what runs in it, the tasks
 * that it starts and the threads that work for it.
 *
 *     scope = _sonde.Scope()
 *     profile = scope.limit(Profile)            # will follow this scope alone
 *     scope.call(function, ...)                 # runs it in the scope
 *     await _sonde.Resumed(scope.enter, scope.leave, awaitable)      # each of its
 * steps
 *
 * Whoever waits for that awaitable is not in the scope: only its own steps are. */
#include "ext/ext.h"

#include "collect/calls/scope.h"

struct sd_py_scope {
    PyObject_HEAD struct sd_scope scope;
};
#endif
