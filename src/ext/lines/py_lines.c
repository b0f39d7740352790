/* SPDX-License-Identifier: MIT */
#include "ext/lines/py_lines.h"

#include "base/mem.h"
#include "collect/lines/line_calibration.h"
#include "collect/lines/collector.h"
#include "collect/lines/lines.h"
#include "ext/enabled.h"
#include "profile/lines/line_cost.h"

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

struct lines {
    PyObject_HEAD struct sd_line_session *session; /* owned; NULL until __init__ */
    bool
        is_captured; /* it stands for the capture's: not ours to stop, clear and free */
    struct sd_enabled_threads enabled;
    unsigned n_forks; /* that there were when it was asked last */
};

/* Threads that the parent had cannot switch it off here. */
static void forget_other_threads(struct lines *l)
{
    if (l->n_forks != sd_line_forks())
        sd_enabled_threads_keep_only(&l->enabled, sd_compat_thread_state_number());
    l->n_forks = sd_line_forks();
}

/* The capture's session ends with sonde.stop(), so it is asked for each time. */
static struct sd_line_session *session_or_null(const struct lines *l)
{
    return l->is_captured ? sd_lines_captured() : l->session;
}

static struct sd_line_session *session_of(PyObject *self)
{
    struct lines *l = (struct lines *)self;
    struct sd_line_session *s = session_or_null(l);

    forget_other_threads(l);
    if (!s)
        PyErr_SetString(PyExc_RuntimeError, l->is_captured
                                                ? "the capture has ended"
                                                : "Lines.__init__() was not called");
    return s;
}

static PyObject *done(int rc)
{
    if (rc < 0)
        return PyErr_Occurred() ? NULL : sd_ext_raise(rc);
    Py_RETURN_NONE;
}

static bool is_code(PyObject *o)
{
    if (PyCode_Check(o))
        return true;
    PyErr_Format(PyExc_TypeError, "expected a code object, not %.100s",
                 Py_TYPE(o)->tp_name);
    return false;
}

/* --- Methods */

static PyObject *lines_add(PyObject *self, PyObject *code)
{
    struct sd_line_session *s = session_of(self);
    int rc;

    if (!s || !is_code(code))
        return NULL;
    rc = ((struct lines *)self)->is_captured
             ? sd_lines_choose((PyCodeObject *)code)
             : sd_line_session_add(s, (PyCodeObject *)code);
    return rc < 0 ? sd_ext_raise(rc) : PyBool_FromLong(rc);
}

/* One that rests knows already what it costs.  While that is measured, a signal handler
 * of the program may raise, and an audit hook may start the session: since hooks are
 * not traced, the frames that run are adopted afterwards. */
static int start(struct sd_line_session *s)
{
    if (s->is_linked)
        return sd_line_session_start(s);
    if (sd_line_calibrate(s) < 0)
        return -1;
    if (s->turn.is_on)
        sd_lines_adopt();
    return sd_line_session_start(s);
}

static PyObject *lines_start(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    return s ? done(start(s)) : NULL;
}

static PyObject *lines_stop(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    if (!s)
        return NULL;
    if (!((struct lines *)self)->is_captured && s->is_linked) {
        sd_line_session_stop(s);
        sd_line_calibrated(s);
    }
    Py_RETURN_NONE;
}

static PyObject *lines_rest(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    if (!s)
        return NULL;
    if (!((struct lines *)self)->is_captured)
        sd_line_session_rest(s);
    Py_RETURN_NONE;
}

/* --- By threads */

static int switch_on(struct lines *l, struct sd_line_session *s)
{
    int rc = start(s);

    return rc < 0 ? rc
                  : sd_enabled_threads_set(&l->enabled, sd_compat_thread_state_number(),
                                           true);
}

/* It rests: who switches it on by calls does so again soon. */
static void switch_off(struct lines *l, struct sd_line_session *s)
{
    sd_enabled_threads_set(&l->enabled, sd_compat_thread_state_number(), false);
    if (l->enabled.n_on == 0 && !l->is_captured)
        sd_line_session_rest(s);
}

