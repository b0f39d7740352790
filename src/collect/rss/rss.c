/* SPDX-License-Identifier: MIT */
/* rss: a thread of the parent that reads every process of the tree at fixed times.
 *
 * Deadlines are absolute, so a late reading does not shift those after it; readings
 * whose time had passed altogether are left out and counted.  Where nobody asked for an
 * interval, readings that cost more than their allowance come less often, which is
 * counted too and said at the end. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/writer.h"
#include "collect/rss/allowance.h"
#include "collect/rss/metrics.h"
#include "collect/rss/rss_watch.h"

extern const struct sd_collector_about sd_about_rss;
extern const struct sd_collector sd_collector_rss;

struct rss {
    struct sd_collect how; /* a copy; what it points to outlives us */
    uint64_t every_ns;
    bool may_slow_down;            /* nobody asked for that interval */
    struct sd_watch watch;         /* the thread's, once it runs */
    struct sd_allowance allowance; /* the same */
    pthread_t thread;
    pthread_mutex_t lock; /* over the three below */
    pthread_cond_t changed;
    bool must_stop;
    unsigned n_asked, n_answered; /* readings at once, for at_end and stop */
    uint64_t n_readings, n_left_out, n_put_off; /* the thread's */
    size_t n_most;                              /* processes at once, the same */
};

/* --- The thread ------------------------------------------------------------------ */

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
                              .tv_nsec = (long)(ns % 1000000000u) };
}

/* Until the deadline, or until somebody asks.  False: stop. */
static bool wait_until(struct rss *s, uint64_t deadline_ns, unsigned *asked)
{
    struct timespec at = timespec_of(deadline_ns);
    bool goes_on;
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    while (!s->must_stop && s->n_asked == s->n_answered && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &at);
    goes_on = !s->must_stop;
    *asked = s->n_asked;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void answer(struct rss *s, unsigned asked)
{
    pthread_mutex_lock(&s->lock);
    s->n_answered = asked;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void read_all(struct rss *s, enum sd_watch_what what)
{
    struct sd_log *l = sd_writer_log(s->how.writer);
    size_t n;

    s->n_readings++;
    if (!l)
        return;
    sd_watch_read(&s->watch, l, what);
    sd_watch_read_end(&s->watch, l);
    n = s->watch.tree.n - s->watch.tree.n_gone;
    s->n_most = n > s->n_most ? n : s->n_most;
}

/* The next multiple of the interval that is still to come and that can be afforded. */
static uint64_t next_deadline(struct rss *s, uint64_t last_ns)
{
    uint64_t now = sd_clock_ns();
    uint64_t next = last_ns + s->every_ns;
    uint64_t n;

    if (now > next) {
        n = (now - next) / s->every_ns;
        s->n_left_out += n;
        next += n * s->every_ns;
    }
    if (s->may_slow_down) {
        now += sd_allowance_wait_ns(&s->allowance, now, sd_clock_thread_cpu_ns());
        n = now > next ? (now - next + s->every_ns - 1) / s->every_ns : 0;
        s->n_put_off += n;
        next += n * s->every_ns;
    }
    return next;
}

static void say_it_slowed_down(const struct rss *s, struct sd_log *l)
{
    double asked_ms = (double)s->every_ns / 1e6;
    double n_wanted = (double)(s->n_readings + s->n_put_off);
    char note[300];

    snprintf(
        note, sizeof note,
        "memory, CPU time and I/O of %zu process%s were read every %.0f ms instead "
        "of %g, to take no more than %g %% of a CPU; --rss-every %gms keeps that "
        "interval",
        s->n_most, s->n_most == 1 ? "" : "es",
        asked_ms * n_wanted / (double)s->n_readings, asked_ms,
        100.0 / SD_ALLOWANCE_SHARE, asked_ms);
    sd_log_note(l, SD_NOTE_WARNING, note);
}

static void say_what_it_cost(struct rss *s)
{
    struct sd_log *l = sd_writer_log(s->how.writer);
    char text[200];

    if (!l)
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)s->n_readings);
    sd_log_meta(l, "rss.readings", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)sd_clock_thread_cpu_ns());
    sd_log_meta(l, "rss.cpu_ns", text);
    if (s->watch.tree.n == SD_TREE_MAX) {
        snprintf(text, sizeof text, "only the first %d processes were read by rss",
                 SD_TREE_MAX);
        sd_log_note(l, SD_NOTE_LOSS, text);
    }
    if (s->n_put_off > s->n_readings / 4)
        say_it_slowed_down(s, l);
    if (!s->n_left_out)
        return;
    snprintf(text, sizeof text,
             "%llu of %llu readings of rss were left out: they could not be made in "
             "time (a busy machine, a stopped sonde, or too short an interval)",
             (unsigned long long)s->n_left_out,
             (unsigned long long)(s->n_left_out + s->n_readings));
    sd_log_note(l, SD_NOTE_INFO, text);
}

static void *run(void *state)
{
    struct rss *s = state;
    uint64_t deadline = s->watch.started_ns;
    unsigned asked = 1; /* by start, for the first */
    unsigned answered = 0;

    sd_allowance_begin(&s->allowance, deadline, sd_clock_thread_cpu_ns());
    do {
        read_all(s, asked != answered ? SD_WATCH_ALL : SD_WATCH_DUE);
        if (asked != answered)
            answer(s, asked);
        answered = asked;
        deadline = next_deadline(s, deadline);
    } while (wait_until(s, deadline, &asked));
    read_all(s, SD_WATCH_ALL);
    say_what_it_cost(s);
    sd_watch_release(&s->watch);
    return NULL;
}

/* --- Start and stop -------------------------------------------------------------- */

/* Signals are for the threads of cli. */
static int start_thread(struct rss *s)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err ? sd_fail_errno(err, "cannot start the thread of rss") : 0;
}

static void init_waiting(struct rss *s)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void free_state(struct rss *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    sd_free(s);
}

static void wait_for_answer(struct rss *s, unsigned to)
{
    while (s->n_answered < to)
        pthread_cond_wait(&s->changed, &s->lock);
}

/* When start returns the first reading is made: the program has not begun yet, and its
 * counters start there. */
static int start_reading(struct rss *s)
{
    int rc;

    s->n_asked = 1;
    rc = start_thread(s);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&s->lock);
    wait_for_answer(s, 1);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static int start(const struct sd_collect *how, void **state)
{
    struct rss *s;
    int rc = sd_about_rss.check(how->options);

    *state = NULL;
    if (rc < 0)
        return rc;
    s = sd_zalloc(sizeof *s);
    if (!s)
        return sd_no_memory();
    s->how = *how;
    s->every_ns = how->options[SD_RSS_EVERY].number;
    s->may_slow_down = !how->options[SD_RSS_EVERY].is_given;
    init_waiting(s);
    rc = sd_watch_init(&s->watch, &s->how);
    if (rc == 0)
        rc = start_reading(s);
    if (rc < 0) {
        sd_watch_release(&s->watch);
        free_state(s);
        return rc;
    }
    *state = s;
    return 0;
}

static void at_end(void *state)
{
    struct rss *s = state;

    pthread_mutex_lock(&s->lock);
    s->n_asked++;
    pthread_cond_broadcast(&s->changed);
    wait_for_answer(s, s->n_asked);
    pthread_mutex_unlock(&s->lock);
}

static void stop(void *state)
{
    struct rss *s = state;

    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->must_stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    free_state(s);
}

const struct sd_collector sd_collector_rss = {
    .about = &sd_about_rss,
    .start = start,
    .at_end = at_end,
    .stop = stop,
};
