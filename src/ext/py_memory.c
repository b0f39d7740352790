/* SPDX-License-Identifier: MIT */
#include "ext/py_memory.h"

#include <string.h>
#include <unistd.h>

#include "process/memory_watch.h"
#include "process/tree.h"

static const char watch_name[] = "sonde.memory_watch";

bool sd_py_memory_kind(const char *word, enum sd_memory_kind *kind)
{
    static const char *const words[] = { "rss", "pss", "uss" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *kind = (enum sd_memory_kind)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "rss, pss or uss, not %s", word);
    return false;
}

static PyObject *bytes_object(int64_t bytes)
{
    return bytes < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(bytes);
}

PyObject *sd_py_memory_of_process(PyObject *module, PyObject *args)
{
    enum sd_memory_kind kind;
    int pid, has_children;
    const char *word;
    int64_t bytes;

    (void)module;
    if (!PyArg_ParseTuple(args, "isp", &pid, &word, &has_children) ||
        !sd_py_memory_kind(word, &kind))
        return NULL;
    Py_BEGIN_ALLOW_THREADS /* a tree of processes takes its time */
        bytes = pid < 0        ? -1
                : has_children ? sd_memory_of_tree(pid, kind)
                               : sd_memory_of(pid, kind);
    Py_END_ALLOW_THREADS return bytes_object(bytes);
}

static PyObject *children_list(const struct sd_tree *tree, enum sd_memory_kind kind)
{
    PyObject *all = PyList_New(0);

    for (size_t i = 1; all && i < tree->n; i++) {
        int64_t bytes = sd_memory_of(tree->members[i].pid, kind);
        PyObject *pair = bytes < 0 ? NULL
                                   : Py_BuildValue("(iL)", (int)tree->members[i].pid,
                                                   (long long)bytes);

        if (bytes >= 0 && (!pair || PyList_Append(all, pair) < 0))
            Py_CLEAR(all);
        Py_XDECREF(pair);
    }
    return all;
}

PyObject *sd_py_memory_of_children(PyObject *module, PyObject *args)
{
    enum sd_memory_kind kind;
    struct sd_tree tree;
    const char *word;
    PyObject *all;
    int pid;

    (void)module;
    if (!PyArg_ParseTuple(args, "is", &pid, &word) || !sd_py_memory_kind(word, &kind))
        return NULL;
    if (sd_tree_init(&tree, pid > 0 ? pid : getpid()) < 0)
        return PyList_New(0);
    Py_BEGIN_ALLOW_THREADS /* it looks at every process there is */
        sd_tree_look(&tree);
    Py_END_ALLOW_THREADS all = children_list(&tree, kind);
    sd_tree_release(&tree);
    return all;
}

/* --- A watch is a capsule: it has no methods that anyone needs */

static void drop_watch(PyObject *capsule)
{
    sd_memory_watch_free(PyCapsule_GetPointer(capsule, watch_name));
}

PyObject *sd_py_memory_watch(PyObject *module, PyObject *args)
{
    struct sd_memory_request request = { 0 };
    struct sd_memory_watch *w;
    int pid, has_children, has_most, rc;
    const char *word;
    double interval;
    PyObject *capsule;

    (void)module;
    if (!PyArg_ParseTuple(args, "isppd", &pid, &word, &has_children, &has_most,
                          &interval) ||
        !sd_py_memory_kind(word, &request.kind))
        return NULL;
    request.pid = pid;
    request.has_children = has_children;
    request.has_most = has_most;
    request.every_ns = interval > 1e9 ? 1000000000000000000u
                       : interval > 0 ? (uint64_t)(interval * 1e9)
                                      : 0;
    rc = sd_memory_watch_start(&request, &w);
    if (rc < 0)
        return sd_ext_raise(rc);
    capsule = PyCapsule_New(w, watch_name, drop_watch);
    if (!capsule)
        sd_memory_watch_free(w);
    return capsule;
}

static PyObject *readings_list(const struct sd_memory_reading *r, size_t n)
{
    PyObject *all = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; all && i < n; i++) {
        PyObject *pair =
            Py_BuildValue("(Ld)", (long long)r[i].bytes, (double)r[i].real_ns / 1e9);

        if (pair)
            PyList_SET_ITEM(all, (Py_ssize_t)i, pair);
        else
            Py_CLEAR(all);
    }
    return all;
}

PyObject *sd_py_memory_watched(PyObject *module, PyObject *watch)
{
    struct sd_memory_watch *w = PyCapsule_GetPointer(watch, watch_name);
    const struct sd_memory_reading *r;
    size_t n, n_read;
    PyObject *all;

    (void)module;
    if (!w)
        return NULL;
    Py_BEGIN_ALLOW_THREADS /* for the thread's last reading */
        sd_memory_watch_stop(w);
    Py_END_ALLOW_THREADS r = sd_memory_watch_readings(w, &n, &n_read);
    all = readings_list(r, n);
    return all ? Py_BuildValue("(Nn)", all, (Py_ssize_t)n_read) : NULL;
}
