/* SPDX-License-Identifier: MIT */
#include "cpython/compat_runtime.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "capture/log.h"
#include "collect/calls/call_calibration.h"
#include "collect/calls/names.h"
#include "collect/calls/options.h"
#include "collect/calls/sessions.h"
#include "collect/inside.h"
#include "collect/session.h"

extern const struct sd_collector_about sd_about_calls;
extern const struct sd_inside sd_inside_calls;
extern const struct sd_inside_block sd_call_block;

enum { LAST_WORDS = 2048 }; /* bytes for what is written at the end */

/* The one session that fills the capture, for as long as the process lives. */
static struct {
    struct sd_calls_session *session;
    struct sd_calls_names names;
    int64_t n_made; /* interpreters, when it began; 0: not known */
} captured;

/* A call from no frame is the program's first, unless the interpreter makes it to find
 * out what kind of program it has. */
static bool is_program(const void *what)
{
    PyObject *file = ((const PyCodeObject *)what)->co_filename;
    static const char *const finders[] = { "<frozen importlib", "<frozen zipimport" };
    const char *text = PyUnicode_IS_READY(file) && PyUnicode_IS_COMPACT_ASCII(file)
                           ? PyUnicode_DATA(file)
                           : "";

    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++)
        if (strncmp(text, finders[i], strlen(finders[i])) == 0)
            return false;
    return true;
}

static bool ends_with(PyObject *text, const char *end)
{
    const char *all = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    size_t n = all ? strlen(all) : 0, m = strlen(end);

    return n >= m && strcmp(all + n - m, end) == 0;
}

/* Are we loaded while the interpreter starts?  Then the program is still to come; else
 * it is what loads us. */
static bool is_starting(void)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame()), *back, *code, *file;
    bool is = false;

    while (frame && frame != Py_None && !is) {
        code = PyObject_GetAttrString(frame, "f_code");
        file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
        is = ends_with(file, "/_bootstrap/sitecustomize.py");
        back = PyObject_GetAttrString(frame, "f_back");
        Py_XDECREF(code);
        Py_XDECREF(file);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    PyErr_Clear();
    return is;
}

static void note(enum sd_note_kind kind, const char *format, const char *what)
{
    struct sd_log *l = sd_session_log();
    char text[512];

    snprintf(text, sizeof text, format, (int)getpid(), what);
    if (l)
        sd_log_note(l, kind, text);
}

/* Other interpreters than the one that is followed may have come and gone unheard. */
static void tell_of_others(void)
{
    if (captured.n_made > 0 && sd_compat_runtime_interpreters_made() > captured.n_made)
        note(SD_NOTE_REFUSAL, "calls in sub-interpreters of process %d are %s",
             "not traced: sonde traces only the interpreter that runs the program");
}

/* Python is gone: what is left open ends here. */
static void at_exit(void)
{
    tell_of_others();
    sd_calls_tell_missing();
    sd_calls_sessions_tell_unfollowed();
    sd_calls_session_stop(captured.session);
    sd_calls_calibrated(captured.session);
}

/* A Ctrl-C that comes just now is the program's, once it has begun. */
static void calibrate(struct sd_calls_session *s)
{
    if (sd_calls_calibrate(s) == 0)
        return;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt();
    PyErr_Clear();
}

static int follow(const struct sd_option_value *v)
{
    int detail = sd_calls_signatures_of(&v[SD_CALLS_OPT_SIGNATURES]);
    struct sd_calls_request request = {
        .events = SD_CALLS_PYTHON | (v[SD_CALLS_OPT_BUILTINS].number ? SD_CALLS_C : 0) |
                  (v[SD_CALLS_OPT_THREADS].number ? SD_CALLS_ALL : 0) |
                  (v[SD_CALLS_OPT_BOUNDED].number ? SD_CALLS_BOUNDED : 0) |
                  (detail > 0 ? SD_CALLS_SIGNED : 0),
        .has_cpu = v[SD_CALLS_OPT_CPU].number,
        .has_timeline = v[SD_CALLS_OPT_TIMELINE].number,
        .in_capture = true,
        .n_max = (uint32_t)v[SD_CALLS_OPT_NODES].number,
        .begins = is_starting() ? is_program : NULL,
        .names = { sd_calls_define, &captured.names, sd_calls_sign,
                   sd_calls_function_key },
    };
    int rc = sd_calls_session_new(&request, &captured.session);

    captured.names.detail = (enum sd_value_detail)(detail > 0 ? detail : 0);
    if (detail > 0)
        sd_tensors_look();
    if (rc == 0)
        calibrate(captured.session);
    if (rc == 0)
        rc = sd_calls_session_start(captured.session);
    if (rc == 0)
        rc = sd_calls_listen(sd_calls_sessions_want());
    if (rc == 0)
        return 0;
    sd_calls_session_free(captured.session);
    captured.session = NULL;
    return rc;
}

/* What is to be said at the end needs room then, which the program may take away before
 * (a limit on files, a full disk). */
static void make_log_ready(void)
{
    struct sd_log *l = sd_session_log();

    if (l && sd_log_room(l, LAST_WORDS))
        sd_log_commit(l, 0, 0);
}

static int start(const struct sd_option_value *given)
{
    struct sd_option_value values[SD_CALLS_N_OPTIONS];
    int rc;

    memcpy(values, given, sizeof values);
    sd_calls_imply(values);
    rc = sd_about_calls.check(values);
    if (rc < 0)
        return rc;
    if (values[SD_CALLS_OPT_BOUNDED].number && !SD_HAS_MONITORING) {
        values[SD_CALLS_OPT_BOUNDED].number = 0;
        note(SD_NOTE_REFUSAL, "calls of process %d are not bounded: %s",
             "bounded overhead (--bounded) needs Python 3.12 or later, so sonde traces "
             "every call");
    }
    rc = follow(values);
    if (rc < 0)
        return rc;
    make_log_ready();
    captured.n_made =
        sd_compat_runtime_is_known() ? sd_compat_runtime_interpreters_made() : 0;
    if (values[SD_CALLS_OPT_BOUNDED].number)
        note(SD_NOTE_WARNING, "calls of process %d are bounded: %s",
             "once a short function was called often, sonde stops counting it, and its "
             "time goes to its callers");
    return 0;
}

static void stop(void)
{
    struct sd_calls_session *s = captured.session;

    captured.session = NULL;
    sd_calls_session_stop(s);
    sd_calls_calibrated(s);
    sd_calls_listen(sd_calls_sessions_want());
    sd_calls_session_free(s);
}

const struct sd_inside sd_inside_calls = {
    .about = &sd_about_calls,
    .start = start,
    .at_exit = at_exit,
    .stop = stop,
    .after_fork = make_log_ready,
    .block = &sd_call_block,
};
