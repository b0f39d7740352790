/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_TEAM_H
#define SD_MACHINE_MACHINE_TEAM_H
/* machine_team: runs the same job on a thread per core at the same time, again and
 * again.  Between two jobs they sleep. */
#include <pthread.h>
#include <stdbool.h>

struct sd_team;
/* The part of the member at `place`, 0 and up. */
typedef void (*sd_team_work)(void *job, unsigned place);

struct sd_team_member {
    struct sd_team *team;
    unsigned place;
    int cpu; /* it stays there, if the system lets it */
    pthread_t thread;
};

struct sd_team {
    struct sd_team_member *members; /* owned */
    unsigned n;
    pthread_mutex_t lock;       /* of all below */
    pthread_cond_t begin, done; /* a job is there; `left` is 0 */
    unsigned long long n_jobs;  /* so far; one more is a new one */
    unsigned n_working, left;   /* members that the job is for; not done with it */
    bool is_over;
    sd_team_work work;
    void *job; /* borrowed while it runs */
};

/* SD_ENOMEM, or what the system refused; then nothing is to be ended.  The team must
 * not be moved. */
int sd_team_start(struct sd_team *t, const int *cpus, unsigned n);
/* The first n of the members work; back when all of them are done. */
void sd_team_run(struct sd_team *t, unsigned n, sd_team_work work, void *job);
void sd_team_end(struct sd_team *t);
#endif
