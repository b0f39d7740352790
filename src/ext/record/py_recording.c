/* SPDX-License-Identifier: MIT */
#include "ext/record/py_recording.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"
#include "capture/memory/memory_chunks.h"
#include "collect/inside.h"
#include "capture/log.h"
#include "collect/lines/line_block.h"
#include "collect/session.h"
#include "ext/py_inside.h"
#include "ext/record/own_block.h"

static const char what[] = "sonde.record()";

/* --- What is to be measured, and where ------------------------------------------- */

/* NULL: it runs outside. */
static const struct sd_inside *inside_of(const struct sd_collector_about *about)
{
    for (size_t i = 0; sd_ext_insides[i]; i++)
        if (sd_ext_insides[i]->about == about)
            return sd_ext_insides[i];
    return NULL;
}

static bool needs_session(const struct sd_inside *c,
                          const struct sd_option_value *values)
{
    return !c->block || (c->block->needs_capture && c->block->needs_capture(values));
}

static void choose_place(struct sd_py_recording *r)
{
    size_t n_inside = 0;

    r->place = SD_RECORDING_IN_MEMORY;
    for (size_t i = 0; i < r->plan.n; i++) {
        const struct sd_recording_choice *c = &r->plan.all[i];

        r->parts[i] = (struct sd_recording_part){ .collector = inside_of(c->about) };
        n_inside += r->parts[i].collector != NULL;
        if (!r->parts[i].collector)
            r->place = SD_RECORDING_ATTACHED;
        else if (r->place == SD_RECORDING_IN_MEMORY &&
                 needs_session(r->parts[i].collector, c->values))
            r->place = SD_RECORDING_OWN;
    }
    r->needs_session = r->place == SD_RECORDING_OWN ||
                       (r->place == SD_RECORDING_ATTACHED && n_inside > 0);
}

static int recording_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;
    struct sd_recording_plan plan;

    if (r->pid || r->has_ended) {
        PyErr_SetString(PyExc_RuntimeError, "a recording is made once");
        return -1;
    }
    if (sd_recording_plan_read(args, kwargs, &plan) < 0)
        return -1;
    sd_recording_plan_release(&r->plan);
    r->plan = plan;
    choose_place(r);
    return 0;
}

/* --- Parts ----------------------------------------------------------------------- */

static int begin_part(struct sd_py_recording *r, size_t i)
{
    struct sd_recording_part *p = &r->parts[i];
    int rc;

    if (!p->collector)
        return 0;
    if (!p->collector->block)
        rc = sd_ext_start_one(p->collector, sd_buf_string(&r->plan.with));
    else
        rc = p->collector->block->begin(r->plan.all[i].values, r->has_session,
                                        &p->state);
    p->is_on = rc == 0;
    return rc;
}

/* Of all that were begun, the last first.  Those without a block end with the session.
 */
static void end_parts(struct sd_py_recording *r)
{
    for (size_t i = r->plan.n; i-- > 0;) {
        struct sd_recording_part *p = &r->parts[i];

        if (p->is_on && p->state)
            p->collector->block->end(p->state);
        p->is_on = false;
    }
}

static void free_parts(struct sd_py_recording *r)
{
    for (size_t i = 0; i < r->plan.n; i++) {
        struct sd_recording_part *p = &r->parts[i];

        if (p->state)
            p->collector->block->free(p->state);
        p->state = NULL;
    }
}

/* Code that the subclass names itself (_codes, a tuple), for `lines`.  -1 with an
 * exception. */
static int choose_codes(PyObject *self, struct sd_py_recording *r)
{
    PyObject *codes = PyObject_GetAttrString(self, "_codes");
    Py_ssize_t n = codes && PyTuple_Check(codes) ? PyTuple_GET_SIZE(codes) : 0;
    int rc = codes ? 0 : -1;

    for (size_t i = 0; i < r->plan.n && n > 0; i++) {
        const struct sd_recording_part *p = &r->parts[i];

        for (Py_ssize_t k = 0; k < n && rc == 0; k++)
            if (p->is_on && p->state && p->collector->block == &sd_line_block &&
                PyCode_Check(PyTuple_GET_ITEM(codes, k)))
                rc = sd_line_block_choose(p->state,
                                          (PyCodeObject *)PyTuple_GET_ITEM(codes, k));
    }
    Py_XDECREF(codes);
    return rc;
}

