/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TIME_TIME_PROCESSES_H
#define SD_CLI_TIME_TIME_PROCESSES_H
/* time_processes: runs the measuring processes of `sonde time`, one after the other,
 * and gathers their batches.
 *
 * On shared cores a process may run at half the speed for its whole life, so one cannot
 * tell what a statement takes: ten share the budget, and more follow, up to four times
 * the budget, until the three least agree.  Interpreters that are compared run at the
 * same time, and take turns. */
#include "cli/time/time_request.h"
#include "profile/time/timings.h"

/* *status: what a process has said itself why it did not measure; then nothing more is
 * to be said, and this is the exit status.  Else 0 or a negative code with a sentence.
 */
int sd_time_processes_measure(const struct sd_time_ask *ask, struct sd_timings *t,
                              int *status);
#endif
