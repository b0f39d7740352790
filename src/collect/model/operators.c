/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/operators.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "collect/model/rules/indices.h"

/* --- Operands */

void sd_operands_clear(struct sd_operands *o) { o->n = o->n_dims = 0; }

void sd_operands_release(struct sd_operands *o)
{
    sd_free(o->all);
    sd_free(o->dims);
    memset(o, 0, sizeof *o);
}

/* Where the dims are is known only when no more come: the array may move. */
int sd_operands_add(struct sd_operands *o, struct sd_operand one)
{
    struct sd_operand *all = sd_grow_array(o->all, &o->cap, o->n + 1, sizeof *o->all);
    int64_t *dims;

    if (!all)
        return sd_no_memory();
    o->all = all;
    dims = sd_grow_array(o->dims, &o->cap_dims, o->n_dims + one.dims.n + 1,
                         sizeof *o->dims);
    if (!dims)
        return sd_no_memory();
    o->dims = dims;
    if (one.dims.n > 0)
        memcpy(dims + o->n_dims, one.dims.d, one.dims.n * sizeof *dims);
    one.dims.d = NULL;
    o->all[o->n++] = one;
    o->n_dims += one.dims.n;
    return 0;
}

void sd_operands_finish(struct sd_operands *o)
{
    const int64_t *at = o->dims;

    for (size_t i = 0; i < o->n; i++) {
        o->all[i].dims.d = at;
        at += o->all[i].dims.n;
    }
}

static int find_in_sequence(struct sd_operands *o, const struct sd_torch *t,
                            PyObject *in, int depth)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(in); i++)
        if (sd_operands_find(o, t, PySequence_Fast_GET_ITEM(in, i), depth - 1) < 0)
            return -1;
    return 0;
}

static int find_in_dict(struct sd_operands *o, const struct sd_torch *t, PyObject *in,
                        int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(in, &at, &key, &value))
        if (sd_operands_find(o, t, value, depth - 1) < 0)
            return -1;
    return 0;
}

/* What stands in __slots__: read by their descriptors, which run no code of its class.
 */
static int find_in_slots(struct sd_operands *o, const struct sd_torch *t, PyObject *in,
                         PyObject *names, int depth)
{
    PyObject *name, *unused, *value;
    Py_ssize_t at = 0;
    int rc = 0;

    while (rc == 0 && PyDict_Next(names, &at, &name, &unused)) {
        PyObject *slot =
            PyUnicode_Check(name) ? _PyType_Lookup(Py_TYPE(in), name) : NULL;

        if (!slot || Py_TYPE(slot) != &PyMemberDescr_Type)
            continue;
        value = Py_TYPE(slot)->tp_descr_get(slot, in, NULL);
        if (!value)
            PyErr_Clear(); /* not set */
        else
            rc = sd_operands_find(o, t, value, depth - 1);
        Py_XDECREF(value);
    }
    return rc;
}

/* Outputs of models are often objects with fields (dataclasses); they stand in __dict__
 * or in __slots__. */
static int find_in_fields(struct sd_operands *o, const struct sd_torch *t, PyObject *in,
                          int depth)
{
    PyObject *names =
        PyObject_GetAttrString((PyObject *)Py_TYPE(in), "__dataclass_fields__");
    PyObject *held = names ? PyObject_GetAttrString(in, "__dict__") : NULL;
    int rc = 0;

    PyErr_Clear();
    if (held && !PyDict_Check(held))
        Py_CLEAR(held);
    if (held)
        rc = find_in_dict(o, t, held, depth);
    if (rc == 0 && names && PyDict_Check(names))
        rc = find_in_slots(o, t, in, names, depth);
    Py_XDECREF(names);
    Py_XDECREF(held);
    return rc;
}

