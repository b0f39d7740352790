/* SPDX-License-Identifier: MIT */
#include "ext/model/py_model.h"

#include "base/buf.h"
#include "base/error.h"
#include "ext/model/py_model_objects.h"

PyObject *sd_py_model_new(PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);
    int rc = self ? sd_model_init(sd_py_model_in(self)) : 0;

    if (rc < 0) {
        Py_DECREF(self);
        return sd_ext_raise(rc);
    }
    return self;
}

struct sd_model *sd_py_model_of(PyTypeObject *type, PyObject *o)
{
    if (PyObject_TypeCheck(o, type))
        return sd_py_model_in(o);
    PyErr_Format(PyExc_TypeError, "expected a Model, not %.100s", Py_TYPE(o)->tp_name);
    return NULL;
}

/* --- What is in it */

static PyObject *tensor_object(const struct sd_model *m,
                               const struct sd_model_tensor *t)
{
    PyObject *dict = PyDict_New();

    if (dict &&
        (!sd_py_model_dict_take(dict, "name", sd_py_model_text(m, t->name)) ||
         !sd_py_model_dict_take(dict, "layer", PyLong_FromUnsignedLong(t->layer)) ||
         !sd_py_model_dict_take(dict, "shape", sd_py_model_dims(t->dims)) ||
         !sd_py_model_dict_take(dict, "dtype",
                                PyUnicode_FromString(sd_dtype_about(t->dtype)->name)) ||
         !sd_py_model_dict_take(dict, "bytes",
                                PyLong_FromLongLong(sd_model_tensor_bytes(t))) ||
         !sd_py_model_dict_take(dict, "parameter",
                                PyBool_FromLong(t->flags & SD_TENSOR_PARAMETER)) ||
         !sd_py_model_dict_take(dict, "buffer",
                                PyBool_FromLong(t->flags & SD_TENSOR_BUFFER)) ||
         !sd_py_model_dict_take(dict, "trainable",
                                PyBool_FromLong(t->flags & SD_TENSOR_TRAINABLE)) ||
         !sd_py_model_dict_take(dict, "tied",
                                PyBool_FromLong(t->flags & SD_TENSOR_TIED))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *model_tensors(PyObject *self, PyObject *unused)
{
    const struct sd_model *m = sd_py_model_in(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_tensors; i++)
        if (!sd_py_model_list_take(list, tensor_object(m, &m->tensors[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_edges(PyObject *self, PyObject *unused)
{
    const struct sd_model *m = sd_py_model_in(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_edges; i++)
        if (!sd_py_model_list_take(
                list, Py_BuildValue("(II)", m->edges[i].from, m->edges[i].to)))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_bytes(PyObject *self, PyObject *unused)
{
    struct sd_buf buf = { 0 };
    PyObject *bytes = NULL;

    (void)unused;
    sd_model_write(sd_py_model_in(self), &buf);
    if (buf.bad)
        PyErr_NoMemory();
    else
        bytes = PyBytes_FromStringAndSize((const char *)buf.p, (Py_ssize_t)buf.n);
    sd_buf_release(&buf);
    return bytes;
}

static PyObject *model_read(PyObject *type, PyObject *arg)
{
    PyObject *self;
    Py_buffer bytes;
    int rc;

    if (PyObject_GetBuffer(arg, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    self = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    rc = self ? sd_model_read(sd_py_model_in(self), bytes.buf, (size_t)bytes.len) : 0;
    PyBuffer_Release(&bytes);
    if (rc < 0) {
        Py_DECREF(self);
        return sd_ext_raise(rc);
    }
    return self;
}

static PyObject *model_fact(PyObject *self, PyObject *args)
{
    const char *key, *value;
    int rc;

    if (!PyArg_ParseTuple(args, "ss:fact", &key, &value))
        return NULL;
    rc = sd_model_fact(sd_py_model_in(self), key, value);
    if (rc < 0)
        return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

static PyObject *model_note(PyObject *self, PyObject *arg)
{
    const char *text = PyUnicode_AsUTF8(arg);
    int rc;

    if (!text)
        return NULL;
    rc = sd_model_note(sd_py_model_in(self), "%s", text);
    if (rc < 0)
        return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

/* A key that is there more than once has a list. */
static PyObject *get_facts(PyObject *self, void *unused)
{
    const struct sd_model *m = sd_py_model_in(self);
    PyObject *dict = PyDict_New();

    (void)unused;
    for (size_t i = 0; dict && i < m->n_facts; i++) {
        const char *key = sd_model_text(m, m->facts[i].key);
        PyObject *value = sd_py_model_text(m, m->facts[i].value);
        PyObject *old = sd_compat_dict_get(dict, key);

        if (old && PyList_Check(old)) {
            if (!sd_py_model_list_take(old, value))
                Py_CLEAR(dict);
        } else if (!sd_py_model_dict_take(
                       dict, key, old ? Py_BuildValue("[ON]", old, value) : value)) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *get_notes(PyObject *self, void *unused)
{
    const struct sd_model *m = sd_py_model_in(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_notes; i++)
        if (!sd_py_model_list_take(list, sd_py_model_text(m, m->notes[i])))
            Py_CLEAR(list);
    return list;
}

/* --- The type */

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return sd_py_model_new(type);
}

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_model_release(sd_py_model_in(self));
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "rows", sd_ext_model_rows, METH_VARARGS,
      "rows(mode='macs')\n--\n\nA dict for each row: leaf layers, and others with "
      "something of their own, in the order of their first calls." },
    { "columns", sd_ext_model_columns, METH_VARARGS,
      "columns(mode='macs')\n--\n\nThe same as {column: list}." },
    { "totals", sd_ext_model_totals, METH_VARARGS,
      "totals(mode='macs')\n--\n\nThe sums over everything." },
    { "beyond", sd_ext_model_beyond, METH_VARARGS,
      "beyond(mode='macs')\n--\n\nA sentence where a sum is more than 64 bits hold, or "
      "None." },
    { "types", sd_ext_model_types, METH_VARARGS,
      "types(mode='macs')\n--\n\nThe sums by type of layer." },
    { "operators", sd_ext_model_operators, METH_VARARGS,
      "operators(mode='macs', layer=0)\n--\n\nThe sums by operator, of what ran in "
      "this "
      "layer and in those in it; `known` says if it is "
      "counted, free or unknown." },
    { "layers", sd_ext_model_layers, METH_VARARGS,
      "layers(mode='macs')\n--\n\nEvery layer, called or not: its own sums, and those "
      "of all within it." },
    { "tensors", model_tensors, METH_NOARGS,
      "tensors()\n--\n\nParameters and buffers." },
    { "edges", model_edges, METH_NOARGS,
      "edges()\n--\n\nWho hands data to whom: (layer, layer), by their places." },
    { "bytes", model_bytes, METH_NOARGS,
      "bytes()\n--\n\nAll of it as bytes, for Model.read() and captures." },
    { "read", model_read, METH_O | METH_CLASS,
      "read(data)\n--\n\nThe Model that bytes() wrote." },
    { "fact", model_fact, METH_VARARGS, "fact(key, value)\n--\n\nAdds a fact." },
    { "note", model_note, METH_O, "note(text)\n--\n\nAdds a sentence." },
    { "fit", (PyCFunction)(void (*)(void))sd_ext_model_fit,
      METH_VARARGS | METH_KEYWORDS,
      "fit(optimizer='adam', batch=0, available=0)\n--\n\nWhat training needs, in "
      "bytes, and the largest batch that fits into `available`." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "unsupported", sd_ext_model_unsupported, NULL,
      "Operators without a rule, and how often they ran.", NULL },
    { "coverage", sd_ext_model_coverage, NULL,
      "The share of calls of operators that have a rule; 1 when all have.", NULL },
    { "facts", get_facts, NULL, "What is known of the run.", NULL },
    { "notes", get_notes, NULL, "Sentences for the user.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(doc, "A neural network and the operators that ran in it.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)doc },       { Py_tp_new, model_new },
    { Py_tp_dealloc, model_dealloc }, { Py_tp_methods, methods },
    { Py_tp_getset, attributes },     { 0, NULL },
};

PyType_Spec sd_model_object_spec = {
    .name = "sonde._sonde.Model",
    .basicsize = sizeof(struct sd_py_model),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
