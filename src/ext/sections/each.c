/* SPDX-License-Identifier: MIT */
/* each: `for x in profiler.each(items, name="loop")`.
 *
 * One section lasts from the first item to the end of the loop, one inside it for each
 * turn: from the moment an item is handed out until the next one is asked for.  A loop
 * left early (break, return, an exception) drops the iterator, which ends both. */
#include "ext/sections/py_section.h"

#include <string.h>

struct each {
    PyObject_HEAD struct sd_py_profiler *profiler; /* owned, like all below */
    PyObject *iterable;        /* until the first item is asked for */
    PyObject *items;           /* its iterator */
    PyObject *name, *itr_name; /* itr_name: None, str or a callable */
    struct sd_py_section *loop, *turn;
    Py_ssize_t n; /* items handed out */
};

PyObject *sd_each_new(struct sd_py_profiler *p, PyObject *iterable, PyObject *name,
                      PyObject *itr_name)
{
    struct each *e;

    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError,
                            "the name of a section must be str, not %.100s",
                            Py_TYPE(name)->tp_name);
    e = sd_ext_is_gone(p->ext) ? NULL : PyObject_GC_New(struct each, p->ext->each);
    if (!e)
        return NULL;
    Py_INCREF(p);
    e->profiler = p;
    e->iterable = Py_NewRef(iterable);
    e->items = NULL;
    e->name = Py_NewRef(name);
    e->itr_name = Py_NewRef(itr_name);
    e->loop = e->turn = NULL;
    e->n = 0;
    PyObject_GC_Track(e);
    return (PyObject *)e;
}

static int each_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct each *e = (struct each *)self;

    Py_VISIT(e->profiler);
    Py_VISIT(e->iterable);
    Py_VISIT(e->items);
    Py_VISIT(e->itr_name);
    Py_VISIT(e->loop);
    Py_VISIT(e->turn);
    SD_VISIT_TYPE(self);
    return 0;
}

static void end(struct sd_py_section **s, bool raised)
{
    struct sd_py_section *ended = *s;

    if (!ended)
        return;
    *s = NULL;
    sd_py_section_end(ended, raised);
    Py_DECREF(ended);
}

/* Ends both sections and lets go of the items. */
static void finish(struct each *e, bool raised)
{
    struct sd_pending_exception pending = sd_pending_exception_take();

    end(&e->turn, raised);
    end(&e->loop, raised);
    Py_CLEAR(e->items);
    Py_CLEAR(e->iterable);
    sd_pending_exception_give_back(pending);
}

static int each_clear(PyObject *self)
{
    struct each *e = (struct each *)self;

    finish(e, false);
    Py_CLEAR(e->name);
    Py_CLEAR(e->itr_name);
    return 0;
}

static void each_dealloc(PyObject *self)
{
    struct each *e = (struct each *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    each_clear(self);
    Py_CLEAR(e->profiler);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* A section of ours, or NULL: then it is not measured, and the loop goes on. */
static struct sd_py_section *begin(struct sd_py_profiler *p, PyObject *name)
{
    struct sd_py_section *s;

    if (p->is_disabled)
        return NULL;
    s = sd_py_section_new(p, name);
    if (s) {
        sd_py_section_begin(s);
        return s;
    }
    PyErr_Clear();
    p->n_lost++;
    return NULL;
}

static int start(struct each *e)
{
    e->loop = begin(e->profiler, e->name);
    e->items = PyObject_GetIter(e->iterable);
    Py_CLEAR(e->iterable);
    return e->items ? 0 : -1;
}

/* The name of a turn, as the caller wants it; NULL with an exception set. */
static PyObject *turn_name(struct each *e, PyObject *item)
{
    PyObject *number, *name;

    if (e->itr_name == Py_None)
        return PyUnicode_FromFormat("%zd", e->n);
    if (PyUnicode_Check(e->itr_name))
        return PyUnicode_FromFormat("%U_%zd", e->itr_name, e->n);
    number = PyLong_FromSsize_t(e->n);
    name =
        number ? PyObject_CallFunctionObjArgs(e->itr_name, number, item, NULL) : NULL;
    Py_XDECREF(number);
    if (name && !PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "itr_name must return str, not %.100s",
                     Py_TYPE(name)->tp_name);
        Py_CLEAR(name);
    }
    return name;
}

/* Without memory for its name a turn is not measured: that is our failure, not the
 * program's.  What the caller's own function raises is the caller's. */
static int begin_turn(struct each *e, PyObject *item)
{
    PyObject *name;

    if (e->profiler->is_disabled)
        return 0;
    name = turn_name(e, item);
    if (!name && !PyCallable_Check(e->itr_name)) {
        PyErr_Clear();
        e->profiler->n_lost++;
        return 0;
    }
    if (!name)
        return -1;
    e->turn = begin(e->profiler, name);
    Py_DECREF(name);
    return 0;
}

static PyObject *each_next(PyObject *self)
{
    struct each *e = (struct each *)self;
    PyObject *item = NULL, *items;

    end(&e->turn, false);
    if (e->iterable && start(e) < 0) {
        finish(e, true);
        return NULL;
    }
    items = Py_XNewRef(e->items); /* the items' own code may close us */
    if (items)
        item = PyIter_Next(items);
    Py_XDECREF(items);
    if (item && begin_turn(e, item) == 0) {
        e->n++;
        return item;
    }
    Py_XDECREF(item);
    finish(e, PyErr_Occurred() != NULL);
    return NULL;
}

static PyObject *each_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    finish((struct each *)self, false);
    Py_RETURN_NONE;
}

static PyMethodDef each_methods[] = {
    { "close", each_close, METH_NOARGS, "Ends the loop's sections; no item follows." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot each_slots[] = {
    { Py_tp_doc, "The items of an iterable, each of them a section." },
    { Py_tp_dealloc, each_dealloc },
    { Py_tp_traverse, each_traverse },
    { Py_tp_clear, each_clear },
    { Py_tp_iter, PyObject_SelfIter },
    { Py_tp_iternext, each_next },
    { Py_tp_methods, each_methods },
    { 0, NULL },
};

PyType_Spec sd_each_spec = {
    .name = "sonde.Each",
    .basicsize = sizeof(struct each),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = each_slots,
};
