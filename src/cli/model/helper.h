/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_HELPER_H
#define SD_CLI_MODEL_HELPER_H
/* helper: runs a child process that does not outlive this one.
 *
 * A program that `sonde run` starts is the user's, and goes on without us (launch.h);
 * the Python that counts a model is ours.  Whoever ends us (timeout(1), a manager of
 * jobs) knows of no other process, and would wait for the end of a pipe that the helper
 * still holds.  So a signal that is to end us is passed on, and then obeyed; when we
 * are killed outright, the kernel kills the helper. */

/* Runs it to its end.  It begins with SIGINT blocked, and takes it back when it knows
 * what it does then.  What it prints goes to stderr: stdout is ours.  *status is its
 * exit status, or minus the signal that it died of.  Does not return when a signal is
 * to end us meanwhile. */
int sd_helper_run(const char *path, char *const *argv, char *const *envp, int *status);
#endif
