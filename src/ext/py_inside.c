/* SPDX-License-Identifier: MIT */
#include "ext/py_inside.h"

#include <stdio.h>

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
static const struct sd_inside *const collectors[] = {
#include "collect/collectors.def"
    NULL,
};

/* Another copy of this library may be in the process, loaded by the program from
 * elsewhere: the interpreter remembers who was first. */
static bool is_first(const struct sd_inside *c)
{
    PyObject *dict = PyInterpreterState_GetDict(sd_compat_interpreter());
    char key[64];
    bool is;

    if (c->about->place != SD_PYTHON)
        return true;
    snprintf(key, sizeof key, "sonde.%s", c->about->name);
    is = dict && !sd_dict_get(dict, key) &&
         PyDict_SetItemString(dict, key, Py_True) == 0;
    PyErr_Clear();
    return is;
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

static PyObject *names_of_hooks(void)
{
    static PyMethodDef methods[] = { { "before_fork", before_fork, METH_NOARGS, NULL },
                                     { "after_fork", after_fork, METH_NOARGS, NULL } };

    return Py_BuildValue("{sNsN}", "before", PyCFunction_New(&methods[0], NULL),
                         "after_in_child", PyCFunction_New(&methods[1], NULL));
}

/* A child that becomes another program at once (subprocess) is not told of. */
static void watch_forks(void)
{
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *add = posix ? PyObject_GetAttrString(posix, "register_at_fork") : NULL;
    PyObject *none = add ? PyTuple_New(0) : NULL;
    PyObject *names = none ? names_of_hooks() : NULL;
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

void sd_ext_start_inside(void)
{
    static bool has_at_exit, watches_forks;

    if (sd_inside_start(collectors, is_first) == 0)
        return;
    if (!has_at_exit)
        Py_AtExit(sd_inside_at_exit);
    has_at_exit = true;
    if (!watches_forks && sd_inside_follows_forks()) {
        watches_forks = true;
        watch_forks();
    }
}
