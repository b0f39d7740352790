/* SPDX-License-Identifier: MIT */
/* meta_call: calls an operator without computing anything.
 *
 * Its tensors are without data (the model's twins, and all that came of them), real
 * ones that this run made itself, or real ones from elsewhere.  As long as only the
 * second kind takes part the call is made in earnest; else whatever has data is
 * replaced by its twin, and the output comes from a rule (rules.h) or, where none is
 * sure, from torch's own functions for tensors without data. */
#include "cpython/compat.h"

#include "collect/model/model_pass.h"

#include <stdio.h>
#include <string.h>

#include "collect/model/rules/indices.h"
#include "collect/model/rules/meta.h"

enum {
    MOST_REAL =
        SD_TWINS_READABLE,   /* elements that a run makes on a real device, at once */
    MOST_COMPUTED = 1 << 24, /* elements that it computes of those at once ... */
    MOST_BYTES = 1 << 28,    /* ... and in all: they stay until the end */
    MOST_SIZES = 32,         /* of a shape that is asked for */
};

/* --- What takes part */

struct survey {
    unsigned n_meta, n_own, n_foreign;
    struct sd_tensor_shape
        all; /* of the own ones, stretched to each other where they can be */
};

static int survey_one(struct sd_pass *r, PyObject *v, struct survey *s)
{
    struct sd_tensor_shape shape;

    if (!sd_torch_is_tensor(&r->torch, v))
        return 0;
    if (sd_torch_shape(&r->torch, v, &shape) < 0)
        return -1;
    if (shape.is_meta)
        s->n_meta++;
    else if (sd_twins_is_own(&r->twins, v)) {
        struct sd_tensor_shape both;

        if (s->n_own++ == 0)
            s->all = shape;
        else if (sd_meta_shape_stretch(&s->all, &shape, &both))
            s->all = both;
    } else
        s->n_foreign++;
    return 0;
}

static int survey(struct sd_pass *r, const struct sd_operator *op,
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

/* --- The call, changed */

static PyObject *with_twins(struct sd_pass *r, PyObject *v);

static PyObject *sequence_with_twins(struct sd_pass *r, PyObject *v)
{
    PyObject *given = PySequence_Tuple(v); /* a list may change meanwhile */
    Py_ssize_t n = given ? PyTuple_GET_SIZE(given) : 0;
    bool is_tuple = PyTuple_Check(v);
    PyObject *made = !given ? NULL : is_tuple ? PyTuple_New(n) : PyList_New(n);

    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *one = with_twins(r, PyTuple_GET_ITEM(given, i));

        if (!one)
            Py_CLEAR(made);
        else if (is_tuple)
            PyTuple_SET_ITEM(made, i, one);
        else
            PyList_SET_ITEM(made, i, one);
    }
    Py_XDECREF(given);
    return made;
}

/* The memory of what this run made is counted already. */
static PyObject *twin_of_own(struct sd_pass *r, PyObject *v)
{
    PyObject *twin = sd_twins_of(&r->twins, v);

    if (twin && r->request.has_memory && sd_pass_given(r, twin, 0) < 0)
        Py_CLEAR(twin);
    return twin;
}

/* For an input there may be a copy, which gets a twin of its own. */
static PyObject *twin_of(struct sd_pass *r, PyObject *v)
{
    PyObject *twin, *copy;

    if (sd_twins_is_made(&r->twins, v))
        return twin_of_own(r, v);
    twin = sd_twins_of(&r->twins, v);
    if (twin && r->request.has_memory && sd_pass_is_weight(r, v) &&
        sd_pass_weight(r, twin) < 0)
        Py_CLEAR(twin);
    if (!twin || !sd_twins_is_made(&r->twins, twin))
        return twin;
    copy = twin;
    twin = twin_of_own(r, copy);
    Py_DECREF(copy);
    return twin;
}

/* Only what has data needs a twin. */
static PyObject *with_twins(struct sd_pass *r, PyObject *v)
{
    struct sd_tensor_shape s;

    if (sd_torch_is_tensor(&r->torch, v)) {
        if (sd_torch_shape(&r->torch, v, &s) < 0)
            return NULL;
        return s.is_meta ? Py_NewRef(v) : twin_of(r, v);
    }
    if (PyList_CheckExact(v) || PyTuple_CheckExact(v))
        return sequence_with_twins(r, v);
    return Py_NewRef(v);
}

static PyObject *dict_with_twins(struct sd_pass *r, PyObject *dict)
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

