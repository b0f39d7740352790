/* SPDX-License-Identifier: MIT */
/* operator_record: writes a call of an operator into the model.
 *
 * Tensors become operands in the order of the schema, with their shapes alone; what is
 * neither a tensor nor a device or dtype becomes an attribute under its own name, so
 * that whoever works out the cost later has all that the operator had.  What a product
 * with a sparse tensor costs its shapes do not say, so it has a name of its own, for
 * which there is no rule: "sparse::mm" of aten::mm.  One with a nested tensor, which
 * stands as its parts, has one, too, because its rule is another: "nested::linear". Two
 * things have to be asked while the call is at hand: a rule for its cost that is not
 * ours, and who made the tensors that it takes. */
#include "base/assert.h"
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_ATTRS = 32,   /* of a call */
    MOST_NUMBERS = 32, /* of a list among them */
};

/* --- What a call is written down as */

static int add_part(const struct sd_tensor_shape *part, void *arg)
{
    struct sd_pass *r = arg;
    struct sd_operand o = sd_torch_operand(&r->torch, part);

    o.kind = SD_OPERAND_MEMBER;
    return sd_pass_raise(sd_operands_add(&r->in, o));
}

static int add_operand(struct sd_pass *r, PyObject *v, enum sd_operand_kind kind)
{
    struct sd_operand o = { .kind = SD_OPERAND_NONE };
    struct sd_tensor_shape s;
    uint64_t unused;

    if (v && sd_torch_is_tensor(&r->torch, v)) {
        if (sd_torch_shape(&r->torch, v, &s) < 0)
            return -1;
        r->has_nested = r->has_nested || s.is_nested;
        if (s.is_nested) /* its parts stand in its place */
            return sd_torch_parts(v, s, add_part, r);
        r->has_sparse = r->has_sparse || s.is_sparse;
        o = sd_torch_operand(&r->torch, &s);
        o.kind = (uint8_t)kind;
        o.is_weight = sd_table_get(&r->weights, (uint64_t)(uintptr_t)v, &unused);
    } else if (v && v != Py_None) {
        o.kind = SD_OPERAND_SCALAR;
    }
    return sd_pass_raise(sd_operands_add(&r->in, o));
}

static int add_members(struct sd_pass *r, PyObject *v)
{
    if (!v || v == Py_None)
        return add_operand(r, NULL, SD_OPERAND_NONE);
    if (!PyList_Check(v) && !PyTuple_Check(v))
        return add_operand(r, v, SD_OPERAND_MEMBER);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(v); i++)
        if (add_operand(r, PySequence_Fast_GET_ITEM(v, i), SD_OPERAND_MEMBER) < 0)
            return -1;
    return 0;
}

/* The weight of a quantised operator is inside an object; its first part is it. */
static int add_packed(struct sd_pass *r, PyObject *v)
{
    PyObject *parts = PyObject_CallMethod(v, "unpack", NULL);
    PyObject *first = parts && PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) > 0
                          ? PyTuple_GET_ITEM(parts, 0)
                          : NULL;
    int rc = 0;

    PyErr_Clear();
    if (first && sd_torch_is_tensor(&r->torch, first))
        rc = add_operand(r, first, SD_OPERAND_TENSOR);
    Py_XDECREF(parts);
    return rc;
}

bool sd_pass_numbers(PyObject *v, int64_t *numbers, int most, uint32_t *n)
{
    Py_ssize_t has =
        PyList_CheckExact(v) || PyTuple_Check(v) ? PySequence_Fast_GET_SIZE(v) : -1;

    if (has < 0 || has > most)
        return false;
    for (Py_ssize_t i = 0; i < has; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(v, i);

        if (!PyLong_Check(one))
            return false;
        numbers[i] = PyLong_AsLongLong(one);
    }
    *n = (uint32_t)has;
    return true;
}

struct attrs {
    struct sd_attr all[MOST_ATTRS];
    int64_t numbers[MOST_ATTRS][MOST_NUMBERS];
    size_t n;
};

static int add_attr(struct sd_pass *r, struct attrs *a, uint32_t name, PyObject *v)
{
    struct sd_attr *to = &a->all[a->n];
    uint32_t n = 0;

    if (!v || v == Py_None || a->n == MOST_ATTRS)
        return 0;
    if (PyLong_Check(v)) {
        *to = sd_attr_int(name, PyLong_AsLongLong(v));
    } else if (PyFloat_Check(v)) {
        *to = sd_attr_real(name, PyFloat_AS_DOUBLE(v));
    } else if (PyUnicode_Check(v)) {
        const char *word = PyUnicode_AsUTF8(v);

        if (!word || sd_pass_raise(sd_model_word(r->model, word, &n)) < 0)
            return -1;
        *to = sd_attr_text(name, n);
    } else if (sd_pass_numbers(v, a->numbers[a->n], MOST_NUMBERS, &n)) {
        *to = sd_attr_ints(name, a->numbers[a->n], n);
    } else {
        return 0; /* a device, dtype or layout */
    }
    if (PyErr_Occurred())
        PyErr_Clear(); /* a number of more than 64 bits: no shape has it */
    else
        a->n++;
    return 0;
}

