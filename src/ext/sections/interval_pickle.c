/* SPDX-License-Identifier: MIT */
/* interval_pickle: pickles and unpickles a Profiler.
 *
 * The state is a tuple of plain objects: version, settings, the names, and one bytes
 * object with every row as this version lays it out.  Whoever loads a pickle trusts
 * it, but a damaged one raises ValueError and never reads out of bounds. */
#include "ext/sections/py_interval.h"

#include <string.h>

#include "base/cursor.h"

enum { VERSION = 1 };

/* A row in a pickle: entry, kind, unit, flags, then the values in their order. */
enum { HEAD_BYTES = 8 };

static size_t values_bytes(const struct sd_store *s)
{
    return s->row_bytes - sizeof(struct sd_row);
}

static PyObject *pack_rows(const struct sd_store *s)
{
    size_t each = HEAD_BYTES + values_bytes(s);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(each * s->n_rows));
    char *at = bytes ? PyBytes_AS_STRING(bytes) : NULL;

    for (uint32_t i = 0; bytes && i < s->n_rows; i++, at += each) {
        const struct sd_row *row = sd_store_row(s, i);
        uint8_t rest[4] = { row->kind, row->unit, row->flags, 0 };

        memcpy(at, &row->entry, sizeof row->entry);
        memcpy(at + sizeof row->entry, rest, sizeof rest);
        memcpy(at + HEAD_BYTES, row->values, values_bytes(s));
    }
    return bytes;
}

/* The paths as bytes, in the order of the entries; surrogates survive.  Packed behind
 * the rows, so that it has the names of all of them: making a tuple may collect
 * garbage, and what that runs may open sections. */
static PyObject *pack_names(const struct sd_store *s)
{
    size_t n = s->n_entries;
    PyObject *names = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; names && i < n; i++) {
        PyObject *name =
            PyBytes_FromStringAndSize(s->entries[i].path, (Py_ssize_t)s->entries[i].n);

        if (!name)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    return names;
}

static PyObject *own_dict(PyObject *self)
{
    PyObject *dict = PyObject_GetAttrString(self, "__dict__");

    if (dict || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return dict;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *make_state(PyObject *self)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    PyObject *rows = pack_rows(&p->store), *names = pack_names(&p->store);
    PyObject *dict = own_dict(self), *state = NULL;

    if (names && rows && dict)
        state = Py_BuildValue("iIOOiKOOO", VERSION, p->store.measure, p->unit_given,
                              p->kind_given, (int)p->is_disabled,
                              (unsigned long long)p->n_lost, names, rows, dict);
    Py_XDECREF(names);
    Py_XDECREF(rows);
    Py_XDECREF(dict);
    return state;
}

PyObject *sd_profiler_reduce(PyObject *self, PyObject *unused)
{
    PyObject *copyreg = PyImport_ImportModule("copyreg");
    PyObject *make = copyreg ? PyObject_GetAttrString(copyreg, "__newobj__") : NULL;
    PyObject *state = make ? make_state(self) : NULL;
    PyObject *reduced =
        state ? Py_BuildValue("O(O)O", make, (PyObject *)Py_TYPE(self), state) : NULL;

    (void)unused;
    Py_XDECREF(copyreg);
    Py_XDECREF(make);
    Py_XDECREF(state);
    return reduced;
}

static PyObject *damaged(void)
{
    PyErr_SetString(PyExc_ValueError, "not the pickle of a Profiler");
    return NULL;
}

static int unpack_names(struct sd_store *s, PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        uint32_t entry;
        int rc;

        if (!PyBytes_Check(name)) {
            damaged();
            return -1;
        }
        rc = sd_store_entry(s, PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name),
                            &entry);
        if (rc < 0) {
            sd_ext_raise(rc);
            return -1;
        }
        if (entry != (uint32_t)i) { /* twice the same name */
            damaged();
            return -1;
        }
    }
    return 0;
}

static int unpack_row(struct sd_store *s, struct sd_cursor *c)
{
    uint32_t entry = sd_cursor_u32(c), at;
    uint8_t kind = sd_cursor_u8(c), unit = sd_cursor_u8(c), flags = sd_cursor_u8(c);
    const uint8_t *values;
    int rc;

    sd_cursor_u8(c);
    values = sd_cursor_take(c, values_bytes(s));
    if (!values || entry >= s->n_entries || kind > SD_N_KINDS ||
        unit > SD_N_SIZE_UNITS) {
        damaged();
        return -1;
    }
    rc = sd_store_open(s, entry, kind, unit, &at);
    if (rc < 0) {
        sd_ext_raise(rc);
        return -1;
    }
    sd_store_row(s, at)->flags = flags;
    memcpy(sd_store_row(s, at)->values, values, values_bytes(s));
    return 0;
}

static int set_dict(PyObject *self, PyObject *dict)
{
    PyObject *own;
    int rc;

    if (dict == Py_None)
        return 0;
    own = PyObject_GetAttrString(self, "__dict__");
    rc = own ? PyDict_Update(own, dict) : -1;
    Py_XDECREF(own);
    return rc;
}

PyObject *sd_profiler_setstate(PyObject *self, PyObject *state)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    PyObject *unit, *kind, *names, *rows, *dict;
    unsigned long long n_lost;
    struct sd_cursor c;
    unsigned measure;
    int version, disabled;

    if (!PyTuple_Check(state) || p->store.n_entries)
        return damaged();
    if (!PyArg_ParseTuple(state, "iIOOiKO!O!O:__setstate__", &version, &measure, &unit,
                          &kind, &disabled, &n_lost, &PyTuple_Type, &names,
                          &PyBytes_Type, &rows, &dict))
        return NULL;
    if (version != VERSION || !sd_parse_unit(unit, &p->unit) ||
        !sd_parse_kind(kind, &p->kind))
        return damaged();
    sd_store_init(&p->store, measure & (SD_MEASURE_ALL | SD_MEASURE_PSS));
    p->is_disabled = disabled != 0;
    p->n_lost = n_lost;
    Py_INCREF(unit);
    Py_XSETREF(p->unit_given, unit);
    Py_INCREF(kind);
    Py_XSETREF(p->kind_given, kind);
    if (unpack_names(&p->store, names) < 0)
        return NULL;
    c = sd_cursor_over(PyBytes_AS_STRING(rows), (size_t)PyBytes_GET_SIZE(rows));
    while (sd_cursor_left(&c) > 0) {
        if (unpack_row(&p->store, &c) < 0)
            return NULL;
    }
    if (set_dict(self, dict) < 0)
        return NULL;
    Py_RETURN_NONE;
}
