/* SPDX-License-Identifier: MIT */
/* call_objects: converts calls to pstats' dictionary and back. */
#include "base/error.h"
#include "base/mem.h"
#include "ext/calls/py_call_tables.h"

/* --- Text */

const char *sd_py_call_text(PyObject *text, PyObject **owner, size_t *n)
{
    Py_ssize_t length;
    const char *p = PyUnicode_AsUTF8AndSize(text, &length);

    *owner = NULL;
    if (!p && PyUnicode_Check(text)) { /* lone surrogates */
        PyErr_Clear();
        *owner = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
        p = *owner ? PyBytes_AS_STRING(*owner) : NULL;
        length = *owner ? PyBytes_GET_SIZE(*owner) : 0;
    }
    *n = p ? (size_t)length : 0;
    return p;
}

PyObject *sd_py_call_text_object(const char *p, size_t n)
{
    return PyUnicode_DecodeUTF8(p, (Py_ssize_t)n, "surrogatepass");
}

PyObject *sd_py_call_seconds(double seconds, bool is_whole)
{
    return is_whole ? PyLong_FromDouble(seconds) : PyFloat_FromDouble(seconds);
}

/* --- To Python */

/* Strings and keys are made once: a file of pstats names each function as often as it
 * calls another. */
struct making {
    const struct sd_call_stats *s;
    PyObject **strings, **keys; /* owned, with references of their own */
};

static int begin_making(struct making *m, const struct sd_call_stats *s)
{
    *m = (struct making){ s, sd_zalloc((s->strings.n + 1) * sizeof(PyObject *)),
                          sd_zalloc((s->n_functions + 1) * sizeof(PyObject *)) };
    if (m->strings && m->keys)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static void end_making(struct making *m)
{
    for (size_t i = 0; m->strings && i < m->s->strings.n; i++)
        Py_XDECREF(m->strings[i]);
    for (size_t i = 0; m->keys && i < m->s->n_functions; i++)
        Py_XDECREF(m->keys[i]);
    sd_free(m->strings);
    sd_free(m->keys);
}

/* Borrowed. */
static PyObject *make_string(struct making *m, uint32_t id)
{
    const struct sd_intern_string *text = &m->s->strings.items[id];

    if (!m->strings[id])
        m->strings[id] = sd_py_call_text_object(text->p, text->n);
    return m->strings[id];
}

/* Borrowed. */
static PyObject *make_key(struct making *m, sd_function_id id)
{
    const struct sd_call_function *f = sd_call_stats_at(m->s, id);
    PyObject *file, *name;

    if (m->keys[id.at])
        return m->keys[id.at];
    file = make_string(m, f->file_id);
    name = make_string(m, f->name_id);
    if (file && name)
        m->keys[id.at] = Py_BuildValue("OLO", file, (long long)f->line, name);
    return m->keys[id.at];
}

PyObject *sd_py_call_key_object(const struct sd_call_function *f)
{
    return Py_BuildValue("NLN", sd_py_call_text_object(f->file.p, f->file.n),
                         (long long)f->line,
                         sd_py_call_text_object(f->name.p, f->name.n));
}

PyObject *sd_py_call_keys_object(const struct sd_call_stats *s,
                                 const sd_function_id *ids, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    struct making m;

    if (begin_making(&m, s) < 0)
        Py_CLEAR(list);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *key = make_key(&m, ids[i]);

        if (key)
            PyList_SET_ITEM(list, (Py_ssize_t)i, Py_NewRef(key));
        else
            Py_CLEAR(list);
    }
    end_making(&m);
    return list;
}

static PyObject *make_edge(const struct sd_call_edge *e)
{
    if (e->is_plain)
        return PyLong_FromLongLong(e->n.calls);
    return Py_BuildValue("LLNN", (long long)e->n.calls, (long long)e->n.primitive,
                         sd_py_call_seconds(e->n.own, e->n.whole & SD_WHOLE_OWN),
                         sd_py_call_seconds(e->n.total, e->n.whole & SD_WHOLE_TOTAL));
}

/* Takes the value. */
static int put(PyObject *dict, PyObject *key, PyObject *take_value)
{
    int rc = key && take_value ? PyDict_SetItem(dict, key, take_value) : -1;

    Py_XDECREF(take_value);
    return rc;
}

