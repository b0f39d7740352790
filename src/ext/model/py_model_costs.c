/* SPDX-License-Identifier: MIT */
/* py_model_costs: the questions to a Model whose answers depend on the way of counting.
 *
 * Each works the costs out anew, because a model may still grow, and a thousand
 * operators take a fraction of a millisecond. */
#include "ext/model/py_model_objects.h"

#include "analyse/model/model_fit.h"
#include "base/error.h"

static int costs_of(PyObject *self, PyObject *args, const char *format,
                    struct sd_model_costs *costs)
{
    const char *name = "macs";
    enum sd_model_mode mode;
    int rc;

    if (!PyArg_ParseTuple(args, format, &name))
        return -1;
    rc = sd_model_mode_named(name, &mode);
    if (rc == 0)
        rc = sd_model_costs(sd_py_model_in(self), mode, costs);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

static PyObject *row_object(const struct sd_model *m, const struct sd_model_row *row)
{
    PyObject *dict = PyDict_New();

    if (dict && (!sd_py_model_layer_put(dict, m, row->layer) ||
                 !sd_py_model_sum_put(dict, &row->sum)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *rows_object(const struct sd_model_costs *c)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < c->n_rows; i++)
        if (!sd_py_model_list_take(list, row_object(c->model, &c->rows[i])))
            Py_CLEAR(list);
    return list;
}

PyObject *sd_ext_model_rows(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *rows;

    if (costs_of(self, args, "|s:rows", &costs) < 0)
        return NULL;
    rows = rows_object(&costs);
    sd_model_costs_release(&costs);
    return rows;
}

/* Every column that a row would have, empty: a model may have no rows at all. */
static PyObject *empty_columns(const struct sd_model *m)
{
    const struct sd_model_row none = { .layer = SD_MODEL_ROOT };
    PyObject *row = row_object(m, &none), *columns = row ? PyDict_New() : NULL;
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (columns && PyDict_Next(row, &at, &key, &value)) {
        PyObject *column = PyList_New(0);

        if (!column || PyDict_SetItem(columns, key, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
    }
    Py_XDECREF(row);
    return columns;
}

static int add_to_columns(PyObject *columns, PyObject *row)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(row, &at, &key, &value)) {
        PyObject *column = PyDict_GetItemWithError(columns, key);

        if (!column || PyList_Append(column, value) < 0)
            return -1;
    }
    return 0;
}

PyObject *sd_ext_model_columns(PyObject *self, PyObject *args)
{
    PyObject *rows = sd_ext_model_rows(self, args);
    PyObject *columns = rows ? empty_columns(sd_py_model_in(self)) : NULL;

    for (Py_ssize_t i = 0; columns && i < PyList_GET_SIZE(rows); i++)
        if (add_to_columns(columns, PyList_GET_ITEM(rows, i)) < 0)
            Py_CLEAR(columns);
    Py_XDECREF(rows);
    return columns;
}

PyObject *sd_ext_model_totals(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *total;

    if (costs_of(self, args, "|s:totals", &costs) < 0)
        return NULL;
    total = sd_py_model_sum(&costs.total);
    sd_model_costs_release(&costs);
    return total;
}

PyObject *sd_ext_model_beyond(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    const char *said;

    if (costs_of(self, args, "|s:beyond", &costs) < 0)
        return NULL;
    said = sd_model_costs_beyond(&costs);
    sd_model_costs_release(&costs);
    return said ? PyUnicode_FromString(said) : Py_NewRef(Py_None);
}

static const char *known_word(enum sd_op_coverage known)
{
    switch (known) {
    case SD_OP_UNKNOWN:
        return "unknown";
    case SD_OP_FREE:
        return "free";
    case SD_OP_COUNTED:
        return "counted";
    }
    return "unknown";
}

static PyObject *named_object(const struct sd_model *m, const struct sd_model_group *n,
                              bool is_operator)
{
    PyObject *dict = PyDict_New();

    if (dict && (!sd_py_model_dict_take(dict, "name", sd_py_model_text(m, n->name)) ||
                 (is_operator &&
                  !sd_py_model_dict_take(dict, "known",
                                         PyUnicode_FromString(known_word(n->known)))) ||
                 !sd_py_model_sum_put(dict, &n->sum)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *named_list(const struct sd_model_costs *c, bool is_operator)
{
    const struct sd_model_group *all = is_operator ? c->operators : c->types;
    size_t n = is_operator ? c->n_operators : c->n_types;
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        if (!sd_py_model_list_take(list, named_object(c->model, &all[i], is_operator)))
            Py_CLEAR(list);
    return list;
}

PyObject *sd_ext_model_types(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *list;

    if (costs_of(self, args, "|s:types", &costs) < 0)
        return NULL;
    list = named_list(&costs, false);
    sd_model_costs_release(&costs);
    return list;
}

PyObject *sd_ext_model_operators(PyObject *self, PyObject *args)
{
    const struct sd_model *m = sd_py_model_in(self);
    const char *name = "macs";
    unsigned int layer = SD_MODEL_ROOT;
    struct sd_model_costs costs;
    enum sd_model_mode mode;
    PyObject *list;
    int rc;

    if (!PyArg_ParseTuple(args, "|sI:operators", &name, &layer))
        return NULL;
    if (layer != SD_MODEL_ROOT && layer >= m->n_layers)
        return PyErr_Format(PyExc_IndexError, "there is no layer %u", layer);
    rc = sd_model_mode_named(name, &mode);
    if (rc == 0)
        rc = sd_model_costs_within(m, mode, layer, &costs);
    if (rc < 0)
        return sd_ext_raise(rc);
    list = named_list(&costs, true);
    sd_model_costs_release(&costs);
    return list;
}

static PyObject *layer_object(const struct sd_model_costs *c, uint32_t at)
{
    PyObject *dict = PyDict_New();

    if (dict &&
        (!sd_py_model_layer_put(dict, c->model, at) ||
         !sd_py_model_dict_take(dict, "own", sd_py_model_sum(&c->own[at])) ||
         !sd_py_model_dict_take(dict, "within", sd_py_model_sum(&c->within[at]))))
        Py_CLEAR(dict);
    return dict;
}

PyObject *sd_ext_model_layers(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *list;

    if (costs_of(self, args, "|s:layers", &costs) < 0)
        return NULL;
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < costs.model->n_layers; i++)
        if (!sd_py_model_list_take(list, layer_object(&costs, i)))
            Py_CLEAR(list);
    sd_model_costs_release(&costs);
    return list;
}

/* --- In our own way of counting */

/* False: an exception is set.  Nothing given is 0. */
static bool amount_of(PyObject *given, const char *name, long long *amount)
{
    PyObject *whole;
    int beyond;

    *amount = 0;
    if (!given)
        return true;
    if (!PyIndex_Check(given)) {
        PyErr_Format(PyExc_TypeError, "%s must be an integer, not %.100s", name,
                     Py_TYPE(given)->tp_name);
        return false;
    }
    whole = PyNumber_Index(given);
    if (!whole)
        return false;
    *amount = PyLong_AsLongLongAndOverflow(whole, &beyond);
    Py_DECREF(whole);
    if (*amount >= 0 && !beyond)
        return true;
    PyErr_Format(PyExc_ValueError,
                 beyond > 0 ? "%s is more than 64 bits hold" : "%s is negative", name);
    return false;
}

PyObject *sd_ext_model_fit(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "optimizer", "batch", "available", NULL };
    const char *word = "adam";
    PyObject *in_batch = NULL, *in_available = NULL;
    long long batch, available;
    enum sd_optimizer optimizer;
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    int rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sOO:fit", names, &word, &in_batch,
                                     &in_available) ||
        !amount_of(in_batch, names[1], &batch) ||
        !amount_of(in_available, names[2], &available))
        return NULL;
    rc = sd_optimizer_named(word, &optimizer);
    if (rc == 0)
        rc = sd_model_costs(sd_py_model_in(self), SD_COUNT_MACS, &costs);
    if (rc < 0)
        return sd_ext_raise(rc);
    sd_model_fit(&costs, optimizer, batch, available, &fit);
    sd_model_costs_release(&costs);
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O,s:s,s:z}", "parameter_bytes",
        (long long)fit.parameter_bytes, "buffer_bytes", (long long)fit.buffer_bytes,
        "gradient_bytes", (long long)fit.gradient_bytes, "optimizer_bytes",
        (long long)fit.optimizer_bytes, "activation_bytes",
        (long long)fit.activation_bytes, "total_bytes", (long long)fit.total_bytes,
        "largest_batch", (long long)fit.largest_batch, "activations_measured",
        fit.activations_measured ? Py_True : Py_False, "activations_grow",
        sd_model_fit_growth(&fit), "beyond", sd_model_fit_beyond(&fit));
}

