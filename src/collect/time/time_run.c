/* SPDX-License-Identifier: MIT */
#include "collect/time/time_run.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cpython/compat.h"

enum {
    EMPTY_EVERY = 3, /* rounds: so often the empty loop has its batch */
    TRIALS_MAX = 40,
    ROUNDS_IN_TURN = 4, /* of which the first warms the caches up again */
};
#define LOOPS_MAX ((uint64_t)1 << 40)

struct marks { /* what begin() and end() read */
    struct sd_stopwatch watch;
    struct sd_time_batch batch;
    bool is_ready; /* the watch is that of the thread that runs */
    bool has_begun, has_ended;
};

static const char marks_name[] = "sonde._sonde.time_marks";

/* --- begin() and end(): called by the statement's function */

static struct marks *marks_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, marks_name);
}

static PyObject *mark_begin(PyObject *capsule, PyObject *unused)
{
    struct marks *m = marks_of(capsule);

    (void)unused;
    if (!m)
        return NULL;
    m->has_begun = true;
    sd_stopwatch_begin(&m->watch);
    Py_RETURN_NONE;
}

static PyObject *mark_end(PyObject *capsule, PyObject *unused)
{
    struct marks *m = marks_of(capsule);

    (void)unused;
    if (!m)
        return NULL;
    if (!m->has_begun) {
        PyErr_SetString(PyExc_RuntimeError, "no batch has begun");
        return NULL;
    }
    sd_stopwatch_end(&m->watch, &m->batch);
    m->has_ended = true;
    Py_RETURN_NONE;
}

static PyMethodDef begin_def = { "begin", mark_begin, METH_NOARGS, NULL };
static PyMethodDef end_def = { "end", mark_end, METH_NOARGS, NULL };

static void drop_marks(PyObject *capsule)
{
    struct marks *m = marks_of(capsule);

    if (m && m->is_ready)
        sd_stopwatch_release(&m->watch);
    sd_free(m);
}

/* --- Making one */

static int make_marks(struct sd_time_run *r, enum sd_time_clock clock)
{
    struct marks *m = sd_zalloc(sizeof *m);

    if (!m) {
        PyErr_NoMemory();
        return -1;
    }
    m->watch.clock = clock;
    r->marks = PyCapsule_New(m, marks_name, drop_marks);
    if (!r->marks) {
        sd_free(m);
        return -1;
    }
    r->begin = PyCFunction_New(&begin_def, r->marks);
    r->end = PyCFunction_New(&end_def, r->marks);
    return r->begin && r->end ? 0 : -1;
}

static int take_side(struct sd_time_side *side, PyObject *pair)
{
    PyObject *make;
    int is_async;

    if (!PyArg_ParseTuple(pair, "Op", &make, &is_async))
        return -1;
    side->make = Py_NewRef(make);
    side->is_async = is_async != 0;
    return 0;
}

static int take_sides(struct sd_time_run *r, PyObject *makers)
{
    PyObject *all = PySequence_Tuple(makers);
    Py_ssize_t n = all ? PyTuple_GET_SIZE(all) : 0;
    int rc = -1;

    if (all && n < 2)
        PyErr_SetString(PyExc_ValueError, "there is no statement to be timed");
    if (n < 2)
        goto out;
    r->n_sides = (uint32_t)n - 1;
    r->sides = sd_zalloc(r->n_sides * sizeof *r->sides);
    r->order = sd_zalloc(r->n_sides * sizeof *r->order);
    if (!r->sides || !r->order) {
        PyErr_NoMemory();
        goto out;
    }
    rc = take_side(&r->empty, PyTuple_GET_ITEM(all, 0));
    for (uint32_t i = 0; i < r->n_sides && rc == 0; i++) {
        r->order[i] = i;
        rc = take_side(&r->sides[i], PyTuple_GET_ITEM(all, (Py_ssize_t)i + 1));
    }
out:
    Py_XDECREF(all);
    return rc;
}

int sd_time_run_init(struct sd_time_run *r, PyObject *makers, enum sd_time_clock clock,
                     uint64_t seed)
{
    PyObject *itertools = PyImport_ImportModule("itertools");

    memset(r, 0, sizeof *r);
    r->random = seed ? seed : 1;
    r->repeat = itertools ? PyObject_GetAttrString(itertools, "repeat") : NULL;
    Py_XDECREF(itertools);
    if (!r->repeat || make_marks(r, clock) < 0)
        return -1;
    return take_sides(r, makers);
}

