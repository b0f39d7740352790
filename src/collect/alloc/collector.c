/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include <stdatomic.h>

#include "base/error.h"
#include "collect/alloc/alloc_link.h"
#include "collect/alloc/code_names.h"
#include "collect/alloc/mixed_walk.h"
#include "collect/alloc/process_recording.h"
#include "collect/alloc/pymem.h"
#include "collect/alloc/pymem_watch.h"
#include "collect/alloc/thread_names.h"
#include "collect/alloc/traces.h"
#include "collect/alloc/walk.h"
#include "collect/inside.h"
#include "collect/session.h"
#include "collect/shared/source_name.h"
#include "collect/shared/uncounted.h"

extern const struct sd_collector_about sd_about_alloc;
extern const struct sd_inside sd_inside_alloc;

static struct {
    bool runs;
    bool watches_end; /* atexit knows of us */
    bool is_linked;   /* the recorder is that of a preloaded library */
} recording;

/* --- The end of the program ------------------------------------------------------ */

/* With the interpreter's lock.  A preloaded library stops recording, too: the
 * interpreter is about to clear its modules. */
static void end_recording(void)
{
    if (!recording.runs)
        return;
    recording.runs = false;
    sd_pymem_watch_end();
    sd_uncounted_tell(NULL);
    sd_alloc_link.end();
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

/* --- Starting -------------------------------------------------------------------- */

const struct sd_alloc_language sd_alloc_python = {
    .walk = sd_alloc_walk,
    .walk_inner = sd_alloc_walk_inner,
    .merge = sd_mixed_walk_merge,
    .describe = sd_mixed_walk_describe,
    .thread_name = sd_alloc_thread_name,
    .started_name = sd_alloc_started_name,
    .look = sd_pymem_watch_look,
    .name_code = sd_code_name,
};

static int begin(const struct sd_option_value *v)
{
    int linked = sd_alloc_link_preloaded();

    recording.is_linked = linked > 0;
    return linked != 0 ? linked : sd_process_recording_begin(v);
}

/* What a library recorded of this thread stands under the kernel's name. */
static void end_record(void)
{
    struct sd_alloc_thread *t = sd_linked_enter();

    if (!t)
        return;
    t->last = t->end = t->at;
    sd_alloc_leave(t);
}

static int start(const struct sd_option_value *v)
{
    int rc = sd_about_alloc.check(v);

    if (rc >= 0 && sd_traces_are_on())
        return sd_fail(SD_EEXISTS, "sonde.compat.tracemalloc traces this process; call "
                                   "its stop() first");
    if (rc >= 0 && !recording.watches_end)
        watch_end(); /* first: what it allocates is not the program's */
    if (rc >= 0)
        rc = begin(v);
    if (rc < 0)
        return rc;
    sd_source_name_begins();
    if (recording.is_linked)
        sd_session_lend_ticks(sd_alloc_link.recorder->tick);
    recording.runs = true;
    atomic_store(&sd_alloc_link.recorder->language, &sd_alloc_python);
    sd_uncounted_tell(sd_alloc_link.hear_uncounted);
    end_record();
    sd_alloc_pymem_start(sd_alloc_link.recorder->layers & SD_LAYER_PY);
    sd_pymem_watch_begin();
    return 0;
}

/* The interpreter may be gone. */
static void at_exit(void) { sd_alloc_link.flush(); }

/* The child has its tables from its beginning: the owner waits for it. */
static void after_fork(void)
{
    struct sd_alloc_thread *t = sd_linked_enter();

    if (t)
        sd_alloc_leave(t);
    if (recording.is_linked)
        sd_session_lend_ticks(sd_alloc_link.recorder->tick);
}

const struct sd_inside sd_inside_alloc = {
    .about = &sd_about_alloc,
    .start = start,
    .at_exit = at_exit,
    .stop = end_recording,
    .after_fork = after_fork,
};
