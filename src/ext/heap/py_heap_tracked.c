/* SPDX-License-Identifier: MIT */
#include "cpython/compat_heap.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/pages.h"
#include "base/table.h"
#include "ext/heap/py_heap.h"

struct tally { /* of tracked objects, by type */
    struct sd_table counts;
    int rc;
};

/* hot */
static void count(PyObject *o, void *of)
{
    struct tally *t = of;
    uint64_t type = (uint64_t)(uintptr_t)Py_TYPE(o), n = 0;

    if (t->rc < 0)
        return;
    sd_table_get(&t->counts, type, &n);
    t->rc = sd_table_put(&t->counts, type, n + 1);
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
