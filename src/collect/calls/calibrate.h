/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_CALIBRATE_H
#define SD_CALLS_CALIBRATE_H
/* calibrate: what tracing costs, measured where it happens.
 *
 * A function that is called a thousand times looks slower than it is by a thousand
 * times what following a call takes, and its callers with it.  Reports take that off
 * again, and so have to know it.  It depends on the machine, the interpreter and the
 * front, so it is measured in each process: small loops of calls are run with and
 * without tracing, in turn, and the shortest of each count, in which nothing else had
 * the processor: too much is then never taken off.
 *
 * Part of the cost falls between the two readings of the clock (inside: into the time
 * of the function itself), the rest into that of its caller (outside).  The sum is
 * measured; where they part is a convention: of the time that a call takes without
 * tracing half is counted as the function's own, half as its caller's.
 *
 * It takes 2 ms or so at the first session that hears such events, and 0.3 ms at each
 * of the next 100, which may find a better moment. */
#include "collect/calls/sessions.h"

/* Costs of what a session with this wish hears; 0 where they cannot be known (a user's
 * own timer, another session in the way and nothing measured before).
 *
 * With the interpreter's lock held, before the session starts; call sd_calls_listen
 * after.  Code of ours runs here, and so a signal handler of the program may: when it
 * raises, the exception is left standing and -1 returned. */
int sd_calls_calibrate(const struct sd_calls_wish *wish, struct sd_call_costs *out);
#endif
