/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/calls/calibrate.h"

#include <string.h>

#include "collect/calls/names.h"
#include "cpython/compat_eval.h"

enum {
    N_CALLS = 200,        /* of a loop: small integers are not made anew */
    N_ROUNDS = 3,         /* of loops, of which the shortest count: a bout is 0.3 ms */
    FIRST_BOUTS = 8,      /* at the first session of a kind ... */
    LATER_SESSIONS = 100, /* ... and one at each of some more */
};

struct shortest { /* ticks of loops of N_CALLS */
    uint64_t python, c, none;
    uint64_t python_window, c_window; /* as the tree has it, where there is one */
};

/* By what makes a difference: C functions heard or not, CPU time or not.  The shortest
 * loops of all bouts; 0 sessions: none. */
static struct {
    unsigned n_sessions;
    struct shortest plain, traced;
    struct sd_call_costs costs;
} known[4];

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

static int prepare(struct job *j)
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
    j->call = PyDict_GetItemString(j->names, "call");
    j->pass_by = PyDict_GetItemString(j->names, "pass_by");
    j->empty = PyDict_GetItemString(j->names, "empty");
    j->steps = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", N_CALLS);
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

static int run(const struct job *j, PyObject *loop, PyObject *f, uint64_t *shortest)
{
    uint64_t from = sd_tsc();
    PyObject *done = PyObject_CallFunctionObjArgs(loop, j->steps, f, NULL);

    keep_shortest(shortest, sd_tsc() - from);
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

            if (cell->key == key)
                ticks += cell->ticks;
        }
    return ticks;
}

static int one_round(const struct job *j, const struct sd_calls_session *s,
                     struct shortest *best)
{
    uint64_t python = booked(s, j->python_key), c = booked(s, j->c_key);

    if (run(j, j->call, j->empty, &best->python) < 0 ||
        run(j, j->call, j->c_function, &best->c) < 0 ||
        run(j, j->pass_by, j->empty, &best->none) < 0)
        return -1;
    keep_shortest(&best->python_window, booked(s, j->python_key) - python);
    keep_shortest(&best->c_window, booked(s, j->c_key) - c);
    return 0;
}

static int rounds(const struct job *j, const struct sd_calls_session *s,
                  struct shortest *best)
{
    int rc = 0;

    for (int i = 0; i < N_ROUNDS && rc == 0; i++)
        rc = one_round(j, s, best);
    return rc;
}

/* --- What they say ---------------------------------------------------------------- */

/* Of one call, in ticks x 1024. */
static uint32_t per_call(int64_t ticks)
{
    return ticks < 0 ? 0 : (uint32_t)(ticks * 1024 / N_CALLS);
}

/* All four are of N_CALLS calls; the loop itself is in neither.  On 3.11 a profile
 * function slows every instruction, so each loop has its own to be taken off. */
static void split(uint64_t plain, uint64_t traced, uint64_t window, uint32_t *inside,
                  uint32_t *outside)
{
    int64_t all = (int64_t)traced - (int64_t)plain;
    int64_t in = (int64_t)window - (int64_t)plain / 2;

    if (all < 0)
        all = 0;
    if (in < 0)
        in = 0;
    if (in > all)
        in = all;
    *inside = per_call(in);
    *outside = per_call(all - in);
}

static uint64_t without(uint64_t loop, uint64_t none)
{
    return loop > none ? loop - none : 0;
}

static void tell(const struct shortest *plain, const struct shortest *traced,
                 bool hears_c, struct sd_call_costs *out)
{
    memset(out, 0, sizeof *out);
    split(without(plain->python, plain->none), without(traced->python, traced->none),
          traced->python_window, &out->python_inside, &out->python_outside);
    if (hears_c)
        split(without(plain->c, plain->none), without(traced->c, traced->none),
              traced->c_window, &out->c_inside, &out->c_outside);
}

/* --- Bouts ------------------------------------------------------------------------ */

static int traced_rounds(const struct job *j, struct sd_calls_session *s,
                         struct shortest *best)
{
    int rc = sd_calls_session_start(s);

    if (rc == 0)
        rc = sd_calls_listen(sd_calls_wanted());
    if (rc == 0)
        rc = rounds(j, s, best);
    sd_calls_session_stop(s);
    sd_calls_listen(sd_calls_wanted());
    return rc;
}

/* Both kinds of loops in turn: a processor that is shared goes at half its speed now
 * and at full speed then, and a difference of the two speeds is no cost. */
static int bouts(int n, const struct sd_calls_wish *wish, struct shortest *plain,
                 struct shortest *traced)
{
    struct sd_calls_names names = { 0 };
    struct sd_calls_wish mine = {
        .events = wish->events & ~(unsigned)(SD_CALLS_BOUNDED | SD_CALLS_ALL),
        .has_cpu = wish->has_cpu,
        .names = { sd_calls_define, &names },
    };
    struct sd_calls_session *s = NULL;
    struct job j = { 0 };
    int rc = sd_calls_session_new(&mine, &s);

    if (rc == 0)
        rc = prepare(&j);
    for (int i = 0; i < n && rc == 0; i++) {
        rc = rounds(&j, NULL, plain);
        if (rc == 0)
            rc = traced_rounds(&j, s, traced);
    }
    release(&j);
    sd_calls_session_free(s);
    sd_calls_names_release(&names);
    return rc;
}

static void calibrate(unsigned kind, const struct sd_calls_wish *wish)
{
    struct sd_tracing_paused paused = sd_tracing_pause();
    bool is_first = known[kind].n_sessions++ == 0;

    if (is_first) {
        memset(&known[kind].plain, 0xff, sizeof known[kind].plain);
        memset(&known[kind].traced, 0xff, sizeof known[kind].traced);
    }
    if (bouts(is_first ? FIRST_BOUTS : 1, wish, &known[kind].plain,
              &known[kind].traced) == 0)
        tell(&known[kind].plain, &known[kind].traced, wish->events & SD_CALLS_C,
             &known[kind].costs);
    sd_tracing_go_on(paused);
}

int sd_calls_calibrate(const struct sd_calls_wish *wish, struct sd_call_costs *out)
{
    unsigned kind = (wish->events & SD_CALLS_C ? 1u : 0u) | (wish->has_cpu ? 2u : 0u);

    memset(out, 0, sizeof *out);
    if (wish->timer || sd_ticks_kind() != SD_CLOCK_TSC)
        return 0;
    /* Another session would count our loops among its calls. */
    if (sd_calls_wanted() == 0 && known[kind].n_sessions <= LATER_SESSIONS)
        calibrate(kind, wish);
    *out = known[kind].costs;
    return PyErr_Occurred() ? -1 : 0;
}
