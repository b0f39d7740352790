/* SPDX-License-Identifier: MIT */
/* target_round: looks once at each thread of a target. */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/sample/target_parts.h"

enum {
    N_RETRIES = 3,          /* of a torn shot */
    N_FOLLOWED_RETRIES = 7, /* of one whose thread went to another CPU meanwhile */
    N_DEEP_RETRIES = 1,
    N_TORN_OF_100 = 2,    /* more than this many torn reads: follow */
    N_FOLLOW_RATE = 2000, /* rounds a second above which auto does not follow */
};
enum {
    SPARE_PART = 20, /* reading a thread may take this part of the time */
    N_SPARED_FRAMES =
        256, /* of a stack that takes long by itself, whoever disturbs us */
};
#define SPARE_LEAST_NS 100000u /* shorter reads are as often as was asked for */
#define UNPACED_NS 10000u      /* shorter periods: as fast as can be */
/* A thread is followed for so long before it is tried from outside again: shortly after
 * 100 calm reads, since imports are over soon, and twice as long each time after that.
 */
#define FOLLOW_LEAST_NS 1000000000u
#define FOLLOW_MOST_NS 10000000000u
#define ALIVE_NS 250000u /* for so long a process is not asked for again */

/* --- A round: who is to be read */

struct sd_shot_of sd_target_shot_of(struct sd_target *t, const struct sd_round *round)
{
    return (struct sd_shot_of){ .remote = &t->remote,
                                .rt = &t->rt,
                                .codes = &t->codes,
                                .is_blind = round->options->consistency ==
                                            SD_CONSISTENCY_NONE };
}

static bool is_rate_followed(const struct sd_round *round)
{
    return round->options->period_ns >= 1000000000u / N_FOLLOW_RATE ||
           round->options->period_ns == 0;
}

static void look_at(struct sd_target *t, struct sd_target_thread *x,
                    struct sd_round *round)
{
    struct sd_pulse_counters since;

