/* SPDX-License-Identifier: MIT */
#include "ext/model.h"

#include <stddef.h>
#include <string.h>

#include "analyse/model.h"
#include "base/buf.h"
#include "base/error.h"

struct model {
    PyObject_HEAD struct sd_model model;
};

static struct sd_model *model_of(PyObject *self)
{
    return &((struct model *)self)->model;
}

PyObject *sd_model_object_new(PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);
    int rc = self ? sd_model_init(model_of(self)) : 0;

    if (rc < 0) {
        Py_DECREF(self);
        return sd_ext_raise(rc);
    }
    return self;
}

struct sd_model *sd_model_of(PyTypeObject *type, PyObject *o)
{
    if (PyObject_TypeCheck(o, type))
        return model_of(o);
    PyErr_Format(PyExc_TypeError, "a Model is wanted, not %.100s", Py_TYPE(o)->tp_name);
    return NULL;
}

/* --- Small things as objects */

static PyObject *text_object(const struct sd_model *m, uint32_t id)
{
    const char *text = sd_model_text(m, id);

    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *dims_object(struct sd_dims d)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)d.n);

    for (uint32_t i = 0; tuple && i < d.n; i++)
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, PyLong_FromLongLong(d.d[i]));
    return tuple;
}

/* [(shape, dtype), ...] */
static PyObject *operands_object(const struct sd_operand *all, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = Py_BuildValue("(Ns)", dims_object(all[i].dims),
                                      sd_dtype_about(all[i].dtype)->name);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

/* Takes `value`; false, with an exception, when there is none. */
static bool put(PyObject *dict, const char *key, PyObject *value)
{
    bool is_put = value && PyDict_SetItemString(dict, key, value) == 0;

    Py_XDECREF(value);
    return is_put;
}

/* Takes both. */
static bool append(PyObject *list, PyObject *one)
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
#define FIELD(name, kind)                                                              \
    {                                                                                  \
#name, offsetof(struct sd_model_sum, name), kind                               \
    }
    FIELD(params, NUMBER),
    FIELD(trainable, NUMBER),
    FIELD(buffers, NUMBER),
    FIELD(param_bytes, NUMBER),
    FIELD(buffer_bytes, NUMBER),
    FIELD(macs, NUMBER),
    FIELD(flops, NUMBER),
    FIELD(madds, NUMBER),
    FIELD(backward_macs, NUMBER),
    FIELD(mem_read, NUMBER),
    FIELD(mem_write, NUMBER),
    FIELD(read_bytes, NUMBER),
    FIELD(written_bytes, NUMBER),
    FIELD(activations, NUMBER),
    FIELD(time_ns, MEASURED),
    FIELD(backward_ns, MEASURED),
    FIELD(activation_bytes, MEASURED),
    FIELD(n_ops, COUNT),
    FIELD(n_unknown, COUNT),
    FIELD(n_calls, COUNT),
    FIELD(n_layers, SMALL),
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

static bool put_sum(PyObject *dict, const struct sd_model_sum *s)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (!put(dict, fields[i].name, field_object(s, i)))
            return false;
    return true;
}

static PyObject *sum_object(const struct sd_model_sum *s)
{
    PyObject *dict = PyDict_New();

    if (dict && !put_sum(dict, s))
        Py_CLEAR(dict);
    return dict;
}

/* --- Costs in a mode: each question works them out anew, because a model may still
 * grow, and a thousand operators take a fraction of a millisecond. */

static int costs_of(PyObject *self, PyObject *args, const char *format,
                    struct sd_model_costs *costs)
{
    const char *name = "macs";
    enum sd_count_mode mode;
    int rc;

    if (!PyArg_ParseTuple(args, format, &name))
        return -1;
    rc = sd_count_mode_named(name, &mode);
    if (rc == 0)
        rc = sd_model_costs(model_of(self), mode, costs);
    if (rc < 0)
        sd_ext_raise(rc);
    return rc < 0 ? -1 : 0;
}

