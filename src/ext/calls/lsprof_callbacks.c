/* SPDX-License-Identifier: MIT */
/* lsprof_callbacks: the private methods of _lsprof.Profiler that sys.monitoring calls
 * (3.12 and later).
 *
 * Here the interpreter calls the extension's own listeners (front_monitoring.c), so
 * nobody needs them; but they are found, and check their arguments as CPython's do. */
#include "ext/calls/py_profile.h"

#if SD_HAS_MONITORING
static PyObject *refuse(PyObject *args, const char *name, Py_ssize_t n)
{
    if (PyTuple_GET_SIZE(args) != n)
        return PyErr_Format(PyExc_TypeError, "%s expected %zd arguments, got %zd", name,
                            n, PyTuple_GET_SIZE(args));
    return PyErr_Format(PyExc_RuntimeError,
                        "Sonde's profiler takes no events through %s(); use enable() "
                        "and disable()",
                        name);
}

#define CALLBACK(name, n)                                                              \
    static PyObject *name(PyObject *self, PyObject *args)                              \
    {                                                                                  \
        (void)self;                                                                    \
        return refuse(args, "_" #name, n);                                             \
    }
CALLBACK(pystart_callback, 2)
CALLBACK(pyreturn_callback, 3)
CALLBACK(ccall_callback, 4)
CALLBACK(creturn_callback, 4)

static PyMethodDef callbacks[] = {
    { "_pystart_callback", pystart_callback, METH_VARARGS, NULL },
    { "_pyreturn_callback", pyreturn_callback, METH_VARARGS, NULL },
    { "_ccall_callback", ccall_callback, METH_VARARGS, NULL },
    { "_creturn_callback", creturn_callback, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int sd_lsprof_add_callbacks(PyTypeObject *type)
{
    int rc = 0;

    for (PyMethodDef *def = callbacks; def->ml_name && rc == 0; def++) {
        PyObject *method = PyDescr_NewMethod(type, def);

        rc = method ? PyObject_SetAttrString((PyObject *)type, def->ml_name, method)
                    : -1;
        Py_XDECREF(method);
    }
    return rc;
}
#else
int sd_lsprof_add_callbacks(PyTypeObject *type)
{
    (void)type;
    return 0;
}
#endif
