/* SPDX-License-Identifier: MIT */
#include "ext/offer.h"

#include "collect/lines/collector.h"
#include "ext/decorate.h"

static PyObject *offer_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *o;

    (void)self;
    (void)kwargs;
    return PyArg_UnpackTuple(args, "profile", 1, 1, &o) ? sd_lines_profile(NULL, o)
                                                        : NULL;
}

/* What was chosen is counted wherever it runs: there is nothing to switch on. */
static PyObject *offer_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *offer_exit(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_NONE;
}

/* Names that begin with "_" are asked for by whoever looks at an object, and are not
 * worth an import. */
static PyObject *offer_getattro(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name), *profiler;

    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
        PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) == '_')
        return found;
    PyErr_Clear();
    profiler = sd_ext_adapter("_lines", "of_capture", Py_None);
    found = profiler ? PyObject_GetAttr(profiler, name) : NULL;
    Py_XDECREF(profiler);
    return found;
}

/* As of a finder in sys.meta_path: find_spec(name, path=None, target=None). */
static PyObject *offer_find_spec(PyObject *self, PyObject *args)
{
    PyObject *name, *path = Py_None, *target = Py_None, *asked, *spec;

    if (!PyArg_UnpackTuple(args, "find_spec", 1, 3, &name, &path, &target))
        return NULL;
    if (!PyUnicode_Check(name) ||
        PyUnicode_CompareWithASCIIString(name, "line_profiler.explicit_profiler") != 0)
        Py_RETURN_NONE;
    asked = PyTuple_Pack(4, self, name, path, target);
    spec = asked ? sd_ext_adapter("_lines", "lead_line_profiler", asked) : NULL;
    Py_XDECREF(asked);
    if (spec || !PyErr_ExceptionMatches(PyExc_Exception))
        return spec;
    PyErr_Clear(); /* the others in sys.meta_path find it as they would without us */
    Py_RETURN_NONE;
}

static void offer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef offer_methods[] = {
    { "__enter__", offer_enter, METH_NOARGS, NULL },
    { "__exit__", offer_exit, METH_VARARGS, NULL },
    { "find_spec", offer_find_spec, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot offer_slots[] = {
    { Py_tp_doc,
      "Chooses a function, or all of a class, whose lines are counted; gives "
      "it back as it is." },
    { Py_tp_dealloc, offer_dealloc },
    { Py_tp_call, offer_call },
    { Py_tp_getattro, offer_getattro },
    { Py_tp_methods, offer_methods },
    { 0, NULL },
};

static PyType_Spec offer_spec = {
    .name = "sonde.profile",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = offer_slots,
};

static PyObject *make(void)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&offer_spec);
    PyObject *offer = type ? type->tp_alloc(type, 0) : NULL;

    Py_XDECREF(type);
    return offer;
}

void sd_offer_profile(void)
{
    PyObject *builtins = sd_lines_captured() ? PyEval_GetBuiltins() : NULL;
    PyObject *importers = builtins ? PySys_GetObject("meta_path") : NULL;
    PyObject *offer = builtins ? make() : NULL;

    if (offer && !PyDict_GetItemString(builtins, "profile"))
        PyDict_SetItemString(builtins, "profile", offer);
    if (offer && importers && PyList_Check(importers))
        PyList_Insert(importers, 0, offer);
    Py_XDECREF(offer);
    PyErr_Clear();
}
