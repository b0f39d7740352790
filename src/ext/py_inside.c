/* SPDX-License-Identifier: MIT */
#include "ext/py_inside.h"

#include <stdio.h>

#include "base/error.h"
#include "collect/inside.h"
#include "collect/session.h"
#include "cpython/compat.h"

#define OUTSIDE(name)
#define INSIDE(name) extern const struct sd_inside sd_inside_##name;
#define PYTHON(name) extern const struct sd_inside sd_inside_##name;
#define ASKED(name)
#include "collect/collectors.def"
#undef INSIDE
#undef PYTHON

#define INSIDE(name) &sd_inside_##name,
#define PYTHON(name) &sd_inside_##name,
const struct sd_inside *const sd_ext_insides[] = {
#include "collect/collectors.def"
    NULL,
};

/* Another copy of this library may be in the process, loaded by the program from
 * elsewhere: the interpreter remembers who was first. */
enum claim { OURS_NOW, OURS_BEFORE, ANOTHERS };

static enum claim claim(const struct sd_inside *c)
{
    PyObject *dict = PyInterpreterState_GetDict(sd_compat_interpreter());
    PyObject *us = PyLong_FromVoidPtr((void *)(uintptr_t)sd_ext_insides), *found;
    enum claim claim = ANOTHERS;
    char key[64];

    snprintf(key, sizeof key, "sonde.%s", c->about->name);
    found = dict ? sd_compat_dict_get(dict, key) : NULL;
    if (found && us && PyObject_RichCompareBool(found, us, Py_EQ) == 1)
        claim = OURS_BEFORE;
    else if (dict && !found && us && PyDict_SetItemString(dict, key, us) == 0)
        claim = OURS_NOW;
    Py_XDECREF(us);
    PyErr_Clear();
    return claim;
}

static bool is_first(const struct sd_inside *c)
{
    return c->about->place != SD_PYTHON || claim(c) == OURS_NOW;
}

/* --- Forks */

static PyObject *before_fork(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    sd_inside_before_fork();
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    sd_inside_after_fork();
    Py_RETURN_NONE;
}

static PyObject *names_of_hooks(PyMethodDef *before, PyMethodDef *in_child)
{
    PyObject *after = PyCFunction_New(in_child, NULL);

    return before ? Py_BuildValue("{sNsN}", "before", PyCFunction_New(before, NULL),
                                  "after_in_child", after)
                  : Py_BuildValue("{sN}", "after_in_child", after);
}

void sd_ext_watch_forks(PyMethodDef *before, PyMethodDef *in_child)
{
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *add = posix ? PyObject_GetAttrString(posix, "register_at_fork") : NULL;
    PyObject *none = add ? PyTuple_New(0) : NULL;
    PyObject *names = none ? names_of_hooks(before, in_child) : NULL;
    PyObject *done = names ? PyObject_Call(add, none, names) : NULL;

    if (!done)
        PyErr_Clear(); /* then a child is known from its first event on */
    Py_XDECREF(done);
    Py_XDECREF(names);
    Py_XDECREF(none);
    Py_XDECREF(add);
    Py_XDECREF(posix);
}

/* --- A failed check of ours */

/* Runs in the main thread between two instructions, so that no collector is in the
 * middle of an event.  If a new capture has begun meanwhile, that one goes on. */
static int stop_now(void *unused)
{
    (void)unused;
    if (sd_session_has_capture())
        return 0;
    sd_session_tell_stopped();
    sd_inside_stop();
    PyErr_Clear(); /* the program does not see what goes wrong here */
    return 0;
}

void sd_ext_stop_inside_soon(void)
{
    if (Py_IsInitialized())
        Py_AddPendingCall(stop_now, NULL);
}

static void watch_process(bool follows_forks)
{
    static PyMethodDef before = { "before_fork", before_fork, METH_NOARGS, NULL },
                       in_child = { "after_fork", after_fork, METH_NOARGS, NULL };
    static bool has_at_exit, watches_forks;

    if (!has_at_exit)
        Py_AtExit(sd_inside_at_exit);
    has_at_exit = true;
    if (!watches_forks && follows_forks) {
        watches_forks = true;
        sd_ext_watch_forks(&before, &in_child);
    }
}

void sd_ext_start_inside(void)
{
    if (sd_inside_start(sd_ext_insides, is_first) > 0)
        watch_process(sd_inside_follows_forks());
}

/* What it needs of Python is made before: it may be that this is recorded. */
int sd_ext_start_one(const struct sd_inside *c, const char *with)
{
    if (claim(c) == ANOTHERS)
        return sd_fail(SD_EGONE,
                       "another copy of sonde in this process has used the "
                       "collector %s",
                       c->about->name);
    watch_process(c->after_fork != NULL);
    return sd_inside_start_one(c, with);
}