void sd_time_run_clear(struct sd_time_run *r)
{
    for (uint32_t i = 0; i < r->n_sides && r->sides; i++) {
        Py_CLEAR(r->sides[i].body);
        Py_CLEAR(r->sides[i].make);
    }
    Py_CLEAR(r->empty.body);
    Py_CLEAR(r->empty.make);
    Py_CLEAR(r->begin);
    Py_CLEAR(r->end);
    Py_CLEAR(r->repeat);
    Py_CLEAR(r->marks);
}

int sd_time_run_traverse(const struct sd_time_run *r, visitproc visit, void *arg)
{
    for (uint32_t i = 0; i < r->n_sides && r->sides; i++) {
        Py_VISIT(r->sides[i].body);
        Py_VISIT(r->sides[i].make);
    }
    Py_VISIT(r->empty.body);
    Py_VISIT(r->empty.make);
    Py_VISIT(r->begin);
    Py_VISIT(r->end);
    Py_VISIT(r->repeat);
    Py_VISIT(r->marks);
    return 0;
}

/* --- The collector of garbage: off meanwhile, as with timeit */

/* gc.NAME() as a truth; -1 with an exception. */
static int ask_collector(const char *name)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *answer = gc ? PyObject_CallMethod(gc, name, NULL) : NULL;
    int is_true = answer ? PyObject_IsTrue(answer) : -1;

    Py_XDECREF(answer);
    Py_XDECREF(gc);
    return is_true;
}

static int stop_collector(struct sd_time_run *r)
{
    int is_on = r->collects_garbage ? 0 : ask_collector("isenabled");

    if (is_on <= 0)
        return is_on;
    r->stopped_collector = true;
    return ask_collector("disable") < 0 ? -1 : 0;
}

/* Whatever is raised stays raised. */
static void give_collector_back(struct sd_time_run *r)
{
    struct sd_pending_exception raised;

    if (!r->stopped_collector)
        return;
    r->stopped_collector = false;
    raised = sd_pending_exception_take();
    if (ask_collector("enable") < 0)
        PyErr_Clear();
    sd_pending_exception_give_back(raised);
}

/* --- Plans */

static int plan(struct sd_time_run *r, struct sd_time_plan p)
{
    struct marks *m = marks_of(r->marks);

    if (!m)
        return -1;
    if (r->plan.kind != SD_TIME_IDLE) {
        PyErr_SetString(PyExc_RuntimeError, "this run is being measured already");
        return -1;
    }
    if (m->is_ready)
        sd_stopwatch_release(&m->watch);
    sd_stopwatch_init(&m->watch, m->watch.clock);
    m->is_ready = true;
    if (stop_collector(r) < 0)
        return -1;
    r->plan = p;
    r->n_batches = 0;
    for (uint32_t i = 0; i < r->n_sides; i++)
        r->sides[i].n_kept = 0;
    return 0;
}

int sd_time_run_plan_budget(struct sd_time_run *r, uint64_t budget_ns)
{
    return plan(
        r, (struct sd_time_plan){ .kind = SD_TIME_BUDGET, .budget_ns = budget_ns });
}

int sd_time_run_plan_repeats(struct sd_time_run *r, uint64_t loops, uint64_t repeat)
{
    if (plan(r, (struct sd_time_plan){ .kind = SD_TIME_REPEATS, .repeat = repeat }) < 0)
        return -1;
    for (uint32_t i = 0; i < r->n_sides; i++)
        r->sides[i].loops = loops;
    return 0;
}

static void end_plan(struct sd_time_run *r)
{
    if (r->turns && r->plan.kind != SD_TIME_IDLE)
        sd_time_turns_end(r->turns);
    give_collector_back(r);
    r->plan = (struct sd_time_plan){ .kind = SD_TIME_IDLE };
    r->doing = NULL;
}

void sd_time_run_stop(struct sd_time_run *r)
{
    bool is_abandoned = r->plan.kind != SD_TIME_IDLE;

    end_plan(r);
    /* What waits within a statement cannot be sent its next turns. */
    for (uint32_t i = 0; i < r->n_sides && is_abandoned; i++)
        Py_CLEAR(r->sides[i].body);
}