static int begin_parts(PyObject *self, struct sd_py_recording *r)
{
    int rc = 0;

    for (size_t i = 0; i < r->plan.n && rc == 0; i++)
        rc = begin_part(r, i);
    return rc == 0 ? choose_codes(self, r) : rc;
}

/* --- Begin ----------------------------------------------------------------------- */

/* What the subclass has prepared: one of the two is set.  False with an exception. */
static bool ask_where(PyObject *self, struct sd_buf *path, struct sd_buf *live_dir)
{
    PyObject *where = PyObject_CallMethod(self, "_begin", NULL);
    const char *made, *joined;

    if (!where)
        return false;
    if (!PyArg_ParseTuple(where, "zz", &made, &joined)) {
        Py_DECREF(where);
        return false;
    }
    if (made)
        sd_buf_text(path, made);
    if (joined)
        sd_buf_text(live_dir, joined);
    Py_DECREF(where);
    if (path->bad || live_dir->bad)
        PyErr_NoMemory();
    return !path->bad && !live_dir->bad;
}

static void raise_unless_raised(int rc)
{
    if (!PyErr_Occurred())
        sd_ext_raise(rc);
}

/* Into the log of the capture that was joined. */
static void note_facts(PyObject *self)
{
    PyObject *facts = PyObject_GetAttrString(self, "_facts"), *key, *value;
    struct sd_log *l = sd_session_log();
    Py_ssize_t at = 0;

    while (facts && l && PyDict_Check(facts) && PyDict_Next(facts, &at, &key, &value)) {
        const char *k = PyUnicode_AsUTF8(key), *v = k ? PyUnicode_AsUTF8(value) : NULL;

        if (v)
            sd_log_meta(l, k, v);
    }
    Py_XDECREF(facts);
    PyErr_Clear(); /* it is recorded all the same */
}

static int join(PyObject *self, struct sd_py_recording *r, struct sd_buf *path,
                struct sd_buf *live_dir)
{
    int rc = sd_own_block_begin(what, path->n ? sd_buf_string(path) : NULL,
                                live_dir->n ? sd_buf_string(live_dir) : NULL,
                                &r->has_session);

    if (rc == 0)
        note_facts(self);
    if (rc == 0)
        rc = begin_parts(self, r);
    if (rc == 0)
        return 0;
    raise_unless_raised(rc);
    end_parts(r);
    free_parts(r);
    if (r->has_session)
        sd_own_block_end((int32_t)getpid());
    r->has_session = false;
    return rc;
}

/* Where only others record this process, its session is joined for the facts alone,
 * and may as well be taken. */
static bool begin_on_disk(PyObject *self, struct sd_py_recording *r)
{
    struct sd_buf path = { 0 }, live_dir = { 0 };

    if (r->needs_session && sd_own_block_is_taken(self, what))
        return false;
    if (ask_where(self, &path, &live_dir)) {
        if (!sd_own_block_is_taken(self, what))
            join(self, r, &path, &live_dir);
        else if (!r->needs_session)
            PyErr_Clear();
    }
    sd_buf_release(&path);
    sd_buf_release(&live_dir);
    return !PyErr_Occurred();
}

static bool begin_in_memory(PyObject *self, struct sd_py_recording *r)
{
    int rc = begin_parts(self, r);

    if (rc == 0)
        return true;
    raise_unless_raised(rc);
    end_parts(r);
    free_parts(r);
    return false;
}

static void give_up(PyObject *self)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *done = PyObject_CallMethod(self, "_give_up", NULL);

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    sd_pending_exception_give_back(raised);
}

static PyObject *recording_enter(PyObject *self, PyObject *unused)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;
    bool is_on;

    (void)unused;
    if (r->plan.n == 0 || r->pid || r->has_ended) {
        PyErr_SetString(PyExc_RuntimeError,
                        r->plan.n == 0 ? "Recording.__init__() was not called"
                        : r->pid       ? "this recording runs already; nest another one"
                                 : "this recording has ended; make another one with "
                                   "sonde.record()");
        return NULL;
    }
    is_on = r->place == SD_RECORDING_IN_MEMORY ? begin_in_memory(self, r)
                                               : begin_on_disk(self, r);
    if (!is_on) {
        if (r->place != SD_RECORDING_IN_MEMORY)
            give_up(self);
        return NULL;
    }
    r->pid = (int32_t)getpid();
    r->real_ns = sd_clock_real_ns();
    r->started_ns = sd_clock_ns();
    return Py_NewRef(self);
}

