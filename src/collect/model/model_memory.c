/* SPDX-License-Identifier: MIT */
/* model_memory: counts the bytes of live tensors, and what autograd keeps.
 *
 * A storage is counted from the operator that made it until nothing holds it: a weak
 * reference to torch's object tells.  It works without data as with it, because a
 * storage without data has its size all the same. */
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static uint64_t key_of(PyObject *o) { return (uint64_t)(uintptr_t)o; }

static int64_t number_from(PyObject *o, const char *method)
{
    PyObject *told = PyObject_CallMethod(o, method, NULL);
    int64_t n = told && PyLong_Check(told) ? PyLong_AsLongLong(told) : -1;

    PyErr_Clear();
    Py_XDECREF(told);
    return n;
}

static int add(struct sd_storages *s, PyObject *ref, uint64_t at, int64_t bytes)
{
    struct sd_storage *grown = sd_grow_array(s->all, &s->cap, s->n + 1, sizeof *s->all);

    if (!grown)
        return -1;
    s->all = grown;
    if (sd_table_put(&s->by_watch, key_of(ref), s->n) < 0 ||
        sd_table_put(&s->alive, at, 1) < 0)
        return -1;
    s->all[s->n++] = (struct sd_storage){ Py_NewRef(ref), at, bytes };
    s->live_bytes += bytes;
    if (s->live_bytes > s->peak_bytes)
        s->peak_bytes = s->live_bytes;
    return 0;
}

static int watch(struct sd_pass *r, PyObject *storage, uint64_t at, int64_t bytes)
{
    PyObject *on_freed = PyObject_GetAttrString(r->self, "freed");
    PyObject *ref = on_freed ? PyWeakref_NewRef(storage, on_freed) : NULL;
    int rc = ref ? add(&r->storages, ref, at, bytes) : -1;

    Py_XDECREF(on_freed);
    Py_XDECREF(ref);
    return rc;
}

/* A view has the storage of another, which is followed already. */
static int watch_tensor(struct sd_pass *r, PyObject *tensor)
{
    PyObject *storage = sd_storage_of(tensor);
    uint64_t at = storage ? sd_storage_at(storage) : 0, unused;
    int rc = 0;

    if (at != 0 && !sd_table_get(&r->storages.alive, at, &unused)) {
        int64_t bytes = number_from(storage, "nbytes");

        if (bytes > 0 && !sd_table_get(&r->storages.weights, at, &unused) &&
            !sd_table_get(&r->storages.given, at, &unused))
            rc = watch(r, storage, at, bytes);
    }
    Py_XDECREF(storage);
    if (rc < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return rc < 0 ? -1 : 0;
}

static int watch_all(struct sd_pass *r, PyObject *result)
{
    if (sd_torch_is_tensor(&r->torch, result))
        return watch_tensor(r, result);
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(result, i);

        if (sd_torch_is_tensor(&r->torch, one) && watch_tensor(r, one) < 0)
            return -1;
    }
    return 0;
}

int sd_pass_watch_outputs(struct sd_pass *r, PyObject *result)
{
    PyObject *hushed = sd_torch_hush(&r->torch);
    int rc = watch_all(r, result);

    sd_torch_unhush(hushed);
    return rc;
}

void sd_pass_freed(struct sd_pass *r, PyObject *ref)
{
    struct sd_storages *s = &r->storages;
    struct sd_storage *gone;
    uint64_t at, layer;

    if (!sd_table_get(&s->by_watch, key_of(ref), &at))
        return;
    gone = &s->all[at];
    s->live_bytes -= gone->bytes;
    if (!r->is_forward_over && sd_table_get(&s->saved, gone->at, &layer))
        r->model->layers[layer].activation_bytes -= gone->bytes;
    sd_table_remove(&s->by_watch, key_of(ref));
    sd_table_remove(&s->alive, gone->at);
    sd_table_remove(&s->saved, gone->at); /* its place may be another's soon */
    Py_CLEAR(gone->watch);
}

void sd_storages_release(struct sd_storages *s)
{
    struct sd_storage *all = s->all;
    size_t n = s->n;

    sd_table_release(&s->by_watch);
    sd_table_release(&s->alive);
    sd_table_release(&s->weights);
    sd_table_release(&s->given);
    sd_table_release(&s->saved);
    memset(s, 0, sizeof *s);
    while (n-- > 0)
        Py_XDECREF(all[n].watch);
    sd_free(all);
}

/* --- What is no memory of the run's */

static int note_storage(struct sd_table *in, PyObject *tensor)
{
    PyObject *storage = sd_storage_of(tensor);
    uint64_t at = storage ? sd_storage_at(storage) : 0;
    int rc = at != 0 ? sd_table_put(in, at, 1) : 0;

    Py_XDECREF(storage);
    if (rc < 0)
        PyErr_NoMemory();
    return rc < 0 ? -1 : 0;
}

int sd_pass_weight(struct sd_pass *r, PyObject *tensor)
{
    return note_storage(&r->storages.weights, tensor);
}

bool sd_pass_is_weight(struct sd_pass *r, PyObject *tensor)
{
    PyObject *storage = sd_storage_of(tensor);
    uint64_t at = storage ? sd_storage_at(storage) : 0, unused;

    Py_XDECREF(storage);
    return at != 0 && sd_table_get(&r->storages.weights, at, &unused);
}

int sd_pass_given(struct sd_pass *r, PyObject *o, int depth)
{
    PyObject *values;
    int rc = 0;

    if (sd_torch_is_tensor(&r->torch, o))
        return note_storage(&r->storages.given, o);
    if (depth == 0 || !(PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o)))
        return 0;
    values = PyDict_Check(o) ? PyDict_Values(o) : PySequence_List(o);
    if (!values)
        return -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(values); i++)
        rc = sd_pass_given(r, PyList_GET_ITEM(values, i), depth - 1);
    Py_DECREF(values);
    return rc;
}

/* --- What autograd keeps */

/* A storage that many nodes keep is kept once; weights are there anyway. */
static bool is_new(struct sd_storages *s, uint64_t at)
{
    uint64_t unused;

    return at != 0 && !sd_table_get(&s->weights, at, &unused) &&
           !sd_table_get(&s->saved, at, &unused);
}

int sd_pass_saved(struct sd_pass *r, PyObject *tensor)
{
    PyObject *storage = sd_storage_of(tensor);
    uint64_t at = storage ? sd_storage_at(storage) : 0;
    uint32_t layer = sd_pass_layer_now(r);
    int rc = 0;

    if (!r->is_backward && is_new(&r->storages, at)) {
        int64_t bytes = number_from(storage, "nbytes");

        rc = sd_table_put(&r->storages.saved, at, layer);
        if (rc == 0 && bytes >= 0) {
            int64_t *kept = &r->model->layers[layer].activation_bytes;

            *kept = (*kept > 0 ? *kept : 0) + bytes;
        }
    }
    Py_XDECREF(storage);
    if (rc < 0)
        PyErr_NoMemory();
    return rc < 0 ? -1 : 0;
}