    sd_pause_try_end(&x->pause, x->who.tid);
    x->is_read = x->was_torn = x->is_batched = x->is_visited = false;
    if (x->is_followed && round->now_ns > x->follow_until_ns)
        x->is_followed = false; /* what it does now may be calmer */
    x->result = SD_SHOT_STALE;  /* not settled */
    x->state =
        x->who.tid ? sd_pulse_look(&x->pulse, round->now_ns, &since) : SD_PULSE_RUNS;
    if (!x->who.tid || x->state == SD_PULSE_GONE)
        return;
    x->is_barred = x->is_scattered && !is_rate_followed(round) &&
                   x->state == SD_PULSE_RUNS &&
                   sd_follow_is_barred(round->follow, &x->followed, t->pid, x->who.tid,
                                       round->now_ns);
    x->cpu_ns += since.run_ns;
    round->counts->ran_ns += since.run_ns;
    round->counts->queued_ns += since.queued_ns;
    if (x->pulse.is_kept && x->pulse.asked_ns == round->now_ns)
        t->alive_ns = round->now_ns; /* the file is of this thread and no other */
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

bool sd_target_must_read(const struct sd_target_thread *x, const struct sd_round *round)
{
    return is_wanted(x, round) && !x->is_spared &&
           !(x->state == SD_PULSE_STILL && x->is_whole);
}

/* One that waits is not held up by being read. */
static void spare(struct sd_target_thread *x, const struct sd_round *round)
{
    x->cost_ns = 0;
    x->is_spared = false;
    x->is_spared = round->now_ns < x->next_read_ns && x->state == SD_PULSE_RUNS &&
                   sd_target_must_read(x, round);
}

/* When it may be read again.  Of two reads the shorter one counts: the other may have
 * been interrupted. */
static void note_cost(struct sd_target_thread *x, const struct sd_round *round)
{
    uint64_t cost_ns = x->cost_ns < x->last_cost_ns ? x->cost_ns : x->last_cost_ns;

    x->last_cost_ns = x->cost_ns;
    x->next_read_ns = 0;
    if (x->is_whole) /* else there may be more */
        x->is_deep = x->shot.n_frames >= N_SPARED_FRAMES;
    else
        x->is_deep |= x->shot.spots.n >= N_SPARED_FRAMES;
    if (x->is_deep && cost_ns > SPARE_LEAST_NS &&
        cost_ns * SPARE_PART > round->options->period_ns &&
        round->options->period_ns > UNPACED_NS)
        x->next_read_ns = round->now_ns + cost_ns * SPARE_PART;
}

/* A thread that waits does not move: it need not be followed or stopped.
 *
 * Frames that lie together are copied within a few nanoseconds, twice.  Where each is
 * an object of its own, copying takes microseconds, in which a short loop can come
 * round to where it was: two copies that agree are no proof then (one stack in 2,500
 * was wrong), and the thread is always followed, and asked afterwards whether it was.
 * Where that is forbidden, read_alone takes more looks, at any rate. */
bool sd_target_must_follow(const struct sd_target_thread *x,
                           const struct sd_round *round)
{
    if (x->state != SD_PULSE_RUNS || !x->who.tid)
        return false;
    switch (round->options->consistency) {
    case SD_CONSISTENCY_AUTO: /* torn a moment ago: one that runs this fast */
        return x->is_barred || ((x->is_followed || x->was_torn || x->is_scattered) &&
                                is_rate_followed(round));
    case SD_CONSISTENCY_FOLLOW:
        return true;
    case SD_CONSISTENCY_PAUSE:
    case SD_CONSISTENCY_NONE:
        break;
    }
    return false;
}

bool sd_target_must_pause(const struct sd_target_thread *x,
                          const struct sd_round *round)
{
    return round->options->consistency == SD_CONSISTENCY_PAUSE && x->who.tid &&
           x->state == SD_PULSE_RUNS;
}

/* --- A round: reading */

void sd_target_settle(struct sd_target_thread *x, enum sd_shot_result result,
                      struct sd_round *round)
{
    round->counts->calls += x->shot.n_calls;
    round->counts->retried += x->shot.n_torn;
    x->result = result;
    x->is_read = true;
    x->is_whole = result == SD_SHOT_GOOD || result == SD_SHOT_EMPTY;
    x->is_known = x->is_whole || result == SD_SHOT_PARTIAL;
    if (!round->options->native)
        note_cost(x, round);
}

/* Shifts in whether a read from outside was torn. */
void sd_target_remember_torn(struct sd_target_thread *x, bool was_torn, uint64_t now_ns)
{
    const uint64_t mask = ((uint64_t)1 << (100 - 64)) - 1;

    x->torn[1] = (x->torn[1] << 1 | x->torn[0] >> 63) & mask;
    x->torn[0] = x->torn[0] << 1 | was_torn;
    if (++x->n_outside >= 100)
        x->follow_ns = 0;
    if (__builtin_popcountll(x->torn[0]) + __builtin_popcountll(x->torn[1]) <=
        N_TORN_OF_100)
        return;
    x->follow_ns = x->follow_ns ? 2 * x->follow_ns : FOLLOW_LEAST_NS;
    if (x->follow_ns > FOLLOW_MOST_NS)
        x->follow_ns = FOLLOW_MOST_NS;
    x->is_followed = true;
    x->follow_until_ns = now_ns + x->follow_ns;
    x->torn[0] = x->torn[1] = 0;
    x->n_outside = 0;
}

/* What takes long is as likely to be torn the next time. */
static unsigned n_retries(const struct sd_target_thread *x, unsigned n_usual)
{
    return x->is_deep ? N_DEEP_RETRIES : n_usual;
}

/* While it runs, time that others had in between is not counted: of deep stacks that is
 * worth a system call. */
uint64_t sd_target_cost_clock(const struct sd_target_thread *x)
{
    return x->is_deep ? sd_clock_thread_cpu_ns() : sd_clock_ns();
}

void sd_target_add_cost(struct sd_target_thread *x, uint64_t began_ns)
{
    x->cost_ns += sd_target_cost_clock(x) - began_ns;
}

static void read_alone(struct sd_target *t, struct sd_target_thread *x,
                       struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    uint64_t began_ns = sd_target_cost_clock(x);
    enum sd_shot_result result = sd_shot_take(&x->shot, &of, n_retries(x, N_RETRIES));
    bool is_apart = sd_target_must_follow(x, round); /* and was not read there */

    if (is_apart)
        result = sd_shot_watch(&x->shot, &of, result);
    round->counts->apart +=
        is_apart && sd_follow_is_barred(round->follow, &x->followed, t->pid, x->who.tid,
                                        round->now_ns);
    sd_target_add_cost(x, began_ns);
    sd_target_settle(x, result, round);
    sd_target_remember_torn(x, x->was_torn || x->shot.n_torn > 0, round->now_ns);
}

/* --- A round: reading a thread from its own CPU.  What is done there takes its time.
 */

/* Two copies that agree prove too little of a stack that takes microseconds to copy.
 * Its thread stood still when it has not run since before, by its counters, and has no
 * CPU now, because the one where it is is ours. */
bool sd_target_stand_by(struct sd_target_thread *x)
{
    return !x->is_scattered || sd_pulse_count(&x->pulse, &x->before);
}

bool sd_target_stood_still(struct sd_target *t, struct sd_target_thread *x,
                           const struct sd_round *round, enum sd_shot_result result)
{
    struct sd_pulse_counters after;

    if (!x->is_scattered || (result != SD_SHOT_GOOD && result != SD_SHOT_PARTIAL))
        return true;
    return sd_pulse_count(&x->pulse, &after) && sd_pulse_is_same(x->before, after) &&
           sd_follow_holds(round->follow, &x->followed, t->pid, x->who.tid,
                           round->now_ns);
}

static void take_there(void *of)
{
    struct sd_target_visit *v = of;
    uint64_t began_ns = sd_target_cost_clock(v->x);

    v->result = SD_SHOT_TORN;
    if (!sd_target_stand_by(v->x))
        return;
    v->result = sd_shot_take(&v->x->shot, &v->of, 0);
    if (!sd_target_stood_still(v->t, v->x, v->round, v->result))
        v->result = SD_SHOT_TORN;
    sd_target_add_cost(v->x, began_ns);
}

/* A torn shot means that the thread has been moved to another CPU: we go after it.
 * Codes are compared when we have left, but for the second time: then the thread must
 * not go on before it is known whether they were those. */
static void read_followed(struct sd_target *t, struct sd_target_thread *x,
                          struct sd_round *round)
{
    struct sd_target_visit v = { .t = t,
                                 .x = x,
                                 .round = round,
                                 .of = sd_target_shot_of(t, round),
                                 .result = SD_SHOT_TORN };
    unsigned i, n = n_retries(x, N_FOLLOWED_RETRIES), n_torn = 0, n_calls = 0;

