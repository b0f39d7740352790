/* SPDX-License-Identifier: MIT */
/* The collector `sample`: a thread of the parent that makes rounds at random times. */
#include "collect/sample/collector.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/writer.h"
#include "collect/collector.h"
#include "collect/sample/metrics.h"
#include "collect/sample/pace.h"
#include "collect/sample/sampler.h"
#include "collect/sample/scribe.h"
#include "collect/sample/slice.h"

extern const struct sd_collector_about sd_about_sample;
extern const struct sd_collector sd_collector_sample;

enum {
    RATE_MAX = 100000, /* rounds a second that are timed; above, no waiting */
    N_LOOKS = 16,      /* then: by one system call */
};
#define SPIN_BELOW_NS 50000u      /* shorter periods are not slept */
#define FIRST_WORD_NS 1000000000u /* counts are written after this, then ever later */

struct collector {
    struct sd_collect how; /* a copy; what it points to outlives us */
    struct sd_sampler_options options;
    struct sd_sampler *sampler; /* the thread's */
    struct sd_scribe scribe;    /* the same */
    struct sd_pace pace;
    uint64_t rate; /* as asked for */
    pthread_t thread;
    bool has_thread;
    int rc; /* of opening the sampler; its sentence is in `why` */
    char why[512];
    _Atomic uint32_t opened;    /* futex: the thread has tried to open the sampler */
    _Atomic uint32_t must_stop; /* futex */
    _Atomic uint64_t so_far;    /* samples; for whoever shows them */
    uint64_t started_ns, last_ns, next_word_ns;
    bool has_said_version;
    struct sd_sample_result result; /* once the thread has ended */
};

/* --- Waiting ------------------------------------------------------------------------
 */

/* Until the word is no longer 0, or until the time (0: for ever). */
static void wait_for(_Atomic uint32_t *word, uint64_t until_ns)
{
    struct timespec at = { .tv_sec = (time_t)(until_ns / 1000000000u),
                           .tv_nsec = (long)(until_ns % 1000000000u) };

    while (!atomic_load_explicit(word, memory_order_acquire)) {
        long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, 0,
                          until_ns ? &at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);

        if (rc < 0 && errno == ETIMEDOUT)
            return;
    }
}

