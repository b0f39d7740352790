/* SPDX-License-Identifier: MIT */
#include "ext/py_mprof.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/out.h"
#include "ext/py_memory.h"
#include "formats/mprof.h"
#include "process/stat.h"
#include "process/tree.h"

/* --- While a process runs */

struct watching {
    pid_t pid;
    enum sd_memory_kind kind;
    bool has_children; /* added to the process */
    bool is_apart;     /* each child has lines of its own */
    uint64_t every_ns;
    int fd;
};

static void put_children(const struct watching *w, struct sd_out *out)
{
    struct sd_tree tree;

    if (sd_tree_init(&tree, w->pid) < 0)
        return;
    sd_tree_look(&tree);
    for (size_t i = 1; i < tree.n; i++) {
        int64_t bytes = sd_memory_of(tree.members[i].pid, w->kind);

        if (bytes >= 0)
            sd_mprof_put_reading(out, (uint64_t)tree.members[i].pid, bytes,
                                 sd_clock_real_ns());
    }
    sd_tree_release(&tree);
}

/* All lines of one moment with one write: others append to the file, too. */
static int put_now(const struct watching *w)
{
    int64_t bytes = w->has_children ? sd_memory_of_tree(w->pid, w->kind)
                                    : sd_memory_of(w->pid, w->kind);
    struct sd_out out;
    int rc = 0;

    if (bytes < 0)
        return 0;
    sd_out_to_memory(&out);
    sd_mprof_put_reading(&out, 0, bytes, sd_clock_real_ns());
    if (w->is_apart)
        put_children(w, &out);
    if (out.pending.bad)
        rc = sd_no_memory();
    else if (sd_write_all(w->fd, out.pending.p, out.pending.n) < 0)
        rc = sd_fail_errno(errno, "cannot write readings of memory");
    sd_out_release(&out);
    return rc;
}

static bool has_ended(pid_t pid)
{
    struct sd_process_stat st;

    return sd_process_stat(pid, &st) < 0 || st.state == 'Z' || st.state == 'X';
}

/* Less when a signal comes. */
static void doze(uint64_t ns)
{
    const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    nanosleep(&t, NULL);
}

PyObject *sd_py_mprof_watch(PyObject *module, PyObject *args)
{
    struct watching w = { .pid = 0 };
    int pid, has_children, is_apart, rc = 0;
    long long n_most, n = 0;
    bool is_over = false;
    const char *word;
    double interval;

    (void)module;
    if (!PyArg_ParseTuple(args, "isppdLi", &pid, &word, &has_children, &is_apart,
                          &interval, &n_most, &w.fd) ||
        !sd_py_memory_kind(word, &w.kind))
        return NULL;
    w.pid = pid;
    w.has_children = has_children;
    w.is_apart = is_apart;
    w.every_ns = interval > 1e9 ? 1000000000000000000u
                 : interval > 0 ? (uint64_t)(interval * 1e9)
                                : 0;
    while (rc == 0 && !is_over) {
        Py_BEGIN_ALLOW_THREADS rc = put_now(&w);
        doze(w.every_ns);
        is_over = ++n == n_most || has_ended(w.pid);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return NULL;
    }
    return rc < 0 ? sd_ext_raise(rc) : PyLong_FromLongLong(n);
}

/* --- Files */

/* Times have more digits than a double; these must be divided, not cut first. */
static double real(int64_t nano) { return (double)((long double)nano / 1e9L); }

