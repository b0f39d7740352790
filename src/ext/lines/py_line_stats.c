/* SPDX-License-Identifier: MIT */
#include "ext/lines/py_line_stats.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/lprof.h"
#include "report/text/line_text.h"

/* --- Numbers and names out of Python */

/* The bytes of a string, surrogates and all; *owner keeps them. */
static const char *text_of(PyObject *o, PyObject **owner, Py_ssize_t *n)
{
    char *p = NULL;

    *owner = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
    if (*owner && PyBytes_AsStringAndSize(*owner, &p, n) < 0)
        return NULL;
    return p;
}

/* Counts that were computed may be reals. */
static int64_t whole_of(PyObject *o)
{
    double v;

    if (PyLong_Check(o))
        return PyLong_AsLongLong(o);
    v = PyFloat_AsDouble(o);
    return v > -0x1p62 && v < 0x1p62 ? (int64_t)v : 0;
}

static int add_line(struct sd_line_stats *s, size_t at, PyObject *entry)
{
    struct sd_line_entry e;
    int rc;

    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != 3) {
        PyErr_SetString(PyExc_TypeError, "a line is (line, hits, time)");
        return -1;
    }
    e.line = whole_of(PyTuple_GET_ITEM(entry, 0));
    e.hits = whole_of(PyTuple_GET_ITEM(entry, 1));
    e.time = PyFloat_AsDouble(PyTuple_GET_ITEM(entry, 2));
    if (PyErr_Occurred())
        return -1;
    rc = sd_line_stats_add_line(s, at, e);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc;
}

static int find_function(struct sd_line_stats *s, PyObject *key, size_t *at)
{
    PyObject *file, *name, *file_owner = NULL, *name_owner = NULL;
    Py_ssize_t n_file = 0, n_name = 0;
    const char *file_text, *name_text;
    int64_t line;
    int rc = -1;

    if (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) != 3) {
        PyErr_SetString(PyExc_TypeError,
                        "a function must be a tuple (file, line, name)");
        return -1;
    }
    file = PyTuple_GET_ITEM(key, 0);
    name = PyTuple_GET_ITEM(key, 2);
    line = whole_of(PyTuple_GET_ITEM(key, 1));
    file_text = PyErr_Occurred() ? NULL : text_of(file, &file_owner, &n_file);
    name_text = file_text ? text_of(name, &name_owner, &n_name) : NULL;
    if (name_text) {
        rc = sd_line_stats_function(s, file_text, (size_t)n_file, line, name_text,
                                    (size_t)n_name, at);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    Py_XDECREF(file_owner);
    Py_XDECREF(name_owner);
    return rc;
}

static int add_function(struct sd_line_stats *s, PyObject *key, PyObject *lines)
{
    PyObject *all;
    size_t at;
    int rc = find_function(s, key, &at);

    if (rc < 0)
        return rc;
    all = PySequence_Fast(lines, "the lines of a function must be a list");
    rc = all ? 0 : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(all); i++) {
        PyObject *entry = Py_NewRef(PySequence_Fast_GET_ITEM(all, i));

        rc = add_line(s, at, entry); /* a number's own __float__ may change the list */
        Py_DECREF(entry);
    }
    Py_XDECREF(all);
    return rc;
}

static int take(struct sd_line_stats *s, PyObject *timings, PyObject *unit)
{
    PyObject *key, *lines;
    Py_ssize_t at = 0;
    int rc = 0;

    s->unit = PyFloat_AsDouble(unit);
    if (PyErr_Occurred())
        return -1;
    if (!PyDict_Check(timings) || !(s->unit > 0) || !isfinite(s->unit)) {
        PyErr_SetString(PyExc_TypeError,
                        "timings must be a dictionary, and their unit above 0");
        return -1;
    }
    while (rc == 0 && PyDict_Next(timings, &at, &key, &lines)) {
        Py_INCREF(key); /* a number's own __float__ may change the dictionary */
        Py_INCREF(lines);
        rc = add_function(s, key, lines);
        Py_DECREF(lines);
        Py_DECREF(key);
    }
    return rc;
}