/* One that the operator reads stays as it is, if its numbers are true. */
static void leave_numbers(struct sd_pass *r, PyObject *args, PyObject *given, int at)
{
    PyObject *one =
        at >= 0 && at < PyTuple_GET_SIZE(given) ? PyTuple_GET_ITEM(given, at) : NULL;

    if (one && sd_twins_is_own(&r->twins, one))
        PyTuple_SetItem(args, at, Py_NewRef(one));
}

static int put_twins(struct sd_pass *r, const struct sd_operator *op,
                     struct sd_pass_call *c)
{
    PyObject *args = sequence_with_twins(r, c->args), *kwargs = NULL;

    if (!args)
        return -1;
    leave_numbers(r, args, c->args, op->read_arg);
    Py_SETREF(c->args, args);
    if (!c->kwargs)
        return 0;
    kwargs = dict_with_twins(r, c->kwargs);
    if (!kwargs)
        return -1;
    Py_SETREF(c->kwargs, kwargs);
    return 0;
}

static int put_on(struct sd_pass *r, struct sd_pass_call *c, PyObject *device)
{
    PyObject *kwargs = c->kwargs ? PyDict_Copy(c->kwargs) : PyDict_New();

    if (!kwargs || PyDict_SetItem(kwargs, r->torch.device_word, device) < 0) {
        Py_XDECREF(kwargs);
        return -1;
    }
    Py_XSETREF(c->kwargs, kwargs);
    return 0;
}

/* The whole number that an argument of this name has; `otherwise` where it has none. */
static int64_t number_named(const struct sd_operator *op, PyObject *const *values,
                            const char *name, int64_t otherwise)
{
    for (uint32_t i = 0; i < op->schema.n_args; i++)
        if (op->schema.args[i].n == strlen(name) &&
            memcmp(op->schema.args[i].name, name, op->schema.args[i].n) == 0)
            return values[i] && PyLong_Check(values[i]) ? PyLong_AsLongLong(values[i])
                                                        : otherwise;
    return otherwise;
}

/* The same for a size: not negative. */
static int64_t size_named(const struct sd_operator *op, PyObject *const *values,
                          const char *name, int64_t otherwise)
{
    int64_t n = number_named(op, values, name, otherwise);

    return n > 0 ? n : 0;
}

/* Of what says in numbers how large it is; 0: it does not.  With a step an arange is
 * smaller than this says, which does no harm. */
static int64_t asked_by_numbers(const struct sd_operator *op, PyObject *const *values)
{
    int64_t side = size_named(op, values, "n", 0), range;

    if (sd_schema_is(&op->schema, "aten::eye"))
        return sd_times(side, size_named(op, values, "m", side));
    if (sd_schema_is(&op->schema, "aten::tril_indices") ||
        sd_schema_is(&op->schema, "aten::triu_indices"))
        return sd_times(size_named(op, values, "row", 0),
                        size_named(op, values, "col", 0));
    if (sd_schema_is(&op->schema, "aten::linspace") ||
        sd_schema_is(&op->schema, "aten::logspace"))
        return size_named(op, values, "steps", 0);
    if (!sd_schema_is(&op->schema, "aten::arange"))
        return side;
    if (__builtin_sub_overflow(number_named(op, values, "end", 0),
                               number_named(op, values, "start", 0), &range) ||
        range == INT64_MIN)
        return INT64_MAX;
    return range < 0 ? -range : range; /* it may count down */
}

/* How many elements are asked for, by a list of sizes or by numbers; 0: not known. */
static int64_t elements_asked(const struct sd_operator *op, PyObject *const *values)
{
    int64_t numbers[MOST_SIZES], elements = 1;
    uint32_t n = 0;

    if (op->schema.n_args == 0 || !values[0])
        return 0;
    if (!sd_pass_numbers(values[0], numbers, MOST_SIZES, &n))
        elements = asked_by_numbers(op, values);
    for (uint32_t i = 0; i < n; i++)
        elements = sd_times(elements, numbers[i] > 0 ? numbers[i] : 0);
    PyErr_Clear(); /* more than 64 bits: torch will say so */
    return elements;
}

/* How many elements a call on own tensors gives at most, of what can give many more
 * than it takes; others give about as many as those have, stretched to each other. */
