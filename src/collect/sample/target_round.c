/* SPDX-License-Identifier: MIT */
/* A round: one look at each thread of a target. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/sample/target.h"

enum {
    N_RETRIES = 3,        /* of a torn shot */
    N_BATCHED = 64,       /* ranges of a thread that may be read with others' */
    N_GILS = 16,          /* interpreters whose GIL is read in a round */
    N_TORN_OF_100 = 2,    /* more than this many torn reads: follow */
    N_FOLLOW_RATE = 2000, /* rounds a second above which auto does not follow */
};

/* --- A round: who is to be read */

static struct sd_shot_of shot_of(struct sd_target *t, const struct sd_round *round)
{
    return (struct sd_shot_of){ .remote = &t->remote,
                                .rt = &t->rt,
                                .codes = &t->codes,
                                .is_blind = round->options->consistency ==
                                            SD_CONSISTENCY_NONE };
}

static void look_at(struct sd_target_thread *x, struct sd_round *round)
{
    uint64_t ran_ns;

    x->is_read = x->was_torn = false;
    x->result = SD_SHOT_STALE; /* not settled */
    x->state =
        x->who.tid ? sd_pulse_look(&x->pulse, round->now_ns, &ran_ns) : SD_PULSE_RUNS;
    if (x->who.tid && x->state != SD_PULSE_GONE)
        x->cpu_ns += ran_ns;
}

/* In the mode that is asked for, a thread in this state has something to tell. */
static bool is_wanted(const struct sd_target_thread *x, const struct sd_round *round)
{
    if (x->state == SD_PULSE_GONE)
        return false;
    if (x->state == SD_PULSE_RUNS || round->options->mode == SD_MODE_GIL)
        return true;
    return round->options->mode == SD_MODE_WALL && !round->options->skips_idle;
}

static bool must_read(const struct sd_target_thread *x, const struct sd_round *round)
{
    return is_wanted(x, round) && !(x->state == SD_PULSE_STILL && x->is_whole);
}

static bool is_rate_followed(const struct sd_round *round)
{
    return round->options->period_ns >= 1000000000u / N_FOLLOW_RATE ||
           round->options->period_ns == 0;
}

/* A thread that waits does not move: it need not be followed or stopped. */
static bool must_follow(const struct sd_target_thread *x, const struct sd_round *round)
{
    if (x->state != SD_PULSE_RUNS || !x->who.tid)
        return false;
    switch (round->options->consistency) {
    case SD_CONSISTENCY_AUTO:
        return x->is_followed && is_rate_followed(round);
    case SD_CONSISTENCY_FOLLOW:
        return true;
    case SD_CONSISTENCY_PAUSE:
    case SD_CONSISTENCY_NONE:
        break;
    }
    return false;
}

static bool must_pause(const struct sd_target_thread *x, const struct sd_round *round)
{
    return round->options->consistency == SD_CONSISTENCY_PAUSE && x->who.tid &&
           x->state == SD_PULSE_RUNS;
}

/* --- A round: reading */

static void settle(struct sd_target_thread *x, enum sd_shot_result result,
                   struct sd_round *round)
{
    round->counts->calls += x->shot.n_calls;
    round->counts->retried += x->shot.n_torn;
    x->result = result;
    x->is_read = true;
    x->is_whole = result == SD_SHOT_GOOD || result == SD_SHOT_EMPTY;
    x->is_known = x->is_whole || result == SD_SHOT_PARTIAL;
}

/* Shifts in whether a read from outside was torn. */
static void remember_torn(struct sd_target_thread *x, bool was_torn)
{
    const uint64_t mask = ((uint64_t)1 << (100 - 64)) - 1;

    x->torn[1] = (x->torn[1] << 1 | x->torn[0] >> 63) & mask;
    x->torn[0] = x->torn[0] << 1 | was_torn;
    if (__builtin_popcountll(x->torn[0]) + __builtin_popcountll(x->torn[1]) >
        N_TORN_OF_100)
        x->is_followed = true;
}

