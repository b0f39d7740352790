/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/rules.h"

#include <string.h>

enum { /* torch's numbers of dtypes */
       INT32 = 3,
       INT64 = 4,
       FLOAT32 = 6,
       FLOAT64 = 7,
       BOOL = 11,
};

struct tensor {
    struct sd_shape s;
    int64_t strides[SD_MODEL_DIMS_MAX];
    bool is_contiguous;
};

/* --- Arguments */

static PyObject *value_of(const struct sd_rule_call *c, unsigned i)
{
    PyObject *v = i < c->n ? c->values[i] : NULL;

    return v == Py_None ? NULL : v;
}

/* False, and no exception: it is no tensor, or none that we know everything of. */
static bool tensor_of(const struct sd_rule_call *c, PyObject *v, struct tensor *out)
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
    out->is_contiguous = sd_shape_is_contiguous(&out->s, out->strides);
    return true;
}

static bool tensor_at(const struct sd_rule_call *c, unsigned i, struct tensor *out)
{
    return tensor_of(c, value_of(c, i), out);
}

static bool is_float(const struct tensor *t)
{
    return t->s.number >= 5 && t->s.number <= 15 && t->s.number != BOOL &&
           (t->s.number <= FLOAT64 || t->s.number == 15);
}

/* Norms keep their statistics in another dtype for the narrow ones. */
static bool is_wide_float(const struct tensor *t)
{
    return t->s.number == FLOAT32 || t->s.number == FLOAT64;
}

static bool number_at(const struct sd_rule_call *c, unsigned i, int64_t *out)
{
    PyObject *v = value_of(c, i);

    if (!v || !PyLong_Check(v))
        return false;
    *out = PyLong_AsLongLong(v);
    if (*out == -1 && PyErr_Occurred())
        PyErr_Clear();
    return *out >= 0;
}

