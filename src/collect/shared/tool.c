/* SPDX-License-Identifier: MIT */
#include "collect/shared/tool.h"

#include "cpython/compat.h"

#if SD_HAS_MONITORING
#include <string.h>

#include "base/error.h"

struct listener { /* a callback */
    PyObject_HEAD vectorcallfunc call;
    vectorcallfunc users[SD_TOOL_USERS]; /* that it asks when there are two */
};

enum { EVENTS_MAX = 32 }; /* a number of one is a bit of them */

/* What the interpreter has only one of. */
static struct {
    PyInterpreterState *interpreter; /* that is listened to; NULL: none */
    int id;
    bool is_used[SD_TOOL_USERS];
    long everywhere[SD_TOOL_USERS]; /* events that each hears of all code */
    vectorcallfunc callbacks[EVENTS_MAX][SD_TOOL_USERS];
    PyObject *monitoring;        /* sys's; the program may delete it there; owned */
    PyObject *missing, *disable; /* of it; owned */
    PyObject *type;              /* of listeners; owned */
} tool;

PyObject *sd_tool_missing(void) { return tool.missing; }
PyObject *sd_tool_disable(void) { return Py_NewRef(tool.disable); }

/* Calls sys.monitoring.NAME(...); -1 with an exception. */
static int tell(const char *name, const char *format, ...)
{
    va_list given;
    PyObject *arguments, *method, *result = NULL;

    va_start(given, format);
    arguments = Py_VaBuildValue(format, given);
    va_end(given);
    method = PyObject_GetAttrString(tool.monitoring, name);
    if (arguments && method)
        result = PyObject_CallObject(method, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(method);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* --- Listeners ------------------------------------------------------------------- */

/* hot, where calls and lines are both followed.  A place is left out if both say so. */
static PyObject *ask_both(PyObject *self, PyObject *const *args, size_t n,
                          PyObject *names)
{
    const struct listener *l = (struct listener *)self;
    PyObject *a = l->users[0](self, args, n, names);
    PyObject *b = l->users[1](self, args, n, names);

    Py_XDECREF(b); /* None is immortal here, and the tool holds DISABLE */
    if (a == b)
        return a;
    Py_XDECREF(a);
    return a && b ? Py_None : NULL;
}

static void listener_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot listener_slots[] = {
    { Py_tp_call, PyVectorcall_Call },
    { Py_tp_dealloc, listener_free },
    { Py_tp_members,
      (PyMemberDef[]){ { "__vectorcalloffset__", T_PYSSIZET,
                         offsetof(struct listener, call), READONLY, NULL },
                       { 0 } } },
    { 0, NULL },
};

static PyType_Spec listener_spec = {
    .name = "sonde._sonde.listener",
    .basicsize = sizeof(struct listener),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = listener_slots,
};

/* The one callback for what these want; None when nobody does. */
static PyObject *listener_for(const vectorcallfunc callbacks[SD_TOOL_USERS])
{
    vectorcallfunc calls = callbacks[SD_TOOL_CALLS], lines = callbacks[SD_TOOL_LINES];
    struct listener *l;

    if (!calls && !lines)
        return Py_NewRef(Py_None);
    l = PyObject_New(struct listener, (PyTypeObject *)tool.type);
    if (!l)
        return NULL;
    l->call = calls && lines ? ask_both : calls ? calls : lines;
    memcpy(l->users, callbacks, sizeof l->users);
    return (PyObject *)l;
}

static int index_of(long number) { return __builtin_ctzl((unsigned long)number); }

int sd_tool_hear(enum sd_tool_user who, const char *event, vectorcallfunc callback,
                 long *number)
{
    PyObject *events = PyObject_GetAttrString(tool.monitoring, "events");
    PyObject *n = events ? PyObject_GetAttrString(events, event) : NULL, *l = NULL;
    int rc = -1;

    *number = n ? PyLong_AsLong(n) : -1;
    if (*number > 0 && index_of(*number) < EVENTS_MAX) {
        vectorcallfunc *callbacks = tool.callbacks[index_of(*number)];
        vectorcallfunc before = callbacks[who];

        rc = 0;
        if (before != callback) {
            callbacks[who] = callback;
            l = listener_for(callbacks);
            rc = l ? tell("register_callback", "(iOO)", tool.id, n, l) : -1;
        }
        if (rc < 0)
            callbacks[who] = before;
    }
    Py_XDECREF(l);
    Py_XDECREF(n);
    Py_XDECREF(events);
    return rc;
}

int sd_tool_hear_all(enum sd_tool_user who, long events)
{
    long all = 0;

    tool.everywhere[who] = events;
    for (int i = 0; i < SD_TOOL_USERS; i++)
        all |= tool.everywhere[i];
    return tell("set_events", "(il)", tool.id, all);
}

int sd_tool_hear_of(PyCodeObject *code, long events)
{
    return tell("set_local_events", "(iOl)", tool.id, (PyObject *)code, events);
}

int sd_tool_restart(void) { return tell("restart_events", "()"); }

/* --- The id ---------------------------------------------------------------------- */

static int take_id(void)
{
    for (tool.id = 3; tool.id <= 4; tool.id++) {
        if (tell("use_tool_id", "(is)", tool.id, "sonde") == 0)
            return 0;
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    return sd_fail(SD_ELACKS,
                   "other tools hold the monitoring ids 3 and 4 (sys.monitoring): stop "
                   "one of them");
}

static void forget(void)
{
    Py_CLEAR(tool.monitoring);
    Py_CLEAR(tool.missing);
    Py_CLEAR(tool.disable);
    Py_CLEAR(tool.type);
    memset(&tool, 0, sizeof tool);
}

static int take(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");
    int rc;

    if (!monitoring)
        return sd_fail(SD_ELACKS, "this Python has no sys.monitoring");
    tool.monitoring = Py_NewRef(monitoring);
    tool.missing = PyObject_GetAttrString(monitoring, "MISSING");
    tool.disable = PyObject_GetAttrString(monitoring, "DISABLE");
    tool.type = PyType_FromSpec(&listener_spec);
    rc = tool.missing && tool.disable && tool.type ? take_id() : -1;
    if (rc != 0)
        forget();
    else
        tool.interpreter = PyInterpreterState_Get();
    return rc;
}

/* What an interpreter that has ended held of ours went with it. */
int sd_tool_join(enum sd_tool_user who)
{
    int rc = 0;

    if (tool.interpreter && tool.interpreter != PyInterpreterState_Get()) {
        if (sd_interpreter_lives(tool.interpreter))
            return sd_fail(SD_ELACKS, "another interpreter of this process is being "
                                      "followed already");
        memset(&tool, 0, sizeof tool);
    }
    if (!tool.interpreter)
        rc = take();
    if (rc == 0)
        tool.is_used[who] = true;
    return rc;
}

static bool is_used(void)
{
    for (int i = 0; i < SD_TOOL_USERS; i++)
        if (tool.is_used[i])
            return true;
    return false;
}

static int unregister(enum sd_tool_user who)
{
    int rc = 0;

    for (int i = 0; i < EVENTS_MAX; i++) {
        PyObject *l;

        if (!tool.callbacks[i][who])
            continue;
        tool.callbacks[i][who] = NULL;
        l = listener_for(tool.callbacks[i]);
        if (!l || tell("register_callback", "(ilO)", tool.id, 1L << i, l) < 0)
            rc = -1;
        Py_XDECREF(l);
    }
    return rc;
}

void sd_tool_leave(enum sd_tool_user who)
{
    if (!tool.is_used[who] || tool.interpreter != PyInterpreterState_Get())
        return;
    tool.is_used[who] = false;
    if (sd_tool_hear_all(who, 0) < 0)
        PyErr_Clear();
    if (unregister(who) < 0)
        PyErr_Clear();
    if (is_used())
        return;
    if (tell("free_tool_id", "(i)", tool.id) < 0)
        PyErr_Clear();
    forget();
}
#endif