static PyObject *unsupported_of(const struct sd_model_costs *c)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < c->n_operators; i++) {
        const struct sd_model_group *o = &c->operators[i];

        if (o->sum.n_unknown > 0 &&
            !sd_py_model_dict_take(dict, sd_model_text(c->model, o->name),
                                   PyLong_FromUnsignedLongLong(o->sum.n_unknown)))
            Py_CLEAR(dict);
    }
    return dict;
}

PyObject *sd_ext_model_unsupported(PyObject *self, void *unused)
{
    struct sd_model_costs costs;
    PyObject *dict;
    int rc = sd_model_costs(sd_py_model_in(self), SD_COUNT_MACS, &costs);

    (void)unused;
    if (rc < 0)
        return sd_ext_raise(rc);
    dict = unsupported_of(&costs);
    sd_model_costs_release(&costs);
    return dict;
}

PyObject *sd_ext_model_coverage(PyObject *self, void *unused)
{
    struct sd_model_costs costs;
    double coverage;
    int rc = sd_model_costs(sd_py_model_in(self), SD_COUNT_MACS, &costs);

    (void)unused;
    if (rc < 0)
        return sd_ext_raise(rc);
    coverage = costs.coverage;
    sd_model_costs_release(&costs);
    return PyFloat_FromDouble(coverage);
}

/* --- The ways there are */

PyObject *sd_ext_count_modes(PyObject *module, PyObject *unused)
{
    PyObject *dict = PyDict_New();

    (void)module;
    (void)unused;
    for (int i = 0; dict && i < SD_COUNT_MODES; i++) {
        enum sd_model_mode mode = (enum sd_model_mode)i;

        if (!sd_py_model_dict_take(
                dict, sd_model_mode_name(mode),
                PyUnicode_FromString(sd_model_mode_definition(mode))))
            Py_CLEAR(dict);
    }
    return dict;
}

/* count_is_of_modules(name): such a tool sees no backward. */
PyObject *sd_ext_count_is_of_modules(PyObject *module, PyObject *name)
{
    const char *word = PyUnicode_AsUTF8(name);
    enum sd_model_mode mode;
    int rc;

    (void)module;
    if (!word)
        return NULL;
    rc = sd_model_mode_named(word, &mode);
    return rc < 0 ? sd_ext_raise(rc)
                  : PyBool_FromLong(sd_model_mode_is_of_modules(mode));
}