/* The MiB and times of one process, 0, or with their pids those of all others. */
static PyObject *readings(const struct sd_mprof *m, bool of_children)
{
    PyObject *all = PyList_New(0);

    for (size_t i = 0; all && i < m->n_readings; i++) {
        const struct sd_mprof_reading *r = &m->readings[i];
        PyObject *one;

        if ((r->pid != 0) != of_children)
            continue;
        one = of_children
                  ? Py_BuildValue("(Kdd)", (unsigned long long)r->pid, real(r->memory),
                                  real((int64_t)r->at_ns))
                  : Py_BuildValue("(dd)", real(r->memory), real((int64_t)r->at_ns));
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static PyObject *calls(const struct sd_mprof *m)
{
    PyObject *all = PyList_New((Py_ssize_t)m->n_calls);

    for (size_t i = 0; all && i < m->n_calls; i++) {
        const struct sd_mprof_call *c = &m->calls[i];
        PyObject *one = Py_BuildValue(
            "(NddddN)", PyUnicode_DecodeUTF8(c->name, c->n_name, "replace"),
            real((int64_t)c->from_ns), real((int64_t)c->to_ns), real(c->before),
            real(c->after),
            c->has_level ? PyLong_FromUnsignedLong(c->level) : Py_NewRef(Py_None));

        if (one)
            PyList_SET_ITEM(all, (Py_ssize_t)i, one);
        else
            Py_CLEAR(all);
    }
    return all;
}

static int load(PyObject *path, struct sd_mprof *m)
{
    int rc;

    sd_mprof_init(m);
    Py_BEGIN_ALLOW_THREADS rc = sd_mprof_load(PyBytes_AS_STRING(path), m);
    Py_END_ALLOW_THREADS return rc;
}

PyObject *sd_py_mprof_file(PyObject *module, PyObject *args)
{
    PyObject *path, *result = NULL;
    struct sd_mprof m;
    int rc;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    rc = load(path, &m);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        result = Py_BuildValue(
            "(NNNN)",
            m.command ? PyUnicode_DecodeUTF8(m.command, (Py_ssize_t)strlen(m.command),
                                             "surrogateescape")
                      : Py_NewRef(Py_None),
            readings(&m, false), readings(&m, true), calls(&m));
    sd_mprof_release(&m);
    Py_DECREF(path);
    return result;
}

/* Was the function open then? */
static bool is_within(const struct sd_mprof *m, const char *function, uint64_t at_ns)
{
    for (size_t i = 0; i < m->n_calls; i++)
        if (strcmp(m->calls[i].name, function) == 0 && m->calls[i].from_ns <= at_ns &&
            at_ns <= m->calls[i].to_ns)
            return true;
    return false;
}

static PyObject *peak(const struct sd_mprof *m, const char *function)
{
    const struct sd_mprof_reading *most = NULL;

    for (size_t i = 0; i < m->n_readings; i++) {
        const struct sd_mprof_reading *r = &m->readings[i];

        if (r->pid == 0 && (!most || r->memory > most->memory) &&
            (!function || is_within(m, function, r->at_ns)))
            most = r;
    }
    return most ? PyFloat_FromDouble(real(most->memory)) : Py_NewRef(Py_None);
}

/* In the order in which they appear. */
static PyObject *child_peaks(const struct sd_mprof *m)
{
    PyObject *all = PyDict_New(), *items;

    for (size_t i = 0; all && i < m->n_readings; i++) {
        const struct sd_mprof_reading *r = &m->readings[i];
        PyObject *pid, *known, *memory;
        int rc = -1;

        if (r->pid == 0)
            continue;
        pid = PyLong_FromUnsignedLongLong(r->pid);
        memory = PyFloat_FromDouble(real(r->memory));
        known = pid ? PyDict_GetItemWithError(all, pid) : NULL;
        if (pid && memory && !PyErr_Occurred())
            rc = known && PyFloat_AS_DOUBLE(known) >= real(r->memory)
                     ? 0
                     : PyDict_SetItem(all, pid, memory);
        Py_XDECREF(pid);
        Py_XDECREF(memory);
        if (rc < 0)
            Py_CLEAR(all);
    }
    items = all ? PyDict_Items(all) : NULL;
    Py_XDECREF(all);
    return items;
}

PyObject *sd_py_mprof_peaks(PyObject *module, PyObject *args)
{
    PyObject *path, *result = NULL;
    const char *function;
    struct sd_mprof m;
    int rc;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&z", PyUnicode_FSConverter, &path, &function))
        return NULL;
    rc = load(path, &m);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        result = Py_BuildValue("(NN)", peak(&m, function), child_peaks(&m));
    sd_mprof_release(&m);
    Py_DECREF(path);
    return result;
}