/* As many numbers as there are axes; one is meant for all of them. */
static bool numbers_at(const struct sd_rule_call *c, unsigned i, unsigned n,
                       int64_t *out)
{
    PyObject *v = value_of(c, i);
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

/* --- Outputs */

static PyObject *contiguous(const struct sd_rule_call *c, const struct sd_shape *s,
                            uint8_t number)
{
    return sd_torch_make(c->torch, number, s->n, s->dims, NULL);
}

/* Strides without gaps for axes in the order that `t` has them; false: that is not
 * clear. */
static bool close_gaps(const struct tensor *t, int64_t *strides)
{
    int64_t gap = 1;
    bool is_done[SD_MODEL_DIMS_MAX] = { false };

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

/* As operators on single elements give it: the order of axes stays, without gaps. */
static PyObject *like_as(const struct sd_rule_call *c, const struct tensor *t,
                         uint8_t number)
{
    int64_t strides[SD_MODEL_DIMS_MAX];

    if (t->is_contiguous)
        return contiguous(c, &t->s, number);
    if (!close_gaps(t, strides))
        return NULL;
    return sd_torch_make(c->torch, number, t->s.n, t->s.dims, strides);
}

static PyObject *like(const struct sd_rule_call *c, const struct tensor *t)
{
    return like_as(c, t, t->s.number);
}

/* Takes the references; NULL when one of them is. */
static PyObject *together(PyObject *a, PyObject *b, PyObject *d)
{
    PyObject *tuple = a && b && d ? PyTuple_Pack(3, a, b, d) : NULL;

    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(d);
    return tuple;
}

static PyObject *vector(const struct sd_rule_call *c, int64_t n, uint8_t number)
{
    return sd_torch_make(c->torch, number, 1, &n, NULL);
}

/* --- On single elements */

static PyObject *like_first(const struct sd_rule_call *c)
{
    struct tensor t;

    if (!tensor_at(c, 0, &t) || !is_float(&t))
        return NULL;
    return like(c, &t);
}

static PyObject *like_first_contiguous(const struct sd_rule_call *c)
{
    struct tensor t;

    if (!tensor_at(c, 0, &t) || !is_float(&t) || !t.is_contiguous)
        return NULL;
    if (value_of(c, 2) == Py_True) /* half_to_float */
        return NULL;
    return contiguous(c, &t.s, t.s.number);
}

static PyObject *first_itself(const struct sd_rule_call *c)
{
    struct tensor t;

    return tensor_at(c, 0, &t) && is_float(&t) ? Py_NewRef(c->values[0]) : NULL;
}

/* A format that was asked for is torch's own affair, but for the plain one. */
static PyObject *cloned(const struct sd_rule_call *c)
{
    PyObject *format = value_of(c, 1);
    struct tensor t;

    if (!tensor_at(c, 0, &t))
        return NULL;
    if (!format)
        return like(c, &t);
    if (format == sd_found_in("torch", "contiguous_format"))
        return contiguous(c, &t.s, t.s.number);
    return NULL;
}

/* The shape of both, stretched along axes of 1.  False: they do not fit. */
static bool stretch(const struct sd_shape *a, const struct sd_shape *b,
                    struct sd_shape *out)
{
    out->n = a->n > b->n ? a->n : b->n;
    for (unsigned i = 1; i <= out->n; i++) {
        int64_t x = i <= a->n ? a->dims[a->n - i] : 1;
        int64_t y = i <= b->n ? b->dims[b->n - i] : 1;

        if (x != y && x != 1 && y != 1)
            return false;
        out->dims[out->n - i] = x == 1 ? y : x;
    }
    return true;
}

static bool is_same_shape(const struct sd_shape *a, const struct sd_shape *b)
{
    return a->n == b->n && memcmp(a->dims, b->dims, a->n * sizeof *a->dims) == 0;
}

/* A plain number does not change the dtype of a float tensor, nor a whole one that of
 * whole numbers. */
static bool keeps_dtype(const struct tensor *t, PyObject *v)
{
    if (!v || !(PyFloat_CheckExact(v) || PyLong_Check(v)))
        return false;
    return is_float(t) || (t->s.number <= INT64 && PyLong_Check(v) && !PyBool_Check(v));
}

/* Does it decide how the result is laid out?  One with at most one axis that is not
 * stretched has nothing to say of their order. */
static bool has_an_order(const struct sd_shape *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->n; i++)
        n += s->dims[i] > 1;
    return n > 1;
}

/* Where all are contiguous the result is, too; else it is as the first one that has the
 * shape of the whole, unless one before it has an order of its own. */
static PyObject *stretched_as(const struct sd_rule_call *c, const struct tensor *a,
                              const struct tensor *b, uint8_t number)
{
    struct sd_shape out;

    if (!stretch(&a->s, &b->s, &out))
        return NULL;
    if (a->is_contiguous && b->is_contiguous)
        return contiguous(c, &out, number);
    if (is_same_shape(&out, &a->s) && has_an_order(&a->s))
        return like_as(c, a, number);
    if (is_same_shape(&out, &b->s) && !has_an_order(&a->s))
        return like_as(c, b, number);
    return NULL;
}

static PyObject *stretched(const struct sd_rule_call *c)
{
    struct tensor a, b;

    if (!tensor_at(c, 0, &a))
        return NULL;
    if (keeps_dtype(&a, value_of(c, 1)))
        return like(c, &a);
    if (!tensor_at(c, 1, &b) || a.s.number != b.s.number || a.s.number == BOOL)
        return NULL;
    return stretched_as(c, &a, &b, a.s.number);
}

/* The quotient of whole numbers is none. */
static PyObject *quotient(const struct sd_rule_call *c)
{
    struct tensor a;

    return tensor_at(c, 0, &a) && is_float(&a) ? stretched(c) : NULL;
}

static PyObject *compared(const struct sd_rule_call *c)
{
    struct tensor a, b;
    PyObject *other = value_of(c, 1);

    if (!tensor_at(c, 0, &a))
        return NULL;
    if (other && (PyFloat_CheckExact(other) || PyLong_Check(other)))
        return like_as(c, &a, BOOL);
    return tensor_at(c, 1, &b) ? stretched_as(c, &a, &b, BOOL) : NULL;
}

/* Of truth values. */
static PyObject *joined(const struct sd_rule_call *c)
{
    struct tensor a, b;

    if (!tensor_at(c, 0, &a) || !tensor_at(c, 1, &b) || a.s.number != BOOL ||
        b.s.number != BOOL)
        return NULL;
    return stretched_as(c, &a, &b, BOOL);
}

static PyObject *negated(const struct sd_rule_call *c)
{
    struct tensor t;

    return tensor_at(c, 0, &t) && t.s.number == BOOL ? like(c, &t) : NULL;
}

static PyObject *like_any(const struct sd_rule_call *c)
{
    struct tensor t;

    return tensor_at(c, 0, &t) && t.is_contiguous ? contiguous(c, &t.s, t.s.number)
                                                  : NULL;
}

/* condition, self, other */
static PyObject *chosen(const struct sd_rule_call *c)
{
    struct tensor which, a, b;
    struct sd_shape both, out;

    if (!tensor_at(c, 0, &which) || !tensor_at(c, 1, &a) || !tensor_at(c, 2, &b) ||
        a.s.number != b.s.number || !which.is_contiguous || !a.is_contiguous ||
        !b.is_contiguous || !stretch(&a.s, &b.s, &both) ||
        !stretch(&which.s, &both, &out))
        return NULL;
    return contiguous(c, &out, a.s.number);
}

/* self, mask, a plain number */
static PyObject *masked(const struct sd_rule_call *c)
{
    struct tensor t, mask;

    if (!tensor_at(c, 0, &t) || !tensor_at(c, 1, &mask) || mask.s.number != BOOL ||
        !keeps_dtype(&t, value_of(c, 2)))
        return NULL;
    return stretched_as(c, &t, &mask, t.s.number);
}

static PyObject *second_into_first(const struct sd_rule_call *c)
{
    struct tensor a, b;
    struct sd_shape out;

    if (!tensor_at(c, 0, &a))
        return NULL;
    if (keeps_dtype(&a, value_of(c, 1)))
        return Py_NewRef(c->values[0]);
    if (!tensor_at(c, 1, &b) || a.s.number != b.s.number || !stretch(&a.s, &b.s, &out))
        return NULL;
    return is_same_shape(&out, &a.s) ? Py_NewRef(c->values[0]) : NULL;
}

/* --- Products */

static bool matrices(const struct sd_rule_call *c, unsigned at, unsigned n,
                     struct tensor *a, struct tensor *b)
{
    if (!tensor_at(c, at, a) || !tensor_at(c, at + 1, b))
        return false;
    return a->s.n == n && b->s.n == n && a->s.number == b->s.number &&
           a->s.dims[n - 1] == b->s.dims[n - 2];
}

static PyObject *product(const struct sd_rule_call *c, const struct tensor *a,
                         const struct tensor *b)
{
    struct sd_shape out = a->s;

    out.dims[out.n - 1] = b->s.dims[out.n - 1];
    return contiguous(c, &out, a->s.number);
}

static PyObject *mm(const struct sd_rule_call *c)
{
    struct tensor a, b;

    return matrices(c, 0, 2, &a, &b) ? product(c, &a, &b) : NULL;
}

static PyObject *bmm(const struct sd_rule_call *c)
{
    struct tensor a, b;

    if (!matrices(c, 0, 3, &a, &b) || a.s.dims[0] != b.s.dims[0])
        return NULL;
    return product(c, &a, &b);
}

/* What is added must be stretchable to the product. */
static bool fits_sum(const struct sd_rule_call *c, const struct tensor *a,
                     const struct tensor *b)
{
    struct sd_shape out = a->s, both;
    struct tensor added;

    out.dims[out.n - 1] = b->s.dims[out.n - 1];
    return tensor_at(c, 0, &added) && added.s.number == a->s.number &&
           stretch(&added.s, &out, &both) && is_same_shape(&both, &out);
}

static PyObject *addmm(const struct sd_rule_call *c)
{
    struct tensor a, b;

    if (!matrices(c, 1, 2, &a, &b) || !fits_sum(c, &a, &b))
        return NULL;
    return product(c, &a, &b);
}

static PyObject *baddbmm(const struct sd_rule_call *c)
{
    struct tensor a, b;

    if (!matrices(c, 1, 3, &a, &b) || a.s.dims[0] != b.s.dims[0] ||
        !fits_sum(c, &a, &b))
        return NULL;
    return product(c, &a, &b);
}

/* input, weight, bias, stride, padding, dilation, transposed, output_padding, groups */
struct window {
    int64_t stride[3], padding[3], dilation[3], more[3], groups;
    bool is_transposed;
};

static bool window_of(const struct sd_rule_call *c, unsigned axes, struct window *w)
{
    w->is_transposed = value_of(c, 6) == Py_True;
    return numbers_at(c, 3, axes, w->stride) && numbers_at(c, 4, axes, w->padding) &&
           numbers_at(c, 5, axes, w->dilation) && numbers_at(c, 7, axes, w->more) &&
           number_at(c, 8, &w->groups) && w->groups > 0;
}

static int64_t along(const struct window *w, unsigned k, int64_t in, int64_t kernel)
{
    int64_t reach = w->dilation[k] * (kernel - 1);

    if (w->is_transposed)
        return (in - 1) * w->stride[k] - 2 * w->padding[k] + reach + w->more[k] + 1;
    if (w->stride[k] == 0 || in + 2 * w->padding[k] - reach - 1 < 0)
        return 0;
    return (in + 2 * w->padding[k] - reach - 1) / w->stride[k] + 1;
}

static bool bias_fits(const struct sd_rule_call *c, int64_t channels)
{
    struct tensor bias;

    if (!value_of(c, 2))
        return true;
    return tensor_at(c, 2, &bias) && bias.s.n == 1 && bias.s.dims[0] == channels;
}

/* Pixel after pixel, each with all its channels. */
static bool has_channels_last(const struct tensor *t)
{
    const int64_t *d = t->s.dims, *s = t->strides;

    return t->s.n == 4 && s[1] == 1 && s[3] == d[1] && s[2] == d[1] * d[3] &&
           s[0] == d[1] * d[3] * d[2];
}

static PyObject *with_channels_last(const struct sd_rule_call *c,
                                    const struct sd_shape *s, uint8_t number)
{
    const int64_t *d = s->dims;
    int64_t strides[4] = { d[1] * d[2] * d[3], 1, d[1] * d[3], d[1] };

    return sd_torch_make(c->torch, number, 4, d, strides);
}

static PyObject *convolution(const struct sd_rule_call *c)
{
    struct tensor in, weight;
    struct sd_shape out;
    struct window w;
    unsigned axes;

    if (!tensor_at(c, 0, &in) || !tensor_at(c, 1, &weight) || in.s.n < 3 ||
        in.s.n > 5 || weight.s.n != in.s.n || !weight.is_contiguous ||
        (!in.is_contiguous && !has_channels_last(&in)) ||
        in.s.number != weight.s.number || !is_float(&in))
        return NULL;
    axes = in.s.n - 2;
    if (!window_of(c, axes, &w))
        return NULL;
    out = in.s;
    out.dims[1] = w.is_transposed ? weight.s.dims[1] * w.groups : weight.s.dims[0];
    if (in.s.dims[1] !=
            (w.is_transposed ? weight.s.dims[0] : weight.s.dims[1] * w.groups) ||
        weight.s.dims[0] % w.groups != 0 || !bias_fits(c, out.dims[1]))
        return NULL;
    for (unsigned k = 0; k < axes; k++) {
        out.dims[2 + k] = along(&w, k, in.s.dims[2 + k], weight.s.dims[2 + k]);
        if (out.dims[2 + k] <= 0)
            return NULL;
    }
    return in.is_contiguous ? contiguous(c, &out, in.s.number)
                            : with_channels_last(c, &out, in.s.number);
}

/* --- Norms */

/* input, normalized_shape, weight, bias, eps: as many statistics as rows.  What comes
 * out has no gaps, whatever went in. */
static PyObject *layer_norm(const struct sd_rule_call *c)
{
    PyObject *over = value_of(c, 1);
    struct tensor in, weight;
    struct sd_shape rows;
    Py_ssize_t n;

    if (!tensor_at(c, 0, &in) || !is_wide_float(&in) || !over ||
        !(PyList_CheckExact(over) || PyTuple_Check(over)))
        return NULL;
    n = PySequence_Fast_GET_SIZE(over);
    if (n < 1 || n > (Py_ssize_t)in.s.n)
        return NULL;
    rows = in.s;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(over, i);
        unsigned axis = in.s.n - (unsigned)(n - i);

        if (!PyLong_Check(one) || PyLong_AsLongLong(one) != in.s.dims[axis])
            return NULL;
        rows.dims[axis] = 1;
    }
    if (value_of(c, 2) && (!tensor_at(c, 2, &weight) || weight.s.number != in.s.number))
        return NULL;
    return together(contiguous(c, &in.s, in.s.number),
                    contiguous(c, &rows, in.s.number),
                    contiguous(c, &rows, in.s.number));
}

