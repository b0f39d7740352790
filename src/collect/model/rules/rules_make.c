/* SPDX-License-Identifier: MIT */
/* rules_make: operators that create tensors, from nothing, from the shape of another,
 * or by joining others.
 *
 * The dtype may be asked for by name; the order of axes, too, and then torch is left to
 * answer, but for the plain one. */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

#include <string.h>

/* --- From nothing, or from the shape of another */

/* The dtype that is asked for, or `otherwise`; false: one that is not known. */
static bool dtype_of(const struct sd_rule_call *c, uint8_t otherwise, uint8_t *number)
{
    PyObject *asked = c->dtype_at >= 0 ? sd_meta_value(c, (unsigned)c->dtype_at) : NULL;

    *number = otherwise;
    if (!asked)
        return otherwise != SD_TORCH_STRANGE;
    for (unsigned i = 0; i < SD_TORCH_STRANGE; i++)
        if (c->torch->dtypes[i] == asked) {
            *number = (uint8_t)i;
            return true;
        }
    return false;
}

/* The last argument asks for an order of the axes; of some it is a number. */
static bool has_format(const struct sd_rule_call *c)
{
    PyObject *last = sd_meta_value(c, c->n - 1);

    return last && !PyLong_Check(last) &&
           last != sd_found_in("torch", "preserve_format") &&
           last != sd_found_in("torch", "contiguous_format");
}

/* self, ..., memory_format */
PyObject *sd_rule_same_again(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;
    uint8_t number;

    if (!sd_meta_at(c, 0, &t) || has_format(c) ||
        (sd_meta_value(c, c->n - 1) && !t.is_contiguous) ||
        !dtype_of(c, t.s.number, &number))
        return NULL;
    return sd_meta_like_as(c, &t, number);
}

static PyObject *sized_like(const struct sd_rule_call *c, unsigned at,
                            uint8_t otherwise)
{
    PyObject *v = sd_meta_value(c, at);
    struct sd_tensor_shape out = { 0 };
    uint8_t number;

    if (!v || !(PyList_CheckExact(v) || PyTuple_Check(v)) || has_format(c) ||
        PySequence_Fast_GET_SIZE(v) > SD_MODEL_DIMS_MAX)
        return NULL;
    out.n = (unsigned)PySequence_Fast_GET_SIZE(v);
    if ((out.n > 0 && !sd_meta_numbers(c, at, out.n, out.dims)) ||
        !dtype_of(c, otherwise, &number))
        return NULL;
    return sd_meta_new(c, &out, number);
}

PyObject *sd_rule_sized(const struct sd_rule_call *c)
{
    return sized_like(c, 0, SD_TORCH_STRANGE);
}

PyObject *sd_rule_new_sized(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) ? sized_like(c, 1, t.s.number) : NULL;
}

/* end; start, end; start, end, step: of whole numbers. */
static PyObject *counted(const struct sd_rule_call *c, bool has_start, bool has_step)
{
    int64_t start = 0, end, step = 1, n;
    uint8_t number;

    if ((has_start && !sd_meta_number(c, 0, &start)) ||
        !sd_meta_number(c, has_start, &end) ||
        (has_step && sd_meta_value(c, 2) && !sd_meta_number(c, 2, &step)) || step < 1 ||
        end < start || !dtype_of(c, SD_TORCH_INT64, &number))
        return NULL;
    n = (end - start + step - 1) / step;
    return sd_meta_vector(c, n, number);
}

PyObject *sd_rule_count_to(const struct sd_rule_call *c)
{
    return counted(c, false, false);
}

PyObject *sd_rule_count_from(const struct sd_rule_call *c)
{
    return counted(c, true, false);
}

PyObject *sd_rule_count_in_steps(const struct sd_rule_call *c)
{
    return counted(c, true, true);
}

/* --- Picked out of others, and put together */