static void set(_Atomic uint32_t *word)
{
    atomic_store_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool must_stop(const struct collector *c)
{
    return atomic_load_explicit(&c->must_stop, memory_order_acquire) != 0;
}

/* Faster than any clock is asked for: nothing can be missed. */
static bool is_unpaced(const struct collector *c) { return c->rate > RATE_MAX; }

static void wait_for_round(struct collector *c)
{
    if (c->options.period_ns >= SPIN_BELOW_NS) {
        wait_for(&c->must_stop, c->pace.next_ns);
        return;
    }
    while (!must_stop(c) && sd_clock_ns() < c->pace.next_ns)
        __builtin_ia32_pause();
}

/* --- Words into the capture ----------------------------------------------------------
 */

static void say_refusals(struct collector *c, struct sd_log *l)
{
    const char *why;
    char text[600];
    pid_t pid;

    while ((why = sd_sampler_refusal(c->sampler, &pid)) != NULL) {
        snprintf(text, sizeof text, "process %d is not sampled: %s", (int)pid, why);
        sd_log_note(l, SD_NOTE_REFUSAL, text);
    }
}

/* How far it has come, for the case that nobody lives to say how it ended. */
static void say_so_far(struct collector *c, struct sd_log *l)
{
    const struct sd_sample_counts *n = sd_sampler_counts(c->sampler);
    char text[640];
    size_t at;

    at = (size_t)snprintf(
        text, sizeof text, "seconds %llu",
        (unsigned long long)((c->last_ns - c->started_ns) / 1000000000u));
#define COUNT(name, meaning)                                                           \
    if (at < sizeof text)                                                              \
        at += (size_t)snprintf(text + at, sizeof text - at, ", " #name " %llu",        \
                               (unsigned long long)n->name);
#include "collect/sample/counts.def"
#undef COUNT
    sd_log_meta(l, "sample.so_far", text);
}

static void say_number(struct sd_log *l, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    sd_log_meta(l, key, text);
}

static void say_loss(struct sd_log *l, uint64_t n_lost,
                     const struct sd_sample_counts *n, const char *why)
{
    char text[200];

    if (n_lost == 0)
        return;
    snprintf(text, sizeof text, "%llu of %llu samples are lost: %s",
             (unsigned long long)n_lost, (unsigned long long)(n->lost + n->samples),
             why);
    sd_log_note(l, SD_NOTE_INFO,
                text); /* the summary counts them, and says what helps */
}

static void say_end(struct collector *c)
{
    struct sd_log *l = sd_writer_log(c->how.writer);
    const struct sd_sample_counts *n = &c->result.counts;

    if (!l)
        return;
#define COUNT(name, meaning) say_number(l, "sample." #name, n->name);
#include "collect/sample/counts.def"
#undef COUNT
    say_number(l, "sample.unwritten", c->result.unwritten);
    say_number(l, "sample.asked_per_s", c->rate);
    say_number(l, "sample.elapsed_ns", c->result.elapsed_ns);
    say_number(l, "sample.cpu_ns", c->result.cpu_ns);
    if (n->processes == 0)
        sd_log_note(l, SD_NOTE_INFO,
                    "nothing was sampled: no Python ran in any of the processes");
    if (n->apart)
        sd_log_note(l, SD_NOTE_INFO,
                    "stacks were read from another CPU than the program's, because "
                    "sonde may not run there: those that changed end in [partial]");
    if (n->spared)
        sd_log_note(l, SD_NOTE_INFO,
                    "threads with deep stacks were read less often than was asked for; "
                    "each sample stands for the time since the one before");
    say_loss(l, n->lost, n, "the stack changed at every try to read it");
    say_loss(l, c->result.unwritten, n, "they could not be written to the capture");
}

/* What is not of every round. */
static void say_now_and_then(struct collector *c)
{
    struct sd_log *l = sd_writer_log(c->how.writer);

    if (!l)
        return;
    if (!c->has_said_version && *sd_sampler_version(c->sampler, 0)) {
        sd_log_meta(l, "sample.python", sd_sampler_version(c->sampler, 0));
        c->has_said_version = true;
        if (is_unpaced(c))
            sd_log_meta(l, "sample.unpaced", "1");
    }
    if (c->last_ns < c->next_word_ns)
        return;
    say_refusals(c, l);
    say_so_far(c, l);
    c->next_word_ns = c->last_ns + FIRST_WORD_NS + (c->last_ns - c->started_ns) / 4;
}

/* --- The thread ----------------------------------------------------------------------
 */

static int open_all(struct collector *c)
{
    int rc = sd_sampler_open(&c->sampler, c->how.root, &c->options, SD_SAMPLER_WAITS);

    if (rc == 0)
        rc = sd_scribe_init(&c->scribe, c->how.writer, sd_sampler_tree(c->sampler));
    if (rc < 0)
        snprintf(c->why, sizeof c->why, "%s", sd_fail_text());
    return rc;
}

static void make_rounds(struct collector *c)
{
    struct sd_listener scribe = sd_scribe_listener(&c->scribe);
    struct sd_sample_counts *counts = sd_sampler_counts(c->sampler);
    int rc = 0;

    c->started_ns = c->last_ns = sd_clock_ns();
    c->next_word_ns = c->started_ns + FIRST_WORD_NS;
    sd_pace_init(&c->pace, c->options.period_ns, c->started_ns, c->started_ns);
    while (!must_stop(c) && rc == 0) {
        rc = sd_sampler_round(c->sampler, &scribe);
        c->last_ns = sd_clock_ns();
        atomic_store_explicit(&c->so_far, counts->samples, memory_order_relaxed);
        say_now_and_then(c);
        if (is_unpaced(c))
            continue;
        counts->missed += sd_pace_step(&c->pace, c->last_ns);
        wait_for_round(c);
    }
}

static void finish(struct collector *c)
{
    struct sd_listener scribe = sd_scribe_listener(&c->scribe);
    struct sd_log *l = sd_writer_log(c->how.writer);

    if (l)
        say_refusals(c, l);
    sd_sampler_end_reading(c->sampler);
    c->result.counts = *sd_sampler_counts(c->sampler);
    sd_sampler_free(c->sampler, &scribe); /* writes what waits to be written */
    c->result.elapsed_ns = c->last_ns - c->started_ns;
    c->result.cpu_ns = sd_clock_thread_cpu_ns() + c->result.counts.followed_ns;
    c->result.unwritten = c->scribe.n_unwritten;
    sd_scribe_release(&c->scribe);
    say_end(c);
}

static void *run(void *state)
{
    struct collector *c = state;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    sd_slice_shorten(c->options.period_ns);
    c->rc = open_all(c);
    set(&c->opened);
    if (c->rc == 0) {
        make_rounds(c);
        finish(c);
    } else {
        sd_sampler_free(c->sampler, NULL);
    }
    return NULL;
}

/* --- Start and stop ------------------------------------------------------------------
 */

/* Signals are for the threads of cli. */
static int start_thread(struct collector *c)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* of a library that is cut short while it is read */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err)
        return sd_fail_errno(err, "cannot start the thread of sample");
    c->has_thread = true;
    wait_for(&c->opened, 0);
    return c->rc < 0 ? sd_fail((enum sd_err)c->rc, "%s", c->why) : 0;
}

