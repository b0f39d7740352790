/* SPDX-License-Identifier: MIT */
#include "ext/calls/py_profile.h"

#include <marshal.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "collect/calls/options.h"
#include "collect/calls/call_calibration.h"
#include "collect/calls/front_profile.h"
#include "collect/session.h"

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

/* --- A user's own clock ---------------------------------------------------------- */

/* What the timer returned, in ticks: integers of `timeunit`, else nanoseconds. */
static uint64_t ticks_of(const struct sd_py_profile *p, PyObject *time)
{
    double seconds;

    if (p->timeunit > 0)
        return (uint64_t)PyLong_AsLongLong(time);
    seconds = PyFloat_AsDouble(time);
    return seconds > -9e9 && seconds < 9e9 ? (uint64_t)(int64_t)(seconds * 1e9) : 0;
}

static int drop(void *of)
{
    Py_DECREF((PyObject *)of);
    return 0;
}

/* The timer may have dropped the last reference to its Profile, which is in use: the
 * interpreter then does it at the next safe moment.  If it cannot, the Profile stays.
 */
static void let_go(struct sd_py_profile *p)
{
    if (Py_REFCNT(p) > 1)
        Py_DECREF(p);
    else
        Py_AddPendingCall(drop, p);
}

/* A timer that fails tells so where nobody can catch it, and the time is 0.  What it
 * returned may be an object of the program, and runs its code until it is gone. */
static uint64_t read_timer(void *of)
{
    struct sd_py_profile *p = of;
    struct sd_pending_exception raised = sd_pending_exception_take();
    bool is_dying = Py_REFCNT(p) == 0; /* its last clock read */
    PyObject *time;
    uint64_t ticks = 0;

    if (!is_dying)
        Py_INCREF(p);
    p->n_in_timer++;
    time = PyObject_CallObject(p->timer, NULL);
    if (time)
        ticks = ticks_of(p, time);
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(p->timer);
        ticks = 0;
    }
    Py_XDECREF(time);
    p->n_in_timer--;
    if (!is_dying)
        let_go(p);
    sd_pending_exception_give_back(raised);
    return ticks;
}

static bool refuses(const struct sd_py_profile *p, const char *what)
{
    if (!p->session) {
        PyErr_SetString(PyExc_RuntimeError, "the profiler was not initialized");
        return true;
    }
    if (p->n_in_timer)
        PyErr_Format(PyExc_RuntimeError, "cannot %s profiler in external timer", what);
    return p->n_in_timer > 0;
}

/* --- On and off ------------------------------------------------------------------ */

/* The manners of cProfile: where there is monitoring it is one of a kind, and another
 * one is refused; before, sys.getprofile() gives it. */
#if SD_HAS_MONITORING
static int be_cprofile(struct sd_py_profile *p)
{
    PyObject *monitoring = sd_compat_sys_get("monitoring"), *done;

    if (!monitoring)
        return 0;
    done = PyObject_CallMethod(monitoring, "use_tool_id", "is", 2, "cProfile");
    if (!done) {
        if (!SD_CPROFILE_NAMES_TOOL)
            PyErr_SetString(PyExc_ValueError,
                            "Another profiling tool is already active");
        return -1;
    }
    Py_DECREF(done);
    p->is_cprofile = true;
    return 0;
}

static void be_cprofile_no_more(struct sd_py_profile *p)
{
    PyObject *monitoring = p->is_cprofile ? sd_compat_sys_get("monitoring") : NULL,
             *done;

    p->is_cprofile = false;
    if (!monitoring)
        return;
    done = PyObject_CallMethod(monitoring, "free_tool_id", "i", 2);
    Py_XDECREF(done);
    PyErr_Clear();
}
#else
static int be_cprofile(struct sd_py_profile *p)
{
    p->is_cprofile = true;
    sd_calls_profile_is((PyObject *)p);
    return 0;
}

static void be_cprofile_no_more(struct sd_py_profile *p)
{
    if (p->is_cprofile)
        sd_calls_profile_is(NULL);
    p->is_cprofile = false;
}
#endif

/* The interpreter may be the last to hold a cProfile; disable() of any other drops it.
 */
static void drop_forgotten(const struct sd_py_profile *p)
{
#if SD_HAS_MONITORING
    (void)p;
#else
    if (p->has_manners && !p->is_enabled) {
        sd_calls_profile_is(NULL);
        sd_calls_listen(sd_calls_sessions_want());
    }
#endif
}

