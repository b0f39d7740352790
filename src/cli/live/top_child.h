/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_TOP_CHILD_H
#define SD_CLI_LIVE_TOP_CHILD_H
/* top_child: starts a program for `top`, or a copy of ourselves, and handles its
 * output.
 *
 * Beside a screen its output would destroy the picture, so it goes into a file without
 * a name and its end is shown afterwards; otherwise it goes to stderr, because stdout
 * is the table's. */
#include <stdbool.h>
#include <sys/types.h>

#include "cli/record/program.h"

struct sd_top_child {
    pid_t pid;  /* 0: none */
    int output; /* -1, or the file with what it has written */
    int status; /* as wait tells it, once it is known */
    bool has_status;
};

int sd_top_child_start(struct sd_top_child *c, const struct sd_program *target,
                       bool has_screen);
/* Forks: 1 in the new process, whose output goes where that of a program does. */
int sd_top_child_fork(struct sd_top_child *c, bool has_screen);
/* Lets the kernel forget it when it has ended, so that the sampler sees the end. */
void sd_top_child_reap(struct sd_top_child *c);
/* Asks it to end when it has not, waits a little, and shows what it wrote; the status
 * stays. */
void sd_top_child_end(struct sd_top_child *c);
#endif
