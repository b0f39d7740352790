/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/lines/line_calibration.h"

#include <string.h>

#include "collect/calls/sessions.h"
#include "collect/shared/bouts.h"
#include "cpython/compat_eval.h"

enum {
    N_STEPS = 25, /* of a loop: small integers are not made anew */
    N_ROUNDS = 5, /* of loops in a bout, of which the shortest count: code grows warm
                     by running */
    N_SLOW_ROUNDS = 2, /* where memory is read at the end of each line */
    N_CALL_LINES = 3,  /* that are told of for one call below */
    N_KINDS = 8,
    AGAIN_BITS = 31, /* ticks from one bout to the next (0.7 s): 2 to this */
};

enum { OF_HIT, OF_LINE, OF_CALL, OF_STAY, N_COSTS }; /* in a bout's costs */
_Static_assert((int)N_COSTS <= (int)SD_BOUT_COSTS, "they have room");

/* By what is read at the end of a line. */
static struct sd_bouts known[N_KINDS];
static bool is_calibrating; /* another thread may start a session meanwhile */

/* Lines as most are: one operation or a name, and a name. */
static const char SOURCE[] = "def lines(steps):\n"
                             "    for x in steps:\n"
                             "        a = x + 1\n"
                             "        b = a\n"
                             "        c = a + b\n"
                             "        a = c\n"
                             "        b = a - x\n"
                             "        c = b\n"
                             "        a = b + c\n"
                             "def calls(steps):\n"
                             "    for x in steps:\n"
                             "        empty(x)\n"
                             "def empty(x):\n"
                             "    return x\n"
                             "def stays(steps):\n"
                             "    for x in steps: a = x + 1\n";

struct job {
    PyObject *names, *steps;            /* owned */
    PyObject *lines, *calls, *stays;    /* borrowed from names */
    struct sd_line_session *session;    /* owned */
    const struct sd_line_page *page;    /* of `lines` ... */
    const struct sd_line_page *staying; /* ... and of `stays` */
    unsigned n_rounds;
};

struct shortest { /* ticks of a loop */
    uint64_t lines, calls;
    uint64_t booked;  /* of `lines`: what its cells have */
    uint64_t n_hits;  /* that these counted */
    uint64_t stays;   /* what the cells of `stays` have; without being told all of it */
    uint64_t n_stays; /* that these counted: none where an interpreter does not tell */
};

/* --- What is run ------------------------------------------------------------------ */

static void release(struct job *j)
{
    sd_line_session_free(j->session);
    Py_CLEAR(j->names);
    Py_CLEAR(j->steps);
}