static uint64_t period_of(uint64_t rate)
{
    return rate > RATE_MAX ? 1 : 1000000000u / rate;
}

static void read_options(struct sd_sampler_options *to, const struct sd_option_value *v)
{
    *to = (struct sd_sampler_options){
        .period_ns = period_of(v[SD_SAMPLE_RATE].number),
        .mode = (enum sd_sample_mode)v[SD_SAMPLE_MODE].number,
        .consistency = (enum sd_consistency)v[SD_SAMPLE_CONSISTENCY].number,
        .skips_idle = !v[SD_SAMPLE_WITH_IDLE].number,
        .skips_children = !v[SD_SAMPLE_WITH_CHILDREN].number,
        .native = v[SD_SAMPLE_WITH_NATIVE].number != 0,
        .n_looks = v[SD_SAMPLE_RATE].number > RATE_MAX ? N_LOOKS : 1,
    };
}

static void end_thread(struct collector *c)
{
    if (!c->has_thread)
        return;
    set(&c->must_stop);
    pthread_join(c->thread, NULL);
    c->has_thread = false;
}

static int start(const struct sd_collect *how, void **state)
{
    struct collector *c;
    int rc = sd_about_sample.check(how->options);

    *state = NULL;
    if (rc < 0)
        return rc;
    c = sd_zalloc(sizeof *c);
    if (!c)
        return sd_no_memory();
    c->how = *how;
    c->rate = how->options[SD_SAMPLE_RATE].number;
    read_options(&c->options, how->options);
    rc = start_thread(c);
    if (rc < 0) {
        end_thread(c);
        sd_free(c);
        return rc;
    }
    *state = c;
    return 0;
}

uint64_t sd_sample_so_far(void *state)
{
    struct collector *c = state;

    return atomic_load_explicit(&c->so_far, memory_order_relaxed);
}

void sd_sample_finish(void *state, struct sd_sample_result *out)
{
    struct collector *c = state;

    end_thread(c);
    *out = c->result;
}

static void stop(void *state)
{
    struct collector *c = state;

    if (!c)
        return;
    end_thread(c);
    sd_free(c);
}

const struct sd_collector sd_collector_sample = {
    .about = &sd_about_sample,
    .start = start,
    .stop = stop,
};