    if (x->was_torn && !x->is_along)
        sd_target_remember_torn(x, true, round->now_ns);
    for (i = 0; i <= n && v.result == SD_SHOT_TORN; i++) {
        v.of.is_hasty = i == 0;
        if (sd_follow_visit(round->follow, &x->followed, t->pid, x->who.tid,
                            round->now_ns, i > 0 || (x->was_torn && x->is_along),
                            take_there, &v) < 0) {
            read_alone(t, x, round);
            return;
        }
        if (v.of.is_hasty)
            v.result = sd_shot_prove_codes(&x->shot, &v.of, v.result, false);
        if (v.result == SD_SHOT_STALE)
            v.result = SD_SHOT_TORN;
        n_torn += v.result == SD_SHOT_TORN || v.result == SD_SHOT_PARTIAL;
        n_calls += x->shot.n_calls;
        if (v.result == SD_SHOT_PARTIAL && i < n)
            v.result = SD_SHOT_TORN;
    }
    round->counts->followed++;
    if (v.result == SD_SHOT_TORN && x->is_deep) { /* it runs before all is read */
        read_alone(t, x, round);
        return;
    }
    x->shot.n_torn = n_torn;
    x->shot.n_calls = n_calls;
    sd_target_settle(x, v.result, round);
}

/* --- A round: reading all threads that are followed, of all targets, CPU by CPU.
 * While we hold a CPU, none of those that wait for it runs. */

static void add_visit(struct sd_target_visits *to, struct sd_target *t,
                      struct sd_target_thread *x, struct sd_round *round, int cpu)
{
    struct sd_target_visit *items =
        sd_grow_array(to->items, &to->cap, to->n + 1, sizeof *items);