/* input, weight, bias, N, C, HxW, group, eps */
static PyObject *group_norm(const struct sd_rule_call *c)
{
    struct tensor in, weight;
    int64_t batch, groups;
    struct sd_shape stats = { .n = 2 };

    if (!tensor_at(c, 0, &in) || !is_wide_float(&in) || !in.is_contiguous ||
        !number_at(c, 3, &batch) || !number_at(c, 6, &groups))
        return NULL;
    if (value_of(c, 1) && (!tensor_at(c, 1, &weight) || weight.s.number != in.s.number))
        return NULL;
    stats.dims[0] = batch;
    stats.dims[1] = groups;
    return together(contiguous(c, &in.s, in.s.number),
                    contiguous(c, &stats, in.s.number),
                    contiguous(c, &stats, in.s.number));
}

static bool is_vector_of(const struct sd_rule_call *c, unsigned i, int64_t n,
                         uint8_t number)
{
    struct tensor t;

    if (!value_of(c, i))
        return true;
    return tensor_at(c, i, &t) && t.s.n == 1 && t.s.dims[0] == n &&
           t.s.number == number;
}

/* input, weight, bias, running_mean, running_var, training, momentum, eps */
static PyObject *batch_norm(const struct sd_rule_call *c)
{
    bool is_training = value_of(c, 5) == Py_True;
    struct tensor in;
    int64_t kept;

    if (!tensor_at(c, 0, &in) || !is_wide_float(&in) || !in.is_contiguous || in.s.n < 2)
        return NULL;
    for (unsigned i = 1; i <= 4; i++)
        if (!is_vector_of(c, i, in.s.dims[1], in.s.number))
            return NULL;
    kept = is_training ? in.s.dims[1] : 0;
    return together(contiguous(c, &in.s, in.s.number), vector(c, kept, in.s.number),
                    vector(c, kept, in.s.number));
}

