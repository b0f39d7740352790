/* SPDX-License-Identifier: MIT */
#include "ext/step_wrapper.h"

struct resumed {
    PyObject_HEAD PyObject *body; /* owned, like all below */
    PyObject *begin, *end;        /* the profiler's */
};

/* --- Steps */

/* 1 when a step has begun, 0 when another one is under way that will end. */
static int begin(const struct resumed *r)
{
    PyObject *begun;
    int is_begun;

    if (!r->body) { /* the collector has been here, and a finalizer holds us */
        PyErr_SetString(PyExc_RuntimeError, "the body is gone");
        return -1;
    }
    begun = PyObject_CallFunctionObjArgs(r->begin, NULL);
    is_begun = begun ? begun != Py_False : -1;
    Py_XDECREF(begun);
    return is_begun;
}

/* Also after an exception, which stays unless this raises another. */
static bool end(const struct resumed *r)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *done = PyObject_CallFunctionObjArgs(r->end, NULL);

    if (done)
        sd_pending_exception_give_back(raised);
    else
        sd_pending_exception_drop(raised);
    Py_XDECREF(done);
    return done != NULL;
}

/* As the interpreter does: whoever is not sent anything need not have send(). */
static PyObject *resume(PyObject *body, PyObject *value)
{
    PyObject *result;

    if (value != Py_None || !PyIter_Check(body))
        return PyObject_CallMethod(body, "send", "(O)", value);
    result = Py_TYPE(body)->tp_iternext(body);
    if (!result && !PyErr_Occurred())
        PyErr_SetNone(PyExc_StopIteration);
    return result;
}

/* One step with the profiler on: a method of the body, or its next resume. */
static PyObject *step(const struct resumed *r, PyObject *method, PyObject *with)
{
    int is_begun = begin(r);
    PyObject *result;

    if (is_begun < 0)
        return NULL;
    result = method ? PyObject_CallObject(method, with) : resume(r->body, with);
    if (is_begun && !end(r))
        Py_CLEAR(result);
    return result;
}

static PyObject *resumed_send(PyObject *self, PyObject *value)
{
    return step((struct resumed *)self, NULL, value);
}

static PyObject *resumed_next(PyObject *self) { return resumed_send(self, Py_None); }

static PyObject *raise_thrown(PyObject *args)
{
    PyObject *type, *value = NULL, *traceback = NULL;

    if (!PyArg_UnpackTuple(args, "throw", 1, 3, &type, &value, &traceback))
        return NULL;
    if (PyExceptionInstance_Check(type))
        PyErr_SetObject((PyObject *)Py_TYPE(type), type);
    else if (PyExceptionClass_Check(type))
        PyErr_SetObject(type, value);
    else
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    return NULL;
}

/* What __await__() gives need have neither throw() nor close(). */
static PyObject *step_named(PyObject *self, const char *name, PyObject *args)
{
    struct resumed *r = (struct resumed *)self;
    PyObject *method = r->body ? PyObject_GetAttrString(r->body, name) : NULL;
    PyObject *result;

    if (!method && r->body) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
        return args ? raise_thrown(args) : Py_NewRef(Py_None);
    }
    result = step(r, method, args);
    Py_XDECREF(method);
    return result;
}

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

/* What `await` would resume of it: a coroutine or generator itself, of all else what
 * __await__() gives.  A new reference. */
static PyObject *resumable(PyObject *o)
{
    PyAsyncMethods *methods = Py_TYPE(o)->tp_as_async;
    PyObject *steps;

    if (PyCoro_CheckExact(o) || PyGen_CheckExact(o))
        return Py_NewRef(o);
    if (!methods || !methods->am_await)
        return PyErr_Format(PyExc_TypeError,
                            "object %.100s can't be used in 'await' expression",
                            Py_TYPE(o)->tp_name);
    steps = methods->am_await(o);
    if (steps && !PyIter_Check(steps)) {
        PyErr_Format(PyExc_TypeError,
                     "__await__() returned non-iterator of type '%.100s'",
                     Py_TYPE(steps)->tp_name);
        Py_CLEAR(steps);
    }
    return steps;
}

static PyObject *resumed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *on, *off, *body;
    struct resumed *r;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOO:Resumed", &on, &off, &body))
        return NULL;
    r = (struct resumed *)type->tp_alloc(type, 0);
    if (!r)
        return NULL;
    r->begin = Py_NewRef(on);
    r->end = Py_NewRef(off);
    r->body = resumable(body);
    if (!r->body)
        Py_CLEAR(r);
    return (PyObject *)r;
}

static int resumed_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct resumed *r = (struct resumed *)self;

    Py_VISIT(r->body);
    Py_VISIT(r->begin);
    Py_VISIT(r->end);
    SD_VISIT_TYPE(self);
    return 0;
}

static int resumed_clear(PyObject *self)
{
    struct resumed *r = (struct resumed *)self;

    Py_CLEAR(r->body);
    Py_CLEAR(r->begin);
    Py_CLEAR(r->end);
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