    if (!items)
        return;
    to->items = items;
    items[to->n] = (struct sd_target_visit){ .t = t,
                                             .x = x,
                                             .round = round,
                                             .of = sd_target_shot_of(t, round),
                                             .result = SD_SHOT_STALE,
                                             .cpu = cpu };
    items[to->n++].of.is_hasty = true;
}

static void gather_one(struct sd_target *t, struct sd_target_thread *x,
                       struct sd_round *round, bool must_ask,
                       struct sd_target_visits *to)
{
    int cpu = sd_follow_where(round->follow, &x->followed, t->pid, x->who.tid,
                              t->looked_ns, must_ask);

    if (cpu >= 0)
        add_visit(to, t, x, round, cpu); /* no memory: it is read alone */
}

static bool is_to_visit(const struct sd_target_thread *x, const struct sd_round *round)
{
    return sd_target_must_read(x, round) && !sd_target_must_be_native(x, round) &&
           sd_target_must_follow(x, round);
}

void sd_target_gather(struct sd_target *t, struct sd_round *round,
                      struct sd_target_visits *to)
{
    size_t i;

    if (!t->is_looked_at || round->options->mode == SD_MODE_GIL)
        return;
    for (i = 0; i < t->n_threads; i++)
        if (is_to_visit(t->threads[i], round))
            gather_one(t, t->threads[i], round, false, to);
}

/* Where it was may be why it was torn, so it is asked for anew. */
void sd_target_gather_torn(struct sd_target *t, struct sd_round *round,
                           struct sd_target_visits *to)
{
    size_t i;

    if (!t->is_looked_at || round->options->mode == SD_MODE_GIL)
        return;
    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        if (!x->is_read && x->was_torn && is_to_visit(x, round))
            gather_one(t, x, round, true, to);
    }
}

struct tour { /* those of one CPU */
    struct sd_target_visits *all;
    int cpu;
};

static void take_all_there(void *of)
{
    struct tour *tour = of;
    size_t i;

    for (i = 0; i < tour->all->n; i++)
        if (tour->all->items[i].cpu == tour->cpu)
            take_there(&tour->all->items[i]);
}

static void mark_visited(struct tour *tour)
{
    size_t i;

    for (i = 0; i < tour->all->n; i++) {
        struct sd_target_visit *v = &tour->all->items[i];

        if (v->cpu != tour->cpu)
            continue;
        v->cpu = -1;
        v->x->is_visited = true;
        v->x->result = v->result;
    }
}

/* First where we are: that takes no waiting. */
void sd_target_visit_all(struct sd_target_visits *all, struct sd_round *round)
{
    struct tour tour = { all, sched_getcpu() };
    size_t i;

    if (all->n < 2)
        return; /* one alone is read with its GIL */
    for (i = 0; i <= all->n; i++) {
        if (i > 0)
            tour.cpu = all->items[i - 1].cpu;
        if (tour.cpu < 0)
            continue; /* visited */
        if (sd_follow_visit_cpu(round->follow, tour.cpu, take_all_there, &tour) == 0)
            mark_visited(&tour);
    }
}