static unsigned events_of(const struct sd_py_profile *p)
{
    return SD_CALLS_PYTHON | (p->switches & SD_PROFILE_BUILTINS ? SD_CALLS_C : 0) |
           (p->switches & SD_PROFILE_SIGNATURES ? SD_CALLS_SIGNED : 0) |
           (p->follows_all ? SD_CALLS_ALL : 0);
}

/* Did it start?  What runs meanwhile may have stopped it again. */
static int started(struct sd_py_profile *p, int rc)
{
    struct sd_pending_exception raised;

    if (rc == 0 && p->session->is_active)
        return 0;
    if (p->session->is_active)
        sd_ext_raise(rc);
    else
        PyErr_SetString(PyExc_RuntimeError,
                        "the profiler was stopped while it was starting");
    raised = sd_pending_exception_take();
    p->is_enabled = false;
    sd_calls_session_stop(p->session);
    sd_calls_listen(sd_calls_sessions_want());
    sd_pending_exception_give_back(raised);
    return -1;
}

/* Signal handlers and audit hooks of the program run in the midst of this: the session
 * stays the same meanwhile (profile_init). */
static int start(struct sd_py_profile *p)
{
    int rc = -1;

    p->n_starting++;
    p->session->request.events = events_of(p);
    if (p->switches & SD_PROFILE_SIGNATURES)
        sd_tensors_look();
    if (sd_calls_calibrate(p->session) == 0) {
        sd_calls_profile_is((PyObject *)p);
        rc = sd_calls_session_start(p->session);
        if (rc == 0)
            rc = sd_calls_listen(sd_calls_sessions_want());
        sd_calls_profile_is(NULL);
        rc = started(p, rc);
    }
    p->n_starting--;
    return rc;
}

/* Ends the session.  Only the user's clock runs code of the program here, and that may
 * not change this Profile. */
static void end_session(struct sd_py_profile *p)
{
    p->is_enabled = false;
    sd_calls_session_stop(p->session);
    sd_calls_calibrated(p->session);
}

/* What others want to hear is heard from now on.  An audit hook may enable this one
 * again meanwhile. */
static void hear_others(struct sd_py_profile *p)
{
    sd_calls_listen(sd_calls_sessions_want());
    if (!p->is_enabled)
        be_cprofile_no_more(p);
}

static void stop(struct sd_py_profile *p)
{
    if (!p->is_enabled)
        return;
    end_session(p);
    hear_others(p);
}

static void set_switch(struct sd_py_profile *p, enum sd_profile_switch which, int on)
{
    if (on >= 0)
        p->switches = (p->switches & ~(unsigned)which) | (on ? (unsigned)which : 0);
}

/* Have they signatures that say nothing of it?  sonde.Profile and what derives from it
 * have; cProfile's, and this type itself, on which others build, have not. */
static bool has_signatures_by_default(const struct sd_py_profile *p)
{
    const struct sd_ext *ext = sd_ext_of(Py_TYPE(p));

    return !p->has_manners && ext && Py_TYPE(p) != ext->profile;
}

/* What signatures=... asks for: a truth, or how much of an argument counts.  -1 with an
 * exception. */
static int detail_of(const struct sd_py_profile *p, PyObject *given)
{
    static const char *const words[] = { "types", "lengths", "sizes" };
    int is_wanted;

    if (!given || given == Py_None)
        return has_signatures_by_default(p) ? SD_VALUE_TYPES : 0;
    if (!PyUnicode_Check(given)) {
        is_wanted = PyObject_IsTrue(given);
        return is_wanted > 0 ? SD_VALUE_TYPES : is_wanted;
    }
    for (int i = 0; i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(given, words[i]) == 0)
            return SD_VALUE_TYPES + i;
    PyErr_Format(
        PyExc_ValueError,
        "signatures must be True, False, 'types', 'lengths' or 'sizes', not %R", given);
    return -1;
}

/* Of enable(), whose `given` asks for this detail: a truth turns them on or off.  A
 * word says how much, which stays as it is once there are some: rows of both kinds
 * would be of different calls. */
static int take_signatures(struct sd_py_profile *p, PyObject *given, int detail)
{
    if (PyUnicode_Check(given)) {
        if (p->names.signatures && (int)p->names.detail != detail) {
            PyErr_Format(PyExc_ValueError,
                         "this Profile already has signatures of another kind; use "
                         "Profile(signatures=%R), or call clear() first",
                         given);
            return -1;
        }
        p->names.detail = (enum sd_value_detail)detail;
    }
    set_switch(p, SD_PROFILE_SIGNATURES, detail);
    return 0;
}

