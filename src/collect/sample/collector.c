/* SPDX-License-Identifier: MIT */
/* The collector `sample`: a thread of the parent that makes rounds at random times. */
#include "collect/sample/collector.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/writer.h"
#include "collect/collector.h"
#include "collect/sample/metrics.h"
#include "collect/sample/pace.h"
#include "collect/sample/sampler.h"
#include "collect/sample/scribe.h"
#include "collect/sample/time_slice.h"
#include "collect/shared/allowance.h"
#include "collect/shared/pacer.h"

extern const struct sd_collector_about sd_about_sample;
extern const struct sd_collector sd_collector_sample;

enum {
    RATE_MAX = 100000, /* rounds a second that are timed; above, no waiting */
    N_LOOKS = 16,      /* then: by one system call */
};
enum { SHARE = 100 };             /* of the time, one in so many: 1 % of a CPU */
#define SPARED_NS 20000000u       /* enough for the first second at 200 a second */
#define SPIN_BELOW_NS 50000u      /* shorter periods are not slept */
#define FIRST_WORD_NS 1000000000u /* counts are written after this, then ever later */

struct collector {
    struct sd_collect how; /* a copy; what it points to outlives us */
    struct sd_sampler_options options;
    struct sd_sampler *sampler; /* the thread's */
    struct sd_scribe scribe;    /* the same */
    struct sd_pace pace;
    struct sd_allowance allowance;
    uint64_t rate;      /* as asked for */
    bool may_slow_down; /* nobody asked for it */
    struct sd_pacer paced;
    int rc; /* of opening the sampler; its sentence is in `why` */
    char why[512];
    _Atomic uint32_t is_free; /* futex: nobody holds it */
    _Atomic uint32_t n_holds; /* so far */
    uint32_t n_held;          /* those that the thread has seen */
    _Atomic uint64_t so_far;  /* samples; for whoever shows them */
    uint64_t started_ns, last_ns, next_word_ns;
    bool has_said_version, has_said_uneven;
    struct sd_sample_result result; /* once the thread has ended */
};

/* --- Waiting --------------------------------------------------------------------- */

/* Faster than any clock is asked for: nothing can be missed. */
static bool is_unpaced(const struct collector *c) { return c->rate > RATE_MAX; }

static void wait_for_round(struct collector *c)
{
    if (c->options.period_ns >= SPIN_BELOW_NS) {
        sd_pacer_wait(&c->paced, c->pace.next_ns);
        return;
    }
    while (!sd_pacer_must_stop(&c->paced) && sd_clock_ns() < c->pace.next_ns)
        __builtin_ia32_pause();
}

/* --- Words into the capture ------------------------------------------------------ */

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

static void say_it_slowed_down(const struct collector *c, struct sd_log *l)
{
    const struct sd_sample_counts *n = &c->result.counts;
    char note[300];

    snprintf(note, sizeof note,
             "stacks were read %.0f times a second instead of %llu, to take less CPU "
             "time (%.1f %% of a CPU); --sample-rate %llu keeps that rate",
             (double)n->rounds * 1e9 / (double)c->result.elapsed_ns,
             (unsigned long long)c->rate,
             100.0 * (double)c->result.cpu_ns / (double)c->result.elapsed_ns,
             (unsigned long long)c->rate);
    sd_log_note(l, SD_NOTE_WARNING, note);
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
                    "stacks were read from a CPU other than the program's, because "
                    "sonde may not run there: those that changed end in [partial]");
    if (n->spared)
        sd_log_note(
            l, SD_NOTE_INFO,
            "threads with deep stacks were read less often than asked for; times are "
            "still right: each sample counts for all the time since the previous one");
    if (n->put_off > n->rounds + n->missed)
        say_it_slowed_down(c, l);
    say_loss(l, n->lost, n, "the stack changed at every try to read it");
    say_loss(l, c->result.unwritten, n, "they could not be written to the capture");
}

/* Whether samples stand for such unequal times that they must not be counted. */
static bool is_uneven(const struct sd_sample_counts *n)
{
    return n->spared > 0 || n->put_off > n->rounds / 20;
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
    if (!c->has_said_uneven && is_uneven(sd_sampler_counts(c->sampler))) {
        sd_log_meta(l, "sample.uneven", "1");
        c->has_said_uneven = true;
    }
    if (c->last_ns < c->next_word_ns)
        return;
    say_refusals(c, l);
    say_so_far(c, l);
    c->next_word_ns = c->last_ns + FIRST_WORD_NS + (c->last_ns - c->started_ns) / 4;
}

/* --- The thread ------------------------------------------------------------------ */