/* What was torn or cannot be proved is left to be visited alone. */
static void settle_visited(struct sd_target *t, struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    size_t i;

    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        if (!x->is_visited)
            continue;
        x->is_visited = false;
        if (x->was_torn && !x->is_along)
            sd_target_remember_torn(x, true, round->now_ns);
        x->is_along = true;
        if (x->result == SD_SHOT_PARTIAL)
            x->result = SD_SHOT_TORN;
        x->result = sd_shot_prove_codes(&x->shot, &of, x->result, false);
        x->was_torn = x->result == SD_SHOT_TORN;
        if (x->result == SD_SHOT_TORN || x->result == SD_SHOT_STALE)
            continue;
        sd_target_settle(x, x->result, round);
        round->counts->followed++;
    }
}

static void read_paused(struct sd_target *t, struct sd_target_thread *x,
                        struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    enum sd_shot_result result = SD_SHOT_TORN;
    uint64_t began_ns;

    x->shot.n_calls = x->shot.n_torn = 0;
    began_ns = sd_target_cost_clock(x);
    of.is_still = sd_pause_begin(&x->pause, x->who.tid) == 0;
    if (of.is_still) {
        result = sd_shot_take(&x->shot, &of, 0);
        round->counts->paused++;
    }
    sd_pause_end(&x->pause, x->who.tid);
    sd_target_add_cost(x, began_ns);
    sd_target_settle(x, result, round);
}

/* Native functions are read while the thread stands still.  One that cannot be stopped
 * is read as any other, and marked. */
bool sd_target_must_be_native(const struct sd_target_thread *x,
                              const struct sd_round *round)
{
    return round->options->native && x->who.tid;
}

static void read_native(struct sd_target *t, struct sd_target_thread *x,
                        struct sd_round *round)
{
    struct sd_shot_of of = sd_target_shot_of(t, round);
    enum sd_shot_result result = sd_target_take_native(t, x, &of, round);

    if (result != SD_SHOT_TORN) {
        sd_target_settle(x, result, round);
        return;
    }
    if (sd_target_must_follow(x, round))
        read_followed(t, x, round);
    else
        read_alone(t, x, round);
    sd_native_give_up(&x->native, &x->shot);
}

/* --- A round: what the batches have left */

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

        if (x->is_read || !sd_target_must_read(x, round) ||
            (round->options->mode == SD_MODE_GIL && !holds_gil(t, x)))
            continue;
        if (sd_target_must_be_native(x, round))
            read_native(t, x, round);
        else if (sd_target_must_pause(x, round))
            read_paused(t, x, round);
        else if (sd_target_must_follow(x, round))
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
    if (t->is_stopped)
        flags |= SD_SAMPLE_STOPPED;
    if (i && i->holder && i->holder == x->who.state)
        flags |= SD_SAMPLE_GIL;
    else if (i && x->state != SD_PULSE_RUNS && x->pulse.futex >= i->gil_from &&
             x->pulse.futex < i->gil_to)
        flags |= SD_SAMPLE_WAITS_GIL;
    if (x->result == SD_SHOT_PARTIAL)
        flags |= SD_SAMPLE_PARTIAL;
    if (x->native.n)
        flags |= SD_SAMPLE_NATIVE;
    return flags;
}

static size_t n_same(const struct sd_target_thread *x, const struct sd_round *round)
{
    return x->is_read && x->was_told && !round->options->native ? x->shot.n_same : 0;
}