/* --- End ------------------------------------------------------------------------- */

static int end(struct sd_py_recording *r)
{
    int32_t pid = r->pid;
    int rc = 0;

    r->ended_ns = sd_clock_ns();
    r->pid = 0;
    r->has_ended = true;
    end_parts(r);
    if (r->has_session) {
        free_parts(r); /* their tables are the capture's */
        rc = sd_own_block_end(pid);
        r->has_session = false;
    }
    return rc;
}

/* What went wrong here is told unless the block has something to tell itself. */
static PyObject *recording_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;
    bool is_ours = r->pid == (int32_t)getpid();
    bool has_raised = n > 0 && args[0] != Py_None;
    PyObject *done = NULL;
    int rc;

    if (!r->pid)
        Py_RETURN_NONE;
    rc = end(r);
    if (r->place == SD_RECORDING_IN_MEMORY)
        Py_RETURN_NONE;
    done = PyObject_CallMethod(self, "_end", "O", is_ours ? Py_True : Py_False);
    if (!done && has_raised)
        PyErr_Clear();
    Py_XDECREF(done);
    if (PyErr_Occurred())
        return NULL;
    if (rc < 0 && !has_raised)
        return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* --- What was measured ----------------------------------------------------------- */

static int add_times(const struct sd_py_recording *r, struct sd_making *m)
{
    char started[32], wall[32];
    int rc;

    snprintf(started, sizeof started, "%llu", (unsigned long long)r->started_ns);
    snprintf(wall, sizeof wall, "%llu",
             (unsigned long long)(r->ended_ns - r->started_ns));
    rc = sd_making_add_fact(m, "run.started_ns", started);
    return rc < 0 ? rc : sd_making_add_fact(m, "run.wall_ns", wall);
}

/* -1 with an exception. */
static int add_facts(struct sd_making *m, PyObject *facts)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(facts, &at, &key, &value)) {
        const char *k = PyUnicode_AsUTF8(key), *v = k ? PyUnicode_AsUTF8(value) : NULL;
        int rc = v ? sd_making_add_fact(m, k, v) : -1;

        if (rc < 0 && v)
            sd_ext_raise(rc);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* -1 with an exception. */
static int write_capture(const struct sd_py_recording *r, PyObject *facts,
                         struct sd_buf *to)
{
    struct sd_making m = { .to = to };
    int rc;

    sd_making_begin(&m, r->real_ns, r->started_ns);
    rc = add_times(r, &m);
    if (rc == 0 && add_facts(&m, facts) < 0)
        return -1;
    for (size_t i = 0; i < r->plan.n && rc == 0; i++)
        if (r->parts[i].state)
            rc = r->parts[i].collector->block->add(r->parts[i].state, &m);
    rc = sd_making_end(&m, r->real_ns + (r->ended_ns - r->started_ns), r->ended_ns, rc);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

static PyObject *recording_capture(PyObject *self, PyObject *facts)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;
    struct sd_buf bytes = { 0 };
    PyObject *made = NULL;

    if (!PyDict_Check(facts) || !r->has_ended || r->place != SD_RECORDING_IN_MEMORY) {
        PyErr_SetString(PyExc_RuntimeError, "nothing is kept in memory");
        return NULL;
    }
    if (write_capture(r, facts, &bytes) == 0)
        made = PyBytes_FromStringAndSize((const char *)bytes.p, (Py_ssize_t)bytes.n);
    sd_buf_release(&bytes);
    return made;
}

static PyObject *recording_forget(PyObject *self, PyObject *unused)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;

    (void)unused;
    if (r->has_ended)
        free_parts(r);
    Py_RETURN_NONE;
}

/* --- The type -------------------------------------------------------------------- */

static PyObject *get_is_recording(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct sd_py_recording *)self)->pid != 0);
}

