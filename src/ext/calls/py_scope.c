/* SPDX-License-Identifier: MIT */
#include "ext/calls/py_scope.h"

#include "collect/calls/front.h"
#include "collect/calls/sessions.h"
#include "ext/py_inside.h"

static const struct sd_scope *scope_of(PyObject *self)
{
    return &((struct sd_py_scope *)self)->scope;
}

/* What a request forks would be followed for as long as it lives. */
static PyObject *end_in_child(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    sd_calls_sessions_end_scoped();
    if (sd_calls_listen(sd_calls_sessions_want()) < 0)
        PyErr_Clear(); /* there is nobody to tell */
    Py_RETURN_NONE;
}

/* An interpreter has hooks of its own. */
static void watch_forks(struct sd_ext *ext)
{
    static PyMethodDef in_child = { "end_scopes", end_in_child, METH_NOARGS, NULL };

    if (!ext->scopes_watch_forks)
        sd_ext_watch_forks(NULL, &in_child);
    ext->scopes_watch_forks = true;
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { NULL };
    struct sd_ext *ext = sd_ext_of(type);
    PyObject *self;

    if (!ext || !PyArg_ParseTupleAndKeywords(args, kwargs, ":Scope", names))
        return NULL;
    watch_forks(ext);
    self = type->tp_alloc(type, 0);
    if (self)
        ((struct sd_py_scope *)self)->scope = sd_scope_new(ext->scopes);
    return self;
}

static void scope_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *scope_enter(PyObject *self, PyObject *unused)
{
    int rc = sd_scope_enter(scope_of(self));

    (void)unused;
    return rc < 0 ? NULL : PyBool_FromLong(rc);
}

static PyObject *scope_leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (sd_scope_leave(scope_of(self)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* What is called, without itself among its arguments. */
static PyObject *call(PyObject *args, PyObject *kwargs)
{
    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    PyObject *result =
        rest ? PyObject_Call(PyTuple_GET_ITEM(args, 0), rest, kwargs) : NULL;

    Py_XDECREF(rest);
    return result;
}

static bool names_no_function(PyObject *args)
{
    if (PyTuple_GET_SIZE(args) == 0)
        PyErr_SetString(PyExc_TypeError, "a function to call is missing");
    return PyTuple_GET_SIZE(args) == 0;
}

/* An exception of the function stays, unless leaving raises another. */
static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    int entered = names_no_function(args) ? -1 : sd_scope_enter(scope_of(self));
    struct sd_pending_exception raised;
    PyObject *result;

    if (entered < 0)
        return NULL;
    result = call(args, kwargs);
    if (!entered)
        return result;
    raised = sd_pending_exception_take();
    if (sd_scope_leave(scope_of(self)) == 0) {
        sd_pending_exception_give_back(raised);
        return result;
    }
    sd_pending_exception_drop(raised);
    Py_XDECREF(result);
    return NULL;
}

static PyObject *scope_limit(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct sd_scope before;
    PyObject *result;

    if (names_no_function(args))
        return NULL;
    before = sd_calls_limit(*scope_of(self));
    result = call(args, kwargs);
    sd_calls_limit(before);
    return result;
}

static PyMethodDef scope_methods[] = {
    { "enter", scope_enter, METH_NOARGS,
      "enter()\n--\n\nMarks the context that runs; False when it is in the scope "
      "already.\nEach True wants a leave(), in the same context." },
    { "leave", scope_leave, METH_NOARGS, "leave()\n--\n\nTakes the mark away." },
    { "call", (PyCFunction)(void (*)(void))scope_call, METH_VARARGS | METH_KEYWORDS,
      "call(function, /, *args, **kwargs)\n--\n\nCalls it in the scope." },
    { "limit", (PyCFunction)(void (*)(void))scope_limit, METH_VARARGS | METH_KEYWORDS,
      "limit(function, /, *args, **kwargs)\n--\n\nCalls it; profilers of calls that "
      "it makes follow this scope alone, in all threads." },
    { NULL, NULL, 0, NULL },
};

PyDoc_STRVAR(scope_doc,
             "Scope()\n--\n\nOne piece of work among others, such as a request: what "
             "runs in it, the tasks\nthat it starts, and threads that work in a copy "
             "of its context.");

static PyType_Slot scope_slots[] = {
    { Py_tp_doc, (void *)scope_doc },
    { Py_tp_new, scope_new },
    { Py_tp_dealloc, scope_dealloc },
    { Py_tp_methods, scope_methods },
    { 0, NULL },
};

PyType_Spec sd_py_scope_spec = {
    .name = "sonde._sonde.Scope",
    .basicsize = sizeof(struct sd_py_scope),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = scope_slots,
};
