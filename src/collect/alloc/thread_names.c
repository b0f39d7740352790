/* SPDX-License-Identifier: MIT */
#include "cpython/compat_walk.h"

#include "collect/alloc/thread_names.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "collect/alloc/utf8.h"
#include "collect/session.h"

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

static size_t name_now(char *to, size_t most)
{
    PyObject *thread = thread_object();

    return thread ? name_of(thread, to, most) : 0;
}

static bool says(PyObject *str, const char *end)
{
    char text[PATH_MAX];
    size_t n = sd_utf8_of_str(str, text, sizeof text), n_end = strlen(end);

    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

/* threading's start() has the thread's object as its first argument. */
static size_t name_of_started(char *to, size_t most)
{
    sd_walked *top = sd_walk_top();
    PyCodeObject *code = top ? sd_walk_code(top) : NULL;
    PyObject *thread;

    if (!code || !says(code->co_name, "start") ||
        !says(code->co_filename, "threading.py") || code->co_argcount != 1)
        return 0;
    thread = sd_walk_first_local(top);
    return thread ? name_of(thread, to, most) : 0;
}

typedef size_t find_name(char *to, size_t most);

static size_t quietly(find_name *find, char *to, size_t most)
{
    struct sd_pending_exception pending;
    size_t n;

    if (!sd_walk_has_lock())
        return 0;
    pending = sd_pending_exception_take();
    n = find(to, most);
    PyErr_Clear();
    sd_pending_exception_give_back(pending);
    return n;
}

size_t sd_alloc_thread_name(char *to, size_t most)
{
    static const char main_thread[] = "MainThread";

    if (sd_thread_self()->tid == (uint32_t)getpid()) {
        memcpy(to, main_thread, sizeof main_thread - 1);
        return sizeof main_thread - 1;
    }
    return quietly(name_now, to, most);
}

size_t sd_alloc_started_name(char *to, size_t most)
{
    return quietly(name_of_started, to, most);
}