void sd_time_run_release(struct sd_time_run *r)
{
    end_plan(r);
    sd_time_run_clear(r);
    sd_free(r->sides);
    sd_free(r->order);
    sd_free(r->batches);
    r->sides = NULL;
    r->order = NULL;
    r->batches = NULL;
    r->n_sides = 0;
    r->n_batches = r->cap_batches = 0;
}

static uint32_t draw(struct sd_time_run *r, uint32_t below)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (uint32_t)((r->random >> 20) % below);
}

static void shuffle(struct sd_time_run *r)
{
    for (uint32_t i = r->n_sides - 1; i > 0; i--) {
        uint32_t other = draw(r, i + 1), moved = r->order[i];

        r->order[i] = r->order[other];
        r->order[other] = moved;
    }
}

/* --- One thing at a time: set-up, or a batch */

/* What is sent into the function to do that many turns. */
static PyObject *turns_of(const struct sd_time_run *r, uint64_t loops)
{
    return PyObject_CallFunction(r->repeat, "OK", Py_None, (unsigned long long)loops);
}

/* Begins it: `loops` 0 is set-up.  Gives an awaitable of an asynchronous one, else None
 * when it is done; a new reference. */
static PyObject *begin_doing(struct sd_time_run *r, struct sd_time_side *side,
                             uint64_t loops)
{
    struct marks *m = marks_of(r->marks);
    PyObject *it, *given;

    sd_assert(!r->doing);
    if (loops == 0) {
        Py_CLEAR(side->body);
        side->body = PyObject_CallFunctionObjArgs(side->make, r->begin, r->end, NULL);
        if (!side->body)
            return NULL;
    }
    m->batch = (struct sd_time_batch){ .loops = (int64_t)loops };
    m->has_begun = m->has_ended = false;
    it = loops ? turns_of(r, loops) : Py_NewRef(Py_None);
    if (!it)
        return NULL;
    r->doing = side;
    r->doing_loops = loops;
    given =
        PyObject_CallMethod(side->body, side->is_async ? "asend" : "send", "(O)", it);
    Py_DECREF(it);
    if (given && !side->is_async) {
        Py_DECREF(given);
        given = Py_NewRef(Py_None);
    }
    return given;
}

static int keep(struct sd_time_run *r, const struct sd_time_batch *b)
{
    struct sd_time_batch *grown =
        sd_grow_array(r->batches, &r->cap_batches, r->n_batches + 1, sizeof *grown);

    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    r->batches = grown;
    r->batches[r->n_batches++] = *b;
    return 0;
}

/* How many turns the next trial takes; 0: these are right.  Each number is tried more
 * than once, and the least time counts: the first turn of all finds nothing warm, and
 * any may be disturbed. */
static uint64_t next_trial(struct sd_time_plan *p, uint64_t loops, int64_t took_ns)
{
    uint32_t wanted_tries = loops == 1 ? 3 : 2;
    double wanted;

    if (p->n_same == 0 || took_ns < p->least_ns)
        p->least_ns = took_ns;
    if (loops >= LOOPS_MAX || p->n_trials++ > TRIALS_MAX)
        return 0;
    if (++p->n_same < wanted_tries && p->least_ns < SD_TIME_LONG_NS)
        return loops;
    p->n_same = 0;
    wanted =
        SD_TIME_BATCH_NS * (double)loops / (double)(p->least_ns > 0 ? p->least_ns : 1);
    if (p->least_ns < SD_TIME_BATCH_NS / 2)
        return wanted > (double)loops * 20 ? loops * 20 : (uint64_t)wanted;
    if (p->least_ns > SD_TIME_BATCH_NS * 2 && loops > 1)
        return wanted > 1 ? (uint64_t)wanted : 1;
    return 0;
}

/* 1, 2, 5, 10, 20, ...: what timeit tries. */
static uint64_t next_of_timeit(uint64_t loops)
{
    uint64_t leading = loops;

    while (leading >= 10)
        leading /= 10;
    return leading == 2 ? loops / 2 * 5 : loops * 2;
}

/* A trial is over: either there is another, or it has said how many turns a batch has.
 * A statement that alone takes all the time there is has been measured by it. */
