/* SPDX-License-Identifier: MIT */
#include "ext/model/py_model_objects.h"

#include <stddef.h>
#include <string.h>

#include "analyse/model/model_costs.h"

/* --- Small things */

PyObject *sd_py_model_text(const struct sd_model *m, uint32_t id)
{
    const char *text = sd_model_text(m, id);

    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *sd_py_model_dims(struct sd_dims d)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)d.n);

    for (uint32_t i = 0; tuple && i < d.n; i++)
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, PyLong_FromLongLong(d.d[i]));
    return tuple;
}

PyObject *sd_py_model_operands(const struct sd_operand *all, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = Py_BuildValue("(Ns)", sd_py_model_dims(all[i].dims),
                                      sd_dtype_about(all[i].dtype)->name);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

bool sd_py_model_dict_take(PyObject *dict, const char *key, PyObject *value)
{
    bool is_put = value && PyDict_SetItemString(dict, key, value) == 0;

    Py_XDECREF(value);
    return is_put;
}

bool sd_py_model_list_take(PyObject *list, PyObject *one)
{
    bool is_put = list && one && PyList_Append(list, one) == 0;

    Py_XDECREF(one);
    return is_put;
}

/* --- Sums */

enum kind { NUMBER, MEASURED, COUNT, SMALL };

static const struct {
    const char *name;
    size_t at;
    enum kind kind;
} fields[] = {
#define FIELD(name, kind) { #name, offsetof(struct sd_model_sum, name), kind },
#include "ext/model/model_sums.def"
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static PyObject *field_object(const struct sd_model_sum *s, size_t i)
{
    const char *at = (const char *)s + fields[i].at;
    int64_t number;
    uint64_t count;
    uint32_t small;

    switch (fields[i].kind) {
    case NUMBER:
    case MEASURED:
        memcpy(&number, at, sizeof number);
        if (fields[i].kind == MEASURED && number == SD_MODEL_NONE)
            Py_RETURN_NONE;
        return PyLong_FromLongLong(number);
    case COUNT:
        memcpy(&count, at, sizeof count);
        return PyLong_FromUnsignedLongLong(count);
    case SMALL:
        memcpy(&small, at, sizeof small);
        return PyLong_FromUnsignedLong(small);
    }
    return NULL;
}

bool sd_py_model_sum_put(PyObject *dict, const struct sd_model_sum *s)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (!sd_py_model_dict_take(dict, fields[i].name, field_object(s, i)))
            return false;
    return true;
}

PyObject *sd_py_model_sum(const struct sd_model_sum *s)
{
    PyObject *dict = PyDict_New();

    if (dict && !sd_py_model_sum_put(dict, s))
        Py_CLEAR(dict);
    return dict;
}

/* --- Layers */

bool sd_py_model_layer_put(PyObject *dict, const struct sd_model *m, uint32_t at)
{
    const struct sd_model_layer *l = &m->layers[at];
    const struct sd_layer_call *c = l->calls;

    return sd_py_model_dict_take(dict, "layer", PyLong_FromUnsignedLong(at)) &&
           sd_py_model_dict_take(dict, "name", sd_py_model_text(m, l->name)) &&
           sd_py_model_dict_take(dict, "type", sd_py_model_text(m, l->type)) &&
           sd_py_model_dict_take(dict, "parent", PyLong_FromUnsignedLong(l->parent)) &&
           sd_py_model_dict_take(dict, "order", PyLong_FromUnsignedLong(l->order)) &&
           sd_py_model_dict_take(dict, "leaf",
                                 PyBool_FromLong(l->flags & SD_LAYER_LEAF)) &&
           sd_py_model_dict_take(dict, "training",
                                 PyBool_FromLong(l->flags & SD_LAYER_TRAINING)) &&
           sd_py_model_dict_take(dict, "called", PyBool_FromLong(l->n_calls > 0)) &&
           sd_py_model_dict_take(
               dict, "inputs",
               sd_py_model_operands(c ? c->in : NULL, c ? c->n_in : 0)) &&
           sd_py_model_dict_take(
               dict, "outputs",
               sd_py_model_operands(c ? c->out : NULL, c ? c->n_out : 0));
}
