/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_OWN_H
#define SD_COLLECT_OWN_H
/* own: starts and finishes a capture that the program owns itself, without `sonde run`.
 *
 * Asked for by sonde.start(path), sonde_start(path) or SONDE_OUT=path.  No thread is
 * started for it, unless one calls sd_own_seal: what does not fit into the live file is
 * appended raw beside it, and sealed when the capture is stopped.  Forked children
 * record into it as children do under `sonde run`; only the process that made it
 * finishes it. */
#include <stdbool.h>
#include <stdint.h>

/* Makes the capture and joins it.  In the path %p becomes the pid, %h the host's name
 * and %% a percent sign.  SD_EEXISTS when this process is recorded already. */
int sd_own_start(const char *path);

/* SONDE_OUT, unless SONDE_LIVE says that there is a parent; once per process.  A
 * program started by the one that owns the capture of that name joins it.  Never fails
 * loudly: a variable must not break a program. */
void sd_own_start_from_env(void);

/* Seals what is full by now in what sd_own_start made, so that less is left for its
 * stop.  For one thread, which has ended when that begins. */
void sd_own_seal(void);

/* Does this process own the capture that it is recorded into? */
bool sd_own_is_here(void);

/* Seals and closes what sd_own_start made; 0 when there is none.  `status` is the
 * program's exit status where that is known, else SD_STATUS_UNKNOWN. */
int sd_own_stop(int32_t status);
#endif