static int add_arguments(struct sd_pass *r, const struct sd_operator *op,
                         PyObject *const *values, struct attrs *attrs)
{
    int rc = 0;

    r->has_sparse = r->has_nested = false;
    sd_operands_clear(&r->in);
    for (uint32_t i = 0; rc == 0 && i < op->schema.n_args; i++) {
        switch ((enum sd_schema_kind)op->schema.args[i].kind) {
        case SD_ARG_TENSOR:
            rc = add_operand(r, values[i], SD_OPERAND_TENSOR);
            break;
        case SD_ARG_TENSORS:
            rc = add_members(r, values[i]);
            break;
        case SD_ARG_OTHER:
            if (op->is_packed && values[i] && !PyLong_Check(values[i]) &&
                !PyFloat_Check(values[i]))
                rc = add_packed(r, values[i]);
            else
                rc = add_attr(r, attrs, op->arg_names[i], values[i]);
            break;
        }
    }
    sd_operands_finish(&r->in);
    return rc;
}

/* --- Rules for costs that are not ours */

static PyObject *shapes_of(const struct sd_operands *o)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < o->n; i++) {
        PyObject *shape;

        if (o->all[i].kind == SD_OPERAND_NONE || o->all[i].kind == SD_OPERAND_SCALAR)
            continue;
        shape = PyTuple_New((Py_ssize_t)o->all[i].dims.n);
        for (uint32_t k = 0; shape && k < o->all[i].dims.n; k++)
            PyTuple_SET_ITEM(shape, (Py_ssize_t)k,
                             PyLong_FromLongLong(o->all[i].dims.d[k]));
        if (!shape || PyList_Append(list, shape) < 0)
            Py_CLEAR(list);
        Py_XDECREF(shape);
    }
    return list;
}

static PyObject *by_shapes(struct sd_pass *r, PyObject *rule)
{
    PyObject *in = shapes_of(&r->in), *out = in ? shapes_of(&r->out) : NULL;
    PyObject *told = out ? PyObject_CallFunctionObjArgs(rule, in, out, NULL) : NULL;

    Py_XDECREF(in);
    Py_XDECREF(out);
    return told;
}

static PyObject *by_arguments(PyObject *rule, const struct sd_pass_call *c,
                              PyObject *result)
{
    PyObject *words = c->kwargs ? PyDict_Copy(c->kwargs) : PyDict_New(), *told = NULL;

    if (words && PyDict_SetItemString(words, "out_val", result) == 0)
        told = PyObject_Call(rule, c->args, words);
    Py_XDECREF(words);
    return told;
}

/* What a rule told becomes a number; takes `told`, which may be NULL. */
static int read_told(PyObject *told, const char *name, int64_t *macs)
{
    PyObject *number = told ? PyNumber_Long(told) : NULL;

    Py_XDECREF(told);
    *macs = number ? PyLong_AsLongLong(number) : -1;
    if (number && PyErr_Occurred()) /* it has more than 64 bits */
        PyErr_Format(PyExc_ValueError,
                     "the rule for %s gave a number that does not fit into 64 bits",
                     name);
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return -1;
    if (*macs < 0) {
        PyErr_Format(PyExc_ValueError, "the rule for %s gave a negative number", name);
        return -1;
    }
    return 0;
}

/* torch's rules count FLOPs, which are kept as they are. */
static int ask_given(struct sd_pass *r, const struct sd_operator *op,
                     const struct sd_pass_call *c, PyObject *result, int64_t *macs)
{
    const char *name = sd_model_text(r->model, op->name);

    switch (op->given_as) {
    case SD_GIVEN_NONE:
        return 0;
    case SD_GIVEN_BY_SHAPES:
        return read_told(by_shapes(r, op->given), name, macs);
    case SD_GIVEN_BY_ARGUMENTS:
        if (read_told(by_arguments(op->given, c, result), name, macs) < 0)
            return -1;
        *macs = sd_model_given_flops(*macs);
        return 0;
    }
    return 0;
}

