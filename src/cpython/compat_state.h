/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_STATE_H
#define SD_CPYTHON_COMPAT_STATE_H
/* compat_state: gets the thread state of the calling thread with two loads.
 *
 * From 3.12 on the interpreter keeps it in a variable of the thread, and whoever is not
 * the interpreter calls a function for it, which in a shared libpython calls another
 * one to find the variable: 3 ns for every call and every return that is traced.  The
 * variable has no name outside, but it is among the interpreter's own variables of the
 * thread, and its value is known: if just one of them has that value, it is this one.
 * 3.15 keeps the state in a second one, for threads that C code made; of these two it
 * is the one that is empty while the thread waits without the interpreter's lock. It
 * stays where it is as long as the thread lives, whichever state is put there, so that
 * each thread looks once and remembers where.  If it cannot be told, the function is
 * asked as ever. */
#include "cpython/compat.h"

#if SD_HAS_MONITORING
/* Finds the variable, if it takes giving up the interpreter's lock for a moment: when
 * the extension is loaded, where others may run. */
void sd_state_learn(void);

/* Where this thread's is; NULL: not looked for yet, or not to be had. */
extern _Thread_local __attribute__((tls_model("initial-exec")))
PyThreadState **sd_state_place;

PyThreadState *sd_state_slowly(void);

/* hot: the thread state that runs in this thread.  NULL: none. */
static inline PyThreadState *sd_state_now(void)
{
    PyThreadState **place = sd_state_place;

    return __builtin_expect(place != NULL, 1) ? *place : sd_state_slowly();
}
#else
static inline void sd_state_learn(void) {}
#endif
#endif