static int define(struct job *j)
{
    PyObject *code = Py_CompileString(SOURCE, "<sonde>", Py_file_input), *done = NULL;

    j->names = PyDict_New();
    if (code && j->names &&
        PyDict_SetItemString(j->names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, j->names, j->names);
    Py_XDECREF(code);
    Py_XDECREF(done);
    j->steps = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", N_STEPS);
    return done && j->steps ? 0 : -1;
}

static PyObject *choose(struct job *j, const char *name)
{
    PyObject *f = sd_compat_dict_get(j->names, name);
    PyObject *code = f ? PyFunction_GetCode(f) : NULL;

    if (!code || sd_line_session_add(j->session, (PyCodeObject *)code) < 0)
        return NULL;
    return f;
}

static const struct sd_line_page *page_of(const struct job *j, PyObject *f)
{
    return sd_line_session_page(j->session, (PyCodeObject *)PyFunction_GetCode(f));
}

static int prepare(struct job *j, const struct sd_line_request *request)
{
    struct sd_line_request mine = *request;

    memset(j, 0, sizeof *j);
    mine.in_capture = false;
    j->n_rounds = mine.has_memory ? N_SLOW_ROUNDS : N_ROUNDS;
    if (define(j) < 0 || sd_line_session_new(&mine, &j->session) < 0)
        return -1;
    j->lines = choose(j, "lines");
    j->calls = choose(j, "calls");
    j->stays = choose(j, "stays");
    if (!j->lines || !j->calls || !j->stays || !choose(j, "empty"))
        return -1;
    j->page = page_of(j, j->lines);
    j->staying = page_of(j, j->stays);
    return 0;
}

/* --- Rounds ----------------------------------------------------------------------- */

static void keep_shortest(uint64_t *shortest, uint64_t ticks)
{
    if (ticks < *shortest)
        *shortest = ticks;
}

static int run(const struct job *j, PyObject *loop, uint64_t *shortest)
{
    uint64_t from = sd_tsc();
    PyObject *done = PyObject_CallFunctionObjArgs(loop, j->steps, NULL);

    keep_shortest(shortest, sd_tsc() - from);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

struct sums {
    uint64_t ticks, hits, stays;
};

static struct sums booked(const struct sd_line_page *page)
{
    struct sums s = { 0, 0, 0 };

    for (uint32_t i = 0; i < page->book.n; i++)
        if (page->book.cells[i]) {
            s.ticks += page->book.cells[i]->ticks;
            s.hits += page->book.cells[i]->hits;
            s.stays += page->book.cells[i]->stays;
        }
    return s;
}

static int stay_rounds(const struct job *j, struct shortest *best)
{
    struct sums before = booked(j->staying), after;
    uint64_t whole = UINT64_MAX;
    int rc = run(j, j->stays, &whole);

    after = booked(j->staying);
    best->n_stays = after.stays - before.stays;
    keep_shortest(&best->stays, best->n_stays ? after.ticks - before.ticks : whole);
    return rc;
}

static int rounds(const struct job *j, struct sd_bout *bout, struct shortest *best)
{
    int rc = 0;

    for (unsigned i = 0; i < j->n_rounds && rc == 0; i++) {
        struct sums before = booked(j->page), after;

        rc = run(j, j->lines, &best->lines);
        after = booked(j->page);
        keep_shortest(&best->booked, after.ticks - before.ticks);
        best->n_hits = after.hits - before.hits;
        if (rc == 0)
            rc = run(j, j->calls, &best->calls);
        if (rc == 0)
            rc = stay_rounds(j, best);
        sd_bout_look(bout);
    }
    return rc;
}

static int told_rounds(const struct job *j, struct sd_bout *bout, struct shortest *best)
{
    int rc = sd_line_session_start(j->session);

    if (rc == 0)
        rc = rounds(j, bout, best);
    sd_line_session_stop(j->session);
    return rc;
}

/* --- What they say ---------------------------------------------------------------- */

/* Of each, in units of the loop of speed.h; never less than nothing. */
static double each(uint64_t with, uint64_t without, uint64_t n, double loop)
{
    return with > without && n > 0 ? (double)(with - without) / (double)n / loop : 0;
}

static void tell(const struct shortest *plain, const struct shortest *told,
                 struct sd_bout *out)
{
    double loop = out->loop;
    double hit = each(told->booked, plain->lines, told->n_hits, loop);
    double line = each(told->lines, plain->lines, told->n_hits, loop);
    double call = each(told->calls, plain->calls, N_STEPS, loop);

    line = line > hit ? line : hit;
    call -= N_CALL_LINES * line;
    out->plain = (double)plain->lines / loop;
    out->costs[OF_HIT] = hit;
    out->costs[OF_LINE] = line;
    out->costs[OF_CALL] = call > 0 ? call : 0;
    out->costs[OF_STAY] = each(told->stays, plain->stays, told->n_stays, loop);
}

static int one_bout(const struct job *j, struct sd_bouts *k)
{
    struct sd_bout *out = sd_bout_begin(k);
    struct shortest plain, told;
    int rc;

    memset(&plain, 0xff, sizeof plain);
    memset(&told, 0xff, sizeof told);
    rc = rounds(j, out, &plain);
    if (rc == 0)
        rc = told_rounds(j, out, &told);
    sd_bout_end(out);
    tell(&plain, &told, out);
    if (rc == 0)
        sd_bouts_keep(k);
    return rc;
}

static int bouts(const struct sd_line_request *request, struct sd_bouts *k)
{
    bool are_first = k->n == 0;
    struct job j;
    int rc = prepare(&j, request);

    for (unsigned i = 0; rc == 0 && !sd_bouts_have_enough(k, i, are_first); i++)
        rc = one_bout(&j, k);
    release(&j);
    return rc;
}

static struct sd_bouts *known_of(const struct sd_line_request *w)
{
    return &known[(w->has_cpu ? 1u : 0u) | (w->has_memory ? 2u : 0u) |
                  (w->has_peak ? 4u : 0u)];
}

static void set_costs(struct sd_line_session *s, double loop)
{
    const struct sd_bouts *k = known_of(&s->request);
    const struct sd_line_costs costs = {
        .hit = (uint64_t)(sd_bouts_cost(k, OF_HIT, loop) * loop * 1024),
        .line = (uint64_t)(sd_bouts_cost(k, OF_LINE, loop) * loop * 1024),
        .call = (uint64_t)(sd_bouts_cost(k, OF_CALL, loop) * loop * 1024),
        .stay = (uint64_t)(sd_bouts_cost(k, OF_STAY, loop) * loop * 1024),
    };

    sd_line_session_set_costs(s, &costs);
}

/* Other sessions would hear of our lines and calls.  In an audit hook or a trace
 * function the interpreter tells of no line, and they would seem to cost nothing.  The
 * first may have been a bad moment: who starts again later measures once more. */
static bool is_due(const struct sd_bouts *k)
{
    return (k->n == 0 || (sd_tsc() - k->last) >> AGAIN_BITS) && !is_calibrating &&
           !sd_line_is_any_active() && sd_calls_sessions_want() == 0 &&
           PyThreadState_Get()->tracing == 0;
}

int sd_line_calibrate(struct sd_line_session *s)
{
    struct sd_paused_tracing paused;

    if (sd_line_clock() != SD_CLOCK_TSC)
        return 0;
    if (is_due(known_of(&s->request))) {
        is_calibrating = true;
        paused = sd_eval_tracing_pause();
        bouts(&s->request, known_of(&s->request));
        sd_eval_tracing_go_on(paused);
        is_calibrating = false;
    }
    set_costs(s, sd_bouts_pace_start(&s->pace));
    return PyErr_Occurred() ? -1 : 0;
}

void sd_line_calibrated(struct sd_line_session *s)
{
    if (s->pace.since != 0 && s->is_pace_due)
        set_costs(s, sd_bouts_pace_stop(&s->pace, NULL));
    s->is_pace_due = s->turn.is_on;
}
