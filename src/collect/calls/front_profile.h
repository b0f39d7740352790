/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_FRONT_PROFILE_H
#define SD_CALLS_FRONT_PROFILE_H
/* front_profile: traces calls of Python and C functions in CPython 3.8 to 3.11 through
 * the profile function, as cProfile does.
 *
 * Only it hears of C functions.  It hears of Python's as well, and is then the only
 * front: the eval-frame function would count them twice.  Each thread has its own, with
 * sys.setprofile as its public face:
 *   - what a program had set before is put back at the end;
 *   - what a program sets later stands, as it does under cProfile; the thread is not
 *     traced from then on, which is told, and again once it sets None.  It hears the
 *     same events as without us (own_profile.h). */
#include "cpython/compat.h"

/* In this thread, or in all threads of the interpreter that run; those that start later
 * are armed by the eval-frame function at their first frame. */
enum sd_profile_scope { SD_PROFILE_THREAD, SD_PROFILE_ALL };
void sd_front_profile_on(enum sd_profile_scope scope);
void sd_front_profile_off(enum sd_profile_scope scope);

/* hot: the calling thread, whose state this is, has the profile function from now on;
 * unless the program has set another, which is noted as a time that is not traced. */
void sd_front_profile_arm(PyThreadState *ts);
/* Tells of such a time that has not ended. */
void sd_front_profile_tell(void);

/* What sys.getprofile() gives in threads that are armed from now on: the object that
 * profiles, borrowed until this is called with another or NULL.  Where there is
 * monitoring nobody asks. */
#if SD_HAS_MONITORING
static inline void sd_calls_profile_is(PyObject *object) { (void)object; }
#else
void sd_calls_profile_is(PyObject *object);
#endif
#endif