static PyObject *get_has_ended(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct sd_py_recording *)self)->has_ended);
}

static PyObject *get_place(PyObject *self, void *unused)
{
    static const char *const names[] = { "memory", "own", "attached" };

    (void)unused;
    return PyUnicode_FromString(names[((struct sd_py_recording *)self)->place]);
}

static PyObject *get_collectors(PyObject *self, void *unused)
{
    const struct sd_py_recording *r = (struct sd_py_recording *)self;
    PyObject *all = PyTuple_New((Py_ssize_t)r->plan.n);

    (void)unused;
    for (size_t i = 0; all && i < r->plan.n; i++) {
        PyObject *name = PyUnicode_FromString(r->plan.all[i].about->name);

        if (name)
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, name);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *get_wall(PyObject *self, void *unused)
{
    const struct sd_py_recording *r = (struct sd_py_recording *)self;
    uint64_t end = r->has_ended ? r->ended_ns : sd_clock_ns();

    (void)unused;
    return PyFloat_FromDouble(r->started_ns ? (double)(end - r->started_ns) * 1e-9 : 0);
}

/* An option as it is typed on a command line, behind the name of its collector. */
static PyObject *word_of(const struct sd_collector_about *about,
                         const struct sd_option *o, const struct sd_option_value *v)
{
    if (o->kind == SD_FLAG)
        return PyUnicode_FromFormat("--%s%s-%s", v->number ? "" : "no-", about->name,
                                    o->name);
    return PyUnicode_FromFormat("--%s-%s=%s", about->name, o->name, v->text);
}

/* [(name, its options as words)] of what runs outside. */
static PyObject *get_outside(PyObject *self, void *unused)
{
    const struct sd_py_recording *r = (struct sd_py_recording *)self;
    PyObject *all = PyList_New(0);

    (void)unused;
    for (size_t i = 0; all && i < r->plan.n; i++) {
        const struct sd_recording_choice *c = &r->plan.all[i];
        PyObject *words = r->parts[i].collector ? NULL : PyList_New(0), *one;
        int rc = 0;

        if (r->parts[i].collector)
            continue;
        for (size_t k = 0; words && rc == 0 && c->about->options[k].name; k++) {
            PyObject *word =
                c->values[k].is_given
                    ? word_of(c->about, &c->about->options[k], &c->values[k])
                    : NULL;

            if (c->values[k].is_given)
                rc = word ? PyList_Append(words, word) : -1;
            Py_XDECREF(word);
        }
        one = words && rc == 0 ? Py_BuildValue("sO", c->about->name, words) : NULL;
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
        Py_XDECREF(words);
    }
    return all;
}

/* One that is dropped while it runs ends by that. */
static void recording_dealloc(PyObject *self)
{
    struct sd_py_recording *r = (struct sd_py_recording *)self;
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyTypeObject *type = Py_TYPE(self);

    if (r->pid)
        end(r);
    free_parts(r);
    sd_recording_plan_release(&r->plan);
    sd_pending_exception_give_back(raised);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "__enter__", recording_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))recording_exit, METH_FASTCALL, NULL },
    { "_capture", recording_capture, METH_O,
      "_capture(facts)\n--\n\nReturns what is in memory as the bytes of a capture." },
    { "_forget", recording_forget, METH_NOARGS,
      "_forget()\n--\n\nDrops what is in memory." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef getset[] = {
    { "is_recording", get_is_recording, NULL, "Whether the block runs now.", NULL },
    { "collectors", get_collectors, NULL, "The names of its collectors.", NULL },
    { "wall", get_wall, NULL, "Seconds from its beginning to its end, or to now.",
      NULL },
    { "_has_ended", get_has_ended, NULL, NULL, NULL },
    { "_place", get_place, NULL, NULL, NULL },
    { "_outside", get_outside, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, PyType_GenericNew },     { Py_tp_init, recording_init },
    { Py_tp_methods, methods },           { Py_tp_getset, getset },
    { Py_tp_dealloc, recording_dealloc }, { 0, NULL },
};

PyType_Spec sd_recording_spec = {
    .name = "sonde._sonde.Recording",
    .basicsize = sizeof(struct sd_py_recording),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