int sd_operands_find(struct sd_operands *o, const struct sd_torch *t, PyObject *in,
                     int depth)
{
    struct sd_tensor_shape s;

    if (depth < 0 || in == Py_None)
        return 0;
    if (sd_torch_is_tensor(t, in)) {
        if (sd_torch_shape(t, in, &s) < 0) {
            PyErr_Clear(); /* a strange one: it is left out */
        } else if (!s.is_nested && sd_operands_add(o, sd_torch_operand(t, &s)) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        return 0;
    }
    if (PyTuple_Check(in) || PyList_Check(in))
        return find_in_sequence(o, t, in, depth);
    if (PyDict_Check(in))
        return find_in_dict(o, t, in, depth);
    return find_in_fields(o, t, in, depth);
}

/* --- What an operator is */

static void free_operator(struct sd_operator *op)
{
    Py_XDECREF(op->func);
    Py_XDECREF(op->call);
    Py_XDECREF(op->given);
    sd_free(op->text);
    sd_free(op);
}

void sd_operators_release(struct sd_operators *o)
{
    struct sd_operator **all = o->all;
    size_t n = o->n;

    Py_CLEAR(o->plain_type);
    Py_CLEAR(o->registry);
    sd_table_release(&o->by_func);
    memset(o, 0, sizeof *o);
    while (n-- > 0)
        free_operator(all[n]);
    sd_free(all);
}

/* The text of its schema, or, of what has none, its name. */
static char *schema_text(PyObject *func)
{
    PyObject *schema = PyObject_GetAttrString(func, "_schema"), *text;
    char *copy = NULL;

    if (!schema) {
        PyErr_Clear();
        text = PyObject_CallMethod(func, "name", NULL);
        if (!text)
            PyErr_Clear();
        schema = text && PyUnicode_Check(text) ? Py_NewRef(text) : Py_NewRef(func);
        Py_XDECREF(text);
        text = PyUnicode_FromFormat("higher_order::%S() -> ()", schema);
    } else {
        text = PyObject_Str(schema);
    }
    if (text && PyUnicode_AsUTF8(text)) {
        copy = sd_strdup(PyUnicode_AsUTF8(text));
        if (!copy)
            PyErr_NoMemory();
    }
    Py_XDECREF(schema);
    Py_XDECREF(text);
    return copy;
}

/* torch.sparse has operators of its own for the products that aten::mm does, too; which
 * one it is depends on the way the product is written.  Here they have one name. */
static const char *name_of_sparse(const struct sd_schema *s)
{
    static const char *const products[] = {
        "aten::_sparse_addmm",
        "aten::_sparse_mm",
        "aten::_sparse_mm_reduce_impl",
        "aten::_sparse_sparse_matmul",
        "aten::hspmm",
        "aten::sspaddmm",
    };

    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (sd_schema_is(s, products[i]))
            return "sparse::mm";
    return NULL;
}

static int name_operator(struct sd_operator *op, struct sd_model *m)
{
    const char *name = name_of_sparse(&op->schema);

    return name ? sd_model_word(m, name, &op->name)
                : sd_model_string(m, op->schema.name, op->schema.n, &op->name);
}

static int read_schema(struct sd_operator *op, struct sd_model *m)
{
    int rc;

    op->text = schema_text(op->func);
    if (!op->text)
        return -1;
    rc = sd_schema_read(op->text, &op->schema);
    if (rc == 0)
        rc = name_operator(op, m);
    for (uint32_t i = 0; rc == 0 && i < op->schema.n_args; i++)
        rc = sd_model_string(m, op->schema.args[i].name, op->schema.args[i].n,
                             &op->arg_names[i]);
    if (rc < 0)
        PyErr_SetString(rc == SD_ENOMEM ? PyExc_MemoryError : PyExc_RuntimeError,
                        sd_fail_text());
    return rc < 0 ? -1 : 0;
}

/* An overload of the plain kind only passes its arguments on to _op. */
static PyObject *call_of(struct sd_operators *o, PyObject *func)
{
    PyObject *call = NULL;

    if ((PyObject *)Py_TYPE(func) == o->plain_type)
        call = PyObject_GetAttrString(func, "_op");
    if (!call)
        PyErr_Clear();
    return call ? call : Py_NewRef(func);
}

/* torch takes its own kernels for nearest upsampling apart into indices when it is
 * asked to; what counts it has to see it whole. */
static bool is_upsampling(const struct sd_schema *s)
{
    return strncmp(s->name, "aten::upsample_", 15) == 0 ||
           strncmp(s->name, "aten::_upsample_", 16) == 0;
}

static bool can_decompose(PyObject *func)
{
    PyObject *can = PyObject_CallMethod(func, "_can_decompose", NULL);
    bool is = can == Py_True;

    if (!can)
        PyErr_Clear();
    Py_XDECREF(can);
    return is;
}

/* A rule in a tuple is one of torch's kind: it gets the arguments, and counts FLOPs. */
static void take_rule(struct sd_operator *op, PyObject *rule)
{
    bool is_torchs = PyTuple_Check(rule) && PyTuple_GET_SIZE(rule) == 1;

    op->given = Py_NewRef(is_torchs ? PyTuple_GET_ITEM(rule, 0) : rule);
    op->given_as = is_torchs ? SD_GIVEN_BY_ARGUMENTS : SD_GIVEN_BY_SHAPES;
}

static void take_torchs_rule(struct sd_operator *op, PyObject *registry)
{
    PyObject *packet = PyObject_GetAttrString(op->func, "_overloadpacket");

    if (packet)
        op->given = Py_XNewRef(PyDict_GetItemWithError(registry, packet));
    op->given_as = op->given ? SD_GIVEN_BY_ARGUMENTS : SD_GIVEN_NONE;
    Py_XDECREF(packet);
}

/* The user's own rule goes first; torch's table only for what ours does not know. */
static int find_given(struct sd_operators *o, struct sd_operator *op,
                      const struct sd_operator_asks *asks)
{
    PyObject *name = PyUnicode_FromStringAndSize(op->schema.name, op->schema.n), *rule;
    const char *word = name ? PyUnicode_AsUTF8(name) : NULL;

    if (!word) {
        Py_XDECREF(name);
        return -1;
    }
    rule = asks->rules ? PyDict_GetItemWithError(asks->rules, name) : NULL;
    if (!rule && asks->rules && name_of_sparse(&op->schema))
        rule = sd_compat_dict_get(asks->rules, name_of_sparse(&op->schema));
    if (rule)
        take_rule(op, rule);
    else if (o->registry && asks->is_known && !asks->is_known(word))
        take_torchs_rule(op, o->registry);
    op->is_product = asks->is_product && asks->is_product(word);
    PyErr_Clear();
    Py_DECREF(name);
    return 0;
}

static void look_around(struct sd_operators *o)
{
    PyObject *found = sd_found_in("torch._ops", "OpOverload");

    o->plain_type = Py_XNewRef(found);
    found = sd_found_in("torch.utils.flop_counter", "flop_registry");
    o->registry = found && PyDict_Check(found) ? Py_NewRef(found) : NULL;
}

static int place_of_word(const struct sd_schema *s, const char *word)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (s->args[i].n == strlen(word) &&
            memcmp(s->args[i].name, word, s->args[i].n) == 0)
            return (int)i;
    return -1;
}

