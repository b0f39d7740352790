/* SPDX-License-Identifier: MIT */
/* interval_page: what a notebook shows of a Profiler, and the capture that is made of
 * its rows for it. */
#include "base/buf.h"
#include "collect/sections/store_capture.h"
#include "ext/sections/py_profiler.h"

/* Which kinds of data it asks for is not looked at. */
PyObject *sd_profiler_mimebundle(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "include", "exclude", NULL };
    PyObject *include, *exclude;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:_repr_mimebundle_", names,
                                     &include, &exclude))
        return NULL;
    return sd_ext_adapter("_plot", "bundle_of_sections", self);
}

PyObject *sd_profiler_capture(PyObject *self, PyObject *command)
{
    struct sd_py_profiler *p = (struct sd_py_profiler *)self;
    const char *text = PyUnicode_AsUTF8(command);
    struct sd_buf bytes = { 0 };
    PyObject *made = NULL;
    int rc;

    if (!text)
        return NULL;
    if (p->store.n_rows == 0)
        Py_RETURN_NONE;
    rc = sd_store_as_capture(&p->store, p->epoch_ns, text, &bytes);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        made = PyBytes_FromStringAndSize((const char *)bytes.p, (Py_ssize_t)bytes.n);
    sd_buf_release(&bytes);
    return made;
}