static void tell(struct sd_target *t, struct sd_target_thread *x,
                 struct sd_round *round)
{
    struct sd_thread_sample told = {
        .time_ns = round->now_ns,
        .pid = t->pid,
        .member = t->member,
        .tid = x->who.tid,
        .thread_start_ticks = x->start_ticks,
        .interpreter = x->who.interpreter_id,
        .name = x->name,
        .flags = flags_of(t, x),
        .is_same = !x->is_read && x->was_told,
        .n_same = n_same(x, round),
        .is_cut = x->shot.is_cut,
        .wall_ns = round->now_ns - x->told_ns,
        .cpu_ns = x->cpu_ns,
        .frames = x->native.n ? x->native.frames : x->shot.frames,
        .n_frames = x->native.n ? x->native.n : x->shot.n_frames,
        .codes = &t->codes,
        .serial = t->serial,
        .rt = &t->rt,
        .remote = &t->remote,
        .ident = x->who.ident,
        .state = x->who.state,
        .of_thread = &x->of_listener
    };

    round->counts->samples++;
    round->counts->idle += (told.flags & SD_SAMPLE_IDLE) != 0;
    round->counts->partial += (told.flags & SD_SAMPLE_PARTIAL) != 0;
    round->counts->native += (told.flags & SD_SAMPLE_NATIVE) != 0;
    round->counts->native_marked += x->native.n && x->native.is_marked;
    x->told_ns = round->now_ns;
    x->cpu_ns = 0;
    x->was_told = true;
    if (round->listener)
        round->listener->sample(round->listener->of, &told);
}

/* A thread has a thread state for each interpreter that it has entered; the last one
 * it entered is where it is.  That one holds its GIL or, when it has let it go, is of
 * the newest interpreter. */
static bool is_in_front(struct sd_target *t, const struct sd_target_thread *x,
                        const struct sd_target_thread *other)
{
    bool holds = holds_gil(t, x), other_holds = holds_gil(t, other);

    if (holds != other_holds)
        return holds;
    return x->who.interpreter_id > other->who.interpreter_id;
}

static bool is_shadowed(struct sd_target *t, const struct sd_target_thread *x)
{
    size_t i;

    for (i = 0; x->shares_tid && i < t->n_threads; i++) {
        const struct sd_target_thread *other = t->threads[i];

        if (other != x && other->who.tid == x->who.tid && other->is_known &&
            other->shot.n_frames && is_in_front(t, other, x))
            return true;
    }
    return false;
}

/* This time is not a sample's. */
static void leave_out(struct sd_target_thread *x, const struct sd_round *round,
                      uint64_t *count)
{
    ++*count;
    x->told_ns = round->now_ns;
    x->was_told = false;
}

/* Every look ends in one of the counts. */
static void tell_all(struct sd_target *t, struct sd_round *round)
{
    struct sd_sample_counts *n = round->counts;
    size_t i;

    n->looks += t->n_unbegun;
    n->skipped += t->n_unbegun;
    for (i = 0; i < t->n_threads; i++) {
        struct sd_target_thread *x = t->threads[i];

        n->looks++;
        if (x->state == SD_PULSE_GONE || x->result == SD_SHOT_GONE) {
            leave_out(x, round, &n->ended);
        } else if (is_shadowed(t, x)) {
            leave_out(x, round, &n->skipped);
            x->cpu_ns = 0; /* the other one's */
        } else if (!is_wanted(x, round) ||
                   (round->options->mode == SD_MODE_GIL && !holds_gil(t, x))) {
            leave_out(x, round, &n->skipped);
        } else if (x->is_spared) {
            n->skipped++;
            n->spared++;
            x->is_whole = false; /* it runs meanwhile */
        } else if (!x->is_known) {
            n->lost++;
        } else if (x->shot.n_frames == 0) {
            leave_out(x, round, &n->empty);
            x->cpu_ns = 0;
        } else {
            tell(t, x, round);
        }
    }
}

/* The looks after the first, where several were taken by one system call: rounds of
 * their own, at their times. */
