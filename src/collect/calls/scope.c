/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"
#include "cpython/compat_context.h"

#include "collect/calls/scope.h"

#include "base/assert.h"
#include "collect/calls/sessions.h"

/* What the variable holds is a tuple of numbers: whoever copies values from one context
 * to another (asgiref does) finds equal what is equal. */
static bool is_number(PyObject *o, uint64_t id)
{
    return PyLong_CheckExact(o) && PyLong_AsUnsignedLongLongMask(o) == id;
}

static bool has(PyObject *marks, uint64_t id)
{
    if (!marks || !PyTuple_CheckExact(marks))
        return false;
    for (Py_ssize_t i = PyTuple_GET_SIZE(marks); i-- > 0;)
        if (is_number(PyTuple_GET_ITEM(marks, i), id))
            return true;
    return false;
}

/* In an event an exception may be on its way, which stays as it is. */
static bool is_here(const struct sd_scope *s)
{
    PyObject *marks = NULL;
    bool is;

    if (PyContextVar_Get(s->variable, NULL, &marks) < 0)
        return false;
    is = has(marks, s->id);
    Py_XDECREF(marks); /* the context holds it */
    return is;
}

static uint64_t state(const struct sd_scope *s)
{
    return sd_compat_context_state(s->variable);
}

struct sd_scope sd_scope_new(void *variable)
{
    return (struct sd_scope){ .id = sd_calls_new_scope(),
                              .variable = variable,
                              .state = state,
                              .is_here = is_here };
}

/* Takes the reference; NULL: what makes it has failed.  A new value may lie where an
 * old one was, and look like it, so the change is told. */
static int set(const struct sd_scope *s, PyObject *marks)
{
    PyObject *token = marks ? PyContextVar_Set(s->variable, marks) : NULL;

    Py_XDECREF(marks);
    Py_XDECREF(token);
    sd_calls_scope_changed();
    return token ? 0 : -1;
}

static PyObject *with_one_more(PyObject *marks, uint64_t id)
{
    Py_ssize_t n = marks && PyTuple_CheckExact(marks) ? PyTuple_GET_SIZE(marks) : 0;
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    PyObject *more = number ? PyTuple_New(n + 1) : NULL;

    for (Py_ssize_t i = 0; more && i < n; i++)
        PyTuple_SET_ITEM(more, i, Py_NewRef(PyTuple_GET_ITEM(marks, i)));
    if (more)
        PyTuple_SET_ITEM(more, n, number);
    else
        Py_XDECREF(number);
    return more;
}

int sd_scope_enter(const struct sd_scope *s)
{
    PyObject *marks = NULL;
    int rc = PyContextVar_Get(s->variable, NULL, &marks);

    sd_assert(s->id != 0);
    if (rc == 0 && !has(marks, s->id))
        rc = set(s, with_one_more(marks, s->id)) < 0 ? -1 : 1;
    Py_XDECREF(marks);
    return rc;
}

/* Other scopes may have been entered since, and are left later, or never. */
static PyObject *without(PyObject *marks, uint64_t id)
{
    Py_ssize_t n = PyTuple_GET_SIZE(marks), to = 0;
    PyObject *fewer = PyTuple_New(n - 1);

    for (Py_ssize_t i = 0; fewer && i < n && to < n; i++) {
        PyObject *mark = PyTuple_GET_ITEM(marks, i);

        if (!is_number(mark, id) && to < n - 1)
            PyTuple_SET_ITEM(fewer, to++, Py_NewRef(mark));
    }
    return fewer;
}

int sd_scope_leave(const struct sd_scope *s)
{
    PyObject *marks = NULL;
    int rc = PyContextVar_Get(s->variable, NULL, &marks);

    if (rc == 0 && has(marks, s->id))
        rc = set(s, without(marks, s->id));
    Py_XDECREF(marks);
    return rc;
}