static void learn(struct sd_time_run *r, struct sd_time_side *side,
                  struct sd_time_batch *b)
{
    const struct marks *m = marks_of(r->marks);
    struct sd_time_plan *p = &r->plan;
    int64_t took_ns = b->took_ns;

    b->flags |= SD_TIME_WARM_UP;
    if (p->kind == SD_TIME_REPEATS) {
        bool is_enough = b->took_ns >= SD_TIME_AUTORANGE_NS || b->loops >= (1ll << 40);

        if (is_enough)
            side->loops = (uint64_t)b->loops;
        else
            p->trial = next_of_timeit((uint64_t)b->loops);
        Py_CLEAR(side->body); /* set-up runs for each */
        return;
    }
    if (m->watch.clock == SD_TIME_WALL && b->waited_ns > 0)
        took_ns = took_ns > b->waited_ns ? took_ns - b->waited_ns : 0;
    p->trial = next_trial(p, (uint64_t)b->loops, took_ns);
    /* By a clock that stands still, as CPU time does in a sleep, it could go on for
     * ever. */
    if (sd_clock_ns() - b->at_ns >= p->budget_ns)
        p->trial = 0;
    if (p->trial)
        return;
    side->loops = (uint64_t)b->loops;
    if (r->turns && b->took_ns >= SD_TIME_LONG_NS)
        atomic_store(&r->turns->is_long, 1);
    if (side->loops == 1 && b->took_ns >= SD_TIME_LONG_NS &&
        (uint64_t)b->took_ns >= p->budget_ns / 2)
        b->flags &= ~(int64_t)SD_TIME_WARM_UP;
}

static bool has_all(const struct sd_time_run *r)
{
    for (uint32_t i = 0; i < r->n_sides; i++)
        if (r->sides[i].n_kept == 0)
            return false;
    return true;
}

/* Of a long statement one: a turn would take all the time, and nothing is cold after
 * it. */
static uint32_t rounds_in_turn(const struct sd_time_run *r)
{
    bool is_single = r->plan.kind == SD_TIME_REPEATS ||
                     (r->turns && atomic_load(&r->turns->is_long));

    return is_single ? 1 : ROUNDS_IN_TURN + 1;
}

static void tell_others(struct sd_time_run *r)
{
    if (!r->turns || r->plan.has_told || !has_all(r))
        return;
    r->plan.has_told = true;
    atomic_fetch_add(&r->turns->n_measured, 1);
}

static void next_side(struct sd_time_run *r)
{
    struct sd_time_plan *p = &r->plan;

    p->has_empty = false;
    p->trial = p->n_trials = p->n_same = 0;
    if (++p->at < r->n_sides)
        return;
    p->at = 0;
    if (p->phase == SD_TIME_PREPARING) {
        p->phase = SD_TIME_ROUNDS;
        /* What takes longer than the budget has had it. */
        p->until_ns = sd_clock_ns() + (has_all(r) ? 0 : p->budget_ns);
    } else {
        p->round++;
        p->n_in_turn++;
    }
    shuffle(r);
}

/* What was under way is done. */
static int end_doing(struct sd_time_run *r)
{
    struct sd_time_side *side = r->doing;
    struct marks *m = marks_of(r->marks);
    struct sd_time_plan *p = &r->plan;
    struct sd_time_batch *b = &m->batch;

    r->doing = NULL;
    if (r->doing_loops == 0)
        return 0;
    if (!m->has_ended) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the statement left its loop, so it was not timed");
        return -1;
    }
    b->round = p->round;
    b->side = r->order[p->at];
    if (side == &r->empty) {
        b->flags |= SD_TIME_EMPTY;
        p->has_empty = true;
    } else if (p->phase == SD_TIME_PREPARING) {
        learn(r, side, b);
    } else if (r->turns && p->n_in_turn == 0 && rounds_in_turn(r) > 1) {
        b->flags |= SD_TIME_WARM_UP;
    }
    if (side != &r->empty && !(b->flags & SD_TIME_WARM_UP))
        side->n_kept++;
    if (keep(r, b) < 0)
        return -1;
    tell_others(r);
    if (side != &r->empty && p->phase == SD_TIME_ROUNDS) {
        if (p->kind == SD_TIME_REPEATS)
            Py_CLEAR(side->body); /* set-up runs for each */
        next_side(r);
    }
    return 0;
}