static PyObject *make_callers(struct making *m, const struct sd_call_function *f)
{
    PyObject *callers = PyDict_New();

    for (uint32_t e = f->first_caller; callers && e != SD_NO_EDGE;
         e = m->s->edges[e].next)
        if (put(callers, make_key(m, m->s->edges[e].caller),
                make_edge(&m->s->edges[e])) < 0)
            Py_CLEAR(callers);
    return callers;
}

static PyObject *make_entry(struct making *m, const struct sd_call_function *f)
{
    return Py_BuildValue("LLNNN", (long long)f->n.primitive, (long long)f->n.calls,
                         sd_py_call_seconds(f->n.own, f->n.whole & SD_WHOLE_OWN),
                         sd_py_call_seconds(f->n.total, f->n.whole & SD_WHOLE_TOTAL),
                         make_callers(m, f));
}

PyObject *sd_py_call_dict(const struct sd_call_stats *s)
{
    PyObject *dict = PyDict_New();
    struct making m;

    if (begin_making(&m, s) < 0)
        Py_CLEAR(dict);
    for (size_t i = 0; dict && i < s->n_listed; i++)
        if (put(dict, make_key(&m, s->listed[i]),
                make_entry(&m, sd_call_stats_at(s, s->listed[i]))) < 0)
            Py_CLEAR(dict);
    end_making(&m);
    return dict;
}

/* The dictionary of what this function calls, new or there; borrowed. */
static PyObject *callees_of(PyObject *all, PyObject *key)
{
    PyObject *callees = key ? PyDict_GetItemWithError(all, key) : NULL;

    if (callees || PyErr_Occurred())
        return callees;
    callees = PyDict_New();
    if (!callees || PyDict_SetItem(all, key, callees) < 0)
        Py_CLEAR(callees);
    Py_XDECREF(callees); /* `all` has it */
    return callees;
}

static int add_callees(struct making *m, PyObject *all, sd_function_id id)
{
    const struct sd_call_function *f = sd_call_stats_at(m->s, id);
    PyObject *key = make_key(m, id);

    if (!callees_of(all, key))
        return -1;
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE; e = m->s->edges[e].next) {
        PyObject *callees = callees_of(all, make_key(m, m->s->edges[e].caller));

        if (!callees || put(callees, key, make_edge(&m->s->edges[e])) < 0)
            return -1;
    }
    return 0;
}

PyObject *sd_py_call_callees(const struct sd_call_stats *s)
{
    PyObject *all = PyDict_New();
    struct making m;

    if (begin_making(&m, s) < 0)
        Py_CLEAR(all);
    for (size_t i = 0; all && i < s->n_listed; i++)
        if (add_callees(&m, all, s->listed[i]) < 0)
            Py_CLEAR(all);
    end_making(&m);
    return all;
}

/* --- From Python */

/* profile.py takes the code it runs for a name, which pstats shows as str() does. */
static const char *read_name(PyObject *name, PyObject **owner, size_t *n)
{
    PyObject *text = PyCode_Check(name) ? PyObject_Str(name) : Py_NewRef(name);
    const char *p = text ? sd_py_call_text(text, owner, n) : NULL;

    if (p && !*owner)
        *owner = text; /* which keeps the bytes */
    else
        Py_XDECREF(text);
    return p;
}

int sd_py_call_key_read(struct sd_call_stats *s, PyObject *key, sd_function_id *id)
{
    PyObject *owners[2] = { NULL, NULL };
    const char *file, *name = NULL;
    size_t n_file, n_name;
    long long line;
    int rc = -1;

    if (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) != 3 ||
        !PyLong_Check(PyTuple_GET_ITEM(key, 1))) {
        PyErr_Format(PyExc_TypeError,
                     "a function must be a tuple (file, line, name), not %R", key);
        return -1;
    }
    line = PyLong_AsLongLong(PyTuple_GET_ITEM(key, 1));
    if (line == -1 && PyErr_Occurred())
        return -1;
    file = sd_py_call_text(PyTuple_GET_ITEM(key, 0), &owners[0], &n_file);
    if (file)
        name = read_name(PyTuple_GET_ITEM(key, 2), &owners[1], &n_name);
    if (name) {
        rc = sd_call_stats_function(s, file, n_file, line, name, n_name, id);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    Py_XDECREF(owners[0]);
    Py_XDECREF(owners[1]);
    return rc < 0 ? -1 : 0;
}