static void read_alone(struct sd_target *t, struct sd_target_thread *x,
                       struct sd_round *round)
{
    struct sd_shot_of of = shot_of(t, round);
    enum sd_shot_result result = sd_shot_take(&x->shot, &of, N_RETRIES);

    settle(x, result, round);
    remember_torn(x, x->was_torn || x->shot.n_torn > 0);
}

/* A torn shot means that the thread has been moved to another CPU: we go after it. */
static void read_followed(struct sd_target *t, struct sd_target_thread *x,
                          struct sd_round *round)
{
    struct sd_shot_of of = shot_of(t, round);
    enum sd_shot_result result = SD_SHOT_TORN;
    unsigned i, n_torn = 0, n_calls = 0;

    for (i = 0; i <= N_RETRIES && result == SD_SHOT_TORN; i++) {
        if (sd_follow_go(round->follow, &x->followed, t->pid, x->who.tid, round->now_ns,
                         i > 0) < 0) {
            read_alone(t, x, round);
            return;
        }
        result = sd_shot_take(&x->shot, &of, 0);
        n_torn += result == SD_SHOT_TORN || result == SD_SHOT_PARTIAL;
        n_calls += x->shot.n_calls;
        if (result == SD_SHOT_PARTIAL && i < N_RETRIES)
            result = SD_SHOT_TORN;
    }
    round->counts->followed++;
    x->shot.n_torn = n_torn;
    x->shot.n_calls = n_calls;
    settle(x, result, round);
}

static void read_paused(struct sd_target *t, struct sd_target_thread *x,
                        struct sd_round *round)
{
    struct sd_shot_of of = shot_of(t, round);
    enum sd_shot_result result = SD_SHOT_TORN;

    x->shot.n_calls = x->shot.n_torn = 0;
    of.is_still = sd_pause_begin(&x->pause, x->who.tid) == 0;
    if (of.is_still) {
        result = sd_shot_take(&x->shot, &of, 0);
        round->counts->paused++;
    }
    sd_pause_end(&x->pause, x->who.tid);
    settle(x, result, round);
}

/* --- The GIL */

/* Words of the GIL that a round reads: from the first to the last of the two. */
static void gil_range(const struct sd_gil *gil, uint64_t *from, uint64_t *to)
{
    *from = gil->holder_at;
    *to = gil->holder_at + 8;
    if (gil->locked_at && gil->locked_at < *from)
        *from = gil->locked_at;
    if (gil->locked_at && gil->locked_at + 4 > *to)
        *to = gil->locked_at + 4;
}

/* What was read of the GIL of an interpreter. */
static void judge_gil(struct sd_target_interpreter *x)
{
    const uint8_t *words = (const uint8_t *)x->words;
    uint64_t from, to;
    int32_t locked = 1;

    gil_range(&x->gil, &from, &to);
    memcpy(&x->holder, words + (x->gil.holder_at - from), sizeof x->holder);
    if (x->gil.locked_at)
        memcpy(&locked, words + (x->gil.locked_at - from), sizeof locked);
    if (locked != 1)
        x->holder = 0;
}

static bool reads_gil(const struct sd_target_interpreter *x)
{
    uint64_t from, to;

    gil_range(&x->gil, &from, &to);
    return x->gil.holder_at && to - from <= sizeof x->words;
}

/* --- A round: many threads at once */

struct batch { /* ranges of several threads on their way to one system call */
    struct iovec *to, *from;
    size_t n_to, n_from;
    size_t n_bytes;
    size_t first, end; /* threads that it may hold */
};

static void want_gils(struct sd_target *t, struct batch *b)
{
    size_t i;

    for (i = 0; i < t->n_interpreters && b->n_to < N_GILS; i++) {
        struct sd_target_interpreter *x = &t->interpreters[i];
        uint64_t from, to;

        x->holder = 0;
        if (!reads_gil(x))
            continue;
        gil_range(&x->gil, &from, &to);
        b->to[b->n_to++] = (struct iovec){ x->words, to - from };
        b->from[b->n_from++] = (struct iovec){ (void *)(uintptr_t)from, to - from };
        b->n_bytes += to - from;
    }
}