static PyObject *lines_enable(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    return s ? done(switch_on((struct lines *)self, s)) : NULL;
}

static PyObject *lines_disable(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    if (!s)
        return NULL;
    switch_off((struct lines *)self, s);
    Py_RETURN_NONE;
}

/* hot: every call of a wrapped function. */
static PyObject *lines_enable_by_count(PyObject *self, PyObject *unused)
{
    struct lines *l = (struct lines *)self;
    struct sd_line_session *s = session_of(self);
    struct sd_enabled_thread *t;
    int rc;

    (void)unused;
    if (!s)
        return NULL;
    t = sd_enabled_threads_find(&l->enabled, sd_compat_thread_state_number());
    if (t && t->count > 0) {
        t->count++;
        Py_RETURN_NONE;
    }
    rc = switch_on(l, s);
    t = rc == 0 ? sd_enabled_threads_find(&l->enabled, sd_compat_thread_state_number())
                : NULL;
    if (t)
        t->count++; /* not 1: an audit hook may have counted, too */
    return done(rc);
}

/* hot: the same. */
static PyObject *lines_disable_by_count(PyObject *self, PyObject *unused)
{
    struct lines *l = (struct lines *)self;
    struct sd_line_session *s = session_of(self);
    struct sd_enabled_thread *t;

    (void)unused;
    if (!s)
        return NULL;
    t = sd_enabled_threads_find(&l->enabled, sd_compat_thread_state_number());
    if (t && t->count > 0 && --t->count == 0)
        switch_off(l, s);
    Py_RETURN_NONE;
}

static PyObject *get_enable_count(PyObject *self, void *unused)
{
    const struct sd_enabled_thread *t = sd_enabled_threads_find(
        &((struct lines *)self)->enabled, sd_compat_thread_state_number());

    (void)unused;
    return PyLong_FromLong(t ? t->count : 0);
}

static int set_enable_count(PyObject *self, PyObject *value, void *unused)
{
    long count = value ? PyLong_AsLong(value) : -1;
    int rc;

    (void)unused;
    if (!value)
        PyErr_SetString(PyExc_AttributeError, "enable_count cannot be deleted");
    if (PyErr_Occurred())
        return -1;
    rc = sd_enabled_threads_set_count(&((struct lines *)self)->enabled,
                                      sd_compat_thread_state_number(), count);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc;
}

static PyObject *lines_clear(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);

    (void)unused;
    if (!s)
        return NULL;
    return done(((struct lines *)self)->is_captured ? 0 : sd_line_session_clear(s));
}

/* To make an object may run code of the program's, which stops the capture and frees
 * its session: so what is asked for is copied first. */
static PyObject *lines_codes(PyObject *self, PyObject *unused)
{
    struct sd_line_session *s = session_of(self);
    size_t n = s ? s->n_pages : 0;
    PyObject **codes = s ? sd_alloc(n * sizeof *codes + 1) : NULL, *all;

    (void)unused;
    if (!codes)
        return s ? PyErr_NoMemory() : NULL;
    for (size_t i = 0; i < n; i++)
        codes[i] = Py_NewRef((PyObject *)s->pages[i]->chosen->code);
    all = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        if (all)
            PyList_SET_ITEM(all, (Py_ssize_t)i, codes[i]);
        else
            Py_DECREF(codes[i]);
    }
    sd_free(codes);
    return all;
}

/* --- What was counted */

static long long ns_of(double ticks, double each)
{
    return (long long)(ticks * each + 0.5);
}

/* None where it was not measured. */
static PyObject *bytes_or_none(const struct sd_line_cell *c, int64_t bytes)
{
    if (c->n_read == 0)
        return Py_NewRef(Py_None);
    return PyLong_FromLongLong(bytes);
}

