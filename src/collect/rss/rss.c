/* SPDX-License-Identifier: MIT */
/* rss: a thread of the parent that reads every process of the tree at fixed times.
 *
 * Deadlines are absolute, so a late reading does not shift those after it; readings
 * whose time had passed altogether are left out and counted.  Where nobody asked for an
 * interval, readings that cost more than their allowance come less often, which is
 * counted too and said at the end. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/writer.h"
#include "collect/rss/metrics.h"
#include "collect/rss/rss_watch.h"
#include "collect/shared/allowance.h"
#include "collect/shared/pacer.h"

extern const struct sd_collector_about sd_about_rss;
extern const struct sd_collector sd_collector_rss;

enum { SHARE = 200 }; /* of the time, one in so many: 0.5 % of a CPU */
#define SPARED_NS 5000000u

struct rss {
    struct sd_collect how; /* a copy; what it points to outlives us */
    uint64_t every_ns;
    bool may_slow_down;            /* nobody asked for that interval */
    struct sd_rss_watch watch;     /* the thread's, once it runs */
    struct sd_allowance allowance; /* the same */
    struct sd_pacer paced;
    pthread_mutex_t lock; /* over the two below; who holds us has it meanwhile */
    uint64_t held_since_ns, held_ns;            /* since the last deadline was set */
    uint64_t n_readings, n_left_out, n_put_off; /* the thread's */
    size_t n_most;                              /* processes at once, the same */
};

/* --- The thread ------------------------------------------------------------------ */

static void read_all(struct rss *s, enum sd_watch_what what)
{
    struct sd_log *l = sd_writer_log(s->how.writer);
    size_t n;

    s->n_readings++;
    if (!l)
        return;
    sd_rss_watch_read(&s->watch, l, what);
    sd_rss_watch_read_end(&s->watch, l);
    n = s->watch.tree.n - s->watch.tree.n_gone;
    s->n_most = n > s->n_most ? n : s->n_most;
}

static uint64_t take_held_ns(struct rss *s)
{
    uint64_t held_ns;

    pthread_mutex_lock(&s->lock);
    held_ns = s->held_ns;
    s->held_ns = 0;
    pthread_mutex_unlock(&s->lock);
    return held_ns;
}

/* The next multiple of the interval that is still to come and that can be afforded. */
static uint64_t next_deadline(struct rss *s, uint64_t last_ns)
{
    uint64_t next = last_ns + s->every_ns + take_held_ns(s);
    uint64_t now = sd_clock_ns();
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
        asked_ms * n_wanted / (double)s->n_readings, asked_ms, 100.0 / SHARE, asked_ms);
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
        snprintf(text, sizeof text, "rss read only the first %d processes",
                 SD_TREE_MAX);
        sd_log_note(l, SD_NOTE_LOSS, text);
    }
    if (s->n_put_off > s->n_readings)
        say_it_slowed_down(s, l);
    if (!s->n_left_out)
        return;
    snprintf(text, sizeof text,
             "%llu of %llu readings of rss were left out: they could not be made in "
             "time (a busy machine, or too short an interval)",
             (unsigned long long)s->n_left_out,
             (unsigned long long)(s->n_left_out + s->n_readings));
    sd_log_note(l, SD_NOTE_INFO, text);
}

static void *run(void *state)
{
    struct rss *s = state;
    uint64_t deadline = s->watch.started_ns;
    enum sd_pacer_why why = SD_PACER_ASKED; /* by start, for the first */

    sd_allowance_begin(&s->allowance, SHARE, SPARED_NS, deadline,
                       sd_clock_thread_cpu_ns());
    do {
        read_all(s, why == SD_PACER_ASKED ? SD_WATCH_ALL : SD_WATCH_DUE);
        if (why == SD_PACER_ASKED)
            sd_pacer_answer(&s->paced);
        deadline = next_deadline(s, deadline);
        why = sd_pacer_wait(&s->paced, deadline);
    } while (why != SD_PACER_STOP);
    read_all(s, SD_WATCH_ALL);
    say_what_it_cost(s);
    sd_rss_watch_release(&s->watch);
    return NULL;
}

/* --- Start and stop -------------------------------------------------------------- */

static void free_state(struct rss *s)
{
    pthread_mutex_destroy(&s->lock);
    sd_free(s);
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
    pthread_mutex_init(&s->lock, NULL);
    rc = sd_rss_watch_init(&s->watch, &s->how);
    if (rc == 0) /* with the first reading, where the program's counters start */
        rc = sd_pacer_start(&s->paced, sd_about_rss.name, run, s);
    if (rc < 0) {
        sd_rss_watch_release(&s->watch);
        free_state(s);
        return rc;
    }
    *state = s;
    return 0;
}

/* The thread waits for the lock at its next deadline. */
static void hold(void *state, bool is_held)
{
    struct rss *s = state;

    if (is_held) {
        pthread_mutex_lock(&s->lock);
        s->held_since_ns = sd_clock_ns();
    } else {
        s->held_ns += sd_clock_ns() - s->held_since_ns;
        pthread_mutex_unlock(&s->lock);
    }
}

static void at_end(void *state)
{
    struct rss *s = state;

    sd_pacer_ask(&s->paced);
}

static void stop(void *state)
{
    struct rss *s = state;

    if (!s)
        return;
    sd_pacer_stop(&s->paced);
    free_state(s);
}

const struct sd_collector sd_collector_rss = {
    .about = &sd_about_rss,
    .start = start,
    .at_end = at_end,
    .hold = hold,
    .stop = stop,
};
