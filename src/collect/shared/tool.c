/* SPDX-License-Identifier: MIT */
#include "collect/shared/tool.h"

#include "cpython/compat.h"
#include "cpython/compat_jit.h"

#if SD_HAS_MONITORING
#include <string.h>

#include "base/assert.h"
#include "base/error.h"

struct listener { /* a callback */
    PyObject_HEAD vectorcallfunc call;
    int event; /* the bit of what it hears */
};

/* What the interpreter has only one of. */
static struct {
    PyInterpreterState *interpreter; /* that is listened to; NULL: none */
    int id;
    struct sd_tool_user *users;  /* that have joined, the first first */
    PyObject *monitoring;        /* sys's; the program may delete it there; owned */
    PyObject *missing, *disable; /* of it, or None for `disable`; owned */
    PyObject *type;              /* of listeners; owned */
    vectorcallfunc told[SD_TOOL_EVENTS]; /* callbacks that the interpreter has */
} tool;

/* Audit hooks may start and stop profilers whenever a callback is registered; so often
 * is registered again what they changed. */
enum { TELL_MOST = 100 };

PyObject *sd_tool_missing(void) { return tool.missing; }
PyObject *sd_tool_disable(void) { return Py_NewRef(tool.disable); }

/* What we ask of the interpreter runs the program's audit hooks, and those may have
 * stopped the profiler. */
static int stopped(void)
{
    PyErr_Clear();
    return sd_fail(SD_ELACKS,
                   "an audit hook of the program (sys.addaudithook) stopped "
                   "the profiler while it was starting; run the program without it");
}