static unsigned long long cpu_of(const struct sd_line_cell *c, double cost_ns)
{
    double ns = sd_line_less((double)c->cpu_ns, cost_ns);

    return (unsigned long long)(ns + 0.5);
}

static PyObject *row_of(const struct sd_line_cell *c, const struct sd_line_root *root,
                        double each)
{
    struct sd_line_times t = sd_line_times_of(c, root);

    return Py_BuildValue(
        "(IKLLLLKNNNK)", c->line, (unsigned long long)c->hits, ns_of(t.ticks, each),
        ns_of(t.child, each), ns_of(t.min, each), ns_of(t.max, each),
        cpu_of(c, t.cost * each), bytes_or_none(c, c->grew_bytes),
        bytes_or_none(c, c->after_bytes),
        c->peak_bytes > 0 ? PyLong_FromLongLong(c->peak_bytes) : Py_NewRef(Py_None),
        (unsigned long long)c->n_read);
}

struct copied {                 /* of a page */
    struct sd_line_cell *cells; /* owned; NULL: no memory */
    size_t n;
    struct sd_line_root root;
};

static struct copied copy_of(const struct sd_line_page *p)
{
    const struct sd_line_costs *costs = &p->session->costs;
    struct copied to = { .root = { .hit_cost = costs->hit,
                                   .line_cost = costs->line,
                                   .call_cost = costs->call,
                                   .stay_cost = costs->stay } };

    to.cells = sd_alloc(p->book.n * sizeof *to.cells + 1);
    for (uint32_t i = 0; to.cells && i < p->book.n; i++)
        if (p->book.cells[i])
            to.cells[to.n++] = *p->book.cells[i];
    return to;
}

static PyObject *rows_of(const struct copied *from)
{
    PyObject *rows = PyList_New((Py_ssize_t)from->n);
    double each = sd_line_ns_per_tick();

    for (size_t i = 0; rows && i < from->n; i++) {
        PyObject *row = row_of(&from->cells[i], &from->root, each);

        if (row)
            PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
        else
            Py_CLEAR(rows);
    }
    return rows;
}

static PyObject *lines_rows(PyObject *self, PyObject *code)
{
    struct sd_line_session *s = session_of(self);
    const struct sd_line_page *p;
    struct copied copied;
    PyObject *rows;

    if (!s || !is_code(code))
        return NULL;
    p = sd_line_session_page(s, (PyCodeObject *)code);
    if (!p) {
        PyErr_SetString(PyExc_KeyError, "this code object was not added");
        return NULL;
    }
    sd_line_session_settle(s);
    sd_line_calibrated(s);
    copied = copy_of(p);
    rows = copied.cells ? rows_of(&copied) : PyErr_NoMemory();
    sd_free(copied.cells);
    return rows;
}

static PyObject *get_is_active(PyObject *self, void *unused)
{
    const struct sd_line_session *s = session_or_null((struct lines *)self);

    (void)unused;
    return PyBool_FromLong(s && s->turn.is_on);
}

static PyObject *get_costs(PyObject *self, void *unused)
{
    const struct sd_line_session *s = session_or_null((struct lines *)self);
    const struct sd_line_costs costs = s ? s->costs : (struct sd_line_costs){ 0 };
    double each = sd_line_ns_per_tick() / 1024;

    (void)unused;
    return Py_BuildValue("(ddd)", (double)costs.hit * each, (double)costs.line * each,
                         (double)costs.call * each);
}

/* --- The type */

static int lines_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "memory", "cpu", "peak", NULL };
    struct lines *l = (struct lines *)self;
    struct sd_line_request request = { 0 };
    int memory = 0, cpu = 0, peak = 0, rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppp:Lines", names, &memory, &cpu,
                                     &peak))
        return -1;
    if (l->session || l->is_captured)
        return 0;
    request.has_memory = memory || peak;
    request.has_peak = peak;
    request.has_cpu = cpu;
    rc = sd_line_session_new(&request, &l->session);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

