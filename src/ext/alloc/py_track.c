/* SPDX-License-Identifier: MIT */
#include "ext/alloc/py_track.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "capture/log.h"
#include "collect/alloc/memory_clock.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/traces.h"
#include "collect/inside.h"
#include "collect/own.h"
#include "collect/session.h"
#include "collect/with.h"
#include "ext/py_inside.h"
#include "ext/record/own_block.h"

extern const struct sd_inside sd_inside_alloc;

/* What a block is recorded with, none of it an object: what is freed while it is
 * recorded would be a free of an unknown block. */
struct plan {
    char *path, *with; /* owned */
    bool is_current_only;
    char *facts;       /* owned; names and values in turn, each with its zero */
    size_t n_facts;    /* bytes */
    uint64_t clock_ms; /* memory is read this often, come what may; 0: it is not */
};

static void release(struct plan *plan)
{
    sd_free(plan->path);
    sd_free(plan->with);
    sd_free(plan->facts);
}

static bool read_plan(PyObject *self, struct plan *plan)
{
    PyObject *how = PyObject_CallMethod(self, "_begin", NULL);
    const char *path, *with, *facts = "";
    unsigned long long clock_ms = 0;
    Py_ssize_t n_facts = 0;
    int is_only;

    if (!how)
        return false;
    if (!PyArg_ParseTuple(how, "ysp|y#K", &path, &with, &is_only, &facts, &n_facts,
                          &clock_ms)) {
        Py_DECREF(how);
        return false;
    }
    plan->path = sd_strdup(path);
    plan->with = sd_strdup(with);
    plan->is_current_only = is_only;
    plan->n_facts = (size_t)n_facts;
    plan->clock_ms = clock_ms;
    plan->facts = sd_alloc(plan->n_facts + 1);
    if (plan->facts)
        memcpy(plan->facts, facts, plan->n_facts + 1);
    Py_DECREF(how);
    if (plan->path && plan->with && plan->facts)
        return true;
    PyErr_NoMemory();
    return false;
}

/* What the recording is to be known by, besides. */
static void note_facts(const struct plan *plan)
{
    struct sd_log *l = sd_session_log();
    const char *end = plan->facts + plan->n_facts, *value;

    for (const char *key = plan->facts; l && key < end;
         key = value + strlen(value) + 1) {
        value = key + strlen(key) + 1;
        if (value >= end)
            return;
        sd_log_meta(l, key, value);
    }
}

/* *has_file: there is one, made by this call. */
static int begin(const struct plan *plan, bool *has_file)
{
    int rc = sd_own_block_begin("track()", plan->path, NULL, has_file);

    if (rc < 0)
        return rc;
    note_facts(plan);
    sd_alloc_recorder_follow(plan->is_current_only ? sd_thread_self()->tid : 0);
    if (plan->clock_ms)
        rc = sd_alloc_clock_start(plan->clock_ms);
    return rc < 0 ? rc : sd_ext_start_one(&sd_inside_alloc, plan->with);
}

static int end(int32_t pid)
{
    int rc;

    Py_BEGIN_ALLOW_THREADS /* it waits for a thread */
    sd_alloc_clock_stop();
    Py_END_ALLOW_THREADS rc = sd_own_block_end(pid);
    sd_alloc_recorder_follow(0); /* who records next says whom */
    return rc;
}

/* Nothing was recorded: the exception that is set says why. */
static PyObject *give_up(PyObject *self, const struct plan *plan, bool has_file)
{
    PyObject *type, *value, *trace, *done;

    if (has_file && plan->path)
        unlink(plan->path);
    PyErr_Fetch(&type, &value, &trace);
    done = PyObject_CallMethod(self, "_give_up", NULL);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
    return NULL;
}

static PyObject *track_enter(PyObject *self, PyObject *unused)
{
    struct sd_py_track *t = (struct sd_py_track *)self;
    struct plan plan = { 0 };
    bool has_file = false;
    int rc = 0;

    (void)unused;
    if (sd_own_block_is_taken(self, "track()"))
        return NULL;
    if (read_plan(self, &plan) && !sd_own_block_is_taken(self, "track()")) {
        rc = begin(&plan, &has_file);
        if (rc < 0) {
            sd_ext_raise(rc);
            if (has_file)
                end((int32_t)getpid());
        }
    }
    if (PyErr_Occurred())
        give_up(self, &plan, has_file);
    else
        t->pid = (int32_t)getpid();
    release(&plan);
    return t->pid ? Py_NewRef(self) : NULL;
}

/* What went wrong here is told unless the block has something to tell itself. */
static PyObject *track_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct sd_py_track *t = (struct sd_py_track *)self;
    int32_t pid = t->pid;
    PyObject *done;
    int rc;

    if (!pid)
        Py_RETURN_NONE;
    t->pid = 0;
    rc = end(pid);
    done = PyObject_CallMethod(self, "_end", "O",
                               pid == (int32_t)getpid() ? Py_True : Py_False);
    if (done && rc < 0 && (n == 0 || args[0] == Py_None)) {
        Py_DECREF(done);
        return sd_ext_raise(rc);
    }
    return done;
}

static PyObject *get_is_recording(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct sd_py_track *)self)->pid != 0);
}

static void track_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "__enter__", track_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))track_exit, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef getset[] = {
    { "is_recording", get_is_recording, NULL, "Whether the block runs now.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_methods, methods },
    { Py_tp_getset, getset },
    { Py_tp_dealloc, track_dealloc },
    { 0, NULL },
};

PyType_Spec sd_track_spec = {
    .name = "sonde._sonde.Track",
    .basicsize = sizeof(struct sd_py_track),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
