/* SPDX-License-Identifier: MIT */
#include "ext/calls/plain_stats.h"

#include <stdbool.h>
#include <string.h>

/* The fields of profiler_entry and profiler_subentry, in their order. */
enum { CODE, CALLS, RECURSIVE, TOTAL, OWN, CALLEES };

/* One row while it is added up: functions of the same name are one here, as there. */
struct row {
    long long primitive, calls;
    double own, total;
};

/* "<method 'append' of 'list' objects>", "<built-in method builtins.len>" and
 * "<built-in method fromkeys of type object at 0x55>" are append, len and fromkeys. */
static PyObject *bare_name(PyObject *said)
{
    const char *s = PyUnicode_AsUTF8(said), *end, *dot;

    if (!s) {
        PyErr_Clear(); /* bytes that are no UTF-8 stay as they are */
        return Py_NewRef(said);
    }
    if (strncmp(s, "<method '", 9) == 0) {
        s += 9;
        end = strchr(s, '\'');
    } else if (strncmp(s, "<built-in method ", 17) == 0) {
        s += 17;
        end = strstr(s, " of ");
    } else {
        return Py_NewRef(said);
    }
    if (!end)
        end = s + strcspn(s, ">");
    for (dot = s; dot < end; dot++)
        if (*dot == '.')
            s = dot + 1;
    return PyUnicode_DecodeUTF8(s, end - s, "replace");
}

static PyObject *key_of(PyObject *code)
{
    PyCodeObject *c = (PyCodeObject *)code;

    if (PyCode_Check(code))
        return Py_BuildValue("OiO", c->co_filename, c->co_firstlineno, c->co_name);
    if (!PyUnicode_Check(code))
        return PyErr_Format(PyExc_TypeError, "an entry must be a code object or text");
    return Py_BuildValue("siN", "", 0, bare_name(code));
}

/* The dict that `all` has for this key, made if there is none; borrowed. */
static PyObject *dict_at(PyObject *all, PyObject *key)
{
    PyObject *found = PyDict_GetItemWithError(all, key), *fresh;

    if (found || PyErr_Occurred())
        return found;
    fresh = PyDict_New();
    if (fresh && PyDict_SetItem(all, key, fresh) == 0)
        found = fresh;
    Py_XDECREF(fresh);
    return found;
}

/* counts[key] += n */
static int add_count(PyObject *counts, PyObject *key, long long n)
{
    PyObject *old = PyDict_GetItemWithError(counts, key), *sum;
    int rc;

    if (!old && PyErr_Occurred())
        return -1;
    sum = PyLong_FromLongLong(n + (old ? PyLong_AsLongLong(old) : 0));
    rc = sum ? PyDict_SetItem(counts, key, sum) : -1;
    Py_XDECREF(sum);
    return rc;
}

/* stats[key] += row; the entry's callers are filled in by and by. */
static int add_row(PyObject *stats, PyObject *callers, PyObject *key, struct row r)
{
    PyObject *old = PyDict_GetItemWithError(stats, key), *mine, *entry;
    long long primitive = 0, calls = 0;
    double own = 0, total = 0;
    int rc;

    if (old && !PyArg_ParseTuple(old, "LLddO", &primitive, &calls, &own, &total, &mine))
        return -1;
    if (PyErr_Occurred())
        return -1;
    mine = dict_at(callers, key);
    entry = mine ? Py_BuildValue("LLddO", primitive + r.primitive, calls + r.calls,
                                 own + r.own, total + r.total, mine)
                 : NULL;
    rc = entry ? PyDict_SetItem(stats, key, entry) : -1;
    Py_XDECREF(entry);
    return rc;
}

/* Anybody may call us, and with anything: an entry is a tuple of `n` or more. */
static int check_entry(PyObject *entry, int n)
{
    if (PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) >= n)
        return 0;
    PyErr_Format(PyExc_TypeError, "an entry must be a tuple of %d, not this %.100s", n,
                 Py_TYPE(entry)->tp_name);
    return -1;
}

static long long count_in(PyObject *entry, int field)
{
    return PyLong_AsLongLong(PyTuple_GET_ITEM(entry, field));
}

static struct row row_of(PyObject *entry)
{
    struct row r = { .calls = count_in(entry, CALLS) };

    r.primitive = r.calls - count_in(entry, RECURSIVE);
    r.own = PyFloat_AsDouble(PyTuple_GET_ITEM(entry, OWN));
    r.total = PyFloat_AsDouble(PyTuple_GET_ITEM(entry, TOTAL));
    return r;
}

