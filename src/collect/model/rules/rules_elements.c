/* SPDX-License-Identifier: MIT */
/* rules_elements: operators that work on one element at a time.
 *
 * The output has the shape of the input, or that to which two of them are stretched.
 * Its strides are where care is due: torch keeps the order in which the axes of an
 * input lie in memory, so that a picture with its channels last stays one. */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

PyObject *sd_rule_like_first(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    if (!sd_meta_at(c, 0, &t) || !sd_meta_is_float(&t))
        return NULL;
    return sd_meta_like(c, &t);
}

PyObject *sd_rule_like_first_contiguous(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    if (!sd_meta_at(c, 0, &t) || !sd_meta_is_float(&t) || !t.is_contiguous)
        return NULL;
    return sd_meta_new(c, &t.s, t.s.number);
}

/* input, dim, and whether or into what the dtype changes. */
PyObject *sd_rule_softmax(const struct sd_rule_call *c)
{
    PyObject *dim = sd_meta_value(c, 1), *other = sd_meta_value(c, 2);
    struct sd_meta_tensor t;

    if (!dim || !PyLong_Check(dim) || !sd_meta_at(c, 0, &t) ||
        !sd_meta_has_axis(&t.s, dim) || (other && other != Py_False))
        return NULL;
    return sd_rule_like_first_contiguous(c);
}

PyObject *sd_rule_first_itself(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) && sd_meta_is_float(&t) ? Py_NewRef(c->values[0])
                                                        : NULL;
}

/* A format that was asked for is torch's own affair, but for the plain one. */
PyObject *sd_rule_cloned(const struct sd_rule_call *c)
{
    PyObject *format = sd_meta_value(c, 1);
    struct sd_meta_tensor t;

    if (!sd_meta_at(c, 0, &t))
        return NULL;
    if (!format)
        return sd_meta_like(c, &t);
    if (format == sd_found_in("torch", "contiguous_format"))
        return sd_meta_new(c, &t.s, t.s.number);
    return NULL;
}

/* A plain number does not change the dtype of a float tensor, nor a whole one that of
 * whole numbers. */
static bool keeps_dtype(const struct sd_meta_tensor *t, PyObject *v)
{
    if (!v || !(PyFloat_CheckExact(v) || PyLong_Check(v)))
        return false;
    return sd_meta_is_float(t) ||
           (t->s.number <= SD_TORCH_INT64 && PyLong_Check(v) && !PyBool_Check(v));
}

/* Of a float and a number, which may be a complex one: then so is the result. */
PyObject *sd_rule_scaled(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    if (!sd_meta_at(c, 0, &t) || !sd_meta_is_float(&t) ||
        !keeps_dtype(&t, sd_meta_value(c, 1)))
        return NULL;
    return sd_meta_like(c, &t);
}

/* Does it decide how the result is laid out?  One with at most one axis that is not
 * stretched has nothing to say of their order. */
static bool has_an_order(const struct sd_tensor_shape *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->n; i++)
        n += s->dims[i] > 1;
    return n > 1;
}

/* Where all are contiguous the result is, too; else it is as the first one that has the
 * shape of the whole, unless one before it has an order of its own. */
static PyObject *stretched_as(const struct sd_rule_call *c,
                              const struct sd_meta_tensor *a,
                              const struct sd_meta_tensor *b, uint8_t number)
{
    struct sd_tensor_shape out;

    if (!sd_meta_shape_stretch(&a->s, &b->s, &out))
        return NULL;
    if (a->is_contiguous && b->is_contiguous)
        return sd_meta_new(c, &out, number);
    if (sd_meta_shape_is_same(&out, &a->s) && has_an_order(&a->s))
        return sd_meta_like_as(c, a, number);
    if (sd_meta_shape_is_same(&out, &b->s) && !has_an_order(&a->s))
        return sd_meta_like_as(c, b, number);
    return NULL;
}

/* Of sums and differences, how often the second counts: of whole numbers a whole one.
 */
static bool has_factor(const struct sd_rule_call *c, const struct sd_meta_tensor *t)
{
    PyObject *factor = sd_meta_value(c, 2);

    return !factor || (!PyBool_Check(factor) && keeps_dtype(t, factor));
}

PyObject *sd_rule_stretched(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a, b;

    if (!sd_meta_at(c, 0, &a))
        return NULL;
    if (keeps_dtype(&a, sd_meta_value(c, 1)) && has_factor(c, &a))
        return sd_meta_like(c, &a);
    if (!sd_meta_at(c, 1, &b) || a.s.number != b.s.number ||
        a.s.number == SD_TORCH_BOOL || !has_factor(c, &a))
        return NULL;
    return stretched_as(c, &a, &b, a.s.number);
}

/* Truth values have no difference. */
PyObject *sd_rule_difference(const struct sd_rule_call *c)
{
    PyObject *other = sd_meta_value(c, 1);

    return other && PyBool_Check(other) ? NULL : sd_rule_stretched(c);
}

PyObject *sd_rule_difference_into_first(const struct sd_rule_call *c)
{
    PyObject *other = sd_meta_value(c, 1);
    struct sd_meta_tensor a;

    return !sd_meta_at(c, 0, &a) || a.s.number == SD_TORCH_BOOL ||
                   (other && PyBool_Check(other))
               ? NULL
               : sd_rule_second_into_first(c);
}

