/* SPDX-License-Identifier: MIT */
/* py_call_tables_in: loads numbers from files, dictionaries and other CallStats. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "ext/calls/py_call_tables.h"
#include "formats/pstats.h"

enum { READ_STEP = 1 << 20 };

/* A device or a pipe is read, too, as Python would. */
static int read_whole(const char *path, struct sd_buf *bytes, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), kept;
    ssize_t got = fd < 0 || fstat(fd, st) < 0 ? -1 : 1;

    while (got > 0) {
        uint8_t *room = sd_buf_room(bytes, READ_STEP);

        got = room ? read(fd, room, READ_STEP) : -1;
        if (room && got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            bytes->n += (size_t)got;
    }
    kept = bytes->bad ? ENOMEM : errno;
    if (fd >= 0)
        close(fd);
    errno = kept;
    return got < 0 ? -1 : 0;
}

static int add_origin(struct sd_call_stats *s, PyObject *name, time_t changed)
{
    struct sd_buf line = { 0 };
    PyObject *owner;
    size_t n;
    const char *text = sd_py_call_text(name, &owner, &n);
    int rc = -1;

    if (text) {
        sd_pstats_origin(&line, changed, text, n);
        rc = line.bad ? sd_no_memory()
                      : sd_call_stats_add_origin(s, (char *)line.p, line.n);
        if (rc < 0)
            sd_ext_raise(rc);
    }
    Py_XDECREF(owner);
    sd_buf_release(&line);
    return rc;
}

static int load(struct sd_call_stats *s, PyObject *name, const char *path)
{
    struct sd_buf bytes = { 0 };
    struct stat st;
    int rc;

    Py_BEGIN_ALLOW_THREADS; /* the disk may take its time */
    rc = read_whole(path, &bytes, &st);
    Py_END_ALLOW_THREADS;
    if (rc < 0)
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name);
    if (rc == 0) {
        rc = sd_pstats_read(bytes.p, bytes.n, s);
        if (rc < 0)
            sd_ext_raise(sd_fail_in(rc, "%s", path));
    }
    if (rc == 0)
        rc = add_origin(s, name, st.st_mtime);
    sd_buf_release(&bytes);
    return rc;
}

/* What was loaded goes into what is there; into nothing it goes as it is. */
static int take(struct sd_py_call_tables *t, struct sd_call_stats *take_loaded)
{
    bool is_sampled = t->stats.is_sampled || take_loaded->is_sampled;
    int rc = 0;

    if (sd_py_call_tables_is_busy(
            (PyObject *)t)) { /* only now: loading lets others run */
        sd_call_stats_release(take_loaded);
        return -1;
    }
    sd_py_call_tables_unsort(t);
    if (t->stats.n_functions == 0 && t->stats.n_origins == 0) {
        sd_call_stats_release(&t->stats);
        sd_call_stats_move(&t->stats, take_loaded);
        t->stats.is_sampled = is_sampled;
    } else {
        rc = sd_call_stats_add(&t->stats, take_loaded);
    }
    sd_call_stats_release(take_loaded);
    return rc;
}

PyObject *sd_py_call_tables_load(PyObject *self, PyObject *name)
{
    struct sd_call_stats loaded;
    PyObject *path;
    int rc;

    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError,
                            "the name of a file must be a str, not %.100s",
                            Py_TYPE(name)->tp_name);
    if (!PyUnicode_FSConverter(name, &path))
        return NULL;
    sd_call_stats_init(&loaded);
    rc = load(&loaded, name, PyBytes_AS_STRING(path));
    if (rc == 0)
        rc = take(sd_py_call_tables_of(self), &loaded);
    else
        sd_call_stats_release(&loaded);
    Py_DECREF(path);
    return sd_py_call_tables_done(rc);
}

PyObject *sd_py_call_tables_load_dict(PyObject *self, PyObject *dict)
{
    struct sd_call_stats loaded;
    int rc;

    if (!PyDict_Check(dict))
        return PyErr_Format(PyExc_TypeError, "stats must be a dict, not %.100s",
                            Py_TYPE(dict)->tp_name);
    sd_call_stats_init(&loaded);
    rc = sd_py_call_dict_read(&loaded, dict);
    if (rc == 0)
        rc = take(sd_py_call_tables_of(self), &loaded);
    else
        sd_call_stats_release(&loaded);
    return sd_py_call_tables_done(rc);
}

PyObject *sd_py_call_tables_add(PyObject *self, PyObject *other)
{
    if (sd_py_call_tables_is_busy(self))
        return NULL;
    if (Py_TYPE(other) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "add() needs a CallStats, not %.100s",
                            Py_TYPE(other)->tp_name);
    sd_py_call_tables_unsort(sd_py_call_tables_of(self));
    return sd_py_call_tables_done(sd_call_stats_add(
        &sd_py_call_tables_of(self)->stats, &sd_py_call_tables_of(other)->stats));
}

PyObject *sd_py_call_tables_copy(PyObject *self, PyObject *unused)
{
    PyObject *copy = sd_py_call_tables_make(Py_TYPE(self));
    int rc;

    (void)unused;
    if (!copy)
        return NULL;
    rc = sd_call_stats_add(&sd_py_call_tables_of(copy)->stats,
                           &sd_py_call_tables_of(self)->stats);
    if (rc < 0) {
        Py_DECREF(copy);
        return sd_ext_raise(rc);
    }
    sd_py_call_tables_of(copy)->widest = sd_py_call_tables_of(self)->widest;
    sd_py_call_tables_of(copy)->stats.is_sampled =
        sd_py_call_tables_of(self)->stats.is_sampled;
    return copy;
}

PyObject *sd_py_call_tables_strip_dirs(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (sd_py_call_tables_is_busy(self))
        return NULL;
    sd_py_call_tables_unsort(sd_py_call_tables_of(self));
    sd_py_call_tables_of(self)->widest = 0;
    return sd_py_call_tables_done(
        sd_call_stats_strip_dirs(&sd_py_call_tables_of(self)->stats));
}
