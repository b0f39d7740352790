/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_OWN_PROFILE_H
#define SD_CALLS_OWN_PROFILE_H
/* own_profile: lets the program's own sys.setprofile functions get the events that they
 * would get without us (CPython 3.8 to 3.11).
 *
 * The interpreter tells the end of a C function to whatever profile function is set
 * then, if any was set when the C function began.  While ours is set that is always so:
 * a function that the program sets would hear the end of sys.setprofile itself, and of
 * every C function around it (exec, while a module is imported), whose beginning it did
 * not hear.
 *
 * So sys.setprofile is ours, too, while our profile function is: behind the original it
 * puts a filter before the program's function.  The filter passes on all events but
 * those ends.  It watches one frame at a time, from the one that called sys.setprofile
 * outward: if the first event there is the end of a C function, nobody told its
 * beginning.  Behind the outermost frame it takes itself away.
 *
 * With the interpreter's lock held. */
#include "cpython/compat.h"

#if !SD_HAS_MONITORING
/* sys.setprofile is watched from now on: whatever it puts in the place of `ours`, or of
 * nothing, gets a filter.  Once more is nothing. */
void sd_own_profile_watch(Py_tracefunc ours);
/* It is the interpreter's again.  Filters stay as long as they are needed. */
void sd_own_profile_unwatch(void);
/* The function that is meant where the thread's profile function is this one. */
Py_tracefunc sd_own_profile_behind(Py_tracefunc function);
#endif
#endif
