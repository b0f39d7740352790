/* SPDX-License-Identifier: MIT */
#include "ext/decorate.h"

#include <string.h>

#include "collect/lines/collector.h"
#include "collect/lines/lines.h"

/* Decorators stand on decorators, and what wraps itself has no end. */
enum { WRAPPED_MOST = 64 };

static int add_codes(PyObject *codes, PyObject *o, int depth);

/* Of objects whose types are known, so that no code of the program's is run. */
static int add_attribute(PyObject *codes, PyObject *o, const char *name, int depth)
{
    PyObject *inner = PyObject_GetAttrString(o, name);
    int rc = inner ? add_codes(codes, inner, depth + 1) : 0;

    if (!inner)
        PyErr_Clear();
    Py_XDECREF(inner);
    return rc;
}

/* Its own code, and that of the function it wraps, if functools.wraps says so. */
static int add_function(PyObject *codes, PyObject *function, int depth)
{
    PyObject *dict = ((PyFunctionObject *)function)->func_dict;
    PyObject *wrapped = dict ? PyDict_GetItemString(dict, "__wrapped__") : NULL;
    int rc = PyList_Append(codes, PyFunction_GET_CODE(function));

    return rc == 0 && wrapped ? add_codes(codes, wrapped, depth + 1) : rc;
}

/* Functions of a class; what it only refers to, other classes too, is not its own. */
static int add_class(PyObject *codes, PyObject *type, int depth)
{
    PyObject *values = PyDict_Values(((PyTypeObject *)type)->tp_dict);
    int rc = values ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(values); i++)
        if (!PyType_Check(PyList_GET_ITEM(values, i)))
            rc = add_codes(codes, PyList_GET_ITEM(values, i), depth + 1);
    Py_XDECREF(values);
    return rc;
}

/* Where other things keep their functions. */
static const struct {
    const char *type, *names[3];
} holders[] = {
    { "property", { "fget", "fset", "fdel" } }, { "classmethod", { "__func__" } },
    { "staticmethod", { "__func__" } },         { "method", { "__func__" } },
    { "functools.partial", { "func" } },        { "partialmethod", { "func" } },
    { "cached_property", { "func" } },
};

static int add_held(PyObject *codes, PyObject *o, int depth)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++) {
        if (strcmp(Py_TYPE(o)->tp_name, holders[i].type) != 0)
            continue;
        for (int k = 0; k < 3 && holders[i].names[k] && rc == 0; k++)
            rc = add_attribute(codes, o, holders[i].names[k], depth);
    }
    return rc;
}

static int add_codes(PyObject *codes, PyObject *o, int depth)
{
    if (depth > WRAPPED_MOST)
        return 0;
    if (PyCode_Check(o))
        return PyList_Append(codes, o);
    if (PyFunction_Check(o))
        return add_function(codes, o, depth);
    if (PyType_Check(o))
        return add_class(codes, o, depth);
    return add_held(codes, o, depth);
}

PyObject *sd_codes_of(PyObject *module, PyObject *o)
{
    PyObject *codes = PyList_New(0);

    (void)module;
    if (codes && add_codes(codes, o, 0) < 0)
        Py_CLEAR(codes);
    return codes;
}

/* profile(function): chosen for the capture, and the same as before. */
PyObject *sd_lines_profile(PyObject *module, PyObject *o)
{
    struct sd_line_session *s = sd_lines_captured();
    PyObject *codes = s ? sd_codes_of(module, o) : NULL;

    for (Py_ssize_t i = 0; codes && i < PyList_GET_SIZE(codes); i++)
        sd_line_session_add(s, (PyCodeObject *)PyList_GET_ITEM(codes, i));
    Py_XDECREF(codes);
    PyErr_Clear(); /* what cannot be counted is called all the same */
    return Py_NewRef(o);
}

/* From a line of the program: whatever goes wrong here is not its fault. */
static void do_above(int64_t rss_bytes, uint64_t limit_bytes, const char *then)
{
    struct sd_raised raised = sd_raised_take();
    PyObject *what = Py_BuildValue("(LKz)", (long long)rss_bytes,
                                   (unsigned long long)limit_bytes, then);
    PyObject *done = what ? sd_ext_adapter("_lines", "above", what) : NULL;

    Py_XDECREF(what);
    Py_XDECREF(done);
    PyErr_Clear();
    sd_raised_give_back(raised);
}

void sd_lines_offer_profile(PyObject *module)
{
    PyObject *builtins = sd_lines_captured() ? PyEval_GetBuiltins() : NULL;
    PyObject *profile = NULL;

    if (builtins)
        sd_lines_above(do_above);
    if (builtins && !PyDict_GetItemString(builtins, "profile"))
        profile = PyObject_GetAttrString(module, "profile");
    if (profile)
        PyDict_SetItemString(builtins, "profile", profile);
    Py_XDECREF(profile);
    PyErr_Clear();
}
