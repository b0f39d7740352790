/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_LOOKOUT_H
#define SD_CLI_RECORD_LOOKOUT_H
/* lookout: tells whether a signal was sent to us alone or to the whole process group.
 *
 * `kill PID` must be passed on to the program; `kill %1`, timeout(1), or a supervisor
 * that signals all of a job must not, or the program has it twice, and the second one
 * may cut its clean-up short.  The kernel does not say which it was.  So a process that
 * does nothing stands in our group: what it gets as well, everybody got. */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct sd_lookout_counts;

struct sd_lookout { /* all zero is none */
    pid_t pid;
    struct sd_lookout_counts *counts; /* shared with it */
};

/* Posts it; `set` must be blocked already.  Without it (no memory, no process) every
 * signal seems meant for us alone. */
void sd_lookout_post(struct sd_lookout *l, const sigset_t *set);
/* Has the group had this signal too?  Waits a moment for the answer. */
bool sd_lookout_saw(struct sd_lookout *l, int signal);
void sd_lookout_withdraw(struct sd_lookout *l);
#endif
