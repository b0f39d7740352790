/* SPDX-License-Identifier: MIT */
/* py_time_run: `_sonde.TimeRun`, statements that are timed in this process. */
#include <limits.h>
#include <unistd.h>

#include "analyse/time/time_comparison.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/time/time_run.h"
#include "ext/ext.h"
#include "machine/machine_speed.h"
#include "ext/time/time_serving.h"

#define LOOPS_MOST ((uint64_t)1 << 50) /* as `sonde time -n` */

struct sd_py_time_run {
    PyObject_HEAD struct sd_time_run run;
};

static struct sd_time_run *run_of(PyObject *self)
{
    return &((struct sd_py_time_run *)self)->run;
}

/* --- Making and unmaking */

static PyObject *time_run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "sides", "process_time", "gc", "seed", NULL };
    struct sd_py_time_run *self;
    int is_cpu_time = 0, collects = 0;
    unsigned long long seed = 0;
    PyObject *sides;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$ppK:TimeRun", names, &sides,
                                     &is_cpu_time, &collects, &seed))
        return NULL;
    self = (struct sd_py_time_run *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    if (sd_time_run_init(&self->run, sides, is_cpu_time ? SD_TIME_CPU : SD_TIME_WALL,
                         seed ? seed : sd_clock_ns()) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->run.collects_garbage = collects != 0;
    return (PyObject *)self;
}

static int time_run_traverse(PyObject *self, visitproc visit, void *arg)
{
    SD_VISIT_TYPE(self);
    return sd_time_run_traverse(run_of(self), visit, arg);
}

static int time_run_clear(PyObject *self)
{
    sd_time_run_clear(run_of(self));
    return 0;
}

static void time_run_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    sd_time_run_release(run_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- Measuring */

static PyObject *time_run_plan_budget(PyObject *self, PyObject *args)
{
    double seconds;

    if (!PyArg_ParseTuple(args, "d:plan_budget", &seconds))
        return NULL;
    if (!(seconds > 0 && seconds < 1e9)) {
        PyErr_SetString(PyExc_ValueError, "the budget is not a number of seconds");
        return NULL;
    }
    if (sd_time_run_plan_budget(run_of(self), (uint64_t)(seconds * 1e9)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* A number from `least` to `most`; -1 with an exception. */
static int count_of(PyObject *number, const char *what, uint64_t least, uint64_t most,
                    uint64_t *out)
{
    PyObject *whole = PyNumber_Index(number);
    unsigned long long n = whole ? PyLong_AsUnsignedLongLong(whole) : 0;

    if (!whole)
        return -1;
    if (PyErr_Occurred()) { /* negative, or beyond 64 bits */
        PyErr_Clear();
        n = ULLONG_MAX;
    }
    Py_DECREF(whole);
    *out = n;
    if (n >= least && n <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s is %S, but it must be from %llu to %llu", what,
                 number, (unsigned long long)least, (unsigned long long)most);
    return -1;
}

static PyObject *time_run_plan_repeats(PyObject *self, PyObject *args)
{
    PyObject *number, *times;
    uint64_t loops, repeat;

    if (!PyArg_ParseTuple(args, "OO:plan_repeats", &number, &times) ||
        count_of(number, "number", 0, LOOPS_MOST, &loops) < 0 ||
        count_of(times, "repeat", 1, UINT32_MAX, &repeat) < 0)
        return NULL;
    if (sd_time_run_plan_repeats(run_of(self), loops, repeat) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *time_run_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!run_of(self)->marks) {
        PyErr_SetString(PyExc_RuntimeError, "the run is gone");
        return NULL;
    }
    return sd_time_run_step(run_of(self));
}

static PyObject *time_run_stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    sd_time_run_stop(run_of(self));
    Py_RETURN_NONE;
}

/* --- What came of it */

/* The side of that number; -1 with an exception. */
static Py_ssize_t side_of(PyObject *self, PyObject *number)
{
    Py_ssize_t side = PyNumber_AsSsize_t(number, PyExc_IndexError);

    if (side == -1 && PyErr_Occurred())
        return -1;
    if (side < 0 || (size_t)side >= run_of(self)->n_sides) {
        PyErr_SetString(PyExc_IndexError, "there is no such side");
        return -1;
    }
    return side;
}

static PyObject *time_run_loops(PyObject *self, PyObject *number)
{
    Py_ssize_t side = side_of(self, number);

    return side < 0 ? NULL
                    : PyLong_FromUnsignedLongLong(run_of(self)->sides[side].loops);
}

static PyObject *time_run_set_loops(PyObject *self, PyObject *args)
{
    PyObject *number, *turns;
    Py_ssize_t side;
    uint64_t loops;

    if (!PyArg_ParseTuple(args, "OO:set_loops", &number, &turns) ||
        count_of(turns, "number", 0, LOOPS_MOST, &loops) < 0)
        return NULL;
    side = side_of(self, number);
    if (side < 0)
        return NULL;
    run_of(self)->sides[side].loops = loops;
    Py_RETURN_NONE;
}

static PyObject *batch_tuple(const struct sd_time_batch *b)
{
    return Py_BuildValue(
        "(dKdi)", (double)b->took_ns * 1e-9, (unsigned long long)b->loops,
        b->waited_ns == SD_TIME_UNKNOWN ? -1.0 : (double)b->waited_ns * 1e-9,
        (int)b->flags);
}

static PyObject *time_run_batches(PyObject *self, PyObject *args)
{
    const struct sd_time_run *r = run_of(self);
    PyObject *number, *list;
    int wants_empty = 0;
    Py_ssize_t side;

    if (!PyArg_ParseTuple(args, "O|p:batches", &number, &wants_empty))
        return NULL;
    side = side_of(self, number);
    list = side < 0 ? NULL : PyList_New(0);
    for (size_t i = 0; list && i < r->n_batches; i++) {
        const struct sd_time_batch *b = &r->batches[i];
        bool is_empty = (b->flags & SD_TIME_EMPTY) != 0;
        PyObject *one;

        if (b->side != side || (b->flags & SD_TIME_WARM_UP) ||
            is_empty != (wants_empty != 0))
            continue;
        one = batch_tuple(b);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* What was measured, as whoever works figures out wants it. */
static int to_timings(const struct sd_time_run *r, struct sd_timings *t)
{
    const struct sd_timing_side none = { .n = 0,
                                         .allocated_bytes = SD_TIME_UNKNOWN,
                                         .peak_bytes = SD_TIME_UNKNOWN };
    int rc = 0;

    *t = (struct sd_timings){ 0 };
    for (uint32_t i = 0; i < r->n_sides && rc == 0; i++)
        rc = sd_timings_add_side(t, &none);
    if (rc == 0)
        rc = sd_timings_add_process(t, (uint64_t)getpid(), 0, 0);
    for (size_t i = 0; i < r->n_batches && rc == 0; i++)
        rc = sd_timings_add_batch(t, &r->batches[i]);
    return rc;
}

static PyObject *seconds_list(const double *times, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = PyFloat_FromDouble(times[i] * 1e-9);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *time_run_times(PyObject *self, PyObject *number)
{
    Py_ssize_t side = side_of(self, number);
    struct sd_timings t;
    PyObject *list = NULL;
    double *times;
    int rc;

    if (side < 0)
        return NULL;
    rc = to_timings(run_of(self), &t);
    times = rc == 0 ? sd_alloc((t.n_batches + 1) * sizeof *times) : NULL;
    if (rc == 0 && !times)
        rc = sd_no_memory();
    if (rc == 0)
        list = seconds_list(times, sd_time_figures_times(&t, (size_t)side, times));
    sd_free(times);
    sd_timings_release(&t);
    return rc < 0 ? sd_ext_raise(rc) : list;
}

static PyObject *modes_list(const struct sd_time_figures *f)
{
    PyObject *list = PyList_New(f->n_modes);

    for (uint32_t i = 0; list && i < f->n_modes; i++) {
        PyObject *one = Py_BuildValue("(dd)", f->modes[i].ns, f->modes[i].share);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, one);
    }
    return list;
}

static PyObject *outliers_dict(const struct sd_time_figures *f)
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict && i < SD_TIME_CAUSES; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong(f->outliers[i]);

        if (!n || PyDict_SetItemString(dict, sd_time_cause_name((enum sd_time_cause)i),
                                       n) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(n);
    }
    return dict;
}

static PyObject *figures_dict(const struct sd_time_figures *f)
{
    return Py_BuildValue(
        "{sKsKsKsOsdsdsdsdsdsdsNsN}", "loops", (unsigned long long)f->loops, "batches",
        (unsigned long long)f->n_batches, "dropped", (unsigned long long)f->n_dropped,
        "settled", sd_time_figures_are_settled(f) ? Py_True : Py_False, "best_ns",
        f->best_ns, "low_ns", f->low_ns, "high_ns", f->high_ns, "median_ns",
        f->median_ns, "mad_ns", f->mad_ns, "loop_ns", f->loop_ns, "modes",
        modes_list(f), "outliers", outliers_dict(f));
}

static PyObject *time_run_figures(PyObject *self, PyObject *args)
{
    struct sd_time_figures f;
    long long best_speed = -1; /* not given */
    struct sd_timings t;
    PyObject *number;
    Py_ssize_t side;
    int rc;

    if (!PyArg_ParseTuple(args, "O|L:figures", &number, &best_speed))
        return NULL;
    side = side_of(self, number);
    if (side < 0)
        return NULL;
    rc = to_timings(run_of(self), &t);
    t.best_speed = best_speed < 0 ? sd_machine_speed_load() : best_speed;
    if (rc == 0)
        rc = sd_time_figures(&t, (size_t)side, &f);
    sd_timings_release(&t);
    return rc < 0 ? sd_ext_raise(rc) : figures_dict(&f);
}

static PyObject *time_run_compare(PyObject *self, PyObject *args)
{
    struct sd_time_comparison c;
    PyObject *one, *other;
    Py_ssize_t a, b;
    struct sd_timings t;
    int rc;

    if (!PyArg_ParseTuple(args, "OO:compare", &one, &other))
        return NULL;
    a = side_of(self, one);
    b = a < 0 ? -1 : side_of(self, other);
    if (b < 0)
        return NULL;
    rc = to_timings(run_of(self), &t);
    if (rc == 0)
        rc = sd_time_comparison(&t, (size_t)a, (size_t)b, &c);
    sd_timings_release(&t);
    if (rc < 0)
        return sd_ext_raise(rc);
    return Py_BuildValue("{sdsdsdss}", "ratio", c.ratio, "low", c.low, "high", c.high,
                         "verdict", sd_time_verdict_name(c.verdict));
}

/* _share(fd, place) and _write(fd): of a measuring process of `sonde time`. */
static PyObject *time_run_share(PyObject *self, PyObject *args)
{
    unsigned place;
    int fd;

    if (!PyArg_ParseTuple(args, "iI:_share", &fd, &place) ||
        sd_time_serving_share(run_of(self), fd, place) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *time_run_write(PyObject *self, PyObject *number)
{
    long fd = PyLong_AsLong(number);

    if ((fd == -1 && PyErr_Occurred()) ||
        sd_time_serving_write(run_of(self), (int)fd) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef time_run_methods[] = {
    { "plan_budget", time_run_plan_budget, METH_VARARGS,
      "plan_budget(seconds)\n--\n\nMeasures short batches of all sides, in turn, for "
      "so "
      "long: set-up runs once." },
    { "plan_repeats", time_run_plan_repeats, METH_VARARGS,
      "plan_repeats(number, repeat)\n--\n\nMeasures as timeit does: each side `repeat` "
      "times, each a batch of `number`\nturns behind a set-up of its own.  number 0: "
      "as "
      "many as timeit would take\n(1, 2, 5, 10, ... until it takes 0.2 s)." },
    { "step", time_run_step, METH_NOARGS,
      "step()\n--\n\nGoes on with the plan.  None: it is done.  Otherwise an awaitable "
      "of a statement\nwith `await`: await it, then call step() again "
      "(sonde._statement.drive does).\nRaises what a statement or set-up raises; the "
      "plan is over then." },
    { "stop", time_run_stop, METH_NOARGS,
      "stop()\n--\n\nEnds the plan, done or not: the collector of garbage is as it "
      "was." },
    { "loops", time_run_loops, METH_O,
      "loops(side)\n--\n\nThe turns of a batch of this side; 0: not chosen yet." },
    { "set_loops", time_run_set_loops, METH_VARARGS,
      "set_loops(side, number)\n--\n\nTells the turns of a batch, instead of letting "
      "them be chosen." },
    { "batches", time_run_batches, METH_VARARGS,
      "batches(side, empty=False)\n--\n\nEvery batch of the side as it was measured, "
      "or "
      "those of the loop alone beside\nit: a list of (seconds, loops, seconds waited "
      "for "
      "a CPU or -1, flags); flag 2 is\n\"the thread was taken off its CPU\"." },
    { "times", time_run_times, METH_O,
      "times(side)\n--\n\nSeconds of one execution in each batch that counts, the "
      "loop's taken off: a list.\nOf batches that were all dropped, those of all." },
    { "figures", time_run_figures, METH_VARARGS,
      "figures(side, best_speed=-1)\n--\n\nA dict: loops, batches, dropped, settled, "
      "best_ns, low_ns, high_ns, median_ns,\nmad_ns (of one execution, the loop's time "
      "taken off), loop_ns, modes [(ns, share)],\noutliers {cause: count}.  "
      "best_speed: "
      "the best that the machine ever showed, in\nticks of the loop of speed.h; -1: "
      "what `sonde time` has stored; 0: not known." },
    { "compare", time_run_compare, METH_VARARGS,
      "compare(side, against)\n--\n\nA dict: ratio, low, high, verdict (\"slower\", "
      "\"faster\", \"same\", \"cannot tell\")." },
    { "_share", time_run_share, METH_VARARGS, NULL },
    { "_write", time_run_write, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot time_run_slots[] = {
    { Py_tp_doc,
      "TimeRun(sides, *, process_time=False, gc=False, seed=0)\n--\n\nStatements that "
      "are "
      "timed in this process.  `sides` are pairs (function, is_async)\nas "
      "sonde._statement.side makes them, the first of them sonde._statement.empty();\n"
      "sides are counted from 0 behind that.  Make a plan, then drive it:\n\n    run = "
      "TimeRun([empty(), side('x+1', 'x=1'), side(function)])\n    "
      "run.plan_budget(0.5)          # or run.plan_repeats(number, repeat)\n    "
      "drive(run)\n    run.figures(0), run.batches(1), run.compare(0, 1)\n\nThe "
      "collector of garbage is off meanwhile, unless gc=True; process_time=True "
      "takes\nthe process's CPU time for the clock.  A plan can follow another." },
    { Py_tp_new, time_run_new },
    { Py_tp_dealloc, time_run_dealloc },
    { Py_tp_traverse, time_run_traverse },
    { Py_tp_clear, time_run_clear },
    { Py_tp_methods, time_run_methods },
    { 0, NULL },
};

PyType_Spec sd_time_run_spec = {
    .name = "sonde._sonde.TimeRun",
    .basicsize = sizeof(struct sd_py_time_run),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = time_run_slots,
};
