/* SPDX-License-Identifier: MIT */
#include "machine/machine_team.h"

#include <sched.h>
#include <stddef.h>

#include "base/error.h"
#include "base/mem.h"

static void stay_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* this thread; it is better, not needed */
}

static void *member_main(void *p)
{
    const struct sd_team_member *me = p;
    struct sd_team *t = me->team;
    unsigned long long n_seen = 0;

    stay_on(me->cpu);
    pthread_mutex_lock(&t->lock);
    while (!t->is_over) {
        if (t->n_jobs == n_seen) {
            pthread_cond_wait(&t->begin, &t->lock);
            continue;
        }
        n_seen = t->n_jobs;
        if (me->place >= t->n_working)
            continue;
        pthread_mutex_unlock(&t->lock);
        t->work(t->job, me->place);
        pthread_mutex_lock(&t->lock);
        if (--t->left == 0)
            pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

int sd_team_start(struct sd_team *t, const int *cpus, unsigned n)
{
    int err = 0;

    *t = (struct sd_team){ 0 };
    t->members = sd_zalloc(n * sizeof *t->members);
    if (!t->members)
        return sd_no_memory();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->done, NULL);
    while (t->n < n && err == 0) {
        struct sd_team_member *m = &t->members[t->n];

        *m = (struct sd_team_member){ .team = t, .place = t->n, .cpu = cpus[t->n] };
        err = pthread_create(&m->thread, NULL, member_main, m);
        t->n += err == 0;
    }
    if (err == 0)
        return 0;
    sd_team_end(t);
    return sd_fail_errno(err, "cannot start a thread on each core");
}

void sd_team_run(struct sd_team *t, unsigned n, sd_team_work work, void *job)
{
    pthread_mutex_lock(&t->lock);
    t->work = work;
    t->job = job;
    t->n_working = t->left = n < t->n ? n : t->n;
    t->n_jobs++;
    pthread_cond_broadcast(&t->begin);
    while (t->left > 0)
        pthread_cond_wait(&t->done, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void sd_team_end(struct sd_team *t)
{
    pthread_mutex_lock(&t->lock);
    t->is_over = true;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->n; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->done);
    pthread_cond_destroy(&t->begin);
    pthread_mutex_destroy(&t->lock);
    sd_free(t->members);
}
