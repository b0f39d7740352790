/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_COLLECTOR_H
#define SD_CALLS_COLLECTOR_H
/* collector: calls into the capture that this process has joined. */

/* Follows the program, when the run that it is part of says so (SONDE_WITH), from its
 * first line on: what the interpreter does before is not the program's.  Once for each
 * process; with the interpreter's lock.  A run that cannot be served gets a note. */
void sd_calls_start_from_env(void);

/* Before the capture is left: its tables are finished.  With the interpreter's lock. */
void sd_calls_stop_captured(void);
#endif
