/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_PROCESS_WATCH_H
#define SD_CLI_RECORD_PROCESS_WATCH_H
/* process_watch: waits for a process that is not our child, until it ends, time is up,
 * or somebody ends us: Control-C, SIGTERM and SIGHUP are requests to finish, not to
 * die.
 *
 * The process is held by a pidfd, so that another one with the same number is never
 * taken for it. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/remote.h"

enum sd_watch_end {
    SD_WATCH_GOES_ON,
    SD_WATCH_ENDED,   /* the process */
    SD_WATCH_TIME_UP, /* the time that was asked for has passed */
    SD_WATCH_TOLD,    /* by a signal */
};

struct sd_process_watch {
    struct sd_remote remote;
    uint64_t until_ns; /* CLOCK_MONOTONIC; 0: no end */
    int signals;       /* readable when one of them waits; -1: there is no such thing */
    sigset_t given;    /* our mask, before */
};

/* Takes hold of the process, and blocks the signals that ask us to finish: in threads
 * made since as well.  SD_EGONE, SD_EACCESS, SD_EUSAGE with a sentence. */
int sd_watch_begin(struct sd_process_watch *w, pid_t pid);
/* Waits at most so long. */
enum sd_watch_end sd_watch_wait(struct sd_process_watch *w, uint64_t at_most_ns);
/* Signals are again what they were, less those that were heard. */
void sd_watch_end(struct sd_process_watch *w);
#endif