/* One of what `caller` called.  A number may be an object with code of its own, so what
 * stands in a list is held. */
static int add_callee(PyObject *caller, PyObject *sub, PyObject *callers,
                      PyObject *untold)
{
    bool is_one = check_entry(sub, CALLEES) == 0;
    PyObject *key = is_one ? key_of(PyTuple_GET_ITEM(sub, CODE)) : NULL;
    PyObject *counts = key ? dict_at(callers, key) : NULL;
    long long calls;
    int rc = -1;

    Py_INCREF(sub);
    calls = counts ? count_in(sub, CALLS) : 0;
    if (counts && !PyErr_Occurred())
        rc = add_count(counts, caller, calls);
    if (rc == 0)
        rc = add_count(untold, key, -calls);
    Py_XDECREF(key);
    Py_DECREF(sub);
    return rc;
}

/* What one function called: its name goes into the callers of each, and the calls that
 * are told of a caller leave `untold`. */
static int add_callees(PyObject *caller, PyObject *entry, PyObject *callers,
                       PyObject *untold)
{
    PyObject *callees = PyTuple_GET_ITEM(entry, CALLEES);
    int rc = 0;

    for (Py_ssize_t i = 0;
         rc == 0 && PyList_Check(callees) && i < PyList_GET_SIZE(callees); i++)
        rc = add_callee(caller, PyList_GET_ITEM(callees, i), callers, untold);
    return rc;
}

/* Calls that came from no function came from the command. */
static int add_command(PyObject *stats, PyObject *callers, PyObject *untold,
                       PyObject *command, double whole)
{
    PyObject *profiler = Py_BuildValue("sis", "profile", 0, "profiler");
    PyObject *name = PyObject_Str(command);
    PyObject *first = name ? Py_BuildValue("siO", "profile", 0, name) : NULL;
    PyObject *key, *n, *counts;
    Py_ssize_t at = 0;
    int rc = profiler && first ? 0 : -1;

    while (rc == 0 && PyDict_Next(untold, &at, &key, &n))
        if (PyLong_AsLongLong(n) > 0) {
            counts = dict_at(callers, key);
            rc = counts ? add_count(counts, first, PyLong_AsLongLong(n)) : -1;
        }
    if (rc == 0)
        rc = add_row(stats, callers, profiler, (struct row){ 0 });
    if (rc == 0)
        rc = add_row(stats, callers, first, (struct row){ 1, 1, 0, whole });
    counts = rc == 0 ? dict_at(callers, first) : NULL;
    rc = counts ? add_count(counts, profiler, 1) : -1;
    Py_XDECREF(profiler);
    Py_XDECREF(first);
    Py_XDECREF(name);
    return rc;
}

static int add_entry(PyObject *stats, PyObject *callers, PyObject *untold,
                     PyObject *entry, double *whole)
{
    PyObject *key = key_of(PyTuple_GET_ITEM(entry, CODE));
    struct row r = row_of(entry);
    int rc = key && !PyErr_Occurred() ? add_row(stats, callers, key, r) : -1;

    *whole += r.own;
    if (rc == 0)
        rc = add_count(untold, key, r.calls);
    if (rc == 0)
        rc = add_callees(key, entry, callers, untold);
    Py_XDECREF(key);
    return rc;
}

static int add_entries(PyObject *stats, PyObject *callers, PyObject *untold,
                       PyObject *entries, double *whole)
{
    int rc = 0;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(entries); i++) {
        PyObject *entry = PyList_GET_ITEM(entries, i);

        Py_INCREF(entry);
        rc = check_entry(entry, CALLEES + 1);
        if (rc == 0)
            rc = add_entry(stats, callers, untold, entry, whole);
        Py_DECREF(entry);
    }
    return rc;
}

PyObject *sd_plain_stats(PyObject *module, PyObject *args)
{
    PyObject *entries, *command;
    PyObject *stats = PyDict_New();
    PyObject *callers = PyDict_New(); /* of each function, also of ones not met yet */
    PyObject *untold = PyDict_New();  /* calls of each that no caller is known of */
    double whole = 0;

    (void)module;
    if (!stats || !callers || !untold ||
        !PyArg_ParseTuple(args, "O!O", &PyList_Type, &entries, &command) ||
        add_entries(stats, callers, untold, entries, &whole) < 0 ||
        add_command(stats, callers, untold, command, whole) < 0)
        Py_CLEAR(stats);
    Py_XDECREF(callers);
    Py_XDECREF(untold);
    return stats;
}
