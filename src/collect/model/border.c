/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/border.h"

#include <limits.h>
#include <stdbool.h>

#define OF_LEAF ULLONG_MAX /* the number of nodes that keep a leaf's gradient */

struct walk {
    PyObject *leaves, *edges, *before; /* owned lists: what is found */
    PyObject *left;      /* owned list of nodes whose next ones are to be met */
    PyObject *seen;      /* owned set of nodes, which so keep their objects */
    PyObject *verdicts;  /* owned dict of nodes with other numbers: do they lead in? */
    PyObject *elsewhere; /* owned set: nodes of leaves that other graphs lead to */
    struct sd_graph_part of;
};

static int number_of(PyObject *node, unsigned long long *out)
{
    PyObject *told = PyObject_CallMethod(node, "_sequence_nr", NULL);

    if (!told)
        return -1;
    *out = PyLong_AsUnsignedLongLong(told);
    Py_DECREF(told);
    return PyErr_Occurred() ? -1 : 0;
}

static bool is_within(const struct walk *w, unsigned long long number)
{
    return number >= w->of.from && number < w->of.to;
}

/* Calls `each` with (node, which of its inputs) of all behind this one, until it says
 * other than 0. */
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
            rc = each(w, edge, arg);
    }
    Py_XDECREF(edges);
    return rc;
}

static int drop_last(PyObject *list)
{
    Py_ssize_t n = PyList_GET_SIZE(list);

    return PyList_SetSlice(list, n - 1, n, NULL);
}

/* --- Does a node lead into the forward? */

struct look {
    PyObject *left; /* borrowed list: those behind it of which it is not known yet */
    bool is_found;  /* one behind it is the forward's */
};

static int look(struct walk *w, PyObject *edge, void *arg)
{
    struct look *l = arg;
    PyObject *node = PyTuple_GET_ITEM(edge, 0), *verdict;
    unsigned long long number;

    if (number_of(node, &number) < 0)
        return -1;
    if (number == OF_LEAF)
        return 0;
    if (is_within(w, number)) {
        l->is_found = true;
        return 0;
    }
    verdict = PyDict_GetItemWithError(w->verdicts, node);
    l->is_found |= verdict == Py_True;
    if (verdict || PyErr_Occurred())
        return PyErr_Occurred() ? -1 : 0;
    return PyList_Append(l->left, node);
}

static int note_leaf(struct walk *w, PyObject *edge, void *unused)
{
    PyObject *node = PyTuple_GET_ITEM(edge, 0);
    unsigned long long number;

    (void)unused;
    if (number_of(node, &number) < 0)
        return -1;
    return number == OF_LEAF ? PySet_Add(w->elsewhere, node) : 0;
}

/* The last one of those that are left: what is behind it comes first. */
static int judge_last(struct walk *w, PyObject *left)
{
    Py_ssize_t n = PyList_GET_SIZE(left);
    PyObject *node = Py_NewRef(PyList_GET_ITEM(left, n - 1));
    struct look l = { .left = left };
    int rc = PyDict_Contains(w->verdicts, node);

    if (rc == 1) { /* it was left by two */
        rc = drop_last(left);
    } else if (rc == 0) {
        rc = each_next(node, look, w, &l);
        if (rc == 0 && (l.is_found || PyList_GET_SIZE(left) == n)) {
            rc = PyDict_SetItem(w->verdicts, node, l.is_found ? Py_True : Py_False);
            if (rc == 0 && !l.is_found)
                rc = each_next(node, note_leaf, w, NULL);
        }
    }
    Py_DECREF(node);
    return rc;
}

/* 1: it does; 0: it does not; -1 with an exception. */
static int leads_in(struct walk *w, PyObject *node)
{
    PyObject *left = PyList_New(0), *verdict;
    int rc = left ? PyList_Append(left, node) : -1;

    while (rc == 0 && PyList_GET_SIZE(left) > 0)
        rc = judge_last(w, left);
    Py_XDECREF(left);
    if (rc < 0)
        return -1;
    verdict = PyDict_GetItemWithError(w->verdicts, node);
    return PyErr_Occurred() ? -1 : verdict == Py_True;
}

/* --- The forward's own */

static int add_leaf(struct walk *w, PyObject *node)
{
    PyObject *leaf = PyObject_GetAttrString(node, "variable");
    int rc = leaf ? PyList_Append(w->leaves, leaf) : -1;

    Py_XDECREF(leaf);
    return rc;
}

/* 1: it is the forward's, or a leaf's; 0: another graph's. */
static int meet_node(struct walk *w, PyObject *node)
{
    unsigned long long number;
    int is_own, is_seen = PySet_Contains(w->seen, node);

    if (is_seen < 0 || number_of(node, &number) < 0)
        return -1;
    is_own = number == OF_LEAF || is_within(w, number) ? 1 : leads_in(w, node);
    if (is_own < 0 || is_seen)
        return is_own;
    if (PySet_Add(w->seen, node) < 0)
        return -1;
    if (number == OF_LEAF)
        return add_leaf(w, node) < 0 ? -1 : 1;
    return PyList_Append(is_own ? w->left : w->before, node) < 0 ? -1 : is_own;
}

static int meet(struct walk *w, PyObject *edge, void *unused)
{
    int is_own = meet_node(w, PyTuple_GET_ITEM(edge, 0));

    (void)unused;
    if (is_own != 0)
        return is_own < 0 ? -1 : 0;
    return PyList_Append(w->edges, edge);
}

static int start(struct walk *w, PyObject *tensor)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    int rc = !node ? -1 : node == Py_None ? PyList_Append(w->leaves, tensor) : 0;

    if (rc == 0 && node != Py_None)
        rc = meet_node(w, node) < 0 ? -1 : 0;
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
        PyObject *node =
            Py_NewRef(PyList_GET_ITEM(w->left, PyList_GET_SIZE(w->left) - 1));

        rc = drop_last(w->left);
        if (rc == 0)
            rc = each_next(node, meet, w, NULL);
        Py_DECREF(node);
    }
    return rc;
}

static PyObject *found_by(const struct walk *w)
{
    PyObject *apart = PyObject_CallMethod(w->elsewhere, "isdisjoint", "O", w->seen);
    PyObject *found = apart ? PyTuple_Pack(4, w->leaves, w->edges, w->before,
                                           apart == Py_True ? Py_False : Py_True)
                            : NULL;

    Py_XDECREF(apart);
    return found;
}

PyObject *sd_border_find(PyObject *tensors, struct sd_graph_part of)
{
    struct walk w = { .leaves = PyList_New(0),
                      .edges = PyList_New(0),
                      .before = PyList_New(0),
                      .left = PyList_New(0),
                      .seen = PySet_New(NULL),
                      .verdicts = PyDict_New(),
                      .elsewhere = PySet_New(NULL),
                      .of = of };
    PyObject *found = NULL;

    if (w.leaves && w.edges && w.before && w.left && w.seen && w.verdicts &&
        w.elsewhere && go(&w, tensors) == 0)
        found = found_by(&w);
    Py_XDECREF(w.leaves);
    Py_XDECREF(w.edges);
    Py_XDECREF(w.before);
    Py_XDECREF(w.left);
    Py_XDECREF(w.seen);
    Py_XDECREF(w.verdicts);
    Py_XDECREF(w.elsewhere);
    return found;
}