static int called(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Calls sys.monitoring.NAME(...); -1 with an exception. */
static int tell(const char *name, const char *format, ...)
{
    va_list given;
    PyObject *arguments, *method, *result = NULL;

    if (!tool.monitoring)
        return stopped();
    va_start(given, format);
    arguments = Py_VaBuildValue(format, given);
    va_end(given);
    method = PyObject_GetAttrString(tool.monitoring, name);
    if (arguments && method)
        result = PyObject_CallObject(method, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(method);
    return called(result);
}

int sd_tool_said(int rc, const char *what)
{
    struct sd_pending_exception raised;
    PyObject *text;
    const char *why;

    if (rc != -1 || !PyErr_Occurred())
        return rc;
    raised = sd_pending_exception_take();
    text = PyObject_Str(raised.value);
    why = text ? PyUnicode_AsUTF8(text) : NULL;
    rc = sd_fail(SD_ELACKS, "sys.monitoring refused the events for %s: %s", what,
                 why && *why ? why : Py_TYPE(raised.value)->tp_name);
    Py_XDECREF(text);
    sd_pending_exception_drop(raised);
    PyErr_Clear();
    return rc;
}

/* --- Listeners ------------------------------------------------------------------- */

/* Of two answers; a place is left out if both say so. */
static PyObject *agreed(PyObject *a, PyObject *b)
{
    Py_XDECREF(b); /* None is immortal here, and the tool holds DISABLE */
    if (a == b)
        return a;
    Py_XDECREF(a);
    return a && b ? Py_None : NULL;
}

/* hot, where several hear the same event. */
static PyObject *ask_all(PyObject *self, PyObject *const *args, size_t n,
                         PyObject *names)
{
    int event = ((struct listener *)self)->event;
    PyObject *answer = NULL;
    bool has_answer = false;

    for (const struct sd_tool_user *u = tool.users, *next; u; u = next) {
        PyObject *one;

        next = u->next; /* it may leave meanwhile */
        if (!u->callbacks[event])
            continue;
        one = u->callbacks[event](self, args, n, names);
        answer = has_answer ? agreed(answer, one) : one;
        has_answer = true;
    }
    return has_answer ? answer : Py_None;
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

/* The one callback for all who want this event; NULL when nobody does. */
static vectorcallfunc callback_of(int event)
{
    vectorcallfunc call = NULL;

    for (const struct sd_tool_user *u = tool.users; u; u = u->next)
        if (u->callbacks[event])
            call = call ? ask_all : u->callbacks[event];
    return call;
}

static PyObject *new_listener(int event, vectorcallfunc call)
{
    struct listener *l;

    if (!call)
        return Py_NewRef(Py_None);
    l = PyObject_New(struct listener, (PyTypeObject *)tool.type);
    if (!l)
        return NULL;
    l->call = call;
    l->event = event;
    return (PyObject *)l;
}

/* The interpreter has the callback that is wanted, or -1 with an exception.  It runs
 * audit hooks before it takes one, which may want another by now; what they registered
 * meanwhile is overwritten then. */
static int tell_callback(int event)
{
    vectorcallfunc call = callback_of(event);
    int rc = 0;

    for (int i = 0; rc == 0 && call != tool.told[event]; i++) {
        PyObject *l = i < TELL_MOST ? new_listener(event, call) : NULL;

        rc = l ? tell("register_callback", "(ilO)", tool.id, 1L << event, l) : -1;
        Py_XDECREF(l);
        if (rc == 0)
            tool.told[event] = call;
        else if (i == TELL_MOST)
            rc = sd_fail(
                SD_ELACKS,
                "an audit hook of the program (sys.addaudithook) starts or stops a "
                "profiler whenever one starts or stops; run the program without it");
        call = callback_of(event);
    }
    return rc;
}

static int tell_everywhere(void)
{
    long all = 0;

    for (const struct sd_tool_user *u = tool.users; u; u = u->next)
        all |= u->everywhere;
    return tell("set_events", "(il)", tool.id, all);
}

static int index_of(long number)
{
    sd_assert(number != 0); /* the instruction has no answer then */
    return __builtin_ctzl((unsigned long)number);
}

static int number_of(const char *event, long *number)
{
    PyObject *events =
        tool.monitoring ? PyObject_GetAttrString(tool.monitoring, "events") : NULL;
    PyObject *n = events ? PyObject_GetAttrString(events, event) : NULL;

    *number = n ? PyLong_AsLong(n) : -1;
    Py_XDECREF(n);
    Py_XDECREF(events);
    return *number > 0 && index_of(*number) < SD_TOOL_EVENTS ? 0 : -1;
}

int sd_tool_hear(struct sd_tool_user *who, const char *event, vectorcallfunc callback,
                 long *number)
{
    vectorcallfunc before;
    int rc, i;

    *number = -1;
    if (!who->has_joined)
        return stopped();
    rc = number_of(event, number);
    if (rc < 0)
        return rc;
    i = index_of(*number);
    before = who->callbacks[i];
    who->callbacks[i] = callback;
    rc = tell_callback(i);
    if (!who->has_joined)
        return stopped();
    if (rc < 0)
        who->callbacks[i] = before;
    return rc;
}

int sd_tool_hear_all(struct sd_tool_user *who, long events)
{
    if (!who->has_joined)
        return stopped();
    who->everywhere = events;
    return tell_everywhere();
}

int sd_tool_hear_of(PyCodeObject *code, long events)
{
    return tell("set_local_events", "(iOl)", tool.id, (PyObject *)code, events);
}

/* Where it could hang nothing was disabled. */
int sd_tool_restart(void)
{
    return tool.disable == Py_None ? 0 : tell("restart_events", "()");
}

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
    return sd_fail(
        SD_ELACKS,
        "other tools use both sys.monitoring tool ids 3 and 4; stop one of them");
}

/* All are as if they had never joined. */
static void drop_users(void)
{
    while (tool.users) {
        struct sd_tool_user *u = tool.users;

        tool.users = u->next;
        *u = (struct sd_tool_user){ 0 };
    }
}

static void forget(void)
{
    drop_users();
    Py_CLEAR(tool.monitoring);
    Py_CLEAR(tool.missing);
    Py_CLEAR(tool.disable);
    Py_CLEAR(tool.type);
    memset(&tool, 0, sizeof tool);
}

static int take(void)
{
    PyObject *monitoring = sd_compat_sys_get("monitoring");
    int rc;

    if (!monitoring)
        return sd_fail(SD_ELACKS, "this Python has no sys.monitoring, which Sonde "
                                  "needs to see calls and lines");
    memset(&tool, 0, sizeof tool);
    tool.monitoring = Py_NewRef(monitoring);
    tool.missing = PyObject_GetAttrString(monitoring, "MISSING");
    tool.disable = sd_jit_restart_hangs()
                       ? Py_NewRef(Py_None)
                       : PyObject_GetAttrString(monitoring, "DISABLE");
    tool.type = PyType_FromSpec(&listener_spec);
    rc = tool.missing && tool.disable && tool.type ? take_id() : -1;
    if (rc != 0)
        forget();
    else
        tool.interpreter = PyInterpreterState_Get();
    return rc;
}

static void append(struct sd_tool_user *who)
{
    struct sd_tool_user **at = &tool.users;

    sd_assert(!who->has_joined);
    while (*at)
        at = &(*at)->next;
    *who = (struct sd_tool_user){ .has_joined = true };
    *at = who;
}

/* What an interpreter that has ended held of ours went with it. */
int sd_tool_join(struct sd_tool_user *who)
{
    int rc = 0;

    if (tool.interpreter && tool.interpreter != PyInterpreterState_Get()) {
        if (sd_compat_interpreter_lives(tool.interpreter))
            return sd_fail(SD_ELACKS, "another interpreter in this process is already "
                                      "being traced; stop that first");
        drop_users();
        memset(&tool, 0, sizeof tool);
    }
    if (!tool.interpreter)
        rc = take();
    if (rc == 0 && !who->has_joined)
        append(who);
    return rc;
}

/* Its callbacks are nobody's from here on. */
static void take_out(struct sd_tool_user *who)
{
    struct sd_tool_user **at = &tool.users;

    while (*at && *at != who)
        at = &(*at)->next;
    sd_assert(*at);
    if (*at)
        *at = who->next;
    *who = (struct sd_tool_user){ 0 };
}

/* Whoever joins meanwhile takes an id of its own. */
static void give_id_back(void)
{
    PyObject *monitoring = Py_NewRef(tool.monitoring);
    int id = tool.id;

    forget();
    if (called(PyObject_CallMethod(monitoring, "free_tool_id", "i", id)) < 0)
        PyErr_Clear();
    Py_DECREF(monitoring);
}

/* It is out of the list before the first audit hook runs: a hook that starts a profiler
 * joins again, and one that stops the last gives the id back. */
void sd_tool_leave(struct sd_tool_user *who)
{
    if (!who->has_joined || tool.interpreter != PyInterpreterState_Get())
        return;
    take_out(who);
    if (tell_everywhere() < 0)
        PyErr_Clear();
    for (int i = 0; i < SD_TOOL_EVENTS; i++)
        if (tell_callback(i) < 0)
            PyErr_Clear();
    if (!tool.users && tool.monitoring)
        give_id_back();
}
#endif