/* input, weight, bias, running_mean, running_var, momentum, eps */
static PyObject *batch_norm_of_inference(const struct sd_rule_call *c)
{
    struct tensor in;

    if (!tensor_at(c, 0, &in) || !is_wide_float(&in) || !in.is_contiguous || in.s.n < 2)
        return NULL;
    for (unsigned i = 1; i <= 4; i++)
        if (!is_vector_of(c, i, in.s.dims[1], in.s.number))
            return NULL;
    return together(contiguous(c, &in.s, in.s.number), vector(c, 0, in.s.number),
                    vector(c, 0, in.s.number));
}

/* input, p, train */
static PyObject *dropout(const struct sd_rule_call *c)
{
    struct tensor in;
    PyObject *out, *mask, *both;

    if (!tensor_at(c, 0, &in) || !is_float(&in) || !in.is_contiguous)
        return NULL;
    out = contiguous(c, &in.s, in.s.number);
    mask = contiguous(c, &in.s, BOOL);
    both = out && mask ? PyTuple_Pack(2, out, mask) : NULL;
    Py_XDECREF(out);
    Py_XDECREF(mask);
    return both;
}

/* --- Others */

static bool name_axis(PyObject *v, unsigned n, bool *is_named)
{
    long long axis = PyLong_Check(v) ? PyLong_AsLongLong(v) : -1 - (long long)n;

    axis += axis < 0 ? (long long)n : 0;
    if (axis < 0 || axis >= (long long)n || is_named[axis])
        return false;
    is_named[axis] = true;
    return true;
}