/* Arguments may be objects of the program, whose code may change this Profile; so they
 * are all read before anything is asked of it.  The same below. */
static PyObject *profile_enable(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "subcalls", "builtins", "signatures", NULL };
    struct sd_py_profile *p = (struct sd_py_profile *)self;
    int subcalls = -1, builtins = -1; /* as the constructor said */
    PyObject *signatures = Py_None;
    int detail;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ppO:enable", names, &subcalls,
                                     &builtins, &signatures))
        return NULL;
    detail = signatures == Py_None ? 0 : detail_of(p, signatures);
    if (detail < 0 || refuses(p, "enable") ||
        (signatures != Py_None && take_signatures(p, signatures, detail) < 0))
        return NULL;
    if (p->has_manners && be_cprofile(p) < 0)
        return NULL;
    set_switch(p, SD_PROFILE_SUBCALLS, subcalls);
    set_switch(p, SD_PROFILE_BUILTINS, builtins);
    if (start(p) < 0) {
        be_cprofile_no_more(p);
        return NULL;
    }
    p->is_enabled = true;
    Py_RETURN_NONE;
}

static PyObject *profile_disable(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (refuses((struct sd_py_profile *)self, "disable"))
        return NULL;
    drop_forgotten((struct sd_py_profile *)self);
    stop((struct sd_py_profile *)self);
    Py_RETURN_NONE;
}

static PyObject *profile_clear(PyObject *self, PyObject *unused)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;
    struct sd_calls_names names;
    int rc;

    (void)unused;
    if (refuses(p, "clear"))
        return NULL;
    names = p->names; /* what is met from here on is kept apart from what goes */
    memset(&p->names, 0, sizeof p->names);
    p->names.detail = names.detail;
    rc = sd_calls_session_clear(p->session);
    sd_calls_names_release(&names);
    if (rc < 0)
        return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* --- with ------------------------------------------------------------------------ */

/* NULL, without an exception, when `name` is no other method than ours: that is then
 * done here, and the table of a plain `with` has no row for the way to it. */
static PyObject *overridden(PyObject *self, const char *name, PyCFunction ours)
{
    PyObject *method = PyObject_GetAttrString(self, name);

    if (method && PyCFunction_Check(method) && PyCFunction_GetFunction(method) == ours)
        Py_CLEAR(method);
    return method;
}

static PyObject *call_and_drop(PyObject *method)
{
    PyObject *done = PyObject_CallObject(method, NULL);

    Py_DECREF(method);
    return done;
}

static PyObject *enable_plainly(PyObject *self)
{
    PyObject *nothing = PyTuple_New(0), *done = NULL;

    if (nothing)
        done = profile_enable(self, nothing, NULL);
    Py_XDECREF(nothing);
    return done;
}

static PyObject *profile_enter(PyObject *self, PyObject *unused)
{
    PyObject *theirs = overridden(self, "enable", WITH_KEYWORDS(profile_enable));
    PyObject *done = NULL;

    (void)unused;
    if (theirs)
        done = call_and_drop(theirs);
    else if (!PyErr_Occurred())
        done = enable_plainly(self);
    if (!done)
        return NULL;
    Py_DECREF(done);
    return Py_NewRef(self);
}

static PyMethodDef profile_methods[];
enum { AT_DISABLE, AT_EXIT }; /* in profile_methods */

/* Seen from inside, __exit__ is disable(): its row is the one that cProfile has, too.
 */
static PyObject *disable_plainly(PyObject *self)
{
    struct sd_ext *ext = sd_ext_of(Py_TYPE(self));
    PyObject *disable;

    if (!ext || refuses((struct sd_py_profile *)self, "disable"))
        return NULL;
    disable = PyObject_GetAttrString((PyObject *)ext->profile, "disable");
    if (!disable)
        return NULL;
    sd_calls_rename_c(&profile_methods[AT_EXIT], &profile_methods[AT_DISABLE], disable);
    Py_DECREF(disable);
    stop((struct sd_py_profile *)self);
    Py_RETURN_NONE;
}

