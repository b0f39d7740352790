/* SPDX-License-Identifier: MIT */
#include "ext/resumed.h"

struct resumed {
    PyObject_HEAD PyObject *body; /* owned, like all below */
    PyObject *send;               /* its method */
    PyObject *enable, *disable;   /* the profiler's */
};

/* --- Steps */

/* Also after an exception, which stays unless this raises another. */
static bool disable(const struct resumed *r)
{
    struct sd_raised raised = sd_raised_take();
    PyObject *done = PyObject_CallFunctionObjArgs(r->disable, NULL);

    if (done)
        sd_raised_give_back(raised);
    else
        sd_raised_drop(raised);
    Py_XDECREF(done);
    return done != NULL;
}

/* One step: a method of the body, with the profiler on. */
static PyObject *step(const struct resumed *r, PyObject *method, PyObject *args)
{
    PyObject *enabled = PyObject_CallFunctionObjArgs(r->enable, NULL), *result;

    if (!enabled)
        return NULL;
    Py_DECREF(enabled);
    result = PyObject_CallObject(method, args);
    if (!disable(r))
        Py_CLEAR(result);
    return result;
}

static PyObject *step_named(PyObject *self, const char *name, PyObject *args)
{
    struct resumed *r = (struct resumed *)self;
    PyObject *method = PyObject_GetAttrString(r->body, name);
    PyObject *result = method ? step(r, method, args) : NULL;

    Py_XDECREF(method);
    return result;
}

static PyObject *resumed_send(PyObject *self, PyObject *value)
{
    PyObject *args = PyTuple_Pack(1, value);
    PyObject *result =
        args ? step((struct resumed *)self, ((struct resumed *)self)->send, args)
             : NULL;

    Py_XDECREF(args);
    return result;
}

static PyObject *resumed_next(PyObject *self) { return resumed_send(self, Py_None); }

static PyObject *resumed_throw(PyObject *self, PyObject *args)
{
    return step_named(self, "throw", args);
}

static PyObject *resumed_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    return step_named(self, "close", NULL);
}

/* --- The type */

static PyObject *resumed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *profiler, *body;
    struct resumed *r;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO:Resumed", &profiler, &body))
        return NULL;
    r = (struct resumed *)type->tp_alloc(type, 0);
    if (!r)
        return NULL;
    r->body = Py_NewRef(body);
    r->send = PyObject_GetAttrString(body, "send");
    r->enable = PyObject_GetAttrString(profiler, "enable_by_count");
    r->disable = PyObject_GetAttrString(profiler, "disable_by_count");
    if (!r->send || !r->enable || !r->disable)
        Py_CLEAR(r);
    return (PyObject *)r;
}

static int resumed_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct resumed *r = (struct resumed *)self;

    Py_VISIT(r->body);
    Py_VISIT(r->send);
    Py_VISIT(r->enable);
    Py_VISIT(r->disable);
    SD_VISIT_TYPE(self);
    return 0;
}

static int resumed_clear(PyObject *self)
{
    struct resumed *r = (struct resumed *)self;

    Py_CLEAR(r->body);
    Py_CLEAR(r->send);
    Py_CLEAR(r->enable);
    Py_CLEAR(r->disable);
    return 0;
}

static void resumed_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    resumed_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef resumed_methods[] = {
    { "send", resumed_send, METH_O, NULL },
    { "throw", resumed_throw, METH_VARARGS, NULL },
    { "close", resumed_close, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot resumed_slots[] = {
    { Py_tp_doc, "A body whose every step runs with a profiler on." },
    { Py_tp_new, resumed_new },
    { Py_tp_dealloc, resumed_dealloc },
    { Py_tp_traverse, resumed_traverse },
    { Py_tp_clear, resumed_clear },
    { Py_tp_iter, PyObject_SelfIter },
    { Py_tp_iternext, resumed_next },
    { Py_am_await, PyObject_SelfIter },
    { Py_tp_methods, resumed_methods },
    { 0, NULL },
};

PyType_Spec sd_resumed_spec = {
    .name = "sonde._sonde.Resumed",
    .basicsize = sizeof(struct resumed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = resumed_slots,
};
