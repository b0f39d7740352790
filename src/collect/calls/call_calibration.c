/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/calls/call_calibration.h"

#include <math.h>
#include <string.h>

#include "collect/calls/names.h"
#include "collect/shared/bouts.h"
#include "cpython/compat_eval.h"

enum {
    N_CALLS = 100, /* of a loop: small integers are not made anew */
    N_ROUNDS = 3,  /* of loops, of which the shortest count: a bout is 0.15 ms */
    N_COSTS = 8,
};
_Static_assert((int)N_COSTS <= (int)SD_BOUT_COSTS, "they have room");

/* Of loops of N_CALLS: ticks. */
struct shortest {
    uint64_t python, c, none;
    uint64_t python_window, c_window; /* as the tree has it, where there is one */
};

/* By what makes a difference: C functions heard or not, CPU time or not, a timeline or
 * not, signatures or not, with the sizes of arguments or not, and all contexts or those
 * of a scope. */
static struct sd_bouts known[64];

/* --- What is run ------------------------------------------------------------------ */

/* With an argument, as most functions have: what is not evaluated in the caller's C
 * frame any more (3.11) has to copy it. */
static const char SOURCE[] = "def empty(x): pass\n"
                             "def call(steps, f):\n"
                             "    for x in steps: f(x)\n"
                             "def pass_by(steps, f):\n"
                             "    for x in steps: pass\n";

