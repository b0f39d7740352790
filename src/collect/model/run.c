/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/run.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    MOST_REAL = 1 << 20, /* elements that a run makes on a real device, at once */
    OPEN_DEPTH = 6,      /* lists in lists of a layer's arguments and results */
    MOST_ATTRS = 32,     /* of a call */
    MOST_NUMBERS = 32,   /* of a list among them */
};

static int raise_core(int rc)
{
    if (rc < 0 && !PyErr_Occurred())
        PyErr_SetString(rc == SD_ENOMEM ? PyExc_MemoryError : PyExc_ValueError,
                        sd_fail_text());
    return rc < 0 ? -1 : 0;
}

/* --- Beginning and end */

int sd_run_begin(struct sd_run *r, PyObject *self, struct sd_model *model,
                 PyObject *module, const struct sd_run_wish *wish)
{
    memset(r, 0, sizeof *r);
    r->self = self;
    r->model = model;
    r->wish = *wish;
    r->twins.torch = &r->torch;
    r->modules = PyList_New(0);
    if (!r->modules || sd_torch_init(&r->torch) < 0)
        return -1;
    return wish->is_open ? 0 : sd_run_walk(r, module);
}

void sd_run_end(struct sd_run *r)
{
    struct sd_raised raised = sd_raised_take();

    sd_keep_put_back(&r->keep);
    for (size_t i = 0; i < r->cap_open; i++)
        sd_operands_release(&r->open[i].in);
    sd_free(r->open);
    sd_free(r->borders);
    sd_table_release(&r->layer_of);
    sd_table_release(&r->weights);
    sd_table_release(&r->makers);
    sd_operands_release(&r->in);
    sd_operands_release(&r->out);
    sd_times_release(&r->times);
    Py_CLEAR(r->modules);
    Py_CLEAR(r->marked);
    sd_storages_release(&r->storages);
    sd_twins_release(&r->twins);
    sd_operators_release(&r->operators);
    sd_torch_release(&r->torch);
    memset(r, 0, sizeof *r);
    sd_raised_give_back(raised);
}

/* --- Layers */

uint32_t sd_run_layer_now(struct sd_run *r)
{
    return r->n_open > 0 ? r->open[r->n_open - 1].layer : SD_MODEL_ROOT;
}

/* Nodes that are made from now on are of the layer that is open. */
static int note_border(struct sd_run *r)
{
    struct sd_border *grown,
        *last = r->n_borders ? &r->borders[r->n_borders - 1] : NULL;
    PyObject *number;
    int64_t sequence;

    if (!r->wish.has_backward || !r->torch.sequence_now)
        return 0;
    number = PyObject_CallObject(r->torch.sequence_now, NULL);
    sequence = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (sequence < 0)
        return PyErr_Occurred() ? -1 : 0;
    if (last && last->sequence == sequence) { /* nothing was made in between */
        last->layer = sd_run_layer_now(r);
        return 0;
    }
    grown = sd_grow_array(r->borders, &r->cap_borders, r->n_borders + 1,
                          sizeof *r->borders);
    if (!grown)
        return raise_core(SD_ENOMEM);
    r->borders = grown;
    r->borders[r->n_borders++] = (struct sd_border){ sequence, sd_run_layer_now(r) };
    return 0;
}

static uint32_t layer_of_node(const struct sd_run *r, int64_t sequence)
{
    size_t low = 0, high = r->n_borders;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->borders[middle].sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? r->borders[low - 1].layer : SD_MODEL_ROOT;
}

/* In a backward the node that runs says whose it is.  Gradients are added up by nodes
 * without a number of their own: they belong to what ran before. */