/* Which axes a list or number names; none or an empty one means all of them. */
static bool axes_at(const struct sd_rule_call *c, unsigned i, unsigned n,
                    bool *is_named)
{
    PyObject *v = value_of(c, i);
    Py_ssize_t has = v && (PyList_CheckExact(v) || PyTuple_Check(v))
                         ? PySequence_Fast_GET_SIZE(v)
                         : 0;

    memset(is_named, v == NULL || (has == 0 && !PyLong_Check(v)), n * sizeof *is_named);
    if (v && PyLong_Check(v))
        return name_axis(v, n, is_named);
    for (Py_ssize_t k = 0; k < has; k++)
        if (!name_axis(PySequence_Fast_GET_ITEM(v, k), n, is_named))
            return false;
    return !v || PyList_CheckExact(v) || PyTuple_Check(v);
}

static PyObject *reduced_as(const struct sd_rule_call *c, const struct tensor *in,
                            uint8_t number)
{
    bool is_named[SD_MODEL_DIMS_MAX], keeps = value_of(c, 2) == Py_True;
    struct sd_shape out = { 0 };

    if (!axes_at(c, 1, in->s.n, is_named))
        return NULL;
    for (unsigned i = 0; i < in->s.n; i++)
        if (keeps || !is_named[i])
            out.dims[out.n++] = is_named[i] ? 1 : in->s.dims[i];
    return contiguous(c, &out, number);
}

/* input, dim, keepdim, dtype: a sum or mean over some axes. */
static PyObject *reduced(const struct sd_rule_call *c)
{
    struct tensor in;

    if (!tensor_at(c, 0, &in) || !is_float(&in) || !in.is_contiguous || value_of(c, 3))
        return NULL;
    return reduced_as(c, &in, in.s.number);
}

static PyObject *any_of(const struct sd_rule_call *c)
{
    struct tensor in;

    if (!tensor_at(c, 0, &in) || in.s.number != BOOL || !in.is_contiguous)
        return NULL;
    return reduced_as(c, &in, BOOL);
}

/* --- Pools: input, kernel_size, stride, padding, ... */

static int64_t pooled(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation, bool is_ceil)
{
    int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1, out;

    if (room < 0 || stride < 1)
        return 0;
    out = (room + (is_ceil ? stride - 1 : 0)) / stride + 1;
    return is_ceil && (out - 1) * stride >= in + padding ? out - 1 : out;
}

