/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/pages.h"
#include "base/table.h"
#include "ext/heap/py_heap.h"

enum { AT_HAND = 512 };

struct tally { /* of tracked objects, by type */
    struct {
        const PyTypeObject *type;
        uint64_t n;
    } at_hand[AT_HAND]; /* counts that are not in the table yet */
    struct sd_table counts;
    int rc;
};

static void put_away(struct tally *t, size_t slot)
{
    uint64_t type = (uint64_t)(uintptr_t)t->at_hand[slot].type, n = 0;

    if (!t->at_hand[slot].n || t->rc < 0)
        return;
    sd_table_get(&t->counts, type, &n);
    t->rc = sd_table_put(&t->counts, type, n + t->at_hand[slot].n);
    t->at_hand[slot].n = 0;
}

/* hot */
static void count(PyObject *o, void *of)
{
    struct tally *t = of;
    const PyTypeObject *type = Py_TYPE(o);
    size_t slot = ((uintptr_t)type >> 4 ^ (uintptr_t)type >> 12) % AT_HAND;

    if (__builtin_expect(t->at_hand[slot].type != type, 0)) {
        put_away(t, slot);
        t->at_hand[slot].type = type;
    }
    t->at_hand[slot].n++;
}

PyObject *sd_ext_heap_tracked_types(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0); /* now, as it could start a collection */
    struct tally t = { .rc = 0 };
    uint64_t type, n;
    size_t at = 0;

    (void)module, (void)unused;
    if (!list)
        return NULL;
    sd_compat_heap_visit(count, &t);
    for (size_t i = 0; i < AT_HAND; i++)
        put_away(&t, i);
    /* A tuple could start a collection, after which a type may be gone. */
    while (t.rc == 0 && sd_table_next(&t.counts, &at, &type, &n))
        if (PyList_Append(list, (PyObject *)(uintptr_t)type) < 0)
            t.rc = SD_ENOMEM;
    for (Py_ssize_t i = 0; t.rc == 0 && i < PyList_GET_SIZE(list); i++) {
        PyObject *one = PyList_GET_ITEM(list, i), *pair;

        sd_table_get(&t.counts, (uint64_t)(uintptr_t)one, &n);
        pair = Py_BuildValue("(OK)", one, (unsigned long long)n);
        if (!pair || PyList_SetItem(list, i, pair) < 0)
            t.rc = SD_ENOMEM;
    }
    sd_table_release(&t.counts);
    if (t.rc < 0) {
        Py_DECREF(list);
        return PyErr_NoMemory();
    }
    return list;
}

struct search {            /* for objects of these types */
    PyObject *types;       /* a tuple */
    struct sd_pages found; /* PyObject *[n] */
    size_t n;
    int rc;
};

/* hot */
static void find(PyObject *o, void *of)
{
    struct search *s = of;
    bool is_wanted = false;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s->types) && !is_wanted; i++)
        is_wanted = PyTuple_GET_ITEM(s->types, i) == (PyObject *)Py_TYPE(o);
    if (!is_wanted || s->rc < 0)
        return;
    s->rc = sd_pages_grow(&s->found, (s->n + 1) * sizeof(PyObject *));
    if (s->rc == 0)
        ((PyObject **)s->found.p)[s->n++] = o;
}

PyObject *sd_ext_heap_tracked_of(PyObject *module, PyObject *types)
{
    struct search s = { .types = types };
    PyObject *list;

    (void)module;
    if (!PyTuple_Check(types)) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of classes");
        return NULL;
    }
    list = PyList_New(0); /* now, as it could start a collection */
    if (!list)
        return NULL;
    sd_compat_heap_visit(find, &s);
    for (size_t i = 0; i < s.n && s.rc == 0; i++) {
        PyObject *o = ((PyObject **)s.found.p)[i];

        if (o != list && PyList_Append(list, o) < 0)
            s.rc = SD_ENOMEM;
    }
    sd_pages_release(&s.found);
    if (s.rc < 0) {
        Py_DECREF(list);
        return PyErr_NoMemory();
    }
    return list;
}