/* Never true: what the block raised goes on. */
static PyObject *profile_exit(PyObject *self, PyObject *args)
{
    PyObject *theirs = overridden(self, "disable", profile_disable), *done;

    (void)args;
    if (!theirs)
        return PyErr_Occurred() ? NULL : disable_plainly(self);
    done = call_and_drop(theirs);
    if (!done)
        return NULL;
    Py_DECREF(done);
    Py_RETURN_NONE;
}

/* --- Results --------------------------------------------------------------------- */

static PyObject *profile_getstats(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "bias", "thread", "cpu", NULL };
    struct sd_profile_look look = { .thread = -1 };
    PyObject *bias = Py_None, *thread = Py_None;
    int is_cpu = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOp:getstats", names, &bias,
                                     &thread, &is_cpu))
        return NULL;
    look.is_cpu = is_cpu;
    look.has_bias = bias != Py_None;
    if (look.has_bias)
        look.bias = PyFloat_AsDouble(bias);
    if (thread != Py_None)
        look.thread = PyLong_AsLong(thread);
    if (PyErr_Occurred())
        return NULL;
    if (thread != Py_None && look.thread < 0) {
        PyErr_SetString(PyExc_ValueError, "threads are numbered from 0");
        return NULL;
    }
    if (refuses((struct sd_py_profile *)self, "read"))
        return NULL;
    return sd_py_profile_getstats((struct sd_py_profile *)self, &look);
}

static PyObject *profile_snapshot(PyObject *self, PyObject *unused)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;
    PyObject *stats;

    (void)unused;
    if (refuses(p, "read"))
        return NULL;
    stats = sd_py_profile_as_stats(p);
    if (!stats)
        return NULL;
    Py_XSETREF(p->stats, stats);
    Py_RETURN_NONE;
}

static PyObject *profile_create(PyObject *self, PyObject *unused)
{
    PyObject *theirs = overridden(self, "disable", profile_disable), *done;

    if (PyErr_Occurred())
        return NULL;
    if (theirs) {
        done = call_and_drop(theirs);
        if (!done)
            return NULL;
        Py_DECREF(done);
    }
    if (refuses((struct sd_py_profile *)self, "disable"))
        return NULL;
    stop((struct sd_py_profile *)self);
    return profile_snapshot(self, unused);
}

static int write_file(PyObject *path, PyObject *bytes)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, "wb") : NULL;
    PyObject *done = file ? PyObject_CallMethod(file, "write", "O", bytes) : NULL;
    PyObject *closed = NULL;

    if (file) { /* the first exception is the one to tell */
        struct sd_pending_exception raised = sd_pending_exception_take();

        closed = PyObject_CallMethod(file, "close", NULL);
        if (!done)
            PyErr_Clear();
        if (!done)
            sd_pending_exception_give_back(raised);
    }
    Py_XDECREF(io);
    Py_XDECREF(file);
    Py_XDECREF(done);
    Py_XDECREF(closed);
    return done && closed ? 0 : -1;
}

/* marshal raises an audit event first, and a hook may replace `stats`. */
static PyObject *marshalled(const struct sd_py_profile *p)
{
    PyObject *stats = Py_XNewRef(p->stats), *bytes = NULL;

    if (stats)
        bytes = PyMarshal_WriteObjectToString(stats, Py_MARSHAL_VERSION);
    else
        PyErr_SetString(PyExc_AttributeError, "stats");
    Py_XDECREF(stats);
    return bytes;
}

