/* SPDX-License-Identifier: MIT */
#include "ext/sections/interval_values.h"

#include <math.h>

/* --- The constructors, in amltk's order of arguments */

const struct sd_given_arguments sd_given_arguments[SD_N_VIEWS] = {
    [SD_VIEW_INTERVAL] = { 4,
                           2,
                           { SD_GROUP_MEMORY, SD_GROUP_TIME, SD_GROUP_IO,
                             SD_GROUP_NETWORK } },
    [SD_VIEW_MEMORY] = { 7,
                         5,
                         { SD_COL_START_VMS, SD_COL_START_RSS, SD_COL_END_VMS,
                           SD_COL_END_RSS, SD_COL_UNIT, SD_COL_PEAK_RSS, SD_COL_PSS } },
    [SD_VIEW_TIME] = { 5,
                       4,
                       { SD_COL_START, SD_COL_END, SD_COL_KIND, SD_COL_TIME_UNIT,
                         SD_COL_DURATION } },
    [SD_VIEW_IO] = { 2, 0, { SD_COL_READ, SD_COL_WRITTEN } },
    [SD_VIEW_NETWORK] = { 2, 0, { SD_COL_RECEIVED, SD_COL_SENT } },
};

static const char *const part_names[SD_N_GROUPS] = { "memory", "time", "io",
                                                     "network" };

const char *sd_given_name(enum sd_view_kind kind, int i)
{
    int c = sd_given_arguments[kind].columns[i];

    return kind == SD_VIEW_INTERVAL ? part_names[c] : sd_columns[c].field;
}

/* Puts one argument where it belongs; -1 when its type is wrong or it is twice there.
 */
static int take_argument(struct sd_py_interval *v, int i, PyObject *value)
{
    int c = sd_given_arguments[v->kind].columns[i];

    if (v->figures[c]) {
        PyErr_Format(PyExc_TypeError, "%s is given twice", sd_given_name(v->kind, i));
        return -1;
    }
    if (v->kind == SD_VIEW_INTERVAL && value != Py_None &&
        !PyObject_TypeCheck(
            value, v->ext->views[sd_interval_kind_of((enum sd_column_group)c)])) {
        PyErr_Format(
            PyExc_TypeError, "%s must be %s, not %.100s", sd_given_name(v->kind, i),
            v->ext->views[sd_interval_kind_of((enum sd_column_group)c)]->tp_name,
            Py_TYPE(value)->tp_name);
        return -1;
    }
    v->figures[c] = Py_NewRef(value);
    return 0;
}

static int take_keywords(struct sd_py_interval *v, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int i = 0, n = sd_given_arguments[v->kind].n;

        while (i < n &&
               PyUnicode_CompareWithASCIIString(key, sd_given_name(v->kind, i)) != 0)
            i++;
        if (i == n) {
            PyErr_Format(PyExc_TypeError, "%s takes no argument %R",
                         Py_TYPE(v)->tp_name, key);
            return -1;
        }
        if (take_argument(v, i, value) < 0)
            return -1;
    }
    return 0;
}

static int take_arguments(struct sd_py_interval *v, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);

    if (n > sd_given_arguments[v->kind].n) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments",
                     Py_TYPE(v)->tp_name, sd_given_arguments[v->kind].n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (take_argument(v, (int)i, PyTuple_GET_ITEM(args, i)) < 0)
            return -1;
    }
    if (take_keywords(v, kwargs) < 0)
        return -1;
    for (int i = 0; i < sd_given_arguments[v->kind].n_needed; i++) {
        if (!v->figures[sd_given_arguments[v->kind].columns[i]]) {
            PyErr_Format(PyExc_TypeError, "%s needs %s", Py_TYPE(v)->tp_name,
                         sd_given_name(v->kind, i));
            return -1;
        }
    }
    return 0;
}

/* What follows from two others; None where they cannot be subtracted. */
static int derive(struct sd_py_interval *v, enum sd_interval_column to,
                  enum sd_interval_column from, enum sd_interval_column less)
{
    Py_CLEAR(v->figures[to]); /* a None that was given */
    v->figures[to] = PyNumber_Subtract(v->figures[from], v->figures[less]);
    if (!v->figures[to] && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return 0;
}

static bool is_given(const struct sd_py_interval *v, enum sd_interval_column c)
{
    return v->figures[c] && v->figures[c] != Py_None;
}

static int derive_all(struct sd_py_interval *v)
{
    if (v->kind == SD_VIEW_TIME && is_given(v, SD_COL_DURATION))
        return 0; /* more exact than two moments since the epoch, as doubles */
    if (v->kind == SD_VIEW_TIME)
        return derive(v, SD_COL_DURATION, SD_COL_END, SD_COL_START);
    if (v->kind != SD_VIEW_MEMORY)
        return 0;
    return derive(v, SD_COL_DIFF_VMS, SD_COL_END_VMS, SD_COL_START_VMS) < 0 ||
                   derive(v, SD_COL_DIFF_RSS, SD_COL_END_RSS, SD_COL_START_RSS) < 0
               ? -1
               : 0;
}

PyObject *sd_given_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_ext *ext = sd_ext_of(type);
    int kind = 0;
    struct sd_py_interval *v;

    if (!ext)
        return NULL;
    while (kind < SD_N_VIEWS && ext->views[kind] != type)
        kind++;
    if (kind == SD_N_VIEWS) {
        PyErr_SetString(PyExc_TypeError, "the types of intervals have no subclasses");
        return NULL;
    }
    v = sd_interval_make(ext, (enum sd_view_kind)kind);
    if (v && (take_arguments(v, args, kwargs) < 0 || derive_all(v) < 0))
        Py_CLEAR(v);
    return (PyObject *)v;
}

/* --- Pickles */

