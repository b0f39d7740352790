/* SPDX-License-Identifier: MIT */
#include "ext/alloc/trace_file.h"

#include <string.h>

#include "base/table.h"
#include "formats/pickle.h"

enum { MOST_DEEP = 16 }; /* values inside of values */

struct reading {
    struct sd_table seen; /* address of a value: place in the list */
    PyObject *objects;    /* list */
    unsigned depth;
};

static PyObject *no_snapshot(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError,
                        "the file is no snapshot of tracemalloc, or holds more than "
                        "plain data; load() runs nothing of it");
    return NULL;
}

static PyObject *object_of(struct reading *r, const struct sd_pickle_value *v);

static PyObject *list_of(struct reading *r, const struct sd_pickle_value *v)
{
    PyObject *all = PyList_New((Py_ssize_t)v->items.n);
    Py_ssize_t i = 0;

    for (const struct sd_pickle_item *at = v->items.first; all && at; at = at->next) {
        PyObject *one = object_of(r, at->value);

        if (one)
            PyList_SET_ITEM(all, i++, one);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *tuple_of(struct reading *r, const struct sd_pickle_value *v)
{
    PyObject *list = list_of(r, v), *tuple = list ? PyList_AsTuple(list) : NULL;

    Py_XDECREF(list);
    return tuple;
}

static PyObject *dict_of(struct reading *r, const struct sd_pickle_value *v)
{
    PyObject *all = PyDict_New();

    for (const struct sd_pickle_item *at = v->items.first; all && at;
         at = at->next->next) {
        PyObject *key = at->next ? object_of(r, at->value) : no_snapshot();
        PyObject *value = key ? object_of(r, at->next->value) : NULL;

        if (!value || PyDict_SetItem(all, key, value) < 0)
            Py_CLEAR(all);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (!all)
            break;
    }
    return all;
}

static bool is_named(const struct sd_pickle_value *v, const char *name)
{
    static const char *const modules[] = { "tracemalloc.",
                                           "sonde.compat.tracemalloc." };

    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t n = strlen(modules[i]), k = strlen(name);

        if (v->kind == SD_PICKLE_CLASS && v->text.n == n + k &&
            memcmp(v->text.p, modules[i], n) == 0 &&
            memcmp(v->text.p + n, name, k) == 0)
            return true;
    }
    return false;
}

/* The attributes of an object of this class; NULL: it is another one. */
static const struct sd_pickle_value *state_of(const struct sd_pickle_value *v,
                                              const char *name)
{
    const struct sd_pickle_item *type =
        v->kind == SD_PICKLE_OBJECT ? v->items.first : NULL;
    const struct sd_pickle_item *state = type && type->next ? type->next->next : NULL;

    if (!state || !is_named(type->value, name) || state->value->kind != SD_PICKLE_DICT)
        return NULL;
    return state->value;
}

static PyObject *fresh_object(struct reading *r, const struct sd_pickle_value *v)
{
    const struct sd_pickle_value *state;

    switch (v->kind) {
    case SD_PICKLE_NONE:
        return Py_NewRef(Py_None);
    case SD_PICKLE_BOOL:
        return PyBool_FromLong(v->whole != 0);
    case SD_PICKLE_INT:
        return PyLong_FromLongLong(v->whole);
    case SD_PICKLE_REAL:
        return PyFloat_FromDouble(v->real);
    case SD_PICKLE_TEXT:
        return PyUnicode_DecodeUTF8(v->text.p, (Py_ssize_t)v->text.n, "surrogatepass");
    case SD_PICKLE_TUPLE:
        return tuple_of(r, v);
    case SD_PICKLE_LIST:
        return list_of(r, v);
    case SD_PICKLE_DICT:
        return dict_of(r, v);
    case SD_PICKLE_OBJECT:
        state = state_of(v, "_Traces");
        state = state ? sd_pickle_get(state, "_traces") : NULL;
        return state ? object_of(r, state) : no_snapshot();
    case SD_PICKLE_CLASS:
        break;
    }
    return no_snapshot();
}

/* What is met many times becomes one object. */
static PyObject *object_of(struct reading *r, const struct sd_pickle_value *v)
{
    uint64_t key = (uint64_t)(uintptr_t)v, at;
    PyObject *made;

    if (v->kind < SD_PICKLE_TEXT)
        return fresh_object(r, v);
    if (sd_table_get(&r->seen, key, &at))
        return Py_NewRef(PyList_GET_ITEM(r->objects, (Py_ssize_t)at));
    if (r->depth == MOST_DEEP)
        return no_snapshot();
    r->depth++;
    made = fresh_object(r, v);
    r->depth--;
    if (!made)
        return NULL;
    if (PyList_Append(r->objects, made) < 0)
        Py_CLEAR(made);
    else if (sd_table_put(&r->seen, key, (uint64_t)PyList_GET_SIZE(r->objects) - 1) <
             0) {
        Py_CLEAR(made);
        PyErr_NoMemory();
    }
    return made;
}

/* Are these attributes those of a snapshot? */
static bool is_sound(PyObject *state)
{
    PyObject *traces = state ? PyDict_GetItemString(state, "traces") : NULL;
    PyObject *limit = state ? PyDict_GetItemString(state, "traceback_limit") : NULL;

    return traces && limit && PyList_Check(traces) && PyLong_Check(limit);
}

PyObject *sd_trace_file_load(PyObject *module, PyObject *bytes)
{
    const struct sd_pickle_value *value, *state = NULL;
    struct reading r = { .objects = PyList_New(0) };
    struct sd_arena arena = { 0 };
    PyObject *made = NULL;

    (void)module;
    if (r.objects && PyBytes_Check(bytes) &&
        sd_pickle_read(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes),
                       &arena, &value) == 0)
        state = state_of(value, "Snapshot");
    if (state)
        made = object_of(&r, state);
    if (!is_sound(made)) {
        Py_CLEAR(made);
        no_snapshot();
    }
    sd_table_release(&r.seen);
    Py_XDECREF(r.objects);
    sd_arena_release(&arena);
    return made;
}
