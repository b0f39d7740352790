/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_CALL_CALIBRATION_H
#define SD_CALLS_CALL_CALIBRATION_H
/* call_calibration: measures what tracing costs, in the process that is traced.
 *
 * A function that is called a thousand times looks slower than it is by a thousand
 * times what following a call takes, and its callers with it.  Reports take that off
 * again, and so have to know it.  It depends on the machine, the interpreter and the
 * front, so it is measured in each process, in bouts: small loops of calls are run with
 * and without tracing, one after the other, and of each the shortest counts, in which
 * nothing else had the processor.  Between them stands a look at the speed: a bout
 * during which that changed does not count.
 *
 * How fast the machine goes in that moment, and later, is bouts.h' business.  What is
 * still wrong is seen where it matters most, in calls that took less than they can
 * (profile/call_nodes.h).
 *
 * Part of the cost falls between the two readings of the clock (inside: into the time
 * of the function itself), the rest into that of its caller (outside).  The sum is
 * measured; where they part is a convention: of the time that a call takes without
 * tracing half is counted as the function's own, half as its caller's.
 *
 * It takes 1 to 4 ms at the first session that hears such events and 0.15 ms at later
 * ones, at most three times a second (200 times while the speed is one at which there
 * were few); the loop of the speed 3 us at the start and end of a session, and at one
 * of 4,096 calls that are not the usual case. */
#include "collect/calls/sessions.h"

/* Sets the costs of a session that is about to start, by what is known at this moment;
 * 0 where they cannot be known (a user's own timer, another session in the way and
 * nothing measured before).
 *
 * With the interpreter's lock held; call sd_calls_listen after.  Code of ours runs
 * here, and so a signal handler of the program may: when it raises, the exception is
 * left standing and -1 returned. */
int sd_calls_calibrate(struct sd_calls_session *s);
/* It has stopped: sets them once more, by how fast the machine was meanwhile.  Needs no
 * Python. */
void sd_calls_calibrated(struct sd_calls_session *s);
#endif