static void lines_dealloc(PyObject *self)
{
    struct lines *l = (struct lines *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct sd_pending_exception raised = sd_pending_exception_take();

    sd_line_session_free(l->session);
    sd_enabled_threads_release(&l->enabled);
    sd_pending_exception_give_back(raised);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *sd_py_lines_of_capture(PyObject *module, PyObject *args)
{
    PyTypeObject *lines = sd_ext_of_module(module)->lines, *type = lines;
    PyObject *self;

    if (!PyArg_ParseTuple(args, "|O!:lines_capture", &PyType_Type, &type))
        return NULL;
    if (!PyType_IsSubtype(type, lines)) {
        PyErr_SetString(PyExc_TypeError, "lines_capture() makes a kind of Lines");
        return NULL;
    }
    if (!sd_lines_captured())
        Py_RETURN_NONE;
    self = type->tp_alloc(type, 0);
    if (self)
        ((struct lines *)self)->is_captured = true;
    return self;
}

PyObject *sd_py_lines_want_memory(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(sd_lines_are_asked_for_memory());
}

static PyMethodDef lines_methods[] = {
    { "add", lines_add, METH_O,
      "add(code)\n--\n\nChooses a code object; returns True if it was not chosen "
      "before." },
    { "start", lines_start, METH_NOARGS,
      "start()\n--\n\nCounts the lines of what was chosen from now on, in all "
      "threads." },
    { "stop", lines_stop, METH_NOARGS, "stop()\n--\n\nCounts no more." },
    { "rest", lines_rest, METH_NOARGS,
      "rest()\n--\n\nCounts no more for a while; start() is quick then." },
    { "enable", lines_enable, METH_NOARGS,
      "enable()\n--\n\nCounts from now on, in all threads." },
    { "disable", lines_disable, METH_NOARGS,
      "disable()\n--\n\nCounts no more, once every thread that enabled it has disabled "
      "it." },
    { "enable_by_count", lines_enable_by_count, METH_NOARGS,
      "enable_by_count()\n--\n\nEnables it, unless this thread has, and counts." },
    { "disable_by_count", lines_disable_by_count, METH_NOARGS,
      "disable_by_count()\n--\n\nDisables it when it was called as often." },
    { "clear", lines_clear, METH_NOARGS,
      "clear()\n--\n\nForgets what was counted, not what was chosen." },
    { "codes", lines_codes, METH_NOARGS,
      "codes()\n--\n\nReturns the chosen code objects, in their order." },
    { "rows", lines_rows, METH_O,
      "rows(code)\n--\n\nReturns its lines that ran: (line, hits, time, time in chosen "
      "functions,\nshortest hit, longest hit, CPU time, growth, largest memory after "
      "it, peak inside\nit, how often memory was read), in nanoseconds and bytes; what "
      "was not read is None." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef lines_attributes[] = {
    { "is_active", get_is_active, NULL, "True while lines are counted.", NULL },
    { "enable_count", get_enable_count, set_enable_count,
      "How often this thread has enabled it by count.", NULL },
    { "costs", get_costs, NULL,
      "The cost of counting in nanoseconds: of a hit in its own time, of a line and of "
      "a call in\nthe time of whoever waits for them.  These are subtracted; 0 is not "
      "known.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(lines_doc,
             "Lines(*, memory=False, cpu=False, peak=False)\n--\n\n"
             "Counts and times the lines of chosen code objects, in all threads.");

static PyType_Slot lines_slots[] = {
    { Py_tp_doc, (void *)lines_doc },
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, lines_init },
    { Py_tp_dealloc, lines_dealloc },
    { Py_tp_methods, lines_methods },
    { Py_tp_getset, lines_attributes },
    { 0, NULL },
};

PyType_Spec sd_lines_spec = {
    .name = "sonde._sonde.Lines",
    .basicsize = sizeof(struct lines),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = lines_slots,
};