static int64_t elements_given(const struct sd_operator *op, PyObject *const *values,
                              const struct survey *s)
{
    int64_t numbers[MOST_SIZES], n_all = 1, n_own = sd_meta_shape_elements(&s->all);
    bool is_repeated = sd_schema_is(&op->schema, "aten::repeat");
    uint32_t n = 0;

    if (sd_schema_is(&op->schema, "aten::repeat_interleave"))
        return sd_times(n_own, size_named(op, values, "repeats", 1));
    if (!is_repeated && strncmp(op->schema.name, "aten::new_", 10) != 0)
        return n_own;
    if (op->schema.n_args < 2 || !values[1] ||
        !sd_pass_numbers(values[1], numbers, MOST_SIZES, &n))
        return n_own;
    for (uint32_t i = 0; i < n; i++)
        n_all = sd_times(n_all, numbers[i] > 0 ? numbers[i] : 0);
    PyErr_Clear();
    return is_repeated ? sd_times(n_all, n_own) : n_all;
}

/* --- The call, made */

static int own_results(struct sd_pass *r, PyObject *result)
{
    struct sd_tensor_shape s;

    if (sd_torch_is_tensor(&r->torch, result)) {
        if (sd_torch_shape(&r->torch, result, &s) < 0)
            return -1;
        if (s.is_meta)
            return 0;
        r->computed_bytes +=
            sd_dtype_bytes(r->torch.dtype_of[s.number], sd_meta_shape_elements(&s));
        if (r->request.has_memory)
            sd_twins_forget(&r->twins);
        return sd_twins_own(&r->twins, result);
    }
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++)
        if (own_results(r, PySequence_Fast_GET_ITEM(result, i)) < 0)
            return -1;
    return 0;
}

static PyObject *call_really(struct sd_pass *r, const struct sd_operator *op,
                             const struct sd_pass_call *c)
{
    PyObject *result = PyObject_Call(op->call, c->args, c->kwargs);

    if (result && own_results(r, result) < 0)
        Py_CLEAR(result);
    return result;
}

/* With data torch may refuse what it takes without. */
static void raise_doubt(const struct sd_operator *op, const struct sd_rule_call *c)
{
    const char *why = op->doubt ? op->doubt(c) : NULL;
    char name[64];

    if (!why)
        return;
    snprintf(name, sizeof name, "%.*s", (int)op->schema.n, op->schema.name);
    PyErr_Format(PyExc_RuntimeError, "torch might refuse %s with data: %s", name, why);
}

