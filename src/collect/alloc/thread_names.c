/* SPDX-License-Identifier: MIT */
#include "cpython/compat_walk.h"

#include "collect/alloc/thread_names.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/alloc/utf8.h"

/* threading's object of this thread, borrowed; NULL before there is one. */
static PyObject *thread_object(void)
{
    PyObject *active = sd_found_in("threading", "_active");
    PyObject *key = PyLong_FromUnsignedLong(PyThread_get_thread_ident()), *found = NULL;

    if (active && key && PyDict_CheckExact(active))
        found = PyDict_GetItem(active, key);
    Py_XDECREF(key);
    return found;
}

static size_t name_of(PyObject *thread, char *to, size_t most)
{
    PyObject *key = PyUnicode_InternFromString("_name"), *name = NULL;
    size_t n;

    if (key && !_PyType_Lookup(Py_TYPE(thread), key))
        name = PyObject_GenericGetAttr(thread, key);
    n = sd_utf8_of_str(name, to, most);
    Py_XDECREF(name);
    Py_XDECREF(key);
    return n;
}

size_t sd_alloc_thread_name(char *to, size_t most)
{
    static const char main_thread[] = "MainThread";
    struct sd_pending_exception pending;
    PyObject *thread;
    size_t n = 0;

    if (syscall(SYS_gettid) == getpid()) {
        memcpy(to, main_thread, sizeof main_thread - 1);
        return sizeof main_thread - 1;
    }
    if (!sd_walk_has_lock())
        return 0;
    pending = sd_pending_exception_take();
    thread = thread_object();
    if (thread)
        n = name_of(thread, to, most);
    PyErr_Clear();
    sd_pending_exception_give_back(pending);
    return n;
}
