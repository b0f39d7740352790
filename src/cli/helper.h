/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_HELPER_H
#define SD_CLI_HELPER_H
/* helper: runs a child process that does not outlive this one.
 *
 * A program that `sonde run` starts is the user's, and goes on without us (launch.h);
 * the Python that counts a model or times a statement is ours.  Whoever ends us
 * (timeout(1), a manager of jobs) knows of no other process, and would wait for the end
 * of a pipe that the helper still holds.  So a signal that is to end us is passed on,
 * and then obeyed; when we are killed outright, the kernel kills the helper. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct sd_helper {
    const char *path;
    char *const *argv, *const *envp;
    bool prints_data; /* its stdout is ours; else what it prints goes to stderr */
    int status;       /* exit status, or minus the signal that it died of */
};

/* Runs it to its end.  It begins with SIGINT blocked, and takes it back when it knows
 * what it does then.  Does not return when a signal is to end us meanwhile. */
int sd_helper_run(struct sd_helper *h);
/* Several at the same time; `ended` is called for each that ends before others do. */
int sd_helper_run_all(struct sd_helper *h, size_t n, void (*ended)(void *of), void *of);

/* An environment in which `package` is found whatever folder we are in; a PYTHONPATH
 * stays behind it.  NULL: no memory. */
char **sd_helper_environment(struct sd_arena *a, char *const *ours,
                             const char *package);
#endif