/* --- And back */

static PyObject *line_object(const struct sd_line_entry *e)
{
    PyObject *time = e->time == rint(e->time) && fabs(e->time) < 0x1p62
                         ? PyLong_FromLongLong((long long)e->time)
                         : PyFloat_FromDouble(e->time);

    return time ? Py_BuildValue("(LLN)", (long long)e->line, (long long)e->hits, time)
                : NULL;
}

static PyObject *lines_object(const struct sd_line_function *f)
{
    PyObject *all = PyList_New((Py_ssize_t)f->n);

    for (size_t i = 0; all && i < f->n; i++) {
        PyObject *line = line_object(&f->entries[i]);

        if (line)
            PyList_SET_ITEM(all, (Py_ssize_t)i, line);
        else
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *name_object(const struct sd_intern_string *name)
{
    return PyUnicode_DecodeUTF8(name->p, (Py_ssize_t)name->n, "surrogatepass");
}

static int put_function(PyObject *timings, const struct sd_line_function *f)
{
    PyObject *file = name_object(&f->file), *name = name_object(&f->name);
    PyObject *key =
        file && name ? Py_BuildValue("(OLO)", file, (long long)f->line, name) : NULL;
    PyObject *lines = key ? lines_object(f) : NULL;
    int rc = lines ? PyDict_SetItem(timings, key, lines) : -1;

    Py_XDECREF(file);
    Py_XDECREF(name);
    Py_XDECREF(key);
    Py_XDECREF(lines);
    return rc;
}

static PyObject *pair_object(const struct sd_line_stats *s)
{
    PyObject *timings = PyDict_New();

    for (size_t i = 0; timings && i < s->n; i++)
        if (put_function(timings, &s->functions[i]) < 0)
            Py_CLEAR(timings);
    return timings ? Py_BuildValue("(Nd)", timings, s->unit) : NULL;
}

/* --- Source */

/* Tables are made, and files read, without the interpreter's lock. */
struct asking {
    PyObject *source;       /* source(file) is its text, or None */
    PyThreadState *resting; /* this thread's, while it is without the lock */
};

/* A loader that fails has no source; an interrupt, or an exit, is the program's. */
static int forget_failure(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return SD_EGONE;
    PyErr_Clear();
    return 0;
}

/* What the program's linecache has: cells of notebooks, modules in a zip. */
static int ask_linecache(PyObject *source, const char *file, struct sd_code_text *into)
{
    PyObject *name =
        PyUnicode_DecodeUTF8(file, (Py_ssize_t)strlen(file), "surrogatepass");
    PyObject *text = name ? PyObject_CallFunctionObjArgs(source, name, NULL) : NULL;
    PyObject *owner = NULL;
    Py_ssize_t n = 0;
    const char *p = text && PyUnicode_Check(text) ? text_of(text, &owner, &n) : NULL;
    int rc = forget_failure();

    if (rc == 0 && p)
        rc = sd_code_text_take_utf8(into, p, (size_t)n) < 0 ? SD_ENOMEM : 1;
    Py_XDECREF(owner);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return rc;
}

static int ask_source(void *context, const char *file, struct sd_code_text *into)
{
    struct asking *a = context;
    int rc;

    PyEval_RestoreThread(a->resting);
    rc = ask_linecache(a->source, file, into);
    a->resting = PyEval_SaveThread();
    return rc != 0 ? rc : sd_code_text_read(into, file);
}

/* --- py_line_stats.h */

static PyObject *text_object(const struct sd_line_stats *s,
                             struct sd_line_text_request *request, PyObject *source)
{
    struct asking asking = { .source = source };
    struct sd_out out;
    int rc;

    request->source = ask_source;
    request->context = &asking;
    sd_out_to_memory(&out);
    asking.resting = PyEval_SaveThread();
    rc = sd_report_lines(s, request, &out);
    PyEval_RestoreThread(asking.resting);
    if (!PyErr_Occurred())
        return sd_ext_text(&out, rc);
    sd_out_release(&out);
    return NULL;
}

PyObject *sd_py_line_stats_text(PyObject *module, PyObject *args)
{
    PyObject *timings, *unit, *output_unit, *source, *text = NULL;
    int strips, details, summarizes, sorts;
    struct sd_line_text_request request = { 0 };
    struct sd_line_stats s;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOppppO(iiiii)", &timings, &unit, &output_unit,
                          &strips, &details, &summarizes, &sorts, &source,
                          &request.widths[0], &request.widths[1], &request.widths[2],
                          &request.widths[3], &request.widths[4]))
        return NULL;
    request.unit = output_unit == Py_None ? 0 : PyFloat_AsDouble(output_unit);
    if (PyErr_Occurred())
        return NULL;
    request.skips_zeros = strips;
    request.has_no_details = !details;
    request.has_summary = summarizes;
    request.is_sorted = sorts;
    sd_line_stats_init(&s);
    if (take(&s, timings, unit) == 0)
        text = text_object(&s, &request, source);
    sd_line_stats_release(&s);
    return text;
}

