/* SPDX-License-Identifier: MIT */
/* empty_manager: the least that `with manager("name"):` can cost in C: a call with a
 * name that gives the manager itself, an __enter__ and an __exit__ that do nothing.  A
 * disabled section is measured against it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

struct manager {
    PyObject_HEAD vectorcallfunc call;
};

static PyObject *call(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
    (void)args;
    (void)names;
    if (PyVectorcall_NARGS(n) != 1) {
        PyErr_SetString(PyExc_TypeError, "one name");
        return NULL;
    }
    Py_INCREF(self);
    return self;
}

static PyObject *manager_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_INCREF(self);
    return self;
}

static PyObject *manager_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    (void)args;
    (void)n;
    Py_RETURN_FALSE;
}

static PyObject *manager_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    struct manager *m = (struct manager *)type->tp_alloc(type, 0);

    (void)args;
    (void)names;
    if (m)
        m->call = call;
    return (PyObject *)m;
}

static PyMethodDef methods[] = {
    { "__enter__", manager_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))manager_exit, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static PyTypeObject manager_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_empty.Manager",
    .tp_basicsize = sizeof(struct manager),
#if PY_VERSION_HEX < 0x03090000
    .tp_flags = Py_TPFLAGS_DEFAULT | _Py_TPFLAGS_HAVE_VECTORCALL,
#else
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
#endif
    .tp_vectorcall_offset = offsetof(struct manager, call),
    .tp_call = PyVectorcall_Call,
    .tp_methods = methods,
    .tp_new = manager_new,
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, .m_name = "_empty",
                                     .m_size = -1 };

PyMODINIT_FUNC PyInit__empty(void)
{
    PyObject *m = PyType_Ready(&manager_type) < 0 ? NULL : PyModule_Create(&module);

    if (m && PyModule_AddObject(m, "Manager", (PyObject *)&manager_type) < 0)
        Py_CLEAR(m);
    else
        Py_INCREF(&manager_type);
    return m;
}