static uint32_t layer_in_backward(struct sd_run *r)
{
    PyObject *node, *number = NULL;
    int64_t sequence = -1;

    if (r->n_open > 0 || !r->torch.node_now) /* a forward that is done over again */
        return sd_run_layer_now(r);
    node = PyObject_CallObject(r->torch.node_now, NULL);
    if (node && node != Py_None)
        number = PyObject_CallMethod(node, "_sequence_nr", NULL);
    if (number && PyLong_Check(number))
        sequence = PyLong_AsLongLong(number);
    PyErr_Clear();
    Py_XDECREF(node);
    Py_XDECREF(number);
    if (sequence >= 0)
        r->backward_layer = layer_of_node(r, sequence);
    return r->backward_layer;
}

static struct sd_open_layer *push(struct sd_run *r, PyObject *module, uint32_t layer)
{
    size_t before = r->cap_open;
    struct sd_open_layer *grown =
        sd_grow_array(r->open, &r->cap_open, r->n_open + 1, sizeof *r->open);

    if (!grown) {
        raise_core(SD_ENOMEM);
        return NULL;
    }
    r->open = grown;
    memset(r->open + before, 0, (r->cap_open - before) * sizeof *r->open);
    r->open[r->n_open].module = module;
    r->open[r->n_open].layer = layer;
    sd_operands_clear(&r->open[r->n_open].in);
    return &r->open[r->n_open++];
}

/* False: it is none of the model's. */
static bool find_layer(struct sd_run *r, PyObject *module, uint32_t *layer)
{
    uint64_t found;

    if (!sd_table_get(&r->layer_of, (uint64_t)(uintptr_t)module, &found))
        return false;
    *layer = (uint32_t)found;
    return true;
}

static int enter_timed(struct sd_run *r, PyObject *args, uint32_t layer)
{
    uint32_t outer = sd_run_layer_now(r);

    if (r->wish.has_backward && sd_run_mark_nodes(r, args, outer) < 0)
        return -1;
    if (!push(r, NULL, layer))
        return -1;
    sd_times_border(&r->times, layer, sd_clock_ns());
    return 0;
}

int sd_run_enter(struct sd_run *r, PyObject *module, PyObject *args)
{
    struct sd_open_layer *open;
    uint32_t layer;

    if (!find_layer(r, module, &layer)) {
        if (!r->wish.is_open || r->is_backward)
            return 0;
        if (sd_run_walk_met(r, module) < 0)
            return -1;
        if (!find_layer(r, module, &layer))
            return 0;
    }
    r->has_failed = false;
    if (r->wish.is_timing) {
        if (enter_timed(r, args, layer) < 0)
            return -1;
        r->open[r->n_open - 1].module = module;
        return 0;
    }
    open = push(r, module, layer);
    if (!open || sd_operands_find(&open->in, &r->torch, args, OPEN_DEPTH) < 0)
        return -1;
    if (!r->is_backward)
        sd_model_entered(r->model, layer);
    return note_border(r);
}

/* An exception is on its way: the innermost layer hears of it first. */
static bool is_failing(PyObject *result)
{
    PyObject *type, *value, *traceback;
    bool is;

    if (result != Py_None)
        return false;
    PyErr_GetExcInfo(&type, &value, &traceback);
    is = value && value != Py_None;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return is;
}

static int note_call(struct sd_run *r, struct sd_open_layer *open, PyObject *result)
{
    sd_operands_clear(&r->out);
    if (sd_operands_find(&r->out, &r->torch, result, OPEN_DEPTH) < 0)
        return -1;
    sd_operands_finish(&open->in);
    sd_operands_finish(&r->out);
    return raise_core(sd_model_called(r->model, open->layer, open->in.all, open->in.n,
                                      r->out.all, r->out.n));
}

int sd_run_leave(struct sd_run *r, PyObject *module, PyObject *result)
{
    size_t at = r->n_open;
    int rc = 0;

    while (at > 0 && r->open[at - 1].module != module)
        at--;
    if (at == 0)
        return 0;
    if (is_failing(result)) {
        if (!r->has_failed)
            r->failed_in = r->open[r->n_open - 1].layer;
        r->has_failed = true;
    } else if (r->wish.is_timing && r->wish.has_backward) {
        rc = sd_run_mark_nodes(r, result, r->open[at - 1].layer);
    } else if (!r->wish.is_timing && !r->is_backward) {
        rc = note_call(r, &r->open[at - 1], result);
    }
    r->n_open = at - 1;
    if (r->wish.is_timing)
        sd_times_border(&r->times, sd_run_layer_now(r), sd_clock_ns());
    else if (rc == 0)
        rc = note_border(r);
    return rc;
}