static PyObject *profile_dump(PyObject *self, PyObject *path)
{
    PyObject *done = profile_create(self, NULL), *bytes = NULL;

    if (!done)
        return NULL;
    Py_DECREF(done);
    bytes = marshalled((struct sd_py_profile *)self);
    if (!bytes || write_file(path, bytes) < 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    Py_DECREF(bytes);
    Py_RETURN_NONE;
}

static PyObject *profile_threads(PyObject *self, PyObject *unused)
{
    (void)unused;
    return refuses((struct sd_py_profile *)self, "read")
               ? NULL
               : sd_py_profile_threads((struct sd_py_profile *)self);
}

static PyObject *profile_capture(PyObject *self, PyObject *command)
{
    const char *text = PyUnicode_AsUTF8(command);

    if (!text || refuses((struct sd_py_profile *)self, "read"))
        return NULL;
    return sd_py_profile_as_capture((struct sd_py_profile *)self, text);
}

/* --- The type -------------------------------------------------------------------- */

struct settings {    /* what __init__ asks for */
    PyObject *timer; /* NULL: ticks; owned */
    double timeunit;
    unsigned switches;
    uint32_t n_nodes;
    bool follows_all, has_cpu, has_timeline, is_raw;
    int detail; /* of signatures; 0: none */
};

/* Moments are those of the processor's clock, and there are too many to keep them. */
static int check_timeline(const struct settings *s)
{
    int rc = 0;

    if (s->timer)
        rc = sd_fail(SD_EUSAGE, "timeline=True cannot be combined with a custom timer");
    else if (!sd_session_has_capture())
        rc = sd_fail(
            SD_EUSAGE,
            "timeline=True needs a capture; call sonde.start(\"x.sonde\") first");
    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

/* nodes=N: how many paths are kept apart in each thread; None: as many as usual. */
static int take_nodes(PyObject *given, uint32_t *out)
{
    long n = given == Py_None ? 0 : PyLong_AsLong(given);

    if (n == -1 && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    if (given != Py_None && (n < SD_CALLS_NODES_LEAST || n > SD_CALLS_NODES_MOST)) {
        PyErr_SetString(PyExc_ValueError, "nodes must be from 2 to 16,000,000");
        return -1;
    }
    *out = (uint32_t)n;
    return 0;
}

/* Runs code of the program (__bool__ and __float__ of what is given). */
static int read_settings(const struct sd_py_profile *p, PyObject *args,
                         PyObject *kwargs, struct settings *out)
{
    static char *names[] = { "timer",    "timeunit", "subcalls", "builtins",
                             "threads",  "cpu",      "raw",      "signatures",
                             "timeline", "nodes",    NULL };
    PyObject *timer = Py_None, *unit = Py_None, *signatures = NULL, *nodes = Py_None;
    int subcalls = 1, builtins = 1, threads = 0, cpu = 0, raw = 0, timeline = 0;

    *out = (struct settings){ .timer = NULL };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOpp$pppOpO", names, &timer, &unit,
                                     &subcalls, &builtins, &threads, &cpu, &raw,
                                     &signatures, &timeline, &nodes))
        return -1;
    out->timer = timer == Py_None ? NULL : Py_NewRef(timer);
    if (take_nodes(nodes, &out->n_nodes) < 0)
        return -1;
    if (unit != Py_None)
        out->timeunit = PyFloat_AsDouble(unit);
    out->detail = detail_of(p, signatures);
    out->switches = (subcalls ? SD_PROFILE_SUBCALLS : 0) |
                    (builtins ? SD_PROFILE_BUILTINS : 0) |
                    (out->detail > 0 ? SD_PROFILE_SIGNATURES : 0);
    out->follows_all = threads;
    out->has_cpu = cpu;
    out->has_timeline = timeline;
    out->is_raw = raw;
    return PyErr_Occurred() ? -1 : 0;
}

/* Is what it counts, and with which kind of clock, the same as now? */
static bool is_same(const struct sd_py_profile *p, const struct settings *s)
{
    return p->session && !p->timer == !s->timer && p->has_cpu == s->has_cpu &&
           p->has_timeline == s->has_timeline && p->follows_all == s->follows_all &&
           p->n_nodes == s->n_nodes &&
           (!s->detail || (int)p->names.detail == s->detail);
}

/* The timer that was goes to the settings. */
static void take_settings(struct sd_py_profile *p, struct settings *s)
{
    PyObject *timer = p->timer;

    p->timer = s->timer;
    s->timer = timer;
    p->timeunit = s->timeunit;
    p->switches = s->switches;
    p->follows_all = s->follows_all;
    p->has_cpu = s->has_cpu;
    p->n_nodes = s->n_nodes;
    p->has_timeline = s->has_timeline;
    p->is_raw = s->is_raw;
    if (s->detail)
        p->names.detail = (enum sd_value_detail)s->detail;
}

static int make_session(struct sd_py_profile *p, const struct settings *s,
                        struct sd_calls_session **out)
{
    struct sd_calls_request request = {
        .has_cpu = s->has_cpu,
        .has_timeline = s->has_timeline,
        .n_max = s->n_nodes,
        .timer = s->timer ? read_timer : NULL,
        .of = p,
        .names = { sd_calls_define, &p->names, sd_calls_sign, sd_calls_function_key }
    };
    int rc = sd_calls_session_new(&request, out);

    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

/* Session, names and settings are replaced in one step, in which none of the program's
 * code runs.  Audit hooks and finalizers come before or after it: whatever they do with
 * this Profile, they find it whole. */
static int begin_anew(struct sd_py_profile *p, struct settings *s)
{
    bool was_enabled = p->is_enabled;
    struct sd_calls_session *made;
    struct sd_calls_names names;

    if (p->n_starting) {
        PyErr_SetString(PyExc_RuntimeError,
                        "cannot initialize profiler while it is starting");
        return -1;
    }
    if (make_session(p, s, &made) < 0)
        return -1;
    if (was_enabled)
        end_session(p); /* by its own clock, which cannot change it */
    names = p->names;
    memset(&p->names, 0, sizeof p->names);
    p->names.detail = names.detail;
    sd_calls_session_free(p->session);
    p->session = made;
    take_settings(p, s);
    if (was_enabled)
        hear_others(p);
    sd_calls_names_release(&names);
    return 0;
}

/* Again: as cProfile's, it goes on and keeps its counts, unless what it counts, or with
 * which kind of clock, is another now. */
static int profile_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;
    struct settings s;
    int rc = read_settings(p, args, kwargs, &s);

    if (rc == 0 && p->session && refuses(p, "initialize"))
        rc = -1;
    if (rc == 0 && s.has_timeline)
        rc = check_timeline(&s);
    if (rc == 0 && is_same(p, &s))
        take_settings(p, &s);
    else if (rc == 0)
        rc = begin_anew(p, &s);
    Py_XDECREF(s.timer);
    return rc;
}

/* Both types are one but for the manners. */
static PyObject *profile_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct sd_ext *ext = sd_ext_of(type);
    PyObject *self = ext ? PyType_GenericNew(type, args, kwargs) : NULL;

    if (self)
        ((struct sd_py_profile *)self)->has_manners =
            ext->lsprof && PyType_IsSubtype(type, ext->lsprof);
    return self;
}