static int read_count(PyObject *o, int64_t *out)
{
    *out = PyLong_AsLongLong(o); /* a float is refused */
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int read_seconds(PyObject *o, enum sd_whole flag, double *out, unsigned *whole)
{
    if (PyLong_Check(o))
        *whole |= (unsigned)flag;
    *out = PyFloat_AsDouble(o);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

/* The first four of a tuple. */
static int read_numbers(PyObject *tuple, int64_t *first, int64_t *second,
                        struct sd_call_numbers *n)
{
    if (read_count(PyTuple_GET_ITEM(tuple, 0), first) < 0 ||
        read_count(PyTuple_GET_ITEM(tuple, 1), second) < 0)
        return -1;
    if (read_seconds(PyTuple_GET_ITEM(tuple, 2), SD_WHOLE_OWN, &n->own, &n->whole) < 0)
        return -1;
    return read_seconds(PyTuple_GET_ITEM(tuple, 3), SD_WHOLE_TOTAL, &n->total,
                        &n->whole);
}

/* A tuple of this length, out of a tuple or a list; a new reference.  A number's own
 * __index__ may change a list while it is read. */
static PyObject *tuple_of(PyObject *o, Py_ssize_t length)
{
    PyObject *fast = PySequence_Fast(o, "counts of a function must be a tuple");
    PyObject *tuple = fast ? PySequence_Tuple(fast) : NULL;

    Py_XDECREF(fast);
    if (tuple && PyTuple_GET_SIZE(tuple) != length) {
        PyErr_Format(PyExc_ValueError,
                     "counts of a function must be a tuple of %zd, not of %zd", length,
                     PyTuple_GET_SIZE(tuple));
        Py_CLEAR(tuple);
    }
    return tuple;
}

static int read_edge(struct sd_call_stats *s, sd_function_id callee, PyObject *key,
                     PyObject *value)
{
    struct sd_call_numbers n = { 0 };
    PyObject *tuple = NULL;
    sd_function_id caller;
    int rc = sd_py_call_key_read(s, key, &caller);

    if (rc < 0)
        return -1;
    if (PyLong_Check(value)) {
        if (read_count(value, &n.calls) < 0)
            return -1;
        rc = sd_call_stats_count_plain(s, caller, callee, n.calls);
    } else {
        tuple = tuple_of(value, 4);
        if (!tuple || read_numbers(tuple, &n.calls, &n.primitive, &n) < 0) {
            Py_XDECREF(tuple);
            return -1;
        }
        rc = sd_call_stats_count_calls(s, caller, callee, &n);
        Py_DECREF(tuple);
    }
    return rc < 0 ? (sd_ext_raise(rc), -1) : 0;
}

static int read_entry(struct sd_call_stats *s, PyObject *key, PyObject *value);

/* Numbers may run code of the user's (__float__), which may change the dictionary: each
 * pair is held meanwhile, and a change of size ends it as in Python. */
static int each_pair(struct sd_call_stats *s, PyObject *dict, const sd_function_id *of)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, size = PyDict_Size(dict);
    int rc = 0;

    while (rc == 0 && PyDict_Next(dict, &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        rc = of ? read_edge(s, *of, key, value) : read_entry(s, key, value);
        Py_DECREF(key);
        Py_DECREF(value);
        if (rc == 0 && PyDict_Size(dict) != size) {
            PyErr_SetString(PyExc_RuntimeError,
                            "dictionary changed size during iteration");
            rc = -1;
        }
    }
    return rc;
}

static int read_callers(struct sd_call_stats *s, sd_function_id id, PyObject *callers)
{
    if (!PyDict_Check(callers)) {
        PyErr_SetString(PyExc_TypeError, "callers must be a dictionary");
        return -1;
    }
    return each_pair(s, callers, &id);
}

static int read_entry(struct sd_call_stats *s, PyObject *key, PyObject *value)
{
    struct sd_call_numbers n = { 0 };
    PyObject *tuple = tuple_of(value, 5);
    sd_function_id id;
    int rc = tuple ? sd_py_call_key_read(s, key, &id) : -1;

    if (rc == 0)
        rc = read_numbers(tuple, &n.primitive, &n.calls, &n);
    if (rc == 0) {
        rc = sd_call_stats_count(s, id, &n);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    if (rc == 0)
        rc = read_callers(s, id, PyTuple_GET_ITEM(tuple, 4));
    Py_XDECREF(tuple);
    return rc < 0 ? -1 : 0;
}

int sd_py_call_dict_read(struct sd_call_stats *s, PyObject *dict)
{
    int rc = each_pair(s, dict, NULL);

    if (rc < 0)
        return -1;
    rc = sd_call_stats_sum(s);
    return rc < 0 ? (sd_ext_raise(rc), -1) : 0;
}