static int fill(struct sd_operators *o, struct sd_operator *op, struct sd_model *m,
                const struct sd_operator_asks *asks)
{
    if (read_schema(op, m) < 0 || find_given(o, op, asks) < 0)
        return -1;
    op->call = call_of(o, op->func);
    op->rule = sd_rule_find(op->schema.name, op->schema.n_full);
    op->doubt =
        sd_doubt_find(op->schema.name, /* in inference mode an overload comes */
                      is_upsampling(&op->schema) ? op->schema.n : op->schema.n_full);
    op->taker = sd_taker_find(op->schema.name, op->schema.n);
    op->is_composite =
        !op->given && !is_upsampling(&op->schema) && can_decompose(op->func);
    op->is_of_functions =
        !op->given && strncmp(op->schema.name, "higher_order::", 14) == 0;
    op->read_arg = sd_schema_is(&op->schema, "aten::_pack_padded_sequence") ||
                           sd_schema_is(&op->schema, "aten::_pad_packed_sequence")
                       ? 1
                       : -1;
    op->is_detach = sd_schema_is(&op->schema, "aten::detach");
    op->is_lift = sd_schema_is(&op->schema, "aten::lift_fresh") ||
                  sd_schema_is(&op->schema, "aten::lift");
    op->is_packed = strncmp(op->schema.name, "quantized::", 11) == 0;
    op->device_arg = place_of_word(&op->schema, "device");
    op->dtype_arg = place_of_word(&op->schema, "dtype");
    return 0;
}

struct sd_operator *sd_operators_find(struct sd_operators *o, struct sd_model *m,
                                      PyObject *func,
                                      const struct sd_operator_asks *asks)
{
    struct sd_operator **grown, *op;
    uint64_t at;

    if (sd_table_get(&o->by_func, (uint64_t)(uintptr_t)func, &at))
        return o->all[at];
    if (o->n == 0)
        look_around(o);
    op = sd_zalloc(sizeof *op);
    grown = sd_grow_array(o->all, &o->cap, o->n + 1, sizeof(struct sd_operator *));
    if (grown)
        o->all = grown;
    if (op)
        op->func = Py_NewRef(func);
    if (!op || !grown || fill(o, op, m, asks) < 0 ||
        sd_table_put(&o->by_func, (uint64_t)(uintptr_t)func, o->n) < 0) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        if (op)
            free_operator(op);
        return NULL;
    }
    o->all[o->n++] = op;
    return op;
}

/* --- Its arguments */

static int place_of(const struct sd_schema *s, PyObject *key)
{
    Py_ssize_t n;
    const char *name = PyUnicode_AsUTF8AndSize(key, &n);

    for (uint32_t i = 0; name && i < s->n_args; i++)
        if (s->args[i].n == (size_t)n && memcmp(s->args[i].name, name, (size_t)n) == 0)
            return (int)i;
    PyErr_Clear();
    return -1;
}

void sd_operator_values(const struct sd_operator *op, PyObject *args, PyObject *kwargs,
                        PyObject **values)
{
    uint32_t n = op->schema.n_args;
    PyObject *key, *value;
    Py_ssize_t at = 0;

    for (uint32_t i = 0; i < n; i++)
        values[i] = (Py_ssize_t)i < PyTuple_GET_SIZE(args)
                        ? PyTuple_GET_ITEM(args, (Py_ssize_t)i)
                        : NULL;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int place = place_of(&op->schema, key);

        if (place >= 0)
            values[place] = value;
    }
}