/* --- What a call is written down as */

static int add_part(const struct sd_shape *part, void *arg)
{
    struct sd_run *r = arg;
    struct sd_operand o = sd_torch_operand(&r->torch, part);

    o.kind = SD_OPERAND_MEMBER;
    return raise_core(sd_operands_add(&r->in, o));
}

static int add_operand(struct sd_run *r, PyObject *v, enum sd_operand_kind kind)
{
    struct sd_operand o = { .kind = SD_OPERAND_NONE };
    struct sd_shape s;
    uint64_t unused;

    if (v && sd_torch_is_tensor(&r->torch, v)) {
        if (sd_torch_shape(&r->torch, v, &s) < 0)
            return -1;
        if (s.is_nested) /* its parts stand in its place */
            return sd_torch_parts(v, s, add_part, r);
        o = sd_torch_operand(&r->torch, &s);
        o.kind = (uint8_t)kind;
        o.is_weight = sd_table_get(&r->weights, (uint64_t)(uintptr_t)v, &unused);
    } else if (v && v != Py_None) {
        o.kind = SD_OPERAND_SCALAR;
    }
    return raise_core(sd_operands_add(&r->in, o));
}

static int add_members(struct sd_run *r, PyObject *v)
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
static int add_packed(struct sd_run *r, PyObject *v)
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

