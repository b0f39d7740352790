/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/twins.h"

#include <string.h>

#include "base/mem.h"
#include "collect/model/rules/meta.h"

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
    t->all[t->n] = (struct sd_twin){ .original = Py_NewRef(tensor),
                                     .is_made = is_own,
                                     .is_own = is_own };
    return &t->all[t->n++];
}

/* A tensor that the run made may have got another shape since (unsqueeze_, resize_). */
static bool has_shape_of(const struct sd_twins *t, PyObject *twin, PyObject *tensor)
{
    struct sd_tensor_shape now, then;

    if (sd_torch_shape(t->torch, tensor, &now) < 0 ||
        sd_torch_shape(t->torch, twin, &then) < 0) {
        PyErr_Clear();
        return false;
    }
    return now.n == then.n && now.number == then.number &&
           memcmp(now.dims, then.dims, now.n * sizeof *now.dims) == 0;
}

PyObject *sd_twins_of(struct sd_twins *t, PyObject *tensor)
{
    struct sd_twin *found = find(t, tensor);
    PyObject *twin = found ? Py_XNewRef(found->twin) : NULL;

    if (twin && (!found->is_made || has_shape_of(t, twin, tensor)))
        return twin;
    Py_XDECREF(twin);
    twin = sd_torch_twin(t->torch, tensor); /* may make others, and move them all */
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

/* Few whole numbers, on the processor. */
static bool is_readable(const struct sd_twins *t, PyObject *tensor)
{
    struct sd_tensor_shape s;
    PyObject *told;
    bool is_there;

    if ((PyObject *)Py_TYPE(tensor) != t->torch->tensor)
        return false;
    if (sd_torch_shape(t->torch, tensor, &s) < 0) {
        PyErr_Clear();
        return false;
    }
    if (s.is_meta || s.is_nested || s.is_sparse ||
        sd_meta_shape_elements(&s) > SD_TWINS_READABLE || !sd_torch_is_whole(s.number))
        return false;
    told = PyObject_GetAttrString(tensor, "is_cpu");
    is_there = told == Py_True;
    PyErr_Clear();
    Py_XDECREF(told);
    return is_there;
}

PyObject *sd_twins_of_input(struct sd_twins *t, PyObject *tensor)
{
    struct sd_twin *found = find(t, tensor);
    PyObject *copy;

    if (found || !is_readable(t, tensor))
        return sd_twins_of(t, tensor);
    copy = PyObject_CallMethod(tensor, "clone", NULL);
    found = copy ? add(t, tensor, false) : NULL;
    if (found)
        found->twin = Py_NewRef(copy);
    if (!found || sd_twins_own(t, copy) < 0)
        Py_CLEAR(copy);
    return copy;
}

bool sd_twins_is_made(const struct sd_twins *t, PyObject *tensor)
{
    const struct sd_twin *found = find(t, tensor);

    return found && found->is_made;
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

/* Its place is taken by the last one. */
static void forget(struct sd_twins *t, size_t at)
{
    struct sd_twin gone = t->all[at];

    sd_table_remove(&t->by_original, key_of(gone.original));
    t->all[at] = t->all[--t->n];
    if (at < t->n) /* it is in the table already: no room is needed */
        sd_table_put(&t->by_original, key_of(t->all[at].original), at);
    Py_DECREF(gone.original); /* may run anything: nothing is left to be done */
    Py_XDECREF(gone.twin);
}

void sd_twins_forget(struct sd_twins *t)
{
    for (size_t i = t->n; i-- > 0;)
        if (i < t->n && t->all[i].is_made && Py_REFCNT(t->all[i].original) == 1)
            forget(t, i);
}

/* Where a tensor's data is; 0: torch does not tell. */
static uint64_t data_of(PyObject *tensor)
{
    PyObject *storage = sd_storage_of(tensor);
    uint64_t at = storage ? sd_storage_at(storage) : 0;

    Py_XDECREF(storage);
    return at;
}

void sd_twins_disown(struct sd_twins *t, PyObject *tensor)
{
    uint64_t data = data_of(tensor);

    for (size_t i = 0; i < t->n; i++) {
        PyObject *one = t->all[i].original;

        if (t->all[i].is_own && (one == tensor || (data && data_of(one) == data)))
            t->all[i].is_own = false;
    }
}

/* --- What holds tensors */

static PyObject *within_sequence(struct sd_twins *t, PyObject *o, sd_twins_way *of,
                                 int depth)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    PyObject *list = NULL, *made;

    for (Py_ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(o); i++) {
        PyObject *old = PySequence_Fast_GET_ITEM(o, i);
        PyObject *new = sd_twins_within(t, old, of, depth - 1);

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

static PyObject *within_dict(struct sd_twins *t, PyObject *o, sd_twins_way *of,
                             int depth)
{
    PyObject *copy = PyDict_Copy(o), *key, *old;
    Py_ssize_t at = 0;
    bool is_changed = false;

    while (copy && PyDict_Next(copy, &at, &key, &old)) {
        PyObject *new = sd_twins_within(t, old, of, depth - 1);

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
PyObject *sd_twins_within(struct sd_twins *t, PyObject *o, sd_twins_way *of, int depth)
{
    if (sd_torch_is_tensor(t->torch, o))
        return of(t, o);
    if (depth > 0 && (PyTuple_CheckExact(o) || PyList_CheckExact(o)))
        return within_sequence(t, o, of, depth);
    if (depth > 0 && PyDict_CheckExact(o))
        return within_dict(t, o, of, depth);
    return Py_NewRef(o);
}
