/* SPDX-License-Identifier: MIT */
/* interval_table: gives all rows of a Profiler at once: tuples, columns for a data
 * frame, Arrow. */
#include "ext/sections/arrow.h"
#include "ext/sections/py_interval.h"

#include <math.h>

#include "base/mem.h"

static PyObject *row_tuple(struct sd_py_profiler *p, uint32_t at)
{
    const struct sd_store *s = &p->store;
    const struct sd_row *row = sd_store_row(s, at);
    PyObject *tuple;
    Py_ssize_t n = 1;

    for (int c = 0; c < SD_N_COLUMNS; c++)
        n += sd_column_is_shown(s, (enum sd_interval_column)c);
    tuple = PyTuple_New(n);
    if (!tuple)
        return NULL;
    PyTuple_SET_ITEM(tuple, 0, sd_py_section_path_object(&s->entries[row->entry]));
    n = 1;
    for (int c = 0; c < SD_N_COLUMNS; c++) {
        if (sd_column_is_shown(s, (enum sd_interval_column)c))
            PyTuple_SET_ITEM(
                tuple, n++,
                sd_interval_cell_object(
                    p->ext, sd_column_cell(s, row, (enum sd_interval_column)c)));
    }
    if (PyErr_Occurred())
        Py_CLEAR(tuple);
    return tuple;
}

PyObject *sd_profiler_rows(PyObject *self, PyObject *unused)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    uint32_t n = p->store.n_rows; /* what begins meanwhile is not in it */
    PyObject *rows = PyList_New(n);

    (void)unused;
    for (uint32_t i = 0; rows && i < n; i++) {
        PyObject *row = row_tuple(p, i);

        if (!row)
            Py_CLEAR(rows);
        else
            PyList_SET_ITEM(rows, i, row);
    }
    return rows;
}

/* Numbers as the bytes of doubles, NaN where there is none: numpy takes them whole. */
static PyObject *number_column(struct sd_py_profiler *p, enum sd_interval_column c,
                               uint32_t n)
{
    const struct sd_store *s = &p->store;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(double)));
    double *values = bytes ? (double *)(void *)PyBytes_AS_STRING(bytes) : NULL;

    for (uint32_t i = 0; bytes && i < n; i++) {
        struct sd_figure cell = sd_column_cell(s, sd_store_row(s, i), c);

        values[i] = cell.kind == SD_FIGURE_REAL    ? cell.real
                    : cell.kind == SD_FIGURE_COUNT ? (double)cell.count
                                                   : (double)NAN;
    }
    return bytes;
}

static PyObject *word_column(struct sd_py_profiler *p, enum sd_interval_column c,
                             uint32_t n)
{
    const struct sd_store *s = &p->store;
    PyObject *list = PyList_New(n);

    for (uint32_t i = 0; list && i < n; i++)
        PyList_SET_ITEM(
            list, i,
            sd_interval_cell_object(p->ext, sd_column_cell(s, sd_store_row(s, i), c)));
    return list;
}

static PyObject *row_names(struct sd_py_profiler *p, uint32_t n)
{
    const struct sd_store *s = &p->store;
    PyObject *list = PyList_New(n);

    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *name =
            sd_py_section_path_object(&s->entries[sd_store_row(s, i)->entry]);

        if (!name)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, name);
    }
    return list;
}

/* (names, {column: bytes of doubles, or list of str}), all of the rows that are there
 * now: making a list may collect garbage, and what that runs may open sections. */
PyObject *sd_profiler_columns(PyObject *self, PyObject *unused)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    uint32_t n = p->store.n_rows;
    PyObject *columns = PyDict_New(), *names = row_names(p, n), *both = NULL;

    (void)unused;
    for (int c = 0; columns && c < SD_N_COLUMNS; c++) {
        PyObject *column;

        if (!sd_column_is_shown(&p->store, (enum sd_interval_column)c))
            continue;
        column = sd_columns[c].kind == SD_FIGURE_WORD
                     ? word_column(p, (enum sd_interval_column)c, n)
                     : number_column(p, (enum sd_interval_column)c, n);
        if (!column || PyDict_SetItemString(columns, sd_columns[c].name, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
    }
    if (names && columns)
        both = PyTuple_Pack(2, names, columns);
    Py_XDECREF(names);
    Py_XDECREF(columns);
    return both;
}

/* --- Arrow's capsules: whoever takes one may leave it unused */

static const char stream_name[] = "arrow_array_stream";
static const char schema_name[] = "arrow_schema";

static void drop_stream(PyObject *capsule)
{
    struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, stream_name);

    if (s && s->release)
        s->release(s);
    sd_free(s);
}

static void drop_schema(PyObject *capsule)
{
    struct ArrowSchema *s = PyCapsule_GetPointer(capsule, schema_name);

    if (s && s->release)
        s->release(s);
    sd_free(s);
}

/* What was made goes into a capsule, or away. */
static PyObject *wrap(int rc, void *made, const char *name,
                      PyCapsule_Destructor destructor)
{
    PyObject *capsule;

    if (rc < 0) {
        sd_free(made);
        return sd_ext_raise(rc);
    }
    capsule = PyCapsule_New(made, name, destructor);
    if (!capsule)
        sd_free(made);
    return capsule;
}

PyObject *sd_profiler_arrow_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "requested_schema", NULL };
    struct ArrowArrayStream *stream;
    PyObject *wanted = NULL; /* a request, which the interface lets us leave unheard */

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__arrow_c_stream__", names,
                                     &wanted))
        return NULL;
    stream = sd_zalloc(sizeof *stream);
    if (!stream)
        return PyErr_NoMemory();
    return wrap(sd_arrow_stream(&((struct sd_py_profiler *)self)->store, stream),
                stream, stream_name, drop_stream);
}

PyObject *sd_profiler_arrow_schema(PyObject *self, PyObject *unused)
{
    struct ArrowSchema *schema = sd_zalloc(sizeof *schema);

    (void)unused;
    if (!schema)
        return PyErr_NoMemory();
    return wrap(sd_arrow_schema(&((struct sd_py_profiler *)self)->store, schema),
                schema, schema_name, drop_schema);
}