static bool numbers_of(PyObject *v, int64_t *numbers, uint32_t *n)
{
    Py_ssize_t has =
        PyList_CheckExact(v) || PyTuple_Check(v) ? PySequence_Fast_GET_SIZE(v) : -1;

    if (has < 0 || has > MOST_NUMBERS)
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

static int add_attr(struct sd_run *r, struct attrs *a, uint32_t name, PyObject *v)
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

        if (!word || sd_model_word(r->model, word, &n) < 0)
            return -1;
        *to = sd_attr_text(name, n);
    } else if (numbers_of(v, a->numbers[a->n], &n)) {
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

static int add_arguments(struct sd_run *r, const struct sd_operator *op,
                         PyObject *const *values, struct attrs *attrs)
{
    int rc = 0;

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

static PyObject *by_shapes(struct sd_run *r, const struct sd_operator *op)
{
    PyObject *in = shapes_of(&r->in), *out = in ? shapes_of(&r->out) : NULL;
    PyObject *told =
        out ? PyObject_CallFunctionObjArgs(op->given, in, out, NULL) : NULL;

    Py_XDECREF(in);
    Py_XDECREF(out);
    return told;
}

static PyObject *by_arguments(const struct sd_operator *op, PyObject *args,
                              PyObject *kwargs, PyObject *result)
{
    PyObject *words = kwargs ? PyDict_Copy(kwargs) : PyDict_New(), *told = NULL;

    if (words && PyDict_SetItemString(words, "out_val", result) == 0)
        told = PyObject_Call(op->given, args, words);
    Py_XDECREF(words);
    return told;
}

/* torch's rules count FLOPs, two for each MAC. */
static int ask_given(struct sd_run *r, const struct sd_operator *op, PyObject *args,
                     PyObject *kwargs, PyObject *result, int64_t *macs)
{
    bool is_users = op->given_as == SD_GIVEN_BY_SHAPES;
    PyObject *told, *number;

    if (!op->given)
        return 0;
    told = is_users ? by_shapes(r, op) : by_arguments(op, args, kwargs, result);
    if (!told)
        return -1;
    number = PyNumber_Long(told);
    Py_DECREF(told);
    *macs = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return -1;
    if (*macs < 0) {
        PyErr_Format(PyExc_ValueError, "the rule for %.*s gave a negative number",
                     (int)op->schema.n, op->schema.name);
        return -1;
    }
    if (!is_users)
        *macs /= 2;
    return 0;
}

/* --- Who hands data to whom */

/* Another layer made it: that is an edge.  An address may be used again, but only by a
 * tensor that an operator made, which is then noted anew. */
static int note_use(struct sd_run *r, PyObject *v, uint32_t layer)
{
    uint64_t from;

    if (!sd_table_get(&r->makers, (uint64_t)(uintptr_t)v, &from) || from == layer)
        return 0;
    return raise_core(sd_model_edge(r->model, (uint32_t)from, layer));
}

static int note_uses(struct sd_run *r, const struct sd_operator *op,
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

static int note_maker(struct sd_run *r, PyObject *result, uint32_t layer)
{
    int rc = 0;

    if (sd_torch_is_tensor(&r->torch, result))
        return raise_core(sd_table_put(&r->makers, (uint64_t)(uintptr_t)result, layer));
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return 0;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(result); i++)
        rc = note_maker(r, PySequence_Fast_GET_ITEM(result, i), layer);
    return rc;
}

static int record(struct sd_run *r, const struct sd_operator *op, PyObject *args,
                  PyObject *kwargs, PyObject *result)
{
    PyObject *values[SD_SCHEMA_ARGS_MAX];
    struct sd_model_op call = { .name = op->name,
                                .given_macs = -1,
                                .is_backward = r->is_backward };
    struct attrs attrs;

    attrs.n = 0;
    sd_operator_values(op, args, kwargs, values);
    if (add_arguments(r, op, values, &attrs) < 0)
        return -1;
    sd_operands_clear(&r->out);
    if (sd_operands_find(&r->out, &r->torch, result, 2) < 0)
        return -1;
    sd_operands_finish(&r->out);
    if (ask_given(r, op, args, kwargs, result, &call.given_macs) < 0)
        return -1;
    call.layer = r->is_backward ? layer_in_backward(r) : sd_run_layer_now(r);
    if (!r->is_backward && (note_uses(r, op, values, call.layer) < 0 ||
                            note_maker(r, result, call.layer) < 0))
        return -1;
    return raise_core(sd_model_op(r->model, &call, r->in.all, r->in.n, r->out.all,
                                  r->out.n, attrs.all, attrs.n));
}

/* --- On twins */

struct survey {
    unsigned n_meta, n_own, n_foreign;
};

static int survey_one(struct sd_run *r, PyObject *v, struct survey *s)
{
    struct sd_shape shape;

    if (!sd_torch_is_tensor(&r->torch, v))
        return 0;
    if (sd_torch_shape(&r->torch, v, &shape) < 0)
        return -1;
    if (shape.is_meta)
        s->n_meta++;
    else if (sd_twins_is_own(&r->twins, v))
        s->n_own++;
    else
        s->n_foreign++;
    return 0;
}

static int survey(struct sd_run *r, const struct sd_operator *op,
                  PyObject *const *values, struct survey *s)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < op->schema.n_args; i++) {
        PyObject *v = values[i];

        if (!v || op->schema.args[i].kind == SD_ARG_OTHER)
            continue;
        if (!PyList_Check(v) && !PyTuple_Check(v)) {
            if (survey_one(r, v, s) < 0)
                return -1;
            continue;
        }
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(v); k++)
            if (survey_one(r, PySequence_Fast_GET_ITEM(v, k), s) < 0)
                return -1;
    }
    return 0;
}

static PyObject *with_twins(struct sd_run *r, PyObject *v);

static PyObject *sequence_with_twins(struct sd_run *r, PyObject *v)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(v);
    bool is_tuple = PyTuple_Check(v);
    PyObject *made = is_tuple ? PyTuple_New(n) : PyList_New(n);

    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *one = with_twins(r, PySequence_Fast_GET_ITEM(v, i));

        if (!one)
            Py_CLEAR(made);
        else if (is_tuple)
            PyTuple_SET_ITEM(made, i, one);
        else
            PyList_SET_ITEM(made, i, one);
    }
    return made;
}