/* The quotient of whole numbers is none. */
PyObject *sd_rule_quotient(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a;

    return sd_meta_at(c, 0, &a) && sd_meta_is_float(&a) ? sd_rule_stretched(c) : NULL;
}

PyObject *sd_rule_compared(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a, b;
    PyObject *other = sd_meta_value(c, 1);

    if (!sd_meta_at(c, 0, &a))
        return NULL;
    if (other && (PyFloat_CheckExact(other) || PyLong_Check(other)))
        return sd_meta_like_as(c, &a, SD_TORCH_BOOL);
    return sd_meta_at(c, 1, &b) ? stretched_as(c, &a, &b, SD_TORCH_BOOL) : NULL;
}

/* Which is the larger: complex numbers have no order. */
PyObject *sd_rule_ordered(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    for (unsigned i = 0; i < 2; i++)
        if (sd_meta_at(c, i, &t) && !sd_meta_is_float(&t) &&
            t.s.number > SD_TORCH_INT64 && t.s.number != SD_TORCH_BOOL)
            return NULL;
    return sd_rule_compared(c);
}

/* Of truth values. */
PyObject *sd_rule_joined(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a, b;

    if (!sd_meta_at(c, 0, &a) || !sd_meta_at(c, 1, &b) || a.s.number != SD_TORCH_BOOL ||
        b.s.number != SD_TORCH_BOOL)
        return NULL;
    return stretched_as(c, &a, &b, SD_TORCH_BOOL);
}

PyObject *sd_rule_negated(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) && t.s.number == SD_TORCH_BOOL ? sd_meta_like(c, &t)
                                                               : NULL;
}

static PyObject *like_any(const struct sd_rule_call *c, unsigned least)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) && t.is_contiguous && t.s.n >= least
               ? sd_meta_new(c, &t.s, t.s.number)
               : NULL;
}

/* A matrix, or many. */
PyObject *sd_rule_triangle(const struct sd_rule_call *c) { return like_any(c, 2); }

/* input, shifts, dims: as many of one as of the other, or no axes. */
PyObject *sd_rule_rolled(const struct sd_rule_call *c)
{
    PyObject *shifts = sd_meta_value(c, 1), *dims = sd_meta_value(c, 2);
    Py_ssize_t n = dims && PyList_CheckExact(dims) ? PyList_GET_SIZE(dims) : 0;
    struct sd_meta_tensor t;

    if (!shifts || !PyList_CheckExact(shifts) ||
        PyList_GET_SIZE(shifts) != (n > 0 ? n : 1) || !sd_meta_at(c, 0, &t))
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!sd_meta_has_axis(&t.s, PyList_GET_ITEM(dims, i)))
            return NULL;
    return like_any(c, 0);
}

/* condition, self, other */
PyObject *sd_rule_chosen(const struct sd_rule_call *c)
{
    struct sd_meta_tensor which, a, b;
    struct sd_tensor_shape both, out;

    if (!sd_meta_at(c, 0, &which) || which.s.number != SD_TORCH_BOOL ||
        !sd_meta_at(c, 1, &a) || !sd_meta_at(c, 2, &b) || a.s.number != b.s.number ||
        !which.is_contiguous || !a.is_contiguous || !b.is_contiguous ||
        !sd_meta_shape_stretch(&a.s, &b.s, &both) ||
        !sd_meta_shape_stretch(&which.s, &both, &out))
        return NULL;
    return sd_meta_new(c, &out, a.s.number);
}

/* self, mask, a plain number: a contiguous copy, which is written to. */
PyObject *sd_rule_masked(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t, mask;
    struct sd_tensor_shape out;

    if (!sd_meta_at(c, 0, &t) || !sd_meta_at(c, 1, &mask) ||
        mask.s.number != SD_TORCH_BOOL || !keeps_dtype(&t, sd_meta_value(c, 2)) ||
        !sd_meta_shape_stretch(&t.s, &mask.s, &out))
        return NULL;
    return sd_meta_new(c, &out, t.s.number);
}

/* On the processor these two give what is contiguous, whatever they are given. */
PyObject *sd_rule_log_sigmoid(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &t) || !sd_meta_is_float(&t))
        return NULL;
    return sd_meta_pair(sd_meta_new(c, &t.s, t.s.number),
                        sd_meta_new(c, &t.s, t.s.number));
}

/* self, noise */
PyObject *sd_rule_noisy(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t, noise;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &t) || !sd_meta_at(c, 1, &noise) ||
        !sd_meta_is_float(&t) || t.s.number == SD_TORCH_FLOAT16 ||
        !sd_meta_shape_is_same(&t.s, &noise.s))
        return NULL;
    return sd_meta_new(c, &t.s, t.s.number);
}

/* The quotient of whole numbers has no place in them. */
PyObject *sd_rule_quotient_into_first(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a;

    return sd_meta_at(c, 0, &a) && sd_meta_is_float(&a) ? sd_rule_second_into_first(c)
                                                        : NULL;
}

PyObject *sd_rule_second_into_first(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a, b;

    if (!sd_meta_at(c, 0, &a))
        return NULL;
    if (keeps_dtype(&a, sd_meta_value(c, 1)) && has_factor(c, &a))
        return Py_NewRef(c->values[0]);
    if (!sd_meta_at(c, 1, &b) || a.s.number != b.s.number || !has_factor(c, &a) ||
        !sd_meta_shape_stretches_to(&b.s, &a.s))
        return NULL;
    return Py_NewRef(c->values[0]);
}