/* NULL with an exception: torch would refuse it; without: torch is to be asked. */
static PyObject *call_by_rule(struct sd_pass *r, const struct sd_operator *op,
                              PyObject *const *values)
{
    struct sd_rule_call c = { &r->torch,     values,         op->schema.n_args,
                              op->dtype_arg, op->device_arg, r->request.is_on_cpu };
    PyObject *made = op->rule ? op->rule(&c) : NULL;

    /* A number of more than 64 bits: the rule is not sure. */
    if (!made && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Clear();
    if (!made && !PyErr_Occurred())
        raise_doubt(op, &c);
    return made;
}

static bool is_for_meta(struct sd_pass *r, const struct sd_operator *op,
                        PyObject *const *values)
{
    PyObject *device = op->device_arg >= 0 ? values[op->device_arg] : NULL;
    int is = device ? PyObject_RichCompareBool(device, r->torch.meta, Py_EQ) : 0;

    if (is < 0)
        PyErr_Clear();
    return is > 0;
}

/* Whole numbers or truth values?  `otherwise`: what it is where no dtype is given. */
static bool asks_for_whole(const struct sd_pass *r, const struct sd_operator *op,
                           PyObject *const *values, bool otherwise)
{
    PyObject *dtype = op->dtype_arg >= 0 ? values[op->dtype_arg] : NULL;

    if (!dtype || dtype == Py_None)
        return otherwise;
    for (unsigned i = SD_TORCH_UINT8; i <= SD_TORCH_BOOL; i++)
        if (dtype == r->torch.dtypes[i])
            return sd_torch_is_whole(i);
    return false;
}

static bool counts(const struct sd_operator *op, PyObject *const *values)
{
    if (!sd_schema_is(&op->schema, "aten::arange"))
        return sd_schema_is(&op->schema, "aten::tril_indices") ||
               sd_schema_is(&op->schema, "aten::triu_indices");
    for (uint32_t i = 0; i < op->schema.n_args; i++)
        if (values[i] && PyFloat_Check(values[i]))
            return false;
    return true;
}

/* Models count positions where their tensors are, and look at the numbers: so these are
 * with data, also where none is asked for.  Not so floats, which may take part in a
 * backward that wants all of it in one place. */
static int keep_numbers(struct sd_pass *r, const struct sd_operator *op,
                        struct sd_pass_call *c, PyObject **values, int64_t n)
{
    if (!is_for_meta(r, op, values) || r->n_numbers + n > MOST_COMPUTED)
        return 0; /* they stay until the end: all of them are not too many, either */
    r->n_numbers += n;
    if (put_on(r, c, r->torch.cpu) < 0)
        return -1;
    sd_operator_values(op, c->args, c->kwargs, values);
    return 0;
}

/* A tensor from nothing: where it is asked for, or without data if it is large. */
static PyObject *make_new(struct sd_pass *r, const struct sd_operator *op,
                          struct sd_pass_call *c, PyObject **values)
{
    PyObject *made = NULL;

    if (op->device_arg >= 0 && elements_asked(op, values) > MOST_REAL) {
        if (put_on(r, c, r->torch.meta) < 0)
            return NULL;
        sd_operator_values(op, c->args, c->kwargs, values);
    } else if (r->request.keeps_numbers &&
               asks_for_whole(r, op, values, counts(op, values)) &&
               keep_numbers(r, op, c, values, elements_asked(op, values)) < 0) {
        return NULL;
    }
    if (is_for_meta(r, op, values))
        made = call_by_rule(r, op, values);
    return made || PyErr_Occurred() ? made : call_really(r, op, c);
}

/* Of what the run made itself, and there is not too much of it: as it is. */
static PyObject *call_on_own(struct sd_pass *r, const struct sd_operator *op,
                             struct sd_pass_call *c, PyObject **values)
{
    struct sd_tensor_shape s;

    /* Moved to where the others are, it keeps its numbers. */
    if (sd_schema_is(&op->schema, "aten::_to_copy") &&
        sd_torch_shape(&r->torch, values[0], &s) == 0 && sd_torch_is_whole(s.number) &&
        r->request.keeps_numbers && asks_for_whole(r, op, values, true) &&
        keep_numbers(r, op, c, values, sd_meta_shape_elements(&s)) < 0)
        return NULL;
    PyErr_Clear();
    return call_really(r, op, c);
}

/* What is written to it now is not in its data. */
static void disown(struct sd_pass *r, PyObject *v)
{
    if (sd_twins_is_own(&r->twins, v))
        sd_twins_disown(&r->twins, v);
}

static void disown_written(struct sd_pass *r, const struct sd_operator *op,
                           PyObject *const *values)
{
    for (uint32_t i = 0; i < op->schema.n_args; i++) {
        PyObject *v = values[i];

        if (!v || !op->schema.args[i].is_written)
            continue;
        if (!PyList_Check(v) && !PyTuple_Check(v))
            disown(r, v);
        else
            for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(v); k++)
                disown(r, PySequence_Fast_GET_ITEM(v, k));
    }
}

PyObject *sd_pass_on_twins(struct sd_pass *r, const struct sd_operator *op,
                           struct sd_pass_call *c)
{
    PyObject *values[SD_SCHEMA_ARGS_MAX], *result;
    struct survey s;

    sd_operator_values(op, c->args, c->kwargs, values);
    if (survey(r, op, values, &s) < 0)
        return NULL;
    if (op->is_lift && s.n_foreign == 1)
        return sd_twins_own(&r->twins, values[0]) == 0 ? Py_NewRef(values[0]) : NULL;
    if (s.n_meta + s.n_foreign + s.n_own == 0)
        return make_new(r, op, c, values);
    if (s.n_meta + s.n_foreign == 0 && r->computed_bytes < MOST_BYTES &&
        elements_given(op, values, &s) <= MOST_COMPUTED)
        return call_on_own(r, op, c, values);
    if (s.n_own > 0 && op->taker && sd_taker_check(op->taker, r, values) < 0)
        return NULL;
    if (s.n_own > 0)
        disown_written(r, op, values);
    if (s.n_own + s.n_foreign > 0 && put_twins(r, op, c) < 0)
        return NULL;
    if (op->device_arg >= 0 && values[op->device_arg] &&
        values[op->device_arg] != Py_None && put_on(r, c, r->torch.meta) < 0)
        return NULL;
    sd_operator_values(op, c->args, c->kwargs, values);
    result = call_by_rule(r, op, values);
    if (result || PyErr_Occurred())
        return result;
    return op->read_arg < 0 ? PyObject_Call(op->call, c->args, c->kwargs)
                            : call_really(r, op, c);
}