static PyObject *get_untraced(PyObject *self, void *unused)
{
    const struct sd_py_profile *p = (struct sd_py_profile *)self;

    (void)unused;
    return PyFloat_FromDouble(p->session ? sd_py_profile_untraced(p) : 0);
}

static PyObject *get_folded(PyObject *self, void *unused)
{
    const struct sd_py_profile *p = (struct sd_py_profile *)self;

    (void)unused;
    return PyLong_FromUnsignedLongLong(p->session ? sd_py_profile_folded(p) : 0);
}

static PyObject *get_lost(PyObject *self, void *unused)
{
    const struct sd_py_profile *p = (struct sd_py_profile *)self;

    (void)unused;
    return PyLong_FromUnsignedLongLong(p->session ? sd_py_profile_lost(p) : 0);
}

static int profile_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;

    SD_VISIT_TYPE(self);
    Py_VISIT(p->timer);
    Py_VISIT(p->stats);
    return sd_calls_names_traverse(&p->names, visit, arg);
}

/* The trees first, which use the names.  What a class that goes here runs may ask this
 * Profile again, and finds it empty. */
static void forget_all(struct sd_py_profile *p)
{
    if (p->session)
        sd_calls_session_clear(p->session);
    sd_calls_names_release(&p->names);
}

/* While it runs, its timer is needed. */
static int profile_clear_refs(PyObject *self)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;

    stop(p);
    if (p->session)
        p->session->request.timer = NULL;
    forget_all(p);
    Py_CLEAR(p->timer);
    Py_CLEAR(p->stats);
    return 0;
}