static void set_figures(struct sd_py_interval *v, PyObject *figures)
{
    for (int c = 0; c < SD_N_COLUMNS; c++) {
        if (sd_interval_has(v->kind, (enum sd_interval_column)c))
            v->figures[c] = Py_NewRef(PyTuple_GET_ITEM(figures, c));
    }
}

PyObject *sd_interval_rebuild(PyObject *module, PyObject *args)
{
    struct sd_ext *ext = sd_ext_of_module(module);
    PyObject *figures;
    struct sd_py_interval *v;
    int kind;

    if (!PyArg_ParseTuple(args, "iO!:_interval", &kind, &PyTuple_Type, &figures))
        return NULL;
    if (kind < 0 || kind >= SD_N_VIEWS || PyTuple_GET_SIZE(figures) != SD_N_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "not the figures of an interval");
        return NULL;
    }
    v = sd_interval_make(ext, (enum sd_view_kind)kind);
    if (v && kind != SD_VIEW_INTERVAL)
        set_figures(v, figures);
    for (int g = 0; v && kind == SD_VIEW_INTERVAL && g < SD_N_GROUPS; g++) {
        struct sd_py_interval *p =
            sd_interval_make(ext, sd_interval_kind_of((enum sd_column_group)g));

        v->figures[g] = (PyObject *)p;
        if (p)
            set_figures(p, figures);
        else
            Py_CLEAR(v);
    }
    return (PyObject *)v;
}

/* --- Into a store: Profiler(profiles={...}) */

static const enum sd_interval_column column_of_field[SD_N_FIELDS] = {
    SD_COL_START,     SD_COL_END,     SD_COL_START_VMS, SD_COL_END_VMS,
    SD_COL_START_RSS, SD_COL_END_RSS, SD_COL_PEAK_RSS,  SD_COL_PSS,
    SD_COL_READ,      SD_COL_WRITTEN, SD_COL_RECEIVED,  SD_COL_SENT,
};

/* A figure given by hand as the integer a row holds; what is no number is not known. */
static int64_t as_integer(PyObject *value, double scale)
{
    double v = value == Py_None ? NAN : PyFloat_AsDouble(value);

    PyErr_Clear();
    v = round(v * scale);
    return isfinite(v) && fabs(v) < 9e18 ? (int64_t)v : SD_VALUE_NONE;
}

static double scale_of(enum sd_field f, enum sd_size_unit unit)
{
    if (f == SD_FIELD_START || f == SD_FIELD_END)
        return 1e9;
    return f >= SD_FIELD_READ ? 1 : sd_column_unit_bytes(unit);
}

static int64_t integer_of(struct sd_py_interval *v, enum sd_interval_column c,
                          double scale)
{
    PyObject *value = sd_interval_any_figure(v, c);
    int64_t n = value ? as_integer(value, scale) : SD_VALUE_NONE;

    PyErr_Clear();
    Py_XDECREF(value);
    return n;
}

static void copy_figures(struct sd_py_interval *v, const struct sd_store *to,
                         struct sd_row *row)
{
    int64_t start, lasted = integer_of(v, SD_COL_DURATION, 1e9);

    for (int f = 0; f < SD_N_FIELDS; f++)
        sd_store_set(
            to, row, (enum sd_field)f,
            integer_of(v, column_of_field[f], scale_of((enum sd_field)f, row->unit)));
    /* The duration is exact where the moments, as doubles, are not. */
    start = sd_store_get(to, row, SD_FIELD_START);
    if (lasted != SD_VALUE_NONE && start != SD_VALUE_NONE)
        sd_store_set(to, row, SD_FIELD_END, start + lasted);
}

static void copy_row(struct sd_py_interval *v, const struct sd_store *to,
                     struct sd_row *row)
{
    const struct sd_store *s = &v->from->store;
    const struct sd_row *old = sd_store_row(s, v->row);

    row->flags = old->flags;
    row->tid = old->tid;
    row->from_ns = old->from_ns;
    row->to_ns = old->to_ns;
    for (int f = 0; f < SD_N_FIELDS; f++)
        sd_store_set(to, row, (enum sd_field)f, sd_store_get(s, old, (enum sd_field)f));
}

static void words_of(struct sd_py_interval *v, uint8_t *unit, uint8_t *kind)
{
    PyObject *u = sd_interval_any_figure(v, SD_COL_UNIT),
             *k = sd_interval_any_figure(v, SD_COL_KIND);

    if (u)
        sd_parse_unit(u, unit);
    if (k)
        sd_parse_kind(k, kind);
    PyErr_Clear();
    Py_XDECREF(u);
    Py_XDECREF(k);
}

int sd_interval_into_row(struct sd_ext *ext, PyObject *interval,
                         struct sd_py_profiler *p, const char *path, size_t n)
{
    struct sd_py_interval *v = (struct sd_py_interval *)interval;
    uint8_t unit = SD_N_SIZE_UNITS, kind = SD_N_KINDS; /* not known */
    uint32_t entry, at;
    int rc;

    if (!PyObject_TypeCheck(interval, ext->views[SD_VIEW_INTERVAL])) {
        PyErr_Format(PyExc_TypeError, "profiles must hold Interval, not %.100s",
                     Py_TYPE(interval)->tp_name);
        return -1;
    }
    words_of(v, &unit, &kind);
    rc = sd_store_entry(&p->store, path, n, &entry);
    if (rc == 0)
        rc = sd_store_open(&p->store, entry, kind, unit, &at);
    if (rc < 0) {
        sd_ext_raise(rc);
        return -1;
    }
    sd_store_row(&p->store, at)->flags = 0;
    if (v->from)
        copy_row(v, &p->store, sd_store_row(&p->store, at));
    else
        copy_figures(v, &p->store, sd_store_row(&p->store, at));
    return 0;
}
