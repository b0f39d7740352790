/* SPDX-License-Identifier: MIT */
/* py_call_tables_order: sorts functions for printing. */
#include "base/error.h"
#include "base/mem.h"
#include "ext/calls/py_call_tables.h"

/* sort(("time", "name")) */
PyObject *sd_py_call_tables_sort(PyObject *self, PyObject *words)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    size_t unknown = 0, n;
    const char **texts;
    PyObject *result = NULL;
    int rc = 0;

    if (sd_py_call_tables_is_busy(self))
        return NULL;
    if (!PyTuple_Check(words))
        return PyErr_Format(PyExc_TypeError, "words to sort by must be a tuple");
    n = (size_t)PyTuple_GET_SIZE(words);
    texts = sd_alloc((n + 1) * sizeof *texts);
    if (!texts)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n && rc == 0; i++) {
        texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(words, i));
        rc = texts[i] ? 0 : -1;
    }
    if (rc == 0) {
        sd_py_call_tables_unsort(t);
        rc = sd_pstats_sort(&t->stats, texts, n, &t->order, &unknown);
        t->is_sorted = rc == 0;
        if (rc == SD_EUSAGE)
            PyErr_SetObject(PyExc_KeyError, PyTuple_GET_ITEM(words, unknown));
    }
    result = sd_py_call_tables_done(rc);
    sd_free(texts);
    return result;
}

PyObject *sd_py_call_tables_sort_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (sd_py_call_tables_is_busy(self))
        return NULL;
    sd_py_call_tables_unsort(sd_py_call_tables_of(self));
    Py_RETURN_NONE;
}

PyObject *sd_py_call_tables_reverse(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (sd_py_call_tables_is_busy(self))
        return NULL;
    sd_pstats_order_reverse(&sd_py_call_tables_of(self)->order);
    Py_RETURN_NONE;
}

static int read_order(struct sd_py_call_tables *t, PyObject *fast)
{
    size_t n = (size_t)PySequence_Fast_GET_SIZE(fast);

    t->order.ids = sd_alloc((n + 1) * sizeof *t->order.ids);
    if (!t->order.ids)
        return sd_no_memory();
    for (; t->order.n < n; t->order.n++) {
        PyObject *key = PySequence_Fast_GET_ITEM(fast, (Py_ssize_t)t->order.n);
        sd_function_id id;

        if (sd_py_call_key_read(&t->stats, key, &id) < 0)
            return -1;
        if (!sd_call_stats_at(&t->stats, id)->is_listed) {
            PyErr_SetObject(PyExc_KeyError, key);
            return -1;
        }
        t->order.ids[t->order.n] = id;
    }
    return 0;
}

/* set_order(keys or None, sort_type): an order that Python has made or changed. */
PyObject *sd_py_call_tables_set_order(PyObject *self, PyObject *args)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    PyObject *keys, *fast = NULL;
    const char *by;
    int rc;

    if (!PyArg_ParseTuple(args, "Os:set_order", &keys, &by))
        return NULL;
    if (keys != Py_None) { /* first: it may run code that sorts */
        fast = PySequence_Fast(keys, "an order must be a list of (file, line, name)");
        if (!fast)
            return NULL;
    }
    if (sd_py_call_tables_is_busy(self)) {
        Py_XDECREF(fast);
        return NULL;
    }
    sd_py_call_tables_unsort(t);
    if (!fast)
        Py_RETURN_NONE;
    rc = read_order(t, fast);
    Py_DECREF(fast);
    sd_buf_text(&t->order.by, by);
    if (rc == 0 && t->order.by.bad)
        rc = sd_no_memory();
    t->is_sorted = rc == 0;
    if (rc < 0)
        sd_py_call_tables_unsort(t);
    return sd_py_call_tables_done(rc);
}

PyObject *sd_py_call_tables_fcn_list(PyObject *self, PyObject *unused)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    PyObject *list;

    (void)unused;
    if (!t->is_sorted)
        Py_RETURN_NONE;
    t->n_readers++;
    list = sd_py_call_keys_object(&t->stats, t->order.ids, t->order.n);
    t->n_readers--;
    return list;
}

PyObject *sd_py_call_tables_keys(PyObject *self, PyObject *unused)
{
    struct sd_py_call_tables *t = sd_py_call_tables_of(self);
    PyObject *list;

    (void)unused;
    t->n_readers++;
    list = sd_py_call_keys_object(&t->stats, t->stats.listed, t->stats.n_listed);
    t->n_readers--;
    return list;
}
