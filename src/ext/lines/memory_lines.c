/* SPDX-License-Identifier: MIT */
#include "ext/lines/memory_lines.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/text/memory_text.h"

#define MIB 1048576.0

static int by_line(const void *a, const void *b)
{
    const struct sd_line_list_row *x = a, *y = b;

    return x->line < y->line ? -1 : x->line > y->line;
}

static int64_t bytes_of(double mib)
{
    double bytes = mib * MIB;

    return bytes > -0x1p62 && bytes < 0x1p62
               ? (int64_t)(bytes + (bytes < 0 ? -0.5 : 0.5))
               : 0;
}

static int take_row(struct sd_line_list_row *row, PyObject *line, PyObject *measured)
{
    unsigned long number = PyLong_AsUnsignedLong(line);
    double grew, after;
    long long times;

    if (PyErr_Occurred() || !PyArg_ParseTuple(measured, "ddL", &grew, &after, &times))
        return -1;
    row->line = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    for (int i = 0; i < SD_LINE_VALUES; i++)
        row->values[i] = SD_LINE_NONE;
    row->values[SD_LINE_HITS] = times;
    row->values[SD_LINE_READ] = times;
    row->values[SD_LINE_INCREMENT] = bytes_of(grew);
    row->values[SD_LINE_MEMORY] = bytes_of(after);
    return 0;
}

static int take_rows(struct sd_line_list *l, struct sd_line_list_function *f,
                     PyObject *lines)
{
    PyObject *line, *measured;
    Py_ssize_t at = 0;

    f->rows = sd_arena_alloc(&l->arena,
                             ((size_t)PyDict_GET_SIZE(lines) + 1) * sizeof *f->rows);
    if (!f->rows) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(lines, &at, &line, &measured))
        if (take_row(&f->rows[f->n_rows++], line, measured) < 0)
            return -1;
    qsort(f->rows, f->n_rows, sizeof *f->rows, by_line);
    return 0;
}

/* Takes the bytes, which may be NULL with an exception. */
static const char *copy_of(struct sd_line_list *l, PyObject *bytes)
{
    const char *copy = bytes ? sd_arena_string(&l->arena, PyBytes_AS_STRING(bytes),
                                               (size_t)PyBytes_GET_SIZE(bytes))
                             : NULL;

    Py_XDECREF(bytes);
    if (!copy && !PyErr_Occurred())
        PyErr_NoMemory();
    return copy;
}

static int take_function(struct sd_line_list *l, PyObject *of)
{
    struct sd_line_list_function *f = &l->functions[l->n];
    PyObject *file, *name, *lines;

    *f = (struct sd_line_list_function){ 0 };
    if (!PyArg_ParseTuple(of, "UIUO!", &file, &f->first, &name, &PyDict_Type, &lines))
        return -1;
    /* A file is opened by the bytes that the file system knows it by, which need not be
     * text; a function is looked for in source, which is UTF-8 in any locale. */
    f->file = copy_of(l, PyUnicode_EncodeFSDefault(file));
    f->name =
        f->file
            ? copy_of(l, PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape"))
            : NULL;
    if (!f->name || take_rows(l, f, lines) < 0)
        return -1;
    l->n++;
    return 0;
}

static int take(struct sd_line_list *l, PyObject *functions)
{
    Py_ssize_t n = PyList_GET_SIZE(functions);

    l->has_memory = true;
    l->functions = sd_arena_alloc(&l->arena, ((size_t)n + 1) * sizeof *l->functions);
    if (!l->functions) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (take_function(l, PyList_GET_ITEM(functions, i)) < 0)
            return -1;
    return 0;
}

static PyObject *text_of(const struct sd_line_list *l, unsigned precision)
{
    struct sd_out out;
    int rc;

    sd_out_to_memory(&out);
    Py_BEGIN_ALLOW_THREADS /* files are read */
        rc = sd_report_line_memory(l, precision, &out);
    Py_END_ALLOW_THREADS return sd_ext_text(&out, rc);
}

PyObject *sd_memory_lines_text(PyObject *module, PyObject *args)
{
    struct sd_line_list l = { 0 };
    PyObject *functions, *text = NULL;
    unsigned precision;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!I", &PyList_Type, &functions, &precision))
        return NULL;
    if (take(&l, functions) == 0)
        text = text_of(&l, precision < 12 ? precision : 12);
    sd_line_list_release(&l);
    return text;
}

/* --- Out of what was counted */

/* Adds a row of rows() to what is known of its line.  The line of the def, which has no
 * hits, has what was there before, once for each call, as memory_profiler shows it. */
static int add_row(PyObject *measured, PyObject *row)
{
    PyObject *line, *times_hit, *more, *whole, *times_read, *known, *sum;
    double grew, after, grew_before = 0, most = 0;
    long long hits, times = 0;
    int rc;

    if (!PyArg_ParseTuple(row, "OOOOOOOOOOO", &line, &times_hit, &known, &known, &known,
                          &known, &known, &more, &whole, &known, &times_read))
        return -1;
    if (more == Py_None)
        return 0;
    hits = PyLong_AsLongLong(times_hit);
    grew = PyFloat_AsDouble(more) / MIB;
    after = PyFloat_AsDouble(whole) / MIB;
    if (hits == 0) {
        hits = PyLong_AsLongLong(times_read);
        grew = after;
    }
    known = PyErr_Occurred() ? NULL : PyDict_GetItemWithError(measured, line);
    if (PyErr_Occurred() ||
        (known && !PyArg_ParseTuple(known, "ddL", &grew_before, &most, &times)))
        return -1;
    sum = Py_BuildValue("(ddL)", grew_before + grew, most > after ? most : after,
                        times + hits);
    rc = sum ? PyDict_SetItem(measured, line, sum) : -1;
    Py_XDECREF(sum);
    return rc;
}

static int add_rows(PyObject *lines, PyObject *code, PyObject *measured)
{
    PyObject *rows = PyObject_CallMethod(lines, "rows", "O", code);
    Py_ssize_t n = rows && PyList_Check(rows) ? PyList_GET_SIZE(rows) : 0;
    int rc = rows ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        rc = add_row(measured, PyList_GET_ITEM(rows, i));
    Py_XDECREF(rows);
    return rc;
}

PyObject *sd_memory_lines_rows(PyObject *module, PyObject *args)
{
    PyObject *lines, *map, *code, *measured;
    Py_ssize_t at = 0;
    int rc = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!", &lines, &PyDict_Type, &map))
        return NULL;
    while (PyDict_Next(map, &at, &code, &measured))
        if (PyDict_Check(measured))
            PyDict_Clear(measured);
    for (at = 0; rc == 0 && PyDict_Next(map, &at, &code, &measured);) {
        Py_INCREF(code); /* another thread may change the map */
        Py_INCREF(measured);
        rc = PyDict_Check(measured) ? add_rows(lines, code, measured) : 0;
        Py_DECREF(measured);
        Py_DECREF(code);
    }
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}