static int open_all(struct collector *c)
{
    int rc = sd_sampler_open(&c->sampler, c->how.root, &c->options, SD_SAMPLER_WAITS);

    if (rc == 0)
        rc = sd_scribe_init(&c->scribe, c->how.writer, sd_sampler_tree(c->sampler));
    if (rc < 0)
        snprintf(c->why, sizeof c->why, "%s", sd_fail_text());
    return rc;
}

/* The period becomes what can be afforded. */
static void set_pace(struct collector *c)
{
    uint64_t spent_ns = sd_sampler_cpu_ns(c->sampler);

    sd_pace_slow(&c->pace, sd_allowance_period_ns(&c->allowance, c->options.period_ns,
                                                  c->last_ns, spent_ns));
    sd_sampler_counts(c->sampler)->put_off = sd_pace_put_off(&c->pace);
}

static bool was_held(const struct collector *c)
{
    return atomic_load_explicit(&c->n_holds, memory_order_acquire) != c->n_held;
}

/* What was due meanwhile is not missed.  Who holds us lets us go (collector.h). */
static void skip_held_time(struct collector *c)
{
    uint64_t now_ns;

    if (!was_held(c))
        return;
    while (was_held(c)) {
        c->n_held = atomic_load_explicit(&c->n_holds, memory_order_acquire);
        sd_word_wait(&c->is_free, 0, 0);
    }
    now_ns = sd_clock_ns();
    c->started_ns += now_ns - c->last_ns;
    c->last_ns = now_ns;
    sd_pace_go_on(&c->pace, now_ns);
    sd_sampler_skip_time(c->sampler);
}

static void make_rounds(struct collector *c)
{
    struct sd_listener scribe = sd_scribe_listener(&c->scribe);
    struct sd_sample_counts *counts = sd_sampler_counts(c->sampler);
    int rc = 0;

    c->started_ns = c->last_ns = sd_clock_ns();
    c->next_word_ns = c->started_ns + FIRST_WORD_NS;
    sd_pace_init(&c->pace, c->options.period_ns, c->started_ns, c->started_ns);
    sd_allowance_begin(&c->allowance, SHARE, SPARED_NS, c->started_ns,
                       sd_sampler_cpu_ns(c->sampler));
    while (!sd_pacer_must_stop(&c->paced) && rc == 0) {
        uint64_t now_ns;

        skip_held_time(c);
        now_ns = sd_clock_ns();
        rc = sd_sampler_round(c->sampler, &scribe);
        c->last_ns = was_held(c) ? now_ns : sd_clock_ns();
        atomic_store_explicit(&c->so_far, counts->samples, memory_order_relaxed);
        say_now_and_then(c);
        if (is_unpaced(c) || was_held(c))
            continue;
        if (c->may_slow_down)
            set_pace(c);
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
    sd_time_slice_shorten(c->options.period_ns);
    c->rc = open_all(c);
    sd_pacer_answer(&c->paced);
    if (c->rc == 0) {
        make_rounds(c);
        finish(c);
    } else {
        sd_sampler_free(c->sampler, NULL);
    }
    return NULL;
}

/* --- Start and stop -------------------------------------------------------------- */

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
    c->is_free = 1;
    c->rate = how->options[SD_SAMPLE_RATE].number;
    c->may_slow_down = !how->options[SD_SAMPLE_RATE].is_given;
    read_options(&c->options, how->options);
    rc = sd_pacer_start(&c->paced, sd_about_sample.name, run, c);
    if (rc == 0 && c->rc < 0)
        rc = sd_fail((enum sd_err)c->rc, "%s", c->why);
    if (rc < 0) {
        sd_pacer_stop(&c->paced);
        sd_free(c);
        return rc;
    }
    *state = c;
    return 0;
}

static void hold(void *state, bool is_held)
{
    struct collector *c = state;

    if (!is_held) {
        atomic_store_explicit(&c->is_free, 1, memory_order_release);
        sd_word_wake(&c->is_free);
        return;
    }
    atomic_store_explicit(&c->is_free, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->n_holds, 1, memory_order_release);
}

uint64_t sd_sample_so_far(void *state)
{
    struct collector *c = state;

    return atomic_load_explicit(&c->so_far, memory_order_relaxed);
}

void sd_sample_finish(void *state, struct sd_sample_result *out)
{
    struct collector *c = state;

    sd_pacer_stop(&c->paced);
    *out = c->result;
}

static void stop(void *state)
{
    struct collector *c = state;

    if (!c)
        return;
    sd_pacer_stop(&c->paced);
    sd_free(c);
}

const struct sd_collector sd_collector_sample = {
    .about = &sd_about_sample,
    .start = start,
    .hold = hold,
    .stop = stop,
};
