/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/border.h"

#include <limits.h>

#define OF_LEAF ULLONG_MAX /* the number of nodes that keep a leaf's gradient */

struct walk {
    PyObject *leaves, *before; /* owned lists: what is found */
    PyObject *left;            /* owned list of nodes whose next ones are to be met */
    PyObject *seen, *foreign;  /* owned sets of nodes, which so keep their objects */
    struct sd_graph_part of;
};

static int number_of(PyObject *node, unsigned long long *out)
{
    PyObject *number = PyObject_CallMethod(node, "_sequence_nr", NULL);

    if (!number)
        return -1;
    *out = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static bool is_within(const struct walk *w, unsigned long long number)
{
    return number >= w->of.from && number < w->of.to;
}

/* Calls `each` with the nodes behind this one, until it says other than 0. */
static int each_next(PyObject *node, int (*each)(struct walk *, PyObject *, void *),
                     struct walk *w, void *arg)
{
    PyObject *edges = PyObject_GetAttrString(node, "next_functions");
    Py_ssize_t n = edges && PyTuple_Check(edges) ? PyTuple_GET_SIZE(edges) : 0;
    int rc = edges ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);

        if (PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) == 2 &&
            PyTuple_GET_ITEM(edge, 0) != Py_None)
            rc = each(w, PyTuple_GET_ITEM(edge, 0), arg);
    }
    Py_XDECREF(edges);
    return rc;
}

/* The last of a list: a new reference, or NULL, with an exception where it failed. */
static PyObject *take_last(PyObject *list)
{
    Py_ssize_t last = PyList_GET_SIZE(list) - 1;
    PyObject *one = last >= 0 ? Py_NewRef(PyList_GET_ITEM(list, last)) : NULL;

    if (one && PyList_SetSlice(list, last, last + 1, NULL) < 0)
        Py_CLEAR(one);
    return one;
}

/* --- Does a node lead into the forward? */

/* 1: this one is of it. */
static int look(struct walk *w, PyObject *node, void *left)
{
    unsigned long long number;
    int is_seen = PySet_Contains(w->foreign, node);

    if (is_seen)
        return is_seen < 0 ? -1 : 0;
    if (number_of(node, &number) < 0)
        return -1;
    if (number == OF_LEAF)
        return 0;
    if (is_within(w, number))
        return 1;
    return PySet_Add(w->foreign, node) < 0 ? -1 : PyList_Append(left, node);
}

/* 1: it does; 0: it does not, and all behind it are known to be foreign. */
static int leads_in(struct walk *w, PyObject *node)
{
    PyObject *left = PyList_New(0), *known = left ? PySet_New(w->foreign) : NULL, *one;
    int rc = known ? look(w, node, left) : -1;

    while (rc == 0 && (one = take_last(left))) {
        rc = each_next(one, look, w, left);
        Py_DECREF(one);
    }
    if (rc == 0 && PyErr_Occurred())
        rc = -1;
    if (rc == 1) /* what was met on the way there is not foreign */
        Py_SETREF(w->foreign, Py_NewRef(known));
    Py_XDECREF(left);
    Py_XDECREF(known);
    return rc;
}

/* --- The forward's own */

static int add_leaf(struct walk *w, PyObject *node)
{
    PyObject *leaf = PyObject_GetAttrString(node, "variable");
    int rc = leaf ? PyList_Append(w->leaves, leaf) : -1;

    Py_XDECREF(leaf);
    return rc;
}

static int meet(struct walk *w, PyObject *node, void *unused)
{
    unsigned long long number;
    int is_seen = PySet_Contains(w->seen, node), is_own;

    (void)unused;
    if (is_seen)
        return is_seen < 0 ? -1 : 0;
    if (number_of(node, &number) < 0 || PySet_Add(w->seen, node) < 0)
        return -1;
    if (number == OF_LEAF)
        return add_leaf(w, node);
    is_own = is_within(w, number) ? 1 : leads_in(w, node);
    return is_own < 0 ? -1 : PyList_Append(is_own ? w->left : w->before, node);
}

static int start(struct walk *w, PyObject *tensor)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    int rc = !node ? -1 : node == Py_None ? 0 : meet(w, node, NULL);

    Py_XDECREF(node);
    return rc;
}

static int go(struct walk *w, PyObject *tensors)
{
    PyObject *all = PySequence_List(tensors), *node;
    int rc = all ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(all); i++)
        rc = start(w, PyList_GET_ITEM(all, i));
    Py_XDECREF(all);
    while (rc == 0 && (node = take_last(w->left))) {
        rc = each_next(node, meet, w, NULL);
        Py_DECREF(node);
    }
    return rc == 0 && PyErr_Occurred() ? -1 : rc;
}

PyObject *sd_border_find(PyObject *tensors, struct sd_graph_part of)
{
    struct walk w = { .leaves = PyList_New(0),
                      .before = PyList_New(0),
                      .left = PyList_New(0),
                      .seen = PySet_New(NULL),
                      .foreign = PySet_New(NULL),
                      .of = of };
    PyObject *found = NULL;

    if (w.leaves && w.before && w.left && w.seen && w.foreign && go(&w, tensors) == 0)
        found = PyTuple_Pack(2, w.leaves, w.before);
    Py_XDECREF(w.leaves);
    Py_XDECREF(w.before);
    Py_XDECREF(w.left);
    Py_XDECREF(w.seen);
    Py_XDECREF(w.foreign);
    return found;
}