/* --- What comes next */

struct action {
    struct sd_time_side *side; /* NULL: nothing, all is done */
    uint64_t loops;            /* 0: set-up */
};

static struct action prepare(struct sd_time_run *r)
{
    struct sd_time_plan *p = &r->plan;
    struct sd_time_side *side = &r->sides[r->order[p->at]];
    bool is_exact = p->kind == SD_TIME_REPEATS;

    if (!r->empty.body)
        return (struct action){ &r->empty, 0 };
    if (side->loops == 0 && !side->body)
        return (struct action){ side, 0 };
    if (side->loops == 0 || (!is_exact && p->trial))
        return (struct action){ side, p->trial ? p->trial : 1 };
    if (!is_exact && !side->body) /* its number of turns was set before */
        return (struct action){ side, 0 };
    if (!is_exact && !p->has_empty)
        return (struct action){ &r->empty, side->loops };
    return (struct action){ NULL, 0 };
}

static bool is_time_up(const struct sd_time_run *r)
{
    const struct sd_time_plan *p = &r->plan;

    if (p->at > 0) /* all sides have the same rounds */
        return false;
    /* Nor would interpreters be compared, if the first ended before the others. */
    if (r->turns && r->turns->n > 1 &&
        (p->n_in_turn > 0 || !sd_time_turns_may_end(r->turns)))
        return false;
    return p->kind == SD_TIME_REPEATS ? p->round >= p->repeat
                                      : has_all(r) && sd_clock_ns() >= p->until_ns;
}

static struct action go_round(struct sd_time_run *r)
{
    struct sd_time_plan *p = &r->plan;
    struct sd_time_side *side = &r->sides[r->order[p->at]];
    bool wants_empty = p->kind == SD_TIME_REPEATS || p->round % EMPTY_EVERY == 0;

    if (is_time_up(r))
        return (struct action){ NULL, 0 };
    if (!side->body)
        return (struct action){ side, 0 };
    if (wants_empty && !p->has_empty)
        return (struct action){ &r->empty, side->loops };
    return (struct action){ side, side->loops };
}

static bool take_turn(struct sd_time_run *r)
{
    bool is_mine;

    if (!r->turns || r->plan.has_turn)
        return true;
    Py_BEGIN_ALLOW_THREADS is_mine = sd_time_turns_wait(r->turns, r->me);
    Py_END_ALLOW_THREADS r->plan.has_turn = is_mine;
    r->plan.n_in_turn = 0;
    return is_mine;
}

static void pass_turn(struct sd_time_run *r)
{
    if (r->turns && r->plan.has_turn)
        sd_time_turns_pass(r->turns);
    r->plan.has_turn = false;
}

static struct action choose(struct sd_time_run *r)
{
    struct sd_time_plan *p = &r->plan;
    struct action a;

    for (;;) {
        if (p->phase == SD_TIME_ROUNDS && p->at == 0 &&
            p->n_in_turn >= rounds_in_turn(r))
            pass_turn(r);
        if (!take_turn(r))
            return (struct action){ NULL, 0 };
        if (p->phase != SD_TIME_PREPARING)
            return go_round(r);
        a = prepare(r);
        if (a.side)
            return a;
        next_side(r);
        if (p->phase == SD_TIME_ROUNDS)
            pass_turn(r);
    }
}

static PyObject *step(struct sd_time_run *r)
{
    for (;;) {
        struct action a;
        PyObject *given;

        if (r->doing && end_doing(r) < 0)
            return NULL;
        a = choose(r);
        if (!a.side) {
            end_plan(r);
            Py_RETURN_NONE;
        }
        if (PyErr_CheckSignals() < 0)
            return NULL;
        given = begin_doing(r, a.side, a.loops);
        if (!given || a.side->is_async)
            return given;
        Py_DECREF(given);
    }
}

PyObject *sd_time_run_step(struct sd_time_run *r)
{
    PyObject *given;

    if (r->plan.kind == SD_TIME_IDLE)
        Py_RETURN_NONE;
    given = step(r);
    if (!given) {
        struct sd_pending_exception raised = sd_pending_exception_take();

        end_plan(r);
        sd_pending_exception_give_back(raised);
    }
    return given;
}
