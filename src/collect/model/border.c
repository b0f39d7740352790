/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/border.h"

#include <limits.h>

#define OF_LEAF ULLONG_MAX /* the number of nodes that keep a leaf's gradient */

struct walk {
    PyObject *leaves, *edges, *left; /* owned lists; left: nodes whose next ones are */
    PyObject *seen;                  /* owned set of nodes, which so keep their names */
    unsigned long long since;
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

static int add_leaf(struct walk *w, PyObject *node)
{
    PyObject *leaf = PyObject_GetAttrString(node, "variable");
    int rc = leaf ? PyList_Append(w->leaves, leaf) : -1;

    Py_XDECREF(leaf);
    return rc;
}

/* A node of before is met once for each of its edges; others once. */
static int meet(struct walk *w, PyObject *node, PyObject *edge)
{
    unsigned long long number;
    int is_seen = PySet_Contains(w->seen, node);

    if (is_seen)
        return is_seen < 0 ? -1 : 0;
    if (number_of(node, &number) < 0)
        return -1;
    if (number != OF_LEAF && number < w->since)
        return edge ? PyList_Append(w->edges, edge) : 0;
    if (PySet_Add(w->seen, node) < 0)
        return -1;
    return number == OF_LEAF ? add_leaf(w, node) : PyList_Append(w->left, node);
}

static int meet_next(struct walk *w, PyObject *node)
{
    PyObject *edges = PyObject_GetAttrString(node, "next_functions");
    Py_ssize_t n = edges && PyTuple_Check(edges) ? PyTuple_GET_SIZE(edges) : 0;
    int rc = edges ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);

        if (PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) == 2 &&
            PyTuple_GET_ITEM(edge, 0) != Py_None)
            rc = meet(w, PyTuple_GET_ITEM(edge, 0), edge);
    }
    Py_XDECREF(edges);
    return rc;
}

/* An output that is itself a leaf, or was computed before, has nothing behind it. */
static int start(struct walk *w, PyObject *tensor)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    int rc = !node ? -1 : node == Py_None ? 0 : meet(w, node, NULL);

    Py_XDECREF(node);
    return rc;
}

static int go(struct walk *w, PyObject *tensors)
{
    PyObject *all = PySequence_List(tensors);
    int rc = all ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(all); i++)
        rc = start(w, PyList_GET_ITEM(all, i));
    Py_XDECREF(all);
    while (rc == 0 && PyList_GET_SIZE(w->left) > 0) {
        Py_ssize_t last = PyList_GET_SIZE(w->left) - 1;
        PyObject *node = Py_NewRef(PyList_GET_ITEM(w->left, last));

        rc = PyList_SetSlice(w->left, last, last + 1, NULL);
        if (rc == 0)
            rc = meet_next(w, node);
        Py_DECREF(node);
    }
    return rc;
}

PyObject *sd_border_find(PyObject *tensors, unsigned long long since)
{
    struct walk w = { .leaves = PyList_New(0),
                      .edges = PyList_New(0),
                      .left = PyList_New(0),
                      .seen = PySet_New(NULL),
                      .since = since };
    PyObject *found = NULL;

    if (w.leaves && w.edges && w.left && w.seen && go(&w, tensors) == 0)
        found = PyTuple_Pack(2, w.leaves, w.edges);
    Py_XDECREF(w.leaves);
    Py_XDECREF(w.edges);
    Py_XDECREF(w.left);
    Py_XDECREF(w.seen);
    return found;
}