static void tell_more(struct sd_target *t, struct sd_round *round)
{
    struct sd_target_thread *x = t->threads[0];
    struct sd_shot_of of = sd_target_shot_of(t, round);
    struct sd_shot *s = &x->shot;
    uint64_t each_ns = s->took_ns / s->n_looks;
    uint32_t i;

    s->n_calls = 0;
    for (i = 1; i < s->n_looks && x->result == SD_SHOT_GOOD; i++) {
        x->result = sd_shot_judge_next(s, &of);
        if (x->result != SD_SHOT_GOOD) {
            x->is_known = x->is_whole = false;
            break;
        }
        round->now_ns += each_ns;
        round->counts->rounds++;
        tell_all(t, round);
    }
    round->counts->calls += s->n_calls;
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

static bool is_known_state(const struct sd_target *t, uint64_t state)
{
    size_t i;

    for (i = 0; i < t->n_threads; i++)
        if (t->threads[i]->who.state == state)
            return true;
    return false;
}

/* A GIL that is held by nobody we know tells of a new thread or interpreter before the
 * head of the list is looked at again.  One holder is a reason once: where it stays
 * unknown, reading the list in every round would not help. */
static bool has_stranger(struct sd_target *t)
{
    uint64_t stranger = 0;
    bool is_new;
    size_t i;

    for (i = 0; i < t->n_interpreters && !stranger; i++)
        if (t->interpreters[i].holder && !is_known_state(t, t->interpreters[i].holder))
            stranger = t->interpreters[i].holder;
    is_new = stranger && stranger != t->stranger;
    t->stranger = stranger;
    return is_new;
}

/* Was it this process whose memory was read, and not another that has its number now?
 * Numbers are given in turn, so within a quarter of a millisecond none comes back; at
 * rates above 4 kHz asking each time would be a tenth of the cost. */
static bool is_still_there(struct sd_target *t, uint64_t now_ns)
{
    if (now_ns - t->alive_ns < ALIVE_NS && !some_ended(t) && !all_failed(t))
        return true;
    t->alive_ns = now_ns;
    return sd_remote_is_alive(&t->remote);
}

void sd_target_look(struct sd_target *t, struct sd_round *round)
{
    size_t i;
    int rc;

    t->is_looked_at = false;
    if (t->state != SD_TARGET_RUNS)
        return;
    rc = sd_target_keep_up(t, round);
    if (rc < 0) {
        if (sd_remote_is_alive(&t->remote))
            sd_target_forget(t, round->listener);
        else
            sd_target_end(t, round->listener);
        return;
    }
    for (i = 0; i < t->n_threads; i++) {
        look_at(t, t->threads[i], round);
        spare(t->threads[i], round);
    }
    sd_target_note_stop(t, round->now_ns);
    t->looked_ns = round->now_ns;
    t->is_looked_at = true;
}

void sd_target_read_outside(struct sd_target *t, struct sd_round *round)
{
    if (!t->is_looked_at)
        return;
    round->now_ns = t->looked_ns;
    settle_visited(t, round);
    sd_target_read_batches(t, round);
}

void sd_target_tell(struct sd_target *t, struct sd_round *round)
{
    if (!t->is_looked_at)
        return;
    round->now_ns = t->looked_ns;
    settle_visited(t, round);
    read_rest(t, round);
    if (!is_still_there(t, sd_clock_ns())) {
        round->counts->looks += t->n_threads;
        round->counts->ended += t->n_threads;
        sd_target_end(t, round->listener);
        return;
    }
    tell_all(t, round);
    if (sd_target_has_one_thread(t) && t->threads[0]->is_batched &&
        t->threads[0]->result == SD_SHOT_GOOD)
        tell_more(t, round);
    t->last_round_ns = round->now_ns;
    if (some_ended(t) || all_failed(t))
        t->next_head_ns = t->next_list_ns = 0;
    else if (has_stranger(t))
        t->next_list_ns = 0;
}

void sd_target_skip_time(struct sd_target *t, uint64_t now_ns)
{
    t->last_round_ns = now_ns;
    for (size_t i = 0; i < t->n_threads; i++)
        t->threads[i]->told_ns = now_ns;
}
