/* SPDX-License-Identifier: MIT */
/* target_batch: reads many threads, and the GILs, with one system call. */
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "collect/sample/target_parts.h"

enum {
    N_BATCHED = 64, /* ranges of a thread that may be read with others' */
    N_BATCH = 256,  /* ranges of one system call: more take too long to trust */
    N_GILS = 16,    /* interpreters whose GIL is read in a round */
};

_Static_assert(N_BATCH + N_GILS <= SD_REMOTE_RANGES && N_BATCHED + N_GILS <= N_BATCH,
               "one system call takes them, and the GILs leave room for a thread");

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
    sd_assert(to - from <= sizeof x->words && x->gil.holder_at >= from);
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

/* --- Many threads at once */

struct batch { /* ranges of several threads on their way to one system call */
    struct iovec *to, *from;
    size_t n_to, n_from;
    size_t n_bytes;
    size_t first, end; /* the threads that it may hold */
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
    struct sd_shot_of of = sd_target_shot_of(t, round);

    of.n_looks = sd_target_has_one_thread(t) && !x->is_along ? round->n_looks : 1;
    x->shot.n_calls = x->shot.n_torn = x->shot.n_stale = 0;
    if (sd_shot_plan(&x->shot, &of) < 0 || x->shot.n_from > N_BATCHED)
        return false;
    sd_assert(b->n_from + x->shot.n_from <= N_BATCH);
    b->to[b->n_to++] = (struct iovec){ x->shot.copy, x->shot.n_copy };
    memcpy(b->from + b->n_from, x->shot.from, x->shot.n_from * sizeof *b->from);
    b->n_from += x->shot.n_from;
    b->n_bytes += x->shot.n_copy;
    return true;
}

static bool is_alone(const struct sd_target *t, const struct sd_target_thread *x,
                     const struct sd_round *round)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++)
        if (t->threads[i] != x && sd_target_must_read(t->threads[i], round))
            return false;
    return true;
}

/* A thread that must be followed can be read with the GIL when nobody else is read: all
 * of it is done from its CPU. */
static bool may_join(struct sd_target *t, struct sd_target_thread *x,
                     struct sd_round *round)
{
    if (x->is_read || x->was_torn || !sd_target_must_read(x, round) ||
        sd_target_must_be_native(x, round) || sd_target_must_pause(x, round) ||
        round->options->mode == SD_MODE_GIL)
        return false;
    x->is_along = sd_target_must_follow(x, round);
    return !x->is_along || is_alone(t, x, round);
}

/* Takes in threads from b->first on; b->end becomes the first that found no room. */
static void gather(struct sd_target *t, struct batch *b, struct sd_round *round)
{
    for (b->end = b->first; b->end < t->n_threads; b->end++) {
        struct sd_target_thread *x = t->threads[b->end];

        if (b->n_from + N_BATCHED > N_BATCH)
            return;
        x->is_along = x->was_torn && x->is_along; /* that it was is still of use */
        x->is_batched = may_join(t, x, round) && join_batch(t, x, b, round);
    }
}

/* It was read from its own CPU, where we still are: a guess that was wrong is made good
 * there, while the thread stands as it was guessed. */
static enum sd_shot_result judge_along(struct sd_target *t, struct sd_target_thread *x,
                                       struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    enum sd_shot_result result;

    of.is_hasty = true;
    result = sd_shot_judge(&x->shot, &of, false);
    if (result == SD_SHOT_STALE) {
        result = sd_shot_take(&x->shot, &of, 0);
        if (result == SD_SHOT_PARTIAL)
            result = SD_SHOT_TORN;
    }
    return sd_target_stood_still(t, x, round, result) ? result : SD_SHOT_TORN;
}

/* What came of one thread. */
static void judge_batched(struct sd_target *t, struct sd_target_thread *x,
                          struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    uint64_t began_ns = sd_target_cost_clock(x) - x->shot.took_ns;

    x->result =
        x->is_along ? judge_along(t, x, round) : sd_shot_judge(&x->shot, &of, false);
    sd_target_add_cost(x, began_ns);
}