static PyObject *do_nothing(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyMethodDef do_nothing_def = { "nothing", do_nothing, METH_O, NULL };

struct job {
    PyObject *names, *steps, *c_function; /* owned */
    PyObject *call, *pass_by, *empty;     /* borrowed from names */
    uint64_t python_key, c_key;           /* of the functions that are called */
};

static void release(struct job *j)
{
    Py_CLEAR(j->names);
    Py_CLEAR(j->steps);
    Py_CLEAR(j->c_function);
}

/* What the functions are called with.  Where values are sizes, one that changes now and
 * then: new ones at each call would all be signatures of their own. */
static PyObject *make_steps(bool has_sizes)
{
    PyObject *steps = PyTuple_New(N_CALLS);

    for (Py_ssize_t i = 0; steps && i < N_CALLS; i++) {
        PyObject *step = PyLong_FromSsize_t(has_sizes ? 7 + i / 2 % 2 : i);

        if (!step)
            Py_CLEAR(steps);
        else
            PyTuple_SET_ITEM(steps, i, step);
    }
    return steps;
}

static int prepare(struct job *j, bool has_sizes)
{
    PyObject *done = NULL;

    memset(j, 0, sizeof *j);
    j->names = PyDict_New();
    if (j->names &&
        PyDict_SetItemString(j->names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyRun_String(SOURCE, Py_file_input, j->names, j->names);
    if (!done)
        goto fail;
    Py_DECREF(done);
    j->call = sd_compat_dict_get(j->names, "call");
    j->pass_by = sd_compat_dict_get(j->names, "pass_by");
    j->empty = sd_compat_dict_get(j->names, "empty");
    j->steps = make_steps(has_sizes);
    j->c_function = PyCFunction_New(&do_nothing_def, NULL);
    if (!j->steps || !j->c_function)
        goto fail;
    j->python_key = (uint64_t)(uintptr_t)PyFunction_GetCode(j->empty);
    j->c_key = sd_calls_c_key(&do_nothing_def);
    return 0;
fail:
    release(j);
    return -1;
}

/* --- Rounds ----------------------------------------------------------------------- */

static void keep_shortest(uint64_t *shortest, uint64_t ticks)
{
    if (ticks < *shortest)
        *shortest = ticks;
}

/* Ticks that passed for no call: no cost, since nobody has them. */
static uint64_t skipped(const struct sd_calls_session *s)
{
    uint64_t ticks = 0;

    for (size_t t = 0; s && t < s->n_trees; t++)
        ticks += s->trees[t]->skipped;
    return ticks;
}

static int run(const struct job *j, const struct sd_calls_session *s, PyObject *loop,
               PyObject *f, uint64_t *shortest)
{
    uint64_t before = skipped(s), from = sd_tsc();
    PyObject *done = PyObject_CallFunctionObjArgs(loop, j->steps, f, NULL);
    uint64_t took = sd_tsc() - from;

    keep_shortest(shortest, took - (skipped(s) - before));
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Ticks that the tree has booked for the function; 0 without a tree. */
static uint64_t booked(const struct sd_calls_session *s, uint64_t key)
{
    uint64_t ticks = 0;

    for (size_t t = 0; s && t < s->n_trees; t++)
        for (uint32_t i = 1; i < sd_cells_n(s->trees[t]->table); i++) {
            const struct sd_call_cell *cell = sd_cells_at(s->trees[t]->table, i);

            if (sd_function_key(cell->key) == key)
                ticks += cell->ticks;
        }
    return ticks;
}

static int one_round(const struct job *j, const struct sd_calls_session *s,
                     struct shortest *best)
{
    uint64_t python = booked(s, j->python_key), c = booked(s, j->c_key);

    if (run(j, s, j->call, j->empty, &best->python) < 0 ||
        run(j, s, j->call, j->c_function, &best->c) < 0 ||
        run(j, s, j->pass_by, j->empty, &best->none) < 0)
        return -1;
    keep_shortest(&best->python_window, booked(s, j->python_key) - python);
    keep_shortest(&best->c_window, booked(s, j->c_key) - c);
    return 0;
}

static int rounds(const struct job *j, const struct sd_calls_session *s,
                  struct sd_bout *bout, struct shortest *best)
{
    int rc = 0;

    for (int i = 0; i < N_ROUNDS && rc == 0; i++) {
        rc = one_round(j, s, best);
        sd_bout_look(bout);
    }
    return rc;
}

/* --- What they say ---------------------------------------------------------------- */

/* In a bout's costs; those of C functions follow in the same order. */
enum { INSIDE, OUTSIDE, PLAIN, ALL, OF_C };

/* All three are of N_CALLS calls; the loop itself is in none.  On 3.11 a profile
 * function slows every instruction, so each loop has its own to be taken off. */
static void split(uint64_t plain, uint64_t traced, uint64_t window, double loop,
                  double *costs)
{
    double unit = N_CALLS * loop;
    double all = (double)traced - (double)plain;
    double in = (double)window - (double)plain / 2;

    if (all < 0)
        all = 0;
    if (in < 0)
        in = 0;
    if (in > all)
        in = all;
    costs[INSIDE] = in / unit;
    costs[OUTSIDE] = (all - in) / unit;
    costs[PLAIN] = (double)plain / unit;
    costs[ALL] = all / unit;
}

static uint64_t without(uint64_t loop, uint64_t none)
{
    return loop > none ? loop - none : 0;
}

static void tell(const struct shortest *plain, const struct shortest *traced,
                 bool hears_c, struct sd_bout *out)
{
    memset(out->costs, 0, sizeof out->costs);
    split(without(plain->python, plain->none), without(traced->python, traced->none),
          traced->python_window, out->loop, out->costs);
    if (hears_c)
        split(without(plain->c, plain->none), without(traced->c, traced->none),
              traced->c_window, out->loop, out->costs + OF_C);
    out->plain = out->costs[PLAIN];
}

/* As a capture has it, so that its times and those that are asked for here agree. */
static uint32_t whole_ticks(uint32_t x1024) { return (x1024 + 512) / 1024 * 1024; }

/* The cost is measured with one function; it is a little different with others. */
#define OTHER_FUNCTIONS 0.1

static uint32_t error_of(double bouts, double pace)
{
    double error =
        sqrt(bouts * bouts + pace * pace + OTHER_FUNCTIONS * OTHER_FUNCTIONS);

    return (uint32_t)(1024 * (error < 1 ? error : 1));
}

/* In ticks x 1024, when the loop of speed.h takes so many. */
static void costs_at(const struct sd_bouts *k, double loop, struct sd_call_costs *out)
{
    uint32_t of[N_COSTS];

    for (int i = 0; i < N_COSTS; i++)
        of[i] = (uint32_t)(sd_bouts_cost(k, i, loop) * loop * 1024);
    *out = (struct sd_call_costs){ .python_inside = of[INSIDE],
                                   .python_outside = of[OUTSIDE],
                                   .python_plain = whole_ticks(of[PLAIN]),
                                   .c_inside = of[OF_C + INSIDE],
                                   .c_outside = of[OF_C + OUTSIDE],
                                   .c_plain = whole_ticks(of[OF_C + PLAIN]) };
}

/* --- Bouts ------------------------------------------------------------------------ */

static int traced_rounds(const struct job *j, struct sd_calls_session *s,
                         struct sd_bout *bout, struct shortest *best)
{
    const struct sd_scope *scope = &s->request.scope;
    int rc = sd_calls_session_start(s), entered = 0;

    if (rc == 0)
        rc = sd_calls_listen(sd_calls_sessions_want());
    if (rc == 0 && scope->id)
        rc = entered = sd_scope_enter(scope);
    if (rc >= 0)
        rc = rounds(j, s, bout, best);
    if (entered > 0 && sd_scope_leave(scope) < 0)
        rc = -1;
    sd_calls_session_stop(s);
    sd_calls_listen(sd_calls_sessions_want());
    return rc;
}

/* Both kinds of loops, and that of the speed, in one breath. */
static int one_bout(const struct job *j, struct sd_calls_session *s, struct sd_bouts *k)
{
    struct sd_bout *out = sd_bout_begin(k);
    struct shortest plain, traced;
    int rc;

    memset(&plain, 0xff, sizeof plain);
    memset(&traced, 0xff, sizeof traced);
    rc = rounds(j, NULL, out, &plain);
    if (rc == 0)
        rc = traced_rounds(j, s, out, &traced);
    sd_bout_end(out);
    tell(&plain, &traced, s->request.events & SD_CALLS_C, out);
    if (rc == 0)
        sd_bouts_keep(k);
    return rc;
}

/* Are the values of integers read? */
static bool has_sizes(const struct sd_calls_request *request)
{
    const struct sd_calls_names *names = request->names.of;

    return request->events & SD_CALLS_SIGNED && names->detail == SD_VALUE_SIZES;
}

static int bouts(const struct sd_calls_request *request, struct sd_bouts *k)
{
    struct sd_calls_names names = { .detail = has_sizes(request) ? SD_VALUE_SIZES : 0 };
    struct sd_calls_request mine = {
        .events = request->events & ~(unsigned)(SD_CALLS_BOUNDED | SD_CALLS_ALL),
        .has_cpu = request->has_cpu,
        .has_timeline = request->has_timeline,
        .is_trial = true,
        .scope = request->scope,
        .names = { sd_calls_define, &names, sd_calls_sign, sd_calls_function_key },
    };
    struct sd_calls_session *s = NULL;
    struct job j = { 0 };
    bool is_first = k->n == 0;
    int rc = sd_calls_session_new(&mine, &s);

    if (rc == 0)
        rc = prepare(&j, has_sizes(request));
    for (unsigned i = 0; rc == 0 && !sd_bouts_have_enough(k, i, is_first); i++)
        rc = one_bout(&j, s, k);
    release(&j);
    sd_calls_session_free(s);
    sd_calls_names_release(&names);
    return rc;
}

static struct sd_bouts *known_of(const struct sd_calls_request *request)
{
    return &known[(request->events & SD_CALLS_C ? 1u : 0u) |
                  (request->has_cpu ? 2u : 0u) | (request->has_timeline ? 4u : 0u) |
                  (request->events & SD_CALLS_SIGNED ? 8u : 0u) |
                  (has_sizes(request) ? 16u : 0u) | (request->scope.id ? 32u : 0u)];
}

/* Another session would count our loops among its calls. */
static void calibrate(struct sd_bouts *k, const struct sd_calls_request *request)
{
    struct sd_paused_tracing paused;

    if (sd_calls_sessions_want() != 0 || !sd_bouts_are_due(k, sd_tsc()))
        return;
    paused = sd_eval_tracing_pause();
    bouts(request, k);
    sd_eval_tracing_go_on(paused);
}

static bool has_cost(const struct sd_calls_session *s)
{
    return !s->request.timer && s->clock == SD_CLOCK_TSC;
}

/* Their error is set only at the end: while calls are followed, its place in the root
 * must be 0, the key of no function. */
static void set_costs(struct sd_calls_session *s, double loop, bool is_over)
{
    const struct sd_bouts *k = known_of(&s->request);
    struct sd_call_costs costs;

    costs_at(k, loop, &costs);
    if (is_over)
        costs.error =
            error_of(sd_bouts_error(k, ALL, loop), sd_bouts_pace_error(&s->pace));
    sd_calls_session_set_costs(s, &costs);
}

int sd_calls_calibrate(struct sd_calls_session *s)
{
    if (!has_cost(s))
        return 0;
    calibrate(known_of(&s->request), &s->request);
    set_costs(s, sd_bouts_pace_start(&s->pace), false);
    return PyErr_Occurred() ? -1 : 0;
}

void sd_calls_calibrated(struct sd_calls_session *s)
{
    struct sd_bouts_looks looks;

    if (!has_cost(s) || s->pace.since == 0)
        return;
    looks = sd_calls_session_looks(s);
    set_costs(s, sd_bouts_pace_stop(&s->pace, &looks), true);
}
