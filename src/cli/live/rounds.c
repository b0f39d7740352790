/* SPDX-License-Identifier: MIT */
#include "cli/live/rounds.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/record/attach.h"
#include "collect/sample/pace.h"
#include "collect/sample/time_slice.h"

static void add(void *of, const struct sd_thread_sample *told)
{
    sd_tally_add(&((struct sd_rounds *)of)->tally, told);
}

static void thread_ends(void *of, void *of_thread)
{
    sd_tally_thread_ends(&((struct sd_rounds *)of)->tally, of_thread);
}

/* --- The thread.  It holds the lock but where it waits. */

/* The sampler goes on counting: it numbers processes by it. */
static void count(struct sd_rounds *r, const struct sd_sample_counts *all)
{
#define COUNT(name, meaning) r->counts.name = all->name - r->before.name;
#include "collect/sample/counts.def"
#undef COUNT
}

static void note(struct sd_rounds *r, struct sd_sampler *s, uint64_t n_missed)
{
    const struct sd_tree *tree = sd_sampler_tree(s);
    const char *version = sd_sampler_version(s, 0);

    sd_sampler_counts(s)->missed += n_missed;
    count(r, sd_sampler_counts(s));
    r->n_processes = tree->n - tree->n_gone;
    for (size_t i = 1; i < tree->n && !*version; i++)
        version = sd_sampler_version(s, i);
    if (*version)
        snprintf(r->version, sizeof r->version, "%s", version);
}

static void wait_until(struct sd_rounds *r, uint64_t ns)
{
    const struct timespec at = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    pthread_cond_timedwait(&r->wake, &r->lock, &at);
}

/* Until sampling goes on; the time until then is nobody's. */
static void wait_while_paused(struct sd_rounds *r)
{
    while (r->is_paused && !r->must_stop)
        pthread_cond_wait(&r->wake, &r->lock);
}

static void make_rounds(struct sd_rounds *r, struct sd_sampler *s)
{
    const struct sd_listener ear = { .sample = add,
                                     .thread_ends = thread_ends,
                                     .of = r };
    struct sd_pace pace = { 0 };
    uint64_t before = sd_clock_ns();
    int rc = 0;

    while (!r->must_stop && rc == 0) {
        uint64_t now;

        if (r->is_paused) {
            wait_while_paused(r);
            before = sd_clock_ns();
            pace.period_ns = 0;
            continue;
        }
        if (pace.period_ns != r->period_ns)
            sd_pace_init(&pace, r->period_ns, before, before);
        rc = sd_sampler_round(s, &ear);
        now = sd_clock_ns();
        if (rc == 0) {
            sd_tally_round(&r->tally);
            r->sampled_ns += now - before;
        }
        before = now;
        note(r, s, sd_pace_step(&pace, now));
        while (!r->must_stop && !r->is_paused && pace.period_ns == r->period_ns &&
               sd_clock_ns() < pace.next_ns)
            wait_until(r, pace.next_ns);
        if (pace.next_ns <= now) { /* who shows gets its turn even when we are late */
            pthread_mutex_unlock(&r->lock);
            pthread_mutex_lock(&r->lock);
        }
    }
    sd_sampler_free(s, &ear);
}

static void *work(void *of)
{
    struct sd_rounds *r = of;
    struct sd_sampler *s = NULL;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    sd_time_slice_shorten(r->period_ns);
    r->rc = r->open == SD_SAMPLER_NEEDS_PYTHON
                ? sd_attach_open(&s, r->pid, &r->options)
                : sd_sampler_open(&s, r->pid, &r->options, r->open);
    pthread_mutex_lock(&r->lock);
    if (r->rc < 0)
        snprintf(r->why, sizeof r->why, "%s", sd_fail_text());
    r->has_opened = true;
    r->turned_ns = sd_clock_ns();
    pthread_cond_broadcast(&r->wake);
    if (r->rc == 0)
        make_rounds(r, s);
    r->has_ended = true;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* --- Who shows */

static int start_thread(struct sd_rounds *r)
{
    pthread_condattr_t how;
    sigset_t all, old;
    int err;

    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &how);
    pthread_condattr_destroy(&how);
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* of a library that is cut short while it is read */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&r->thread, NULL, work, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

int sd_rounds_start(struct sd_rounds *r, pid_t pid,
                    const struct sd_sampler_options *options,
                    enum sd_sampler_open_flags open, enum sd_tally_wants wants,
                    bool folds_imports)
{
    int err;

    *r = (struct sd_rounds){ .pid = pid, .options = *options, .open = open };
    r->period_ns = options->period_ns;
    r->tally.wants = wants;
    r->tally.folds_imports = folds_imports;
    err = start_thread(r);
    if (err)
        return sd_fail_errno(err, "cannot start the thread that takes samples");
    pthread_mutex_lock(&r->lock);
    while (!r->has_opened)
        pthread_cond_wait(&r->wake, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (r->rc < 0) {
        char why[sizeof r->why];
        int rc = r->rc;

        memcpy(why, r->why, sizeof why);
        sd_rounds_stop(r);
        return sd_fail((enum sd_err)rc, "%s", why);
    }
    return 0;
}

void sd_rounds_turn(struct sd_rounds *r)
{
    sd_tally_turn(&r->tally, r->sampled_ns);
    r->sampled_ns = 0;
    r->turned_ns = sd_clock_ns();
}

void sd_rounds_set_period(struct sd_rounds *r, uint64_t period_ns)
{
    pthread_mutex_lock(&r->lock);
    r->period_ns = period_ns;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void sd_rounds_set_paused(struct sd_rounds *r, bool is_paused)
{
    pthread_mutex_lock(&r->lock);
    r->is_paused = is_paused;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void sd_rounds_reset(struct sd_rounds *r)
{
    pthread_mutex_lock(&r->lock);
    sd_tally_reset(&r->tally);
#define COUNT(name, meaning) r->before.name += r->counts.name;
#include "collect/sample/counts.def"
#undef COUNT
    r->counts = (struct sd_sample_counts){ 0 };
    r->sampled_ns = 0;
    r->turned_ns = sd_clock_ns();
    pthread_mutex_unlock(&r->lock);
}

void sd_rounds_stop(struct sd_rounds *r)
{
    pthread_mutex_lock(&r->lock);
    r->must_stop = true;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    sd_tally_release(&r->tally);
}