/* The stride is that of the kernel when none is given. */
static bool pool_shape(const struct sd_rule_call *c, struct tensor *in, bool is_ceil,
                       bool has_dilation, struct sd_shape *out)
{
    int64_t kernel[2], stride[2], padding[2] = { 0, 0 }, dilation[2] = { 1, 1 };
    PyObject *given = value_of(c, 2);
    bool has_stride = given && PySequence_Check(given) && PySequence_Size(given) > 0;

    if (!tensor_at(c, 0, in) || !is_float(in) || !in->is_contiguous || in->s.n < 3 ||
        in->s.n > 4 || !numbers_at(c, 1, 2, kernel) ||
        (has_stride && !numbers_at(c, 2, 2, stride)) ||
        (value_of(c, 3) && !numbers_at(c, 3, 2, padding)) ||
        (has_dilation && value_of(c, 4) && !numbers_at(c, 4, 2, dilation)))
        return false;
    *out = in->s;
    for (unsigned k = 0; k < 2; k++) {
        unsigned axis = in->s.n - 2 + k;

        if (kernel[k] < 1 || padding[k] > kernel[k] / 2)
            return false;
        out->dims[axis] =
            pooled(in->s.dims[axis], kernel[k], has_stride ? stride[k] : kernel[k],
                   padding[k], dilation[k], is_ceil);
        if (out->dims[axis] < 1)
            return false;
    }
    return true;
}

static PyObject *max_pool(const struct sd_rule_call *c)
{
    struct tensor in;
    struct sd_shape shape;
    PyObject *out, *places, *both;

    if (!pool_shape(c, &in, value_of(c, 5) == Py_True, true, &shape))
        return NULL;
    out = contiguous(c, &shape, in.s.number);
    places = contiguous(c, &shape, INT64);
    both = out && places ? PyTuple_Pack(2, out, places) : NULL;
    Py_XDECREF(out);
    Py_XDECREF(places);
    return both;
}

static PyObject *mean_pool(const struct sd_rule_call *c)
{
    struct tensor in;
    struct sd_shape shape;

    if (!pool_shape(c, &in, value_of(c, 4) == Py_True, false, &shape))
        return NULL;
    return contiguous(c, &shape, in.s.number);
}

static PyObject *adaptive_pool(const struct sd_rule_call *c)
{
    struct tensor in;
    int64_t size[2];

    if (!tensor_at(c, 0, &in) || !is_float(&in) || !in.is_contiguous || in.s.n < 3 ||
        in.s.n > 4 || !numbers_at(c, 1, 2, size))
        return NULL;
    in.s.dims[in.s.n - 2] = size[0];
    in.s.dims[in.s.n - 1] = size[1];
    return contiguous(c, &in.s, in.s.number);
}

/* --- From nothing, or from the shape of another */

/* The dtype that is asked for, or `otherwise`; false: one that is not known. */
static bool dtype_of(const struct sd_rule_call *c, uint8_t otherwise, uint8_t *number)
{
    PyObject *asked = c->dtype_at >= 0 ? value_of(c, (unsigned)c->dtype_at) : NULL;

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
    PyObject *last = value_of(c, c->n - 1);

    return last && !PyLong_Check(last) &&
           last != sd_found_in("torch", "preserve_format") &&
           last != sd_found_in("torch", "contiguous_format");
}

/* self, ..., memory_format */
static PyObject *same_again(const struct sd_rule_call *c)
{
    struct tensor t;
    uint8_t number;

    if (!tensor_at(c, 0, &t) || has_format(c) ||
        (value_of(c, c->n - 1) && !t.is_contiguous) ||
        !dtype_of(c, t.s.number, &number))
        return NULL;
    return like_as(c, &t, number);
}

static PyObject *sized_like(const struct sd_rule_call *c, unsigned at,
                            uint8_t otherwise)
{
    PyObject *v = value_of(c, at);
    struct sd_shape out = { 0 };
    uint8_t number;

    if (!v || !(PyList_CheckExact(v) || PyTuple_Check(v)) || has_format(c) ||
        PySequence_Fast_GET_SIZE(v) > SD_MODEL_DIMS_MAX)
        return NULL;
    out.n = (unsigned)PySequence_Fast_GET_SIZE(v);
    if ((out.n > 0 && !numbers_at(c, at, out.n, out.dims)) ||
        !dtype_of(c, otherwise, &number))
        return NULL;
    return contiguous(c, &out, number);
}

static PyObject *sized(const struct sd_rule_call *c)
{
    return sized_like(c, 0, SD_TORCH_STRANGE);
}

static PyObject *new_sized(const struct sd_rule_call *c)
{
    struct tensor t;

    return tensor_at(c, 0, &t) ? sized_like(c, 1, t.s.number) : NULL;
}

/* end; start, end; start, end, step: of whole numbers. */
static PyObject *counted(const struct sd_rule_call *c, bool has_start, bool has_step)
{
    int64_t start = 0, end, step = 1, n;
    uint8_t number;

    if ((has_start && !number_at(c, 0, &start)) || !number_at(c, has_start, &end) ||
        (has_step && value_of(c, 2) && !number_at(c, 2, &step)) || step < 1 ||
        end < start || !dtype_of(c, INT64, &number))
        return NULL;
    n = (end - start + step - 1) / step;
    return vector(c, n, number);
}

