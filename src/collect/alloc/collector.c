/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "capture/log.h"
#include "capture/writer.h"
#include "collect/alloc/natives.h"
#include "collect/alloc/options.h"
#include "collect/alloc/pymem.h"
#include "collect/alloc/recorder.h"
#include "collect/inside.h"
#include "collect/session.h"

extern const struct sd_collector_about sd_about_alloc;
extern const struct sd_inside sd_inside_alloc;

static struct {
    bool runs;
    bool watches_end; /* atexit knows of us */
    bool watches_forks;
    unsigned layers;
} recording;

/* --- The end of the program
 * ------------------------------------------------------------ */

/* With the interpreter's lock. */
static void end_recording(void)
{
    if (!recording.runs)
        return;
    recording.runs = false;
    if (recording.layers & SD_LAYER_MALLOC)
        sd_alloc_natives_stop();
    sd_alloc_recorder_end();
    sd_alloc_pymem_stop();
}

/* The first that atexit was told of is the last that it calls: the program's code is
 * done then, and the interpreter has not cleared its modules yet.  What is live now is
 * leaked. */
static PyObject *at_end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    end_recording();
    Py_RETURN_NONE;
}

static void watch_end(void)
{
    static PyMethodDef method = { "sonde_alloc_ends", at_end, METH_NOARGS, NULL };
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *function = module ? PyCFunction_New(&method, NULL) : NULL;
    PyObject *done =
        function ? PyObject_CallMethod(module, "register", "O", function) : NULL;

    recording.watches_end = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(function);
    Py_XDECREF(module);
    PyErr_Clear();
}

/* --- Starting
 * -------------------------------------------------------------------------- */

static void tell_facts(const struct sd_option_value *v)
{
    struct sd_log *l = sd_session_log();
    char bytes[24];

    if (!l)
        return;
    sd_log_meta(l, SD_META_ALLOC_MODE, v[SD_ALLOC_OPT_MODE].text);
    sd_log_meta(l, SD_META_ALLOC_LAYER, v[SD_ALLOC_OPT_LAYER].text);
    snprintf(bytes, sizeof bytes, "%lu", v[SD_ALLOC_OPT_SAMPLE_BYTES].number);
    if (sd_alloc_mode_of(&v[SD_ALLOC_OPT_MODE]) == SD_ALLOC_SAMPLED)
        sd_log_meta(l, SD_META_ALLOC_SAMPLE, bytes);
}

static void watch_forks(void)
{
    if (recording.watches_forks)
        return;
    sd_session_watch_forks(); /* first: its handler in the child comes before ours */
    recording.watches_forks =
        pthread_atfork(NULL, NULL, sd_alloc_recorder_after_fork) == 0;
}

static int start(const struct sd_option_value *v)
{
    int rc = sd_about_alloc.check(v);

    if (rc < 0)
        return rc;
    if (!recording.watches_end)
        watch_end();
    watch_forks();
    tell_facts(v);
    recording.layers = (unsigned)sd_alloc_layers_of(&v[SD_ALLOC_OPT_LAYER]);
    rc = sd_alloc_recorder_begin(
        sd_session_writer(),
        (enum sd_alloc_mode)sd_alloc_mode_of(&v[SD_ALLOC_OPT_MODE]), recording.layers,
        v[SD_ALLOC_OPT_SAMPLE_BYTES].number, v[SD_ALLOC_OPT_MAX_FILE].number);
    if (rc < 0)
        return rc;
    recording.runs = true;
    sd_alloc_pymem_start(recording.layers & SD_LAYER_PY);
    if (recording.layers & SD_LAYER_MALLOC)
        rc = sd_alloc_natives_start();
    if (rc < 0)
        end_recording();
    return rc;
}

/* The interpreter may be gone. */
static void at_exit(void) { sd_alloc_recorder_end(); }

/* The child has its tables from its beginning: the owner waits for it. */
static void after_fork(void)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (t)
        sd_alloc_leave(t);
}

const struct sd_inside sd_inside_alloc = {
    .about = &sd_about_alloc,
    .start = start,
    .at_exit = at_exit,
    .stop = end_recording,
    .after_fork = after_fork,
};