PyObject *sd_py_line_stats_dumps(PyObject *module, PyObject *args)
{
    PyObject *timings, *unit, *bytes = NULL;
    struct sd_line_stats s;
    struct sd_out out;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &timings, &unit))
        return NULL;
    sd_line_stats_init(&s);
    if (take(&s, timings, unit) == 0) {
        sd_out_to_memory(&out);
        bytes = sd_ext_bytes(&out, sd_line_stats_write_lprof(&s, &out));
    }
    sd_line_stats_release(&s);
    return bytes;
}

PyObject *sd_py_line_stats_loads(PyObject *module, PyObject *bytes)
{
    struct sd_line_stats s;
    PyObject *pair;
    Py_ssize_t n;
    char *p;
    int rc;

    (void)module;
    if (PyBytes_AsStringAndSize(bytes, &p, &n) < 0)
        return NULL;
    sd_line_stats_init(&s);
    rc = sd_lprof_read(p, (size_t)n, &s);
    pair = rc < 0 ? sd_ext_raise(rc) : pair_object(&s);
    sd_line_stats_release(&s);
    return pair;
}

static PyObject *add_up(struct sd_line_stats **parts, size_t n)
{
    struct sd_line_stats sum;
    PyObject *pair;
    int rc;

    sd_line_stats_init(&sum);
    rc = sd_line_stats_sum(&sum, parts, n);
    pair = rc < 0 ? sd_ext_raise(rc) : pair_object(&sum);
    sd_line_stats_release(&sum);
    return pair;
}

static int take_pair(struct sd_line_stats *s, PyObject *pair)
{
    PyObject *timings, *unit;

    return PyArg_ParseTuple(pair, "OO", &timings, &unit) ? take(s, timings, unit) : -1;
}

PyObject *sd_py_line_stats_add_up(PyObject *module, PyObject *parts)
{
    size_t n = PyList_Check(parts) ? (size_t)PyList_GET_SIZE(parts) : 0;
    struct sd_line_stats *all = sd_zalloc((n + 1) * sizeof *all);
    struct sd_line_stats **each = sd_zalloc((n + 1) * sizeof *each);
    PyObject *pair = NULL;
    int rc = all && each ? 0 : -1;

    (void)module;
    if (rc < 0)
        PyErr_NoMemory();
    for (size_t i = 0; i < n && all && each; i++) {
        each[i] = &all[i];
        sd_line_stats_init(each[i]);
        if (rc == 0)
            rc = take_pair(each[i], PyList_GET_ITEM(parts, (Py_ssize_t)i));
    }
    if (rc == 0)
        pair = add_up(each, n);
    for (size_t i = 0; i < n && all && each; i++)
        sd_line_stats_release(each[i]);
    sd_free(all);
    sd_free(each);
    return pair;
}