static void read_gils(struct sd_target *t, const struct batch *b, size_t n_got)
{
    size_t i, k = 0, sum = 0;

    for (i = 0; i < t->n_interpreters && k < N_GILS; i++) {
        if (!reads_gil(&t->interpreters[i]))
            continue;
        sum += b->to[k++].iov_len;
        if (sum <= n_got)
            judge_gil(&t->interpreters[i]);
    }
}

/* True when the thread's ranges are in the batch. */
static bool join_batch(struct sd_target *t, struct sd_target_thread *x, struct batch *b,
                       const struct sd_round *round)
{
    struct sd_shot_of of = shot_of(t, round);

    x->shot.n_calls = x->shot.n_torn = x->shot.n_stale = 0;
    if (sd_shot_plan(&x->shot, &of) < 0 || x->shot.n_from > N_BATCHED ||
        b->n_from + x->shot.n_from > SD_REMOTE_RANGES)
        return false;
    b->to[b->n_to++] = (struct iovec){ x->shot.copy, x->shot.n_copy };
    memcpy(b->from + b->n_from, x->shot.from, x->shot.n_from * sizeof *b->from);
    b->n_from += x->shot.n_from;
    b->n_bytes += x->shot.n_copy;
    return true;
}

/* Reads the GILs and, by the same system call, the threads that need neither be
 * followed nor stopped.  What it does not settle is left to read_rest. */
static void read_batch(struct sd_target *t, struct sd_round *round)
{
    struct batch b = { .to = round->to, .from = round->from };
    struct sd_shot_of of = shot_of(t, round);
    size_t i, at = 0, n_gils;
    uint64_t took_ns;
    ssize_t got;

    want_gils(t, &b);
    n_gils = b.n_to;
    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        x->is_batched = b.n_to < SD_REMOTE_RANGES && must_read(x, round) &&
                        !must_follow(x, round) && !must_pause(x, round) &&
                        round->options->mode != SD_MODE_GIL &&
                        join_batch(t, x, &b, round);
    }
    if (b.n_from == 0)
        return;
    took_ns = sd_clock_ns();
    got = sd_remote_readv_some(&t->remote, b.to, b.n_to, b.from, b.n_from);
    took_ns = sd_clock_ns() - took_ns;
    round->counts->calls++;
    read_gils(t, &b, got > 0 ? (size_t)got : 0);
    for (i = 0; i < n_gils; i++)
        at += b.to[i].iov_len;
    for (i = 0; i < t->n_threads && got > 0; i++) {
        struct sd_target_thread *x = t->threads[i];
        enum sd_shot_result result;

        if (!x->is_batched)
            continue;
        at += x->shot.n_copy;
        if (at > (size_t)got) { /* this one's guess was wrong: something is not there */
            x->shot.is_learnt = false;
            return;
        }
        x->shot.took_ns = took_ns;
        result = sd_shot_judge(&x->shot, &of, false);
        if (result == SD_SHOT_TORN)
            round->counts->retried++;
        if (result == SD_SHOT_TORN || result == SD_SHOT_STALE) {
            x->was_torn = result == SD_SHOT_TORN;
            continue;
        }
        settle(x, result, round);
        remember_torn(x, false);
    }
}

static bool holds_gil(struct sd_target *t, const struct sd_target_thread *x)
{
    const struct sd_target_interpreter *i =
        sd_target_interpreter(t, x->who.interpreter);

    return i && i->holder && i->holder == x->who.state;
}

static void read_rest(struct sd_target *t, struct sd_round *round)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        if (x->is_read || !must_read(x, round) ||
            (round->options->mode == SD_MODE_GIL && !holds_gil(t, x)))
            continue;
        if (must_pause(x, round))
            read_paused(t, x, round);
        else if (must_follow(x, round))
            read_followed(t, x, round);
        else
            read_alone(t, x, round);
    }
}