static PyObject *count_to(const struct sd_rule_call *c)
{
    return counted(c, false, false);
}

static PyObject *count_from(const struct sd_rule_call *c)
{
    return counted(c, true, false);
}

static PyObject *count_in_steps(const struct sd_rule_call *c)
{
    return counted(c, true, true);
}

/* self, indices: one of them, the others left out, takes the place of its axis. */
static PyObject *indexed(const struct sd_rule_call *c)
{
    PyObject *list = value_of(c, 1);
    struct tensor t, index;
    struct sd_shape out = { 0 };
    Py_ssize_t axis = -1;

    if (!tensor_at(c, 0, &t) || !t.is_contiguous || !list || !PyList_CheckExact(list) ||
        PyList_GET_SIZE(list) > (Py_ssize_t)t.s.n)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) != Py_None) {
            if (axis >= 0)
                return NULL;
            axis = i;
        }
    if (axis < 0 || !tensor_of(c, PyList_GET_ITEM(list, axis), &index) ||
        (index.s.number != INT64 && index.s.number != INT32) || !index.is_contiguous ||
        t.s.n - 1 + index.s.n > SD_MODEL_DIMS_MAX)
        return NULL;
    for (unsigned i = 0; i < t.s.n; i++) {
        if (i != (unsigned)axis)
            out.dims[out.n++] = t.s.dims[i];
        for (unsigned k = 0; i == (unsigned)axis && k < index.s.n; k++)
            out.dims[out.n++] = index.s.dims[k];
    }
    return contiguous(c, &out, t.s.number);
}

/* tensors, dim */
static PyObject *stacked(const struct sd_rule_call *c)
{
    PyObject *list = value_of(c, 0), *dim = value_of(c, 1);
    struct tensor first, next;
    long long axis = dim && PyLong_Check(dim) ? PyLong_AsLongLong(dim) : 0;

    if (!list || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0 ||
        !tensor_of(c, PyList_GET_ITEM(list, 0), &first) ||
        first.s.n + 1 > SD_MODEL_DIMS_MAX)
        return NULL;
    axis += axis < 0 ? (long long)first.s.n + 1 : 0;
    if (axis < 0 || axis > (long long)first.s.n)
        return NULL;
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(list); i++)
        if (!tensor_of(c, PyList_GET_ITEM(list, i), &next) ||
            next.s.number != first.s.number || !is_same_shape(&first.s, &next.s))
            return NULL;
    memmove(first.s.dims + axis + 1, first.s.dims + axis,
            (first.s.n - (unsigned)axis) * sizeof *first.s.dims);
    first.s.dims[axis] = (int64_t)PyList_GET_SIZE(list);
    first.s.n++;
    return contiguous(c, &first.s, first.s.number);
}

/* Pictures and volumes may come with their channels last, and then stay so. */
static bool is_picture(const struct sd_shape *s) { return s->n == 4 || s->n == 5; }

static bool joins(const struct sd_shape *a, const struct sd_shape *b, unsigned axis)
{
    if (a->n != b->n || a->number != b->number)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (i != axis && a->dims[i] != b->dims[i])
            return false;
    return true;
}

static PyObject *cat(const struct sd_rule_call *c)
{
    PyObject *list = value_of(c, 0), *dim = value_of(c, 1);
    struct tensor first, next;
    long long axis = dim && PyLong_Check(dim) ? PyLong_AsLongLong(dim) : 0;

    if (!list || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0 ||
        !tensor_of(c, PyList_GET_ITEM(list, 0), &first) ||
        (!first.is_contiguous && is_picture(&first.s)))
        return NULL;
    axis += axis < 0 ? (long long)first.s.n : 0;
    if (axis < 0 || axis >= (long long)first.s.n)
        return NULL;
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(list); i++) {
        if (!tensor_of(c, PyList_GET_ITEM(list, i), &next) ||
            (!next.is_contiguous && is_picture(&next.s)) ||
            !joins(&first.s, &next.s, (unsigned)axis))
            return NULL;
        first.s.dims[axis] += next.s.dims[axis];
    }
    return contiguous(c, &first.s, first.s.number);
}

static PyObject *embedding(const struct sd_rule_call *c)
{
    struct tensor weight, indices;

    if (!tensor_at(c, 0, &weight) || !tensor_at(c, 1, &indices) || weight.s.n != 2 ||
        !indices.is_contiguous || indices.s.n >= SD_MODEL_DIMS_MAX ||
        (indices.s.number != INT64 && indices.s.number != INT32))
        return NULL;
    indices.s.dims[indices.s.n++] = weight.s.dims[1];
    return contiguous(c, &indices.s, weight.s.number);
}

