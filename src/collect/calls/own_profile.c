/* SPDX-License-Identifier: MIT */
#include "collect/calls/own_profile.h"

#include "cpython/compat.h"
#include "cpython/compat_eval.h"

#if !SD_HAS_MONITORING
#include <string.h>

#include "collect/calls/front.h"

/* sys.setprofile: its definition, which all its objects share. */
static struct {
    PyMethodDef *def; /* NULL: it was not found */
    PyCFunction original;
    Py_tracefunc ours;
} setprofile;

/* The filter of this thread. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    Py_tracefunc behind; /* the program's */
    uintptr_t frame;     /* the one that is watched; compared only.  It lives, or its
                            end would have been heard; 0: none */
} filter;

/* --- The filter ------------------------------------------------------------------- */

/* Its first event has come: the frame that called it is watched now. */
static void watch_below(PyFrameObject *f)
{
    filter.frame = sd_eval_profiled_below(f);
    if (!filter.frame)
        PyThreadState_Get()->c_profilefunc = filter.behind;
}

/* A C function ends that was called from the frame before the program's function was
 * set: told to us, or to nobody. */
static bool began_unheard(PyFrameObject *f)
{
    return !sd_calls_follows() || sd_calls_is_in_c(sd_eval_profiled_frame(f));
}

static int pass_on(PyObject *object, PyFrameObject *f, int what, PyObject *arg)
{
    Py_tracefunc behind = filter.behind;

    if (sd_eval_profiled_frame(f) == filter.frame) {
        bool is_end = what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION;

        watch_below(f);
        if (is_end && began_unheard(f)) {
            sd_calls_leave_c(sd_eval_profiled_frame(f));
            return 0;
        }
    }
    return behind(object, f, what, arg);
}

/* --- sys.setprofile --------------------------------------------------------------- */

/* An event that is being told counts as heard by who hears it, and what is called
 * meanwhile is told to nobody. */
static PyObject *call_setprofile(PyObject *self, PyObject *arg)
{
    PyThreadState *ts = PyThreadState_Get();
    Py_tracefunc before = ts->c_profilefunc, now;
    PyObject *result = setprofile.original(self, arg);

    now = ts->c_profilefunc;
    if (!result || !now || now == setprofile.ours || now == pass_on)
        return result;
    if (before && before != setprofile.ours && before != pass_on)
        return result;
    filter.behind = now;
    if (before != pass_on) {
        if (ts->tracing || !sd_calls_follows())
            return result;
        filter.frame = sd_eval_below(ts);
    }
    if (filter.frame)
        ts->c_profilefunc = pass_on;
    return result;
}

static PyMethodDef *find_setprofile(void)
{
    PyObject *f = sd_compat_sys_get("setprofile"); /* borrowed */
    PyMethodDef *def =
        f && PyCFunction_Check(f) ? ((PyCFunctionObject *)f)->m_ml : NULL;

    if (!def || strcmp(def->ml_name, "setprofile") != 0 || def->ml_flags != METH_O)
        return NULL;
    return def;
}

void sd_own_profile_watch(Py_tracefunc ours)
{
    setprofile.ours = ours;
    if (!setprofile.def)
        setprofile.def = find_setprofile();
    if (!setprofile.def || setprofile.def->ml_meth == call_setprofile)
        return;
    if (!setprofile.original)
        setprofile.original = setprofile.def->ml_meth;
    if (setprofile.def->ml_meth == setprofile.original) /* else another's calls ours */
        setprofile.def->ml_meth = call_setprofile;
}

void sd_own_profile_unwatch(void)
{
    if (setprofile.def && setprofile.def->ml_meth == call_setprofile)
        setprofile.def->ml_meth = setprofile.original;
}

Py_tracefunc sd_own_profile_behind(Py_tracefunc function)
{
    return function == pass_on ? filter.behind : function;
}
#endif
