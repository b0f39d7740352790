/* SPDX-License-Identifier: MIT */
#include "base/assert.h"
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

#include <string.h>

/* --- Arguments */

PyObject *sd_meta_value(const struct sd_rule_call *c, unsigned i)
{
    PyObject *v = i < c->n ? c->values[i] : NULL;

    return v == Py_None ? NULL : v;
}

bool sd_meta_number(const struct sd_rule_call *c, unsigned i, int64_t *out)
{
    PyObject *v = sd_meta_value(c, i);

    if (!v || !PyLong_Check(v))
        return false;
    *out = PyLong_AsLongLong(v);
    if (*out == -1 && PyErr_Occurred())
        PyErr_Clear();
    return *out >= 0;
}

bool sd_meta_numbers(const struct sd_rule_call *c, unsigned i, unsigned n, int64_t *out)
{
    PyObject *v = sd_meta_value(c, i);
    Py_ssize_t has;

    if (!v || !(PyList_CheckExact(v) || PyTuple_Check(v)))
        return false;
    has = PySequence_Fast_GET_SIZE(v);
    if (has != (Py_ssize_t)n && has != 1)
        return false;
    for (unsigned k = 0; k < n; k++) {
        PyObject *one = PySequence_Fast_GET_ITEM(v, has == 1 ? 0 : (Py_ssize_t)k);

        out[k] = PyLong_Check(one) ? PyLong_AsLongLong(one) : -1;
        if (out[k] < 0) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

bool sd_meta_of(const struct sd_rule_call *c, PyObject *v, struct sd_meta_tensor *out)
{
    if (!v || !sd_torch_is_tensor(c->torch, v))
        return false;
    if (sd_torch_shape(c->torch, v, &out->s) < 0 ||
        sd_torch_strides(v, &out->s, out->strides) < 0) {
        PyErr_Clear();
        return false;
    }
    if (!out->s.is_meta || out->s.is_nested || out->s.number == SD_TORCH_STRANGE)
        return false;
    out->is_contiguous = sd_torch_is_contiguous(&out->s, out->strides);
    return true;
}

bool sd_meta_at(const struct sd_rule_call *c, unsigned i, struct sd_meta_tensor *out)
{
    return sd_meta_of(c, sd_meta_value(c, i), out);
}

bool sd_meta_is_float(const struct sd_meta_tensor *t)
{
    return (t->s.number >= SD_TORCH_FLOAT16 && t->s.number <= SD_TORCH_FLOAT64) ||
           t->s.number == SD_TORCH_BFLOAT16;
}

bool sd_meta_is_wide(const struct sd_meta_tensor *t)
{
    return t->s.number == SD_TORCH_FLOAT32 || t->s.number == SD_TORCH_FLOAT64;
}

bool sd_meta_has_channels_last(const struct sd_meta_tensor *t)
{
    const int64_t *d = t->s.dims, *s = t->strides;

    return t->s.n == 4 && s[1] == 1 && s[3] == d[1] && s[2] == d[1] * d[3] &&
           s[0] == d[1] * d[3] * d[2];
}

/* Channels, then the axes of the picture from behind, then the batch: each step is as
 * large as what lies inside.  Of one channel and one pixel both ways are the same, and
 * torch takes it for the plain one. */
bool sd_meta_suggests_last(const struct sd_meta_tensor *t)
{
    const int64_t *d = t->s.dims, *s = t->strides;
    int64_t least;

    if ((t->s.n != 4 && t->s.n != 5) || s[1] == 0 || d[1] == 0)
        return false;
    least = d[1] > 1 ? s[1] * d[1] : s[1];
    for (unsigned i = t->s.n - 1; i >= 2; i--) {
        if (d[i] == 0 || s[i] < least)
            return false;
        least = d[i] > 1 ? s[i] * d[i] : s[i];
    }
    return d[0] > 0 && s[0] >= least && least != s[1];
}

/* --- Shapes */

bool sd_meta_axis(PyObject *number, unsigned n, uint32_t *at)
{
    long long axis = PyLong_Check(number) ? PyLong_AsLongLong(number) : INT64_MIN;

    if (axis == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return sd_shapes_axis_find(axis, n, at);
}

bool sd_meta_has_axis(const struct sd_tensor_shape *s, PyObject *number)
{
    uint32_t at;

    return sd_meta_axis(number, s->n > 0 ? s->n : 1, &at);
}

/* --- Outputs */

PyObject *sd_meta_new(const struct sd_rule_call *c, const struct sd_tensor_shape *s,
                      uint8_t number)
{
    return sd_torch_make(c->torch, number, s->n, s->dims, NULL);
}

PyObject *sd_meta_new_in(const struct sd_rule_call *c, const struct sd_tensor_shape *s,
                         uint8_t number, int64_t room)
{
    return sd_torch_make_in(c->torch, number, s->n, s->dims, room);
}

PyObject *sd_meta_vector(const struct sd_rule_call *c, int64_t n, uint8_t number)
{
    return sd_torch_make(c->torch, number, 1, &n, NULL);
}

PyObject *sd_meta_new_last(const struct sd_rule_call *c,
                           const struct sd_tensor_shape *s, uint8_t number)
{
    int64_t strides[SD_MODEL_DIMS_MAX], gap = s->dims[1];

    sd_assert(s->n >= 3 &&
              s->n <= SD_MODEL_DIMS_MAX); /* a batch, channels, a picture */
    strides[1] = 1;
    for (unsigned i = s->n - 1; i >= 2; i--) {
        strides[i] = gap;
        gap *= s->dims[i];
    }
    strides[0] = gap;
    return sd_torch_make(c->torch, number, s->n, s->dims, strides);
}

/* Strides without gaps for axes in the order that `t` has them; false: that is not
 * clear. */
static bool close_gaps(const struct sd_meta_tensor *t, int64_t *strides)
{
    int64_t gap = 1;
    bool is_done[SD_MODEL_DIMS_MAX] = { false };

    sd_assert(t->s.n <= SD_MODEL_DIMS_MAX);
    for (unsigned k = 0; k < t->s.n; k++) {
        unsigned next = t->s.n;

        for (unsigned i = t->s.n; i-- > 0;) {
            if (is_done[i] || t->s.dims[i] == 1)
                continue;
            if (t->strides[i] == 0 ||
                (next < t->s.n && t->strides[i] == t->strides[next]))
                return false;
            if (next == t->s.n || t->strides[i] < t->strides[next])
                next = i;
        }
        if (next == t->s.n)
            break;
        is_done[next] = true;
        strides[next] = gap;
        gap *= t->s.dims[next];
    }
    for (unsigned i = 0; i < t->s.n; i++)
        if (t->s.dims[i] == 1)
            strides[i] = gap;
    return true;
}

PyObject *sd_meta_like_as(const struct sd_rule_call *c, const struct sd_meta_tensor *t,
                          uint8_t number)
{
    int64_t strides[SD_MODEL_DIMS_MAX];

    if (t->is_contiguous)
        return sd_meta_new(c, &t->s, number);
    if (!close_gaps(t, strides))
        return NULL;
    return sd_torch_make(c->torch, number, t->s.n, t->s.dims, strides);
}

PyObject *sd_meta_like(const struct sd_rule_call *c, const struct sd_meta_tensor *t)
{
    return sd_meta_like_as(c, t, t->s.number);
}

PyObject *sd_meta_pair(PyObject *a, PyObject *b)
{
    PyObject *tuple = a && b ? PyTuple_Pack(2, a, b) : NULL;

    Py_XDECREF(a);
    Py_XDECREF(b);
    return tuple;
}

PyObject *sd_meta_triple(PyObject *a, PyObject *b, PyObject *d)
{
    PyObject *tuple = a && b && d ? PyTuple_Pack(3, a, b, d) : NULL;

    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(d);
    return tuple;
}

PyObject *sd_meta_quadruple(PyObject *a, PyObject *b, PyObject *d, PyObject *e)
{
    PyObject *tuple = a && b && d && e ? PyTuple_Pack(4, a, b, d, e) : NULL;

    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(d);
    Py_XDECREF(e);
    return tuple;
}