static bool put_layer(PyObject *dict, const struct sd_model *m, uint32_t at)
{
    const struct sd_model_layer *l = &m->layers[at];
    const struct sd_layer_call *c = l->calls;

    return put(dict, "layer", PyLong_FromUnsignedLong(at)) &&
           put(dict, "name", text_object(m, l->name)) &&
           put(dict, "type", text_object(m, l->type)) &&
           put(dict, "parent", PyLong_FromUnsignedLong(l->parent)) &&
           put(dict, "order", PyLong_FromUnsignedLong(l->order)) &&
           put(dict, "leaf", PyBool_FromLong(l->flags & SD_LAYER_LEAF)) &&
           put(dict, "training", PyBool_FromLong(l->flags & SD_LAYER_TRAINING)) &&
           put(dict, "called", PyBool_FromLong(l->n_calls > 0)) &&
           put(dict, "inputs", operands_object(c ? c->in : NULL, c ? c->n_in : 0)) &&
           put(dict, "outputs", operands_object(c ? c->out : NULL, c ? c->n_out : 0));
}

static PyObject *row_object(const struct sd_model *m, const struct sd_model_row *row)
{
    PyObject *dict = PyDict_New();

    if (dict && (!put_layer(dict, m, row->layer) || !put_sum(dict, &row->sum)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *rows_object(const struct sd_model_costs *c)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < c->n_rows; i++)
        if (!append(list, row_object(c->model, &c->rows[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_rows(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *rows;

    if (costs_of(self, args, "|s:rows", &costs) < 0)
        return NULL;
    rows = rows_object(&costs);
    sd_model_costs_release(&costs);
    return rows;
}

/* The first row's keys are those of all; without rows there are no columns. */
static PyObject *model_columns(PyObject *self, PyObject *args)
{
    PyObject *rows = model_rows(self, args), *columns = rows ? PyDict_New() : NULL;
    PyObject *key, *value;
    Py_ssize_t n = rows ? PyList_GET_SIZE(rows) : 0;

    for (Py_ssize_t i = 0; columns && i < n; i++) {
        Py_ssize_t at = 0;

        while (columns && PyDict_Next(PyList_GET_ITEM(rows, i), &at, &key, &value)) {
            PyObject *column = PyDict_GetItemWithError(columns, key);

            if (!column) {
                column = PyList_New(0);
                if (!column || PyDict_SetItem(columns, key, column) < 0)
                    Py_CLEAR(columns);
                Py_XDECREF(column);
            }
            if (columns && PyList_Append(column, value) < 0)
                Py_CLEAR(columns);
        }
    }
    Py_XDECREF(rows);
    return columns;
}

static PyObject *model_totals(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *total;

    if (costs_of(self, args, "|s:totals", &costs) < 0)
        return NULL;
    total = sum_object(&costs.total);
    sd_model_costs_release(&costs);
    return total;
}

static const char *known_word(enum sd_op_known known)
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

static PyObject *named_object(const struct sd_model *m, const struct sd_model_named *n,
                              bool is_operator)
{
    PyObject *dict = PyDict_New();

    if (dict && (!put(dict, "name", text_object(m, n->name)) ||
                 (is_operator &&
                  !put(dict, "known", PyUnicode_FromString(known_word(n->known)))) ||
                 !put_sum(dict, &n->sum)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *named_list(const struct sd_model_costs *c, bool is_operator)
{
    const struct sd_model_named *all = is_operator ? c->operators : c->types;
    size_t n = is_operator ? c->n_operators : c->n_types;
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        if (!append(list, named_object(c->model, &all[i], is_operator)))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_types(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *list;

    if (costs_of(self, args, "|s:types", &costs) < 0)
        return NULL;
    list = named_list(&costs, false);
    sd_model_costs_release(&costs);
    return list;
}

static PyObject *model_operators(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *list;

    if (costs_of(self, args, "|s:operators", &costs) < 0)
        return NULL;
    list = named_list(&costs, true);
    sd_model_costs_release(&costs);
    return list;
}

static PyObject *layer_object(const struct sd_model_costs *c, uint32_t at)
{
    PyObject *dict = PyDict_New();

    if (dict &&
        (!put_layer(dict, c->model, at) || !put(dict, "own", sum_object(&c->own[at])) ||
         !put(dict, "within", sum_object(&c->within[at]))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *model_layers(PyObject *self, PyObject *args)
{
    struct sd_model_costs costs;
    PyObject *list;

    if (costs_of(self, args, "|s:layers", &costs) < 0)
        return NULL;
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < costs.model->n_layers; i++)
        if (!append(list, layer_object(&costs, i)))
            Py_CLEAR(list);
    sd_model_costs_release(&costs);
    return list;
}

/* --- What needs no mode */

static PyObject *tensor_object(const struct sd_model *m,
                               const struct sd_model_tensor *t)
{
    PyObject *dict = PyDict_New();

    if (dict &&
        (!put(dict, "name", text_object(m, t->name)) ||
         !put(dict, "layer", PyLong_FromUnsignedLong(t->layer)) ||
         !put(dict, "shape", dims_object(t->dims)) ||
         !put(dict, "dtype", PyUnicode_FromString(sd_dtype_about(t->dtype)->name)) ||
         !put(dict, "bytes", PyLong_FromLongLong(sd_tensor_bytes(t))) ||
         !put(dict, "parameter", PyBool_FromLong(t->flags & SD_TENSOR_PARAMETER)) ||
         !put(dict, "buffer", PyBool_FromLong(t->flags & SD_TENSOR_BUFFER)) ||
         !put(dict, "trainable", PyBool_FromLong(t->flags & SD_TENSOR_TRAINABLE)) ||
         !put(dict, "tied", PyBool_FromLong(t->flags & SD_TENSOR_TIED))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *model_tensors(PyObject *self, PyObject *unused)
{
    const struct sd_model *m = model_of(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_tensors; i++)
        if (!append(list, tensor_object(m, &m->tensors[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_edges(PyObject *self, PyObject *unused)
{
    const struct sd_model *m = model_of(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_edges; i++)
        if (!append(list, Py_BuildValue("(II)", m->edges[i].from, m->edges[i].to)))
            Py_CLEAR(list);
    return list;
}

static PyObject *model_bytes(PyObject *self, PyObject *unused)
{
    struct sd_buf buf = { 0 };
    PyObject *bytes = NULL;

    (void)unused;
    sd_model_write(model_of(self), &buf);
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
    rc = self ? sd_model_read(model_of(self), bytes.buf, (size_t)bytes.len) : 0;
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
    rc = sd_model_fact(model_of(self), key, value);
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
    rc = sd_model_note(model_of(self), "%s", text);
    if (rc < 0)
        return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

static PyObject *model_fit(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "optimizer", "batch", "available", NULL };
    const char *word = "adam";
    long long batch = 0, available = 0;
    enum sd_optimizer optimizer;
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    int rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sLL:fit", names, &word, &batch,
                                     &available))
        return NULL;
    rc = sd_optimizer_named(word, &optimizer);
    if (rc == 0)
        rc = sd_model_costs(model_of(self), SD_COUNT_MACS, &costs);
    if (rc < 0)
        return sd_ext_raise(rc);
    sd_model_fit(&costs, optimizer, batch, available, &fit);
    sd_model_costs_release(&costs);
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O}", "parameter_bytes",
        (long long)fit.parameter_bytes, "buffer_bytes", (long long)fit.buffer_bytes,
        "gradient_bytes", (long long)fit.gradient_bytes, "optimizer_bytes",
        (long long)fit.optimizer_bytes, "activation_bytes",
        (long long)fit.activation_bytes, "total_bytes", (long long)fit.total_bytes,
        "largest_batch", (long long)fit.largest_batch, "activations_measured",
        fit.activations_measured ? Py_True : Py_False);
}

PyObject *sd_ext_count_modes(PyObject *module, PyObject *unused)
{
    PyObject *dict = PyDict_New();

    (void)module;
    (void)unused;
    for (int i = 0; dict && i < SD_COUNT_MODES; i++) {
        enum sd_count_mode mode = (enum sd_count_mode)i;

        if (!put(dict, sd_count_mode_name(mode),
                 PyUnicode_FromString(sd_count_mode_definition(mode))))
            Py_CLEAR(dict);
    }
    return dict;
}

/* --- Attributes */

static PyObject *unsupported_of(const struct sd_model_costs *c)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < c->n_operators; i++) {
        const struct sd_model_named *o = &c->operators[i];

        if (o->sum.n_unknown > 0 && !put(dict, sd_model_text(c->model, o->name),
                                         PyLong_FromUnsignedLongLong(o->sum.n_unknown)))
            Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *get_unsupported(PyObject *self, void *unused)
{
    struct sd_model_costs costs;
    PyObject *dict;
    int rc = sd_model_costs(model_of(self), SD_COUNT_MACS, &costs);

    (void)unused;
    if (rc < 0)
        return sd_ext_raise(rc);
    dict = unsupported_of(&costs);
    sd_model_costs_release(&costs);
    return dict;
}

static PyObject *get_coverage(PyObject *self, void *unused)
{
    struct sd_model_costs costs;
    double coverage;
    int rc = sd_model_costs(model_of(self), SD_COUNT_MACS, &costs);

    (void)unused;
    if (rc < 0)
        return sd_ext_raise(rc);
    coverage = costs.coverage;
    sd_model_costs_release(&costs);
    return PyFloat_FromDouble(coverage);
}

/* A key that is there more than once has a list. */
static PyObject *get_facts(PyObject *self, void *unused)
{
    const struct sd_model *m = model_of(self);
    PyObject *dict = PyDict_New();

    (void)unused;
    for (size_t i = 0; dict && i < m->n_facts; i++) {
        const char *key = sd_model_text(m, m->facts[i].key);
        PyObject *value = text_object(m, m->facts[i].value);
        PyObject *old = PyDict_GetItemString(dict, key);

        if (old && PyList_Check(old)) {
            if (!append(old, value))
                Py_CLEAR(dict);
        } else if (!put(dict, key, old ? Py_BuildValue("[ON]", old, value) : value)) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *get_notes(PyObject *self, void *unused)
{
    const struct sd_model *m = model_of(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (size_t i = 0; list && i < m->n_notes; i++)
        if (!append(list, text_object(m, m->notes[i])))
            Py_CLEAR(list);
    return list;
}

/* --- The type */

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return sd_model_object_new(type);
}

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    sd_model_release(model_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    { "rows", model_rows, METH_VARARGS,
      "rows(mode='macs')\n--\n\nA dict for each row: leaf layers, and others with "
      "something of their own, in the order of their first calls." },
    { "columns", model_columns, METH_VARARGS,
      "columns(mode='macs')\n--\n\nThe same as {column: list}." },
    { "totals", model_totals, METH_VARARGS,
      "totals(mode='macs')\n--\n\nThe sums over everything." },
    { "types", model_types, METH_VARARGS,
      "types(mode='macs')\n--\n\nThe sums by type of layer." },
    { "operators", model_operators, METH_VARARGS,
      "operators(mode='macs')\n--\n\nThe sums by operator; `known` says if it is "
      "counted, free or unknown." },
    { "layers", model_layers, METH_VARARGS,
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
    { "fit", (PyCFunction)(void (*)(void))model_fit, METH_VARARGS | METH_KEYWORDS,
      "fit(optimizer='adam', batch=0, available=0)\n--\n\nWhat training needs, in "
      "bytes, and the largest batch that fits into `available`." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "unsupported", get_unsupported, NULL,
      "Operators without a rule, and how often they ran.", NULL },
    { "coverage", get_coverage, NULL,
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
    .basicsize = sizeof(struct model),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