/* self, indices: one of them, the others left out, takes the place of its axis. */
PyObject *sd_rule_indexed(const struct sd_rule_call *c)
{
    PyObject *list = sd_meta_value(c, 1);
    struct sd_meta_tensor t, index;
    struct sd_tensor_shape out = { 0 };
    Py_ssize_t axis = -1;

    if (!sd_meta_at(c, 0, &t) || !t.is_contiguous || !list ||
        !PyList_CheckExact(list) || PyList_GET_SIZE(list) > (Py_ssize_t)t.s.n)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) != Py_None) {
            if (axis >= 0)
                return NULL;
            axis = i;
        }
    if (axis < 0 || !sd_meta_of(c, PyList_GET_ITEM(list, axis), &index) ||
        (index.s.number != SD_TORCH_INT64 && index.s.number != SD_TORCH_INT32) ||
        !index.is_contiguous || t.s.n - 1 + index.s.n > SD_MODEL_DIMS_MAX)
        return NULL;
    for (unsigned i = 0; i < t.s.n; i++) {
        if (i != (unsigned)axis)
            out.dims[out.n++] = t.s.dims[i];
        for (unsigned k = 0; i == (unsigned)axis && k < index.s.n; k++)
            out.dims[out.n++] = index.s.dims[k];
    }
    return sd_meta_new(c, &out, t.s.number);
}

/* tensors, dim */
PyObject *sd_rule_stacked(const struct sd_rule_call *c)
{
    PyObject *list = sd_meta_value(c, 0), *dim = sd_meta_value(c, 1);
    struct sd_meta_tensor first, next;
    uint32_t axis = 0;

    if (!list || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0 ||
        !sd_meta_of(c, PyList_GET_ITEM(list, 0), &first) || !first.is_contiguous ||
        first.s.n + 1 > SD_MODEL_DIMS_MAX ||
        (dim && !sd_meta_axis(dim, first.s.n + 1, &axis)))
        return NULL;
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(list); i++)
        if (!sd_meta_of(c, PyList_GET_ITEM(list, i), &next) || !next.is_contiguous ||
            next.s.number != first.s.number ||
            !sd_meta_shape_is_same(&first.s, &next.s))
            return NULL;
    memmove(first.s.dims + axis + 1, first.s.dims + axis,
            (first.s.n - axis) * sizeof *first.s.dims);
    first.s.dims[axis] = (int64_t)PyList_GET_SIZE(list);
    first.s.n++;
    return sd_meta_new(c, &first.s, first.s.number);
}

/* Pictures and volumes may come with their channels last, and then stay so. */
static bool is_picture(const struct sd_tensor_shape *s)
{
    return s->n == 4 || s->n == 5;
}

static bool joins(const struct sd_tensor_shape *a, const struct sd_tensor_shape *b,
                  unsigned axis)
{
    if (a->n != b->n || a->number != b->number)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (i != axis && a->dims[i] != b->dims[i])
            return false;
    return true;
}

PyObject *sd_rule_cat(const struct sd_rule_call *c)
{
    PyObject *list = sd_meta_value(c, 0), *dim = sd_meta_value(c, 1);
    struct sd_meta_tensor first, next;
    uint32_t axis = 0;

    if (!list || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0 ||
        !sd_meta_of(c, PyList_GET_ITEM(list, 0), &first) || first.s.n == 0 ||
        (!first.is_contiguous && is_picture(&first.s)) ||
        (dim && !sd_meta_axis(dim, first.s.n, &axis)))
        return NULL;
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(list); i++) {
        if (!sd_meta_of(c, PyList_GET_ITEM(list, i), &next) ||
            (!next.is_contiguous && is_picture(&next.s)) ||
            !joins(&first.s, &next.s, axis))
            return NULL;
        first.s.dims[axis] += next.s.dims[axis];
    }
    return sd_meta_new(c, &first.s, first.s.number);
}

PyObject *sd_rule_embedding(const struct sd_rule_call *c)
{
    struct sd_meta_tensor weight, indices;

    if (!sd_meta_at(c, 0, &weight) || !sd_meta_at(c, 1, &indices) || weight.s.n != 2 ||
        !indices.is_contiguous || indices.s.n >= SD_MODEL_DIMS_MAX ||
        (indices.s.number != SD_TORCH_INT64 && indices.s.number != SD_TORCH_INT32))
        return NULL;
    indices.s.dims[indices.s.n++] = weight.s.dims[1];
    return sd_meta_new(c, &indices.s, weight.s.number);
}
