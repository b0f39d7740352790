/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/twins.h"

#include <string.h>

#include "base/mem.h"

static uint64_t key_of(PyObject *o) { return (uint64_t)(uintptr_t)o; }

void sd_twins_release(struct sd_twins *t)
{
    struct sd_twin *all = t->all;
    size_t n = t->n;

    sd_table_release(&t->by_original);
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < n; i++) { /* may run anything: nothing is ours any more */
        Py_XDECREF(all[i].original);
        Py_XDECREF(all[i].twin);
    }
    sd_free(all);
}

static struct sd_twin *find(const struct sd_twins *t, PyObject *tensor)
{
    uint64_t at;

    return sd_table_get(&t->by_original, key_of(tensor), &at) ? &t->all[at] : NULL;
}

/* Until its twin is made it has none: making it may come back here. */
static struct sd_twin *add(struct sd_twins *t, PyObject *tensor, bool is_own)
{
    struct sd_twin *grown = sd_grow_array(t->all, &t->cap, t->n + 1, sizeof *t->all);

    if (grown)
        t->all = grown;
    if (!grown || sd_table_put(&t->by_original, key_of(tensor), t->n) < 0) {
        PyErr_NoMemory();
        return NULL;
    }
    t->all[t->n] = (struct sd_twin){ .original = Py_NewRef(tensor), .is_own = is_own };
    return &t->all[t->n++];
}

/* A tensor that the run made may have got another shape since (unsqueeze_, resize_). */
static bool is_current(const struct sd_twins *t, const struct sd_twin *found)
{
    struct sd_shape now, then;

    if (!found->twin || !found->is_own)
        return found->twin != NULL;
    if (sd_torch_shape(t->torch, found->original, &now) < 0 ||
        sd_torch_shape(t->torch, found->twin, &then) < 0) {
        PyErr_Clear();
        return false;
    }
    return now.n == then.n && now.number == then.number &&
           memcmp(now.dims, then.dims, now.n * sizeof *now.dims) == 0;
}

PyObject *sd_twins_of(struct sd_twins *t, PyObject *tensor)
{
    struct sd_twin *found = find(t, tensor);
    PyObject *twin;

    if (found && is_current(t, found))
        return Py_NewRef(found->twin);
    twin = sd_torch_twin(t->torch, tensor);
    if (!twin)
        return NULL;
    found = find(t, tensor);
    if (!found)
        found = add(t, tensor, false);
    if (!found) {
        Py_DECREF(twin);
        return NULL;
    }
    Py_XSETREF(found->twin, Py_NewRef(twin)); /* it may be the last reference */
    return twin;
}

bool sd_twins_is_own(const struct sd_twins *t, PyObject *tensor)
{
    const struct sd_twin *found = find(t, tensor);

    return found && found->is_own;
}

int sd_twins_own(struct sd_twins *t, PyObject *tensor)
{
    if (find(t, tensor))
        return 0;
    return add(t, tensor, true) ? 0 : -1;
}

/* --- What holds tensors */

static PyObject *within_sequence(struct sd_twins *t, PyObject *o, int depth)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    PyObject *list = NULL, *made;

    for (Py_ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(o); i++) {
        PyObject *old = PySequence_Fast_GET_ITEM(o, i);
        PyObject *new = sd_twins_within(t, old, depth - 1);

        if (!new) {
            Py_XDECREF(list);
            return NULL;
        }
        if (new != old && !list && !(list = PySequence_List(o))) {
            Py_DECREF(new);
            return NULL;
        }
        if (list && i < PyList_GET_SIZE(list))
            PyList_SetItem(list, i, new); /* takes it */
        else
            Py_DECREF(new);
    }
    if (!list)
        return Py_NewRef(o);
    if (PyList_Check(o))
        return list;
    made = PyList_AsTuple(list);
    Py_DECREF(list);
    return made;
}

static PyObject *within_dict(struct sd_twins *t, PyObject *o, int depth)
{
    PyObject *copy = PyDict_Copy(o), *key, *old;
    Py_ssize_t at = 0;
    bool is_changed = false;

    while (copy && PyDict_Next(copy, &at, &key, &old)) {
        PyObject *new = sd_twins_within(t, old, depth - 1);

        is_changed = is_changed || new != old;
        if (!new || (new != old &&PyDict_SetItem(copy, key, new) < 0))
            Py_CLEAR(copy);
        Py_XDECREF(new);
    }
    if (copy && !is_changed) {
        Py_DECREF(copy);
        return Py_NewRef(o);
    }
    return copy;
}

/* Named tuples and classes of others are made in ways of their own, and stay: what
 * is in them gets its twin when an operator meets it. */
PyObject *sd_twins_within(struct sd_twins *t, PyObject *o, int depth)
{
    if (sd_torch_is_tensor(t->torch, o))
        return sd_twins_of(t, o);
    if (depth > 0 && (PyTuple_CheckExact(o) || PyList_CheckExact(o)))
        return within_sequence(t, o, depth);
    if (depth > 0 && PyDict_CheckExact(o))
        return within_dict(t, o, depth);
    return Py_NewRef(o);
}
