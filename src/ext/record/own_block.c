/* SPDX-License-Identifier: MIT */
#include "ext/record/own_block.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/capture.h"
#include "collect/alloc/traces.h"
#include "collect/inside.h"
#include "collect/own.h"
#include "collect/session.h"
#include "collect/with.h"

/* Of the one session of this process: which process a block is recorded in, from before
 * its file is made until it is sealed, and what it is called. */
static struct {
    int32_t pid;
    const char *what;
} block;

static void refuse_second(PyObject *self, const char *what)
{
    PyObject *own = PyObject_GetAttrString(self, "_busy");

    if (own) {
        PyErr_SetObject(PyExc_RuntimeError, own);
        Py_DECREF(own);
        return;
    }
    PyErr_Format(PyExc_RuntimeError,
                 "a block of %s is being recorded already; end it before %s begins",
                 block.what, block.what == what ? "the next" : what);
}

bool sd_own_block_is_taken(PyObject *self, const char *what)
{
    const char *with = secure_getenv("SONDE_WITH");

    if (sd_traces_are_on())
        PyErr_Format(PyExc_RuntimeError,
                     "sonde.compat.tracemalloc traces this process; call its stop() "
                     "before %s",
                     what);
    else if (block.pid == (int32_t)getpid())
        refuse_second(self, what);
    else if (!sd_session_has_capture())
        return false;
    else if (block.pid)
        refuse_second(self, what);
    else if (sd_own_is_here())
        PyErr_Format(PyExc_RuntimeError,
                     "this process records itself already (sonde.start(), or "
                     "SONDE_OUT); call sonde.stop() before %s",
                     what);
    else if (sd_with_has(with, "alloc"))
        PyErr_Format(PyExc_RuntimeError,
                     "`sonde alloc` already records all allocations of this process, "
                     "those of this block too; run the program without `sonde alloc`, "
                     "or without %s",
                     what);
    else
        PyErr_Format(PyExc_RuntimeError,
                     "this process is already being recorded by `sonde`; run the "
                     "program without `sonde`, or record its allocations with `sonde "
                     "run --with alloc`");
    return true;
}

int sd_own_block_begin(const char *what, const char *path, const char *live_dir,
                       bool *has_begun)
{
    int rc;

    block.what = what;
    block.pid = (int32_t)getpid(); /* other threads may run now */
    Py_BEGIN_ALLOW_THREADS         /* a file is made */
        rc = live_dir ? sd_session_join(live_dir) : sd_own_start(path);
    Py_END_ALLOW_THREADS *has_begun = rc == 0;
    if (rc < 0)
        block.pid = 0;
    return rc;
}

int sd_own_block_end(int32_t pid)
{
    int rc = 0;

    sd_inside_stop();
    if (pid != (int32_t)getpid() || !sd_own_is_here()) {
        sd_session_leave();
        block.pid = 0;
        return 0;
    }
    Py_BEGIN_ALLOW_THREADS /* sealing compresses and may wait for the disk */
        rc = sd_own_stop(SD_STATUS_UNKNOWN);
    Py_END_ALLOW_THREADS block.pid = 0;
    return rc;
}