/* Only what has data needs a twin. */
static PyObject *with_twins(struct sd_run *r, PyObject *v)
{
    struct sd_shape s;

    if (sd_torch_is_tensor(&r->torch, v)) {
        if (sd_torch_shape(&r->torch, v, &s) < 0)
            return NULL;
        return s.is_meta ? Py_NewRef(v) : sd_twins_of(&r->twins, v);
    }
    if (PyList_CheckExact(v) || PyTuple_CheckExact(v))
        return sequence_with_twins(r, v);
    return Py_NewRef(v);
}

static PyObject *dict_with_twins(struct sd_run *r, PyObject *dict)
{
    PyObject *copy = PyDict_Copy(dict), *key, *value;
    Py_ssize_t at = 0;

    while (copy && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *one = with_twins(r, value);

        if (!one || PyDict_SetItem(copy, key, one) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(one);
    }
    return copy;
}

/* The call as it is made: both are owned, kwargs may be NULL. */
struct call {
    PyObject *args, *kwargs;
};

static int put_twins(struct sd_run *r, struct call *c)
{
    PyObject *args = sequence_with_twins(r, c->args), *kwargs = NULL;

    if (!args)
        return -1;
    Py_SETREF(c->args, args);
    if (!c->kwargs)
        return 0;
    kwargs = dict_with_twins(r, c->kwargs);
    if (!kwargs)
        return -1;
    Py_SETREF(c->kwargs, kwargs);
    return 0;
}

static int put_on_meta(struct sd_run *r, struct call *c)
{
    PyObject *kwargs = c->kwargs ? PyDict_Copy(c->kwargs) : PyDict_New();

    if (!kwargs || PyDict_SetItem(kwargs, r->torch.device_word, r->torch.meta) < 0) {
        Py_XDECREF(kwargs);
        return -1;
    }
    Py_XSETREF(c->kwargs, kwargs);
    return 0;
}

/* A tensor is asked for whose first argument says how large: is that too much to be
 * made in earnest? */
static bool is_large(const struct sd_operator *op, PyObject *const *values)
{
    int64_t numbers[MOST_NUMBERS], elements = 1;
    uint32_t n = 0;

    if (op->schema.n_args == 0 || !values[0] || !numbers_of(values[0], numbers, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        elements = sd_times(elements, numbers[i] > 0 ? numbers[i] : 0);
    return elements > MOST_REAL;
}

static int own_results(struct sd_run *r, PyObject *result)
{
    struct sd_shape s;

    if (sd_torch_is_tensor(&r->torch, result)) {
        if (sd_torch_shape(&r->torch, result, &s) < 0)
            return -1;
        return s.is_meta ? 0 : sd_twins_own(&r->twins, result);
    }
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++)
        if (own_results(r, PySequence_Fast_GET_ITEM(result, i)) < 0)
            return -1;
    return 0;
}

static PyObject *call_really(struct sd_run *r, const struct sd_operator *op,
                             const struct call *c)
{
    PyObject *result = PyObject_Call(op->call, c->args, c->kwargs);

    if (result && own_results(r, result) < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *call_by_rule(struct sd_run *r, const struct sd_operator *op,
                              PyObject *const *values)
{
    struct sd_rule_call c = { &r->torch, values, op->schema.n_args, op->dtype_arg,
                              op->device_arg };

    return op->rule ? op->rule(&c) : NULL;
}

static bool is_for_meta(struct sd_run *r, const struct sd_operator *op,
                        PyObject *const *values)
{
    PyObject *device = op->device_arg >= 0 ? values[op->device_arg] : NULL;
    int is = device ? PyObject_RichCompareBool(device, r->torch.meta, Py_EQ) : 0;

    if (is < 0)
        PyErr_Clear();
    return is > 0;
}

/* A tensor from nothing: where it is asked for, or without data if it is large. */
static PyObject *make_new(struct sd_run *r, const struct sd_operator *op,
                          struct call *c, PyObject **values)
{
    PyObject *made = NULL;

    if (op->device_arg >= 0 && is_large(op, values)) {
        if (put_on_meta(r, c) < 0)
            return NULL;
        sd_operator_values(op, c->args, c->kwargs, values);
    }
    if (is_for_meta(r, op, values))
        made = call_by_rule(r, op, values);
    return made || PyErr_Occurred() ? made : call_really(r, op, c);
}

static PyObject *call_on_twins(struct sd_run *r, const struct sd_operator *op,
                               struct call *c)
{
    PyObject *values[SD_SCHEMA_ARGS_MAX], *result;
    struct survey s;

    sd_operator_values(op, c->args, c->kwargs, values);
    if (survey(r, op, values, &s) < 0)
        return NULL;
    if (op->is_lift && s.n_foreign == 1)
        return sd_twins_own(&r->twins, values[0]) == 0 ? Py_NewRef(values[0]) : NULL;
    if (s.n_meta + s.n_foreign == 0)
        return s.n_own == 0 ? make_new(r, op, c, values) : call_really(r, op, c);
    if (s.n_own + s.n_foreign > 0 && put_twins(r, c) < 0)
        return NULL;
    if (op->device_arg >= 0 && values[op->device_arg] &&
        values[op->device_arg] != Py_None && put_on_meta(r, c) < 0)
        return NULL;
    sd_operator_values(op, c->args, c->kwargs, values);
    result = call_by_rule(r, op, values);
    if (result || PyErr_Occurred())
        return result;
    return PyObject_Call(op->call, c->args, c->kwargs);
}

/* --- The door */

/* Tensors of a class that dispatches by itself are first its own affair: what it does
 * with plain tensors comes here then. */
static bool has_strangers(const struct sd_run *r, PyObject *types)
{
    PyObject *list = types ? PySequence_Fast(types, "") : NULL;
    bool has = false;

    PyErr_Clear();
    for (Py_ssize_t i = 0; list && !has && i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *type = PySequence_Fast_GET_ITEM(list, i);

        has = type != r->torch.tensor && type != r->torch.parameter;
    }
    Py_XDECREF(list);
    return has;
}

/* NotImplemented: it cannot be taken apart, after all. */
static PyObject *take_apart(struct sd_run *r, PyObject *func, PyObject *args,
                            PyObject *kwargs)
{
    PyObject *words = kwargs ? Py_NewRef(kwargs) : PyDict_New();
    PyObject *result =
        words ? PyObject_CallMethod(r->self, "decompose", "OOO", func, args, words)
              : NULL;

    Py_XDECREF(words);
    return result;
}

static PyObject *call_and_record(struct sd_run *r, const struct sd_operator *op,
                                 struct call *c)
{
    PyObject *result = r->wish.on_twins ? call_on_twins(r, op, c)
                                        : PyObject_Call(op->call, c->args, c->kwargs);

    if (!result)
        return NULL;
    if (record(r, op, c->args, c->kwargs, result) < 0 ||
        (r->wish.has_memory && sd_run_watch_outputs(r, result) < 0))
        Py_CLEAR(result);
    return result;
}

PyObject *sd_run_dispatch(struct sd_run *r, PyObject *func, PyObject *types,
                          PyObject *args, PyObject *kwargs)
{
    struct sd_operator *op;
    struct call c;
    PyObject *result;

    if (kwargs == Py_None)
        kwargs = NULL;
    if (has_strangers(r, types))
        return Py_NewRef(Py_NotImplemented);
    op = sd_operators_find(&r->operators, r->model, func, r->wish.rules,
                           r->wish.is_known);
    if (!op)
        return NULL;
    if (op->is_composite) {
        result = take_apart(r, func, args, kwargs);
        if (!result || result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    c = (struct call){ Py_NewRef(args), Py_XNewRef(kwargs) };
    result = call_and_record(r, op, &c);
    Py_DECREF(c.args);
    Py_XDECREF(c.kwargs);
    return result;
}