/* Rules that know parts themselves: those of torch's fast paths. */
static bool takes_parts(const char *plain)
{
    return !strcmp(plain, "::_native_multi_head_attention") ||
           !strcmp(plain, "::_triton_multi_head_attention") ||
           !strcmp(plain, "::_transformer_encoder_layer_fwd");
}

/* A product with a sparse or nested tensor: its own name, and the user's rule for that.
 */
static int rename_strange(struct sd_pass *r, const struct sd_operator *op,
                          struct sd_model_op *call)
{
    const char *plain = strstr(sd_model_text(r->model, op->name), "::");
    char name[128];
    PyObject *rule;

    if ((!r->has_sparse && !r->has_nested) || op->given || !plain)
        return 0;
    snprintf(name, sizeof name, "%s%.100s", r->has_nested ? "nested" : "sparse", plain);
    if (r->has_nested && takes_parts(plain))
        return 0;
    if (!op->is_product && !(r->request.is_product && r->request.is_product(name)))
        return 0;
    if (sd_pass_raise(sd_model_word(r->model, name, &call->name)) < 0)
        return -1;
    rule = r->request.rules ? sd_compat_dict_get(r->request.rules, name) : NULL;
    return rule ? read_told(by_shapes(r, rule), name, &call->given_macs) : 0;
}

/* --- Who hands data to whom */

/* Another layer made it: that is an edge.  An address may be used again, mostly by a
 * tensor that an operator made, which is then noted anew; one from elsewhere
 * (torch.from_numpy in a forward) may so seem to come from a layer. */
static int note_use(struct sd_pass *r, PyObject *v, uint32_t layer)
{
    uint64_t from;

    if (!sd_table_get(&r->makers, (uint64_t)(uintptr_t)v, &from) || from == layer)
        return 0;
    return sd_pass_raise(sd_model_edge(r->model, (uint32_t)from, layer));
}

static int note_uses(struct sd_pass *r, const struct sd_operator *op,
                     PyObject *const *values, uint32_t layer)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < op->schema.n_args; i++) {
        PyObject *v = values[i];

        if (!v || op->schema.args[i].kind == SD_ARG_OTHER)
            continue;
        if (!PyList_Check(v) && !PyTuple_Check(v))
            rc = note_use(r, v, layer);
        else
            for (Py_ssize_t k = 0; rc == 0 && k < PySequence_Fast_GET_SIZE(v); k++)
                rc = note_use(r, PySequence_Fast_GET_ITEM(v, k), layer);
    }
    return rc;
}

/* So that the next one who takes it is known to have it from this layer. */
static int note_maker(struct sd_pass *r, PyObject *result, uint32_t layer)
{
    int rc = 0;

    if (sd_torch_is_tensor(&r->torch, result))
        return sd_pass_raise(
            sd_table_put(&r->makers, (uint64_t)(uintptr_t)result, layer));
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return 0;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(result); i++)
        rc = note_maker(r, PySequence_Fast_GET_ITEM(result, i), layer);
    return rc;
}

int sd_pass_record(struct sd_pass *r, const struct sd_operator *op,
                   const struct sd_pass_call *c, PyObject *result)
{
    PyObject *values[SD_SCHEMA_ARGS_MAX];
    struct sd_model_op call = { .name = op->name,
                                .given_macs = -1,
                                .is_backward = sd_pass_is_in_backward(r) };
    struct attrs attrs;

    attrs.n = 0;
    sd_operator_values(op, c->args, c->kwargs, values);
    if (add_arguments(r, op, values, &attrs) < 0)
        return -1;
    sd_operands_clear(&r->out);
    if (sd_operands_find(&r->out, &r->torch, result, 2) < 0)
        return -1;
    sd_operands_finish(&r->out);
    if (ask_given(r, op, c, result, &call.given_macs) < 0)
        return -1;
    if (rename_strange(r, op, &call) < 0)
        return -1;
    call.layer = call.is_backward ? sd_pass_layer_in_backward(r) : sd_pass_layer_now(r);
    sd_assert(call.layer < r->model->n_layers && attrs.n <= MOST_ATTRS);
    _Static_assert((int)MOST_ATTRS <= (int)SD_MODEL_ATTRS_MAX,
                   "an operator holds them all");
    if (!call.is_backward && (note_uses(r, op, values, call.layer) < 0 ||
                              note_maker(r, result, call.layer) < 0))
        return -1;
    if (op->is_detach)
        return 0;
    return sd_pass_raise(sd_model_op(r->model, &call, r->in.all, r->in.n, r->out.all,
                                     r->out.n, attrs.all, attrs.n));
}
