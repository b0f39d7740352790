/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_LAUNCH_H
#define SD_CLI_RECORD_LAUNCH_H
/* launch: starts the program and stays out of its way until it ends.
 *
 * The program gets our descriptors, working directory, process group, signal mask and
 * signal dispositions exactly as we got them.  While it lives:
 *
 * - what the keyboard sends (SIGINT, SIGQUIT, SIGTSTP) reaches both of us; it is the
 *   program's business and we ignore it.
 * - SIGTERM, SIGHUP, SIGINT and the like that somebody sends to us alone are passed on;
 *   what was sent to the whole process group is not, because the program has had it
 *   (lookout.h).
 * - when the program stops we stop, so that the shell sees the job stopped, and when
 *   either is continued both are.
 * - when it dies of a signal, sd_die_of ends us by the same one.
 *
 * We are no subreaper and do not wait for orphans. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/record/lookout.h"

struct sd_child {
    pid_t pid;
    int32_t status;      /* exit status, or minus the signal, once reaped */
    struct rusage usage; /* its own and that of the children it waited for; the same */
    uint64_t started_ns, ended_ns;
    int gate, failure; /* pipes: it may go; why it could not */
    struct sd_lookout lookout;
    void (*hold)(void *of, bool is_held); /* around a stop of ours; or NULL */
    void *of;
    sigset_t given_mask; /* ours, before */
    struct sigaction given_chld;
};

/* Makes the process and holds it before its exec, so that whoever measures it is
 * there from its first moment.  From here until sd_launch_done (or a failure) the
 * signals above are blocked, in threads made since as well. */
int sd_launch_prepare(const char *path, char *const *argv, char *const *envp,
                      struct sd_child *c);
/* Lets it go.  Fails, with a sentence, when the program cannot be executed; then there
 * is no process and all is as before. */
int sd_launch_go(struct sd_child *c, const char *path);
/* Never lets it go. */
void sd_launch_cancel(struct sd_child *c);
/* Waits until it has ended, but leaves it to be asked for its last figures. */
void sd_launch_wait(struct sd_child *c);
/* The same until a time of CLOCK_MONOTONIC; false when it runs on. */
bool sd_launch_wait_until(struct sd_child *c, uint64_t until_ns);
/* Asks it to end (SIGTERM), and after two seconds no longer asks. */
void sd_launch_end(struct sd_child *c);
/* Once it is reaped: has it used less CPU time than a Python that starts up and does
 * something? */
bool sd_launch_was_short(const struct sd_child *c);
/* Lets the kernel forget it: fills status and usage. */
void sd_launch_reap(struct sd_child *c);
/* Brings signals back to what they were, less those the program has had. */
void sd_launch_done(struct sd_child *c);

/* Ends this process by that signal, without a core file of our own. */
_Noreturn void sd_die_of(int signal);
#endif