static void profile_dealloc(PyObject *self)
{
    struct sd_py_profile *p = (struct sd_py_profile *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct sd_pending_exception raised = sd_pending_exception_take();

    PyObject_GC_UnTrack(self);
    profile_clear_refs(self);
    sd_calls_session_free(p->session);
    sd_calls_names_release(&p->names);
    sd_pending_exception_give_back(raised);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef profile_methods[] = {
    [AT_DISABLE] = { "disable", profile_disable, METH_NOARGS,
                     "disable()\n--\n\nStops collecting; what is open ends here." },
    [AT_EXIT] = { "__exit__", profile_exit, METH_VARARGS, NULL },
    { "__enter__", profile_enter, METH_NOARGS, NULL },
    { "enable", WITH_KEYWORDS(profile_enable), METH_VARARGS | METH_KEYWORDS,
      "enable(subcalls=True, builtins=True, signatures=True)\n--\n\nStarts collecting, "
      "in this thread or in all.  With subcalls, numbers of each\nfunction are kept "
      "apart by caller; with builtins, C functions have rows of their\nown; with "
      "signatures, so has a function for each kind of arguments.  What is left\nout is "
      "as the constructor said." },
    { "clear", profile_clear, METH_NOARGS,
      "clear()\n--\n\nForgets all that was collected." },
    { "getstats", WITH_KEYWORDS(profile_getstats), METH_VARARGS | METH_KEYWORDS,
      "getstats(*, bias=None, thread=None, cpu=False)\n--\n\nReturns a list of "
      "profiler_entry, one for each function: code, callcount,\nreccallcount, "
      "totaltime, inlinetime and calls, a list of profiler_subentry or None." },
    { "snapshot_stats", profile_snapshot, METH_NOARGS,
      "snapshot_stats()\n--\n\nPuts what was collected so far into the attribute "
      "`stats`, as pstats wants it." },
    { "create_stats", profile_create, METH_NOARGS,
      "create_stats()\n--\n\nStops collecting, and puts what was collected into the "
      "attribute `stats`." },
    { "dump_stats", profile_dump, METH_O,
      "dump_stats(file)\n--\n\nStops collecting, and writes a file that pstats "
      "reads." },
    { "_capture", profile_capture, METH_O,
      "_capture(command)\n--\n\nReturns what was collected as the bytes of a "
      "capture." },
    { "threads", profile_threads, METH_NOARGS,
      "threads()\n--\n\nReturns the threads that were traced: (ident, native id, "
      "seconds traced, CPU\nseconds)." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef profile_members[] = {
    { "stats", T_OBJECT_EX, offsetof(struct sd_py_profile, stats), 0,
      "What create_stats() made: {(file, line, name): (primitive calls, calls, own "
      "time, "
      "total time, callers)}" },
    { NULL, 0, 0, 0, NULL },
};

static PyObject *get_is_enabled(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct sd_py_profile *)self)->is_enabled);
}

static PyGetSetDef profile_attributes[] = {
    { "_is_enabled", get_is_enabled, NULL, "Does it collect now?", NULL },
    { "untraced", get_untraced, NULL,
      "Seconds in which calls were not traced, summed over its threads: another tool "
      "took the\ninterpreter's events away, or a recursion was too deep for the C "
      "stack (3.11).",
      NULL },
    { "lost", get_lost, NULL,
      "Calls that are not counted: their thread had more pairs of caller and callee\n"
      "than there is room for.",
      NULL },
    { "folded", get_folded, NULL,
      "Calls that are known by caller and callee alone: their thread had more paths\n"
      "than nodes=N keeps apart.  Counts and times of functions include them.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(
    profile_doc,
    "Profile(timer=None, timeunit=0.0, subcalls=True, builtins=True, *, "
    "threads=False, cpu=False, raw=False, signatures=True, timeline=False, "
    "nodes=None)\n--\n\n"
    "Counts and times every call.\n\n"
    "The clock is the processor's own, or `timer`: a function that returns "
    "seconds, or\nintegers of `timeunit` seconds each.  Without `threads` only "
    "the thread that calls\nenable() is traced.  `cpu` measures CPU time, "
    "too.  Times are without the cost\nof tracing unless `raw` asks for all.  With\n"
    "`signatures` a function is told apart by the types of its arguments, and by the\n"
    "dtype and shape of arrays: 'lengths' adds the lengths of containers, 'sizes' the\n"
    "values of integers, too.  `timeline` records when each call was, too, in the\n"
    "capture of sonde.start().  `nodes` is how many paths each thread keeps apart (a\n"
    "million); calls along further paths are counted by caller and callee.");

static PyType_Slot profile_slots[] = {
    { Py_tp_doc, (void *)profile_doc },   { Py_tp_new, profile_new },
    { Py_tp_init, profile_init },         { Py_tp_traverse, profile_traverse },
    { Py_tp_clear, profile_clear_refs },  { Py_tp_dealloc, profile_dealloc },
    { Py_tp_methods, profile_methods },   { Py_tp_members, profile_members },
    { Py_tp_getset, profile_attributes }, { 0, NULL },
};

PyType_Spec sd_profile_spec = {
    .name = "sonde.Profile",
    .basicsize = sizeof(struct sd_py_profile),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = profile_slots,
};

PyType_Spec sd_lsprof_spec = {
    .name = "_lsprof.Profiler",
    .basicsize = sizeof(struct sd_py_profile),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = profile_slots,
};