/* --- A round: telling */

static unsigned flags_of(struct sd_target *t, const struct sd_target_thread *x)
{
    const struct sd_target_interpreter *i =
        sd_target_interpreter(t, x->who.interpreter);
    unsigned flags = 0;

    if (x->state == SD_PULSE_WAITS || x->state == SD_PULSE_STILL)
        flags |= SD_SAMPLE_IDLE;
    if (i && i->holder && i->holder == x->who.state)
        flags |= SD_SAMPLE_GIL;
    else if (i && x->state != SD_PULSE_RUNS && x->pulse.futex >= i->gil_from &&
             x->pulse.futex < i->gil_to)
        flags |= SD_SAMPLE_WAITS_GIL;
    if (x->result == SD_SHOT_PARTIAL)
        flags |= SD_SAMPLE_PARTIAL;
    return flags;
}

static void tell(struct sd_target *t, struct sd_target_thread *x,
                 struct sd_round *round)
{
    struct sd_told told = { .time_ns = round->now_ns,
                            .pid = t->pid,
                            .member = t->member,
                            .tid = x->who.tid,
                            .thread_start_ticks = x->start_ticks,
                            .interpreter = x->who.interpreter_id,
                            .name = x->name,
                            .flags = flags_of(t, x),
                            .is_same = !x->is_read && x->was_told,
                            .is_cut = x->shot.is_cut,
                            .wall_ns = round->now_ns - x->told_ns,
                            .cpu_ns = x->cpu_ns,
                            .frames = x->shot.frames,
                            .n_frames = x->shot.n_frames,
                            .codes = &t->codes,
                            .serial = t->serial,
                            .rt = &t->rt,
                            .of_thread = &x->of_listener };

    round->counts->samples++;
    round->counts->idle += (told.flags & SD_SAMPLE_IDLE) != 0;
    round->counts->partial += (told.flags & SD_SAMPLE_PARTIAL) != 0;
    x->told_ns = round->now_ns;
    x->cpu_ns = 0;
    x->was_told = true;
    if (round->listener)
        round->listener->sample(round->listener->of, &told);
}

static void tell_all(struct sd_target *t, struct sd_round *round)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        if (!is_wanted(x, round) ||
            (round->options->mode == SD_MODE_GIL && !holds_gil(t, x))) {
            x->told_ns = round->now_ns; /* this time is not a sample's */
            x->was_told = false;
            continue;
        }
        if (!x->is_known) {
            round->counts->lost += x->result != SD_SHOT_GONE;
            continue;
        }
        if (x->shot.n_frames)
            tell(t, x, round);
    }
}

static bool some_ended(const struct sd_target *t)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++)
        if (t->threads[i]->state == SD_PULSE_GONE ||
            t->threads[i]->result == SD_SHOT_GONE)
            return true;
    return t->n_threads == 0;
}

static bool all_failed(const struct sd_target *t)
{
    size_t i, n_read = 0;

    for (i = 0; i < t->n_threads; i++) {
        if (t->threads[i]->is_read && t->threads[i]->is_known)
            return false;
        n_read += t->threads[i]->is_read;
    }
    return n_read > 0 || t->n_threads == 0;
}

void sd_target_round(struct sd_target *t, struct sd_round *round)
{
    size_t i;
    int rc;

    if (t->state == SD_TARGET_WAITS)
        sd_target_try(t, round);
    if (t->state != SD_TARGET_RUNS)
        return;
    rc = sd_target_keep_up(t, round);
    if (rc < 0) {
        sd_target_forget(t, round->listener);
        return;
    }
    for (i = 0; i < t->n_threads; i++)
        look_at(t->threads[i], round);
    read_batch(t, round);
    read_rest(t, round);
    if (!sd_remote_is_alive(&t->remote)) {
        sd_target_end(t, round->listener);
        return;
    }
    tell_all(t, round);
    t->last_round_ns = round->now_ns;
    if (some_ended(t) || all_failed(t))
        t->next_head_ns = t->next_list_ns = 0;
}
