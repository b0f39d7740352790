/* SPDX-License-Identifier: MIT */
#include "ext/lines/builtin_profile.h"

#include <string.h>

#include "collect/lines/collector.h"
#include "ext/lines/decorate.h"

/* --- profile */

static PyObject *offer_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "func", NULL }; /* as LineProfiler's __call__ has it */
    PyObject *o;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:profile", names, &o))
        return NULL;
    return sd_decorate_profile(NULL, o);
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

/* The profiler behind, or NULL with an AttributeError: hasattr() and getattr() with a
 * default pass no other, and of a program whose own `sonde` is another package, or
 * whose sys.path is cut, it is not the fault that our adapter cannot be imported. */
static PyObject *profiler_behind(void)
{
    struct sd_pending_exception first = sd_pending_exception_take();
    PyObject *profiler = sd_ext_adapter("_lines", "of_capture", Py_None);

    if (!profiler && PyErr_ExceptionMatches(PyExc_Exception) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        sd_pending_exception_give_back(first);
    } else {
        sd_pending_exception_drop(first);
    }
    return profiler;
}

/* Names that begin with "_" are asked for by whoever looks at an object, and are not
 * worth an import. */
static PyObject *offer_getattro(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name), *profiler;

    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
        PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) == '_')
        return found;
    profiler = profiler_behind();
    found = profiler ? PyObject_GetAttr(profiler, name) : NULL;
    Py_XDECREF(profiler);
    return found;
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

/* --- The finder */

struct finder {
    PyObject_HEAD PyObject *profile; /* owned: what the package is told of */
    const char *module;              /* where its `profile` is ... */
    const char *adapter;             /* ... and who tells it, in sonde._lines */
};

/* As of a finder in sys.meta_path: find_spec(name, path=None, target=None). */
static PyObject *finder_find_spec(PyObject *self, PyObject *args)
{
    PyObject *name, *path = Py_None, *target = Py_None, *asked, *spec;
    const struct finder *finder = (const struct finder *)self;

    if (!PyArg_UnpackTuple(args, "find_spec", 1, 3, &name, &path, &target))
        return NULL;
    if (!PyUnicode_Check(name) ||
        PyUnicode_CompareWithASCIIString(name, finder->module) != 0)
        Py_RETURN_NONE;
    asked = PyTuple_Pack(5, self, finder->profile, name, path, target);
    spec = asked ? sd_ext_adapter("_lines", finder->adapter, asked) : NULL;
    Py_XDECREF(asked);
    if (spec || !PyErr_ExceptionMatches(PyExc_Exception))
        return spec;
    PyErr_Clear(); /* the others in sys.meta_path find it as they would without us */
    Py_RETURN_NONE;
}

static void finder_dealloc(PyObject *self)
{
    Py_XDECREF(((struct finder *)self)->profile);
    offer_dealloc(self);
}

static PyMethodDef finder_methods[] = {
    { "find_spec", finder_find_spec, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot finder_slots[] = {
    { Py_tp_doc, "Gives a package our `profile` when it is imported." },
    { Py_tp_dealloc, finder_dealloc },
    { Py_tp_methods, finder_methods },
    { 0, NULL },
};

static PyType_Spec finder_spec = {
    .name = "sonde.ProfileFinder",
    .basicsize = sizeof(struct finder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = finder_slots,
};

/* --- Offering them */

/* The only one of its type: a program that calls the type makes no other. */
static PyObject *make(PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);
    PyObject *made = type ? type->tp_alloc(type, 0) : NULL;

    if (type)
        type->tp_new = NULL;
    Py_XDECREF(type);
    return made;
}

/* The extension is imported again, as part of the package, when that is asked for. */
static bool is_led(PyObject *importers, const char *module)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(importers); i++) {
        PyObject *one = PyList_GET_ITEM(importers, i);

        if (strcmp(Py_TYPE(one)->tp_name, finder_spec.name) == 0 &&
            strcmp(((struct finder *)one)->module, module) == 0)
            return true;
    }
    return false;
}

static void lead_importers(PyObject *offer, const char *module, const char *adapter)
{
    PyObject *importers = sd_compat_sys_get("meta_path");
    bool can = importers && PyList_Check(importers) && !is_led(importers, module);
    PyObject *made = can ? make(&finder_spec) : NULL;
    struct finder *finder = (struct finder *)made;

    if (!finder)
        return;
    finder->profile = Py_NewRef(offer);
    finder->module = module;
    finder->adapter = adapter;
    PyList_Insert(importers, 0, made);
    Py_DECREF(made);
}

/* Also where nothing can be recorded: the run has ended, and its child goes on. */
void sd_offer_profile(void)
{
    PyObject *builtins =
        sd_lines_captured() || sd_lines_are_asked() ? PyEval_GetBuiltins() : NULL;
    PyObject *offer = builtins ? make(&offer_spec) : NULL;

    if (offer && !sd_compat_dict_get(builtins, "profile"))
        PyDict_SetItemString(builtins, "profile", offer);
    if (offer)
        lead_importers(offer, "line_profiler.explicit_profiler", "lead_line_profiler");
    if (offer && sd_lines_are_asked_for_memory())
        lead_importers(offer, "memory_profiler", "lead_memory_profiler");
    Py_XDECREF(offer);
    PyErr_Clear();
}