/* --- Gradients */

/* Which of three are wanted: a list of truth values. */
static bool mask_at(const struct sd_rule_call *c, unsigned i, bool *wants)
{
    PyObject *v = value_of(c, i);

    if (!v || !(PyList_CheckExact(v) || PyTuple_Check(v)) ||
        PySequence_Fast_GET_SIZE(v) != 3)
        return false;
    for (Py_ssize_t k = 0; k < 3; k++)
        wants[k] = PySequence_Fast_GET_ITEM(v, k) == Py_True;
    return true;
}

/* One as this, without gaps, or None. */
static PyObject *gradient(const struct sd_rule_call *c, const struct sd_shape *s,
                          uint8_t number, bool is_wanted)
{
    return is_wanted ? contiguous(c, s, number) : Py_NewRef(Py_None);
}

/* Of an input, and of a weight and bias of one axis: the norms. */
static PyObject *norm_gradients(const struct sd_rule_call *c, unsigned input,
                                unsigned mask, int64_t channels)
{
    struct sd_shape one = { .n = 1, .dims = { channels } };
    struct tensor in;
    bool wants[3];

    if (!tensor_at(c, input, &in) || !is_wide_float(&in) || !in.is_contiguous ||
        !mask_at(c, mask, wants))
        return NULL;
    return together(gradient(c, &in.s, in.s.number, wants[0]),
                    gradient(c, &one, in.s.number, wants[1]),
                    gradient(c, &one, in.s.number, wants[2]));
}

/* grad_out, input, weight, running_mean, running_var, mean, invstd, train, eps, mask */
static PyObject *batch_norm_backward(const struct sd_rule_call *c)
{
    struct tensor in;

    if (!tensor_at(c, 1, &in) || in.s.n < 2)
        return NULL;
    return norm_gradients(c, 1, 9, in.s.dims[1]);
}

/* grad_out, input, mean, rstd, weight, N, C, HxW, group, mask */
static PyObject *group_norm_backward(const struct sd_rule_call *c)
{
    int64_t channels;

    return number_at(c, 6, &channels) ? norm_gradients(c, 1, 9, channels) : NULL;
}

/* grad_out, input, normalized_shape, mean, rstd, weight, bias, mask */
static PyObject *layer_norm_backward(const struct sd_rule_call *c)
{
    struct tensor in, weight;
    bool wants[3];

    if (!tensor_at(c, 1, &in) || !is_wide_float(&in) || !tensor_at(c, 5, &weight) ||
        !mask_at(c, 7, wants))
        return NULL;
    return together(gradient(c, &in.s, in.s.number, wants[0]),
                    gradient(c, &weight.s, in.s.number, wants[1]),
                    gradient(c, &weight.s, in.s.number, wants[2]));
}

/* grad_output, input, weight, bias_sizes, ..., mask */
static PyObject *convolution_backward(const struct sd_rule_call *c)
{
    struct tensor out, in, weight;
    struct sd_shape bias = { .n = 1 };
    bool wants[3];

    if (!tensor_at(c, 0, &out) || !tensor_at(c, 1, &in) || !tensor_at(c, 2, &weight) ||
        !out.is_contiguous || !in.is_contiguous || !weight.is_contiguous ||
        in.s.n < 3 || !is_float(&in) || !mask_at(c, c->n - 1, wants))
        return NULL;
    bias.dims[0] = out.s.dims[1];
    return together(gradient(c, &in.s, in.s.number, wants[0]),
                    gradient(c, &weight.s, in.s.number, wants[1]),
                    gradient(c, &bias, in.s.number, wants[2]));
}

/* grad_output, self, ... */
static PyObject *like_second(const struct sd_rule_call *c)
{
    struct tensor t;

    return tensor_at(c, 1, &t) && is_float(&t) && t.is_contiguous
               ? contiguous(c, &t.s, t.s.number)
               : NULL;
}

/* grad_output, indices, num_weights, ... */
static PyObject *embedding_backward(const struct sd_rule_call *c)
{
    struct tensor out;
    struct sd_shape weight = { .n = 2 };

    if (!tensor_at(c, 0, &out) || out.s.n < 1 || !number_at(c, 2, &weight.dims[0]))
        return NULL;
    weight.dims[1] = out.s.dims[out.s.n - 1];
    return contiguous(c, &weight, out.s.number);
}

/* --- The table */

static const struct {
    const char *name;
    sd_rule *rule;
} rules[] = {
#define RULE(name, function) { name, function },
#include "collect/model/rules.def"
#undef RULE
};

sd_rule *sd_rule_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].name) == n && memcmp(rules[i].name, name, n) == 0)
            return rules[i].rule;
    return NULL;
}