static void settle_batched(struct sd_target *t, struct sd_target_thread *x,
                           struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);

    if (x->is_along && x->result != SD_SHOT_TORN)
        x->result = sd_shot_prove_codes(&x->shot, &of, x->result, false);
    if (x->result == SD_SHOT_TORN)
        round->counts->retried++;
    if (x->result == SD_SHOT_TORN || x->result == SD_SHOT_STALE) {
        x->was_torn = x->result == SD_SHOT_TORN;
        return;
    }
    sd_target_settle(x, x->result, round);
    if (x->is_along)
        round->counts->followed++;
    else
        sd_target_remember_torn(x, false, round->now_ns);
}

/* One system call.  The time it took is judged by all that it brought: a single
 * thread's share of it is not known. */
static void read_one_batch(struct sd_target *t, struct batch *b, size_t n_gils,
                           struct sd_round *round)
{
    size_t i, at = 0;
    uint64_t began_ns = sd_clock_ns(), ended_ns;
    ssize_t got = sd_remote_readv_some(&t->remote, b->to, b->n_to, b->from, b->n_from);

    sd_assert(n_gils <= b->n_to && b->n_to <= b->n_from);
    ended_ns = sd_clock_ns();
    round->counts->calls++;
    if (n_gils)
        read_gils(t, b, got > 0 ? (size_t)got : 0);
    for (i = 0; i < n_gils; i++)
        at += b->to[i].iov_len;
    for (i = b->first; i < b->end && got > 0; i++) {
        struct sd_target_thread *x = t->threads[i];

        if (!x->is_batched)
            continue;
        at += x->shot.n_copy;
        if (at > (size_t)got) { /* this one's guess was wrong: something is not there */
            x->shot.is_learnt = false;
            return;
        }
        sd_shot_came(&x->shot, began_ns, ended_ns, b->n_from, b->n_bytes);
        judge_batched(t, x, round);
    }
}

struct errand { /* a batch of one thread, on its way to its CPU */
    struct sd_target *t;
    struct batch *b;
    size_t n_gils;
    struct sd_round *round;
    struct sd_target_thread *x;
};

static void read_there(void *of)
{
    struct errand *e = of;

    if (sd_target_stand_by(e->x))
        read_one_batch(e->t, e->b, e->n_gils, e->round);
}

static struct sd_target_thread *who_goes_along(struct sd_target *t,
                                               const struct batch *b)
{
    size_t i;

    for (i = b->first; i < b->end; i++)
        if (t->threads[i]->is_batched && t->threads[i]->is_along)
            return t->threads[i];
    return NULL;
}

static void read_batch(struct sd_target *t, struct batch *b, size_t n_gils,
                       struct sd_round *round)
{
    struct errand e = { t, b, n_gils, round, who_goes_along(t, b) };
    size_t i;

    if (!e.x)
        read_one_batch(t, b, n_gils, round);
    else if (sd_follow_visit(round->follow, &e.x->followed, t->pid, e.x->who.tid,
                             round->now_ns, false, read_there, &e) < 0)
        return; /* read_rest will know what to do */
    for (i = b->first; i < b->end; i++)
        if (t->threads[i]->is_batched) /* STALE: it has not come */
            settle_batched(t, t->threads[i], round);
}

/* Reads the GILs and, by the same system calls, the threads that need not be stopped,
 * nor followed one by one.  What it does not settle is left to read_rest. */
void sd_target_read_batches(struct sd_target *t, struct sd_round *round)
{
    struct batch b = { .to = round->to, .from = round->from };

    want_gils(t, &b);
    do {
        size_t n_gils = b.first == 0 ? b.n_to : 0;

        gather(t, &b, round);
        if (b.n_from)
            read_batch(t, &b, n_gils, round);
        b.first = b.end;
        b.n_to = b.n_from = b.n_bytes = 0;
    } while (b.first < t->n_threads);
}
