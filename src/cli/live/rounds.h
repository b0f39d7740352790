/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_ROUNDS_H
#define SD_CLI_LIVE_ROUNDS_H
/* rounds: runs a sampler in a thread of its own, while another one shows what it has
 * seen.
 *
 * Drawing takes milliseconds and a terminal may block; looking must not wait for
 * either. The tally is under `lock`: the thread holds it during a round, who shows
 * holds it while copying. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/live/tally.h"
#include "collect/sample/counts.h"
#include "collect/sample/sampler.h"

enum { SD_ROUNDS_VERSION = 32 };

struct sd_rounds {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    struct sd_tally tally;
    struct sd_sample_counts counts; /* since the last reset, */
    struct sd_sample_counts before; /* and up to it */
    uint64_t period_ns;
    bool is_paused, must_stop;
    bool has_opened, has_ended; /* the sampler was tried; no process is left */
    int rc;                     /* of opening it; its sentence is in `why` */
    char why[512];
    char version[SD_ROUNDS_VERSION]; /* of the first process's Python; "" before */
    size_t n_processes;              /* that live */
    uint64_t turned_ns;  /* when the tally was last turned, or sampling went on */
    uint64_t sampled_ns; /* sampled since then, without pauses */
    /* The thread's own: */
    pid_t pid;
    struct sd_sampler_options options;
    enum sd_sampler_open_flags open;
    pthread_t thread;
};

/* Starts the thread; 0 once the sampler is open, else its failure with the sentence.
 * With SD_SAMPLER_NEEDS_PYTHON a process just started is waited for a little. */
int sd_rounds_start(struct sd_rounds *r, pid_t pid,
                    const struct sd_sampler_options *options,
                    enum sd_sampler_open_flags open, enum sd_tally_wants wants,
                    bool folds_imports);
/* Under the lock: makes shares and times of what was seen since the last turn. */
void sd_rounds_turn(struct sd_rounds *r);
void sd_rounds_set_period(struct sd_rounds *r, uint64_t period_ns);
void sd_rounds_set_paused(struct sd_rounds *r, bool is_paused);
void sd_rounds_reset(struct sd_rounds *r);
/* Ends the thread and releases everything. */
void sd_rounds_stop(struct sd_rounds *r);
#endif
