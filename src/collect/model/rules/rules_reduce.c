/* SPDX-License-Identifier: MIT */
/* rules_reduce: operators over axes or windows: norms with their statistics, sums and
 * means, pools.
 *
 * Most have more than one output.  The others are small (statistics, the places of
 * maxima), but autograd keeps them, so their shapes count as much as that of the first.
 */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

#include <string.h>

/* --- Norms */

/* input, normalized_shape, weight, bias, eps: as many statistics as rows.  What comes
 * out has no gaps, whatever went in. */
PyObject *sd_rule_layer_norm(const struct sd_rule_call *c)
{
    PyObject *over = sd_meta_value(c, 1);
    const int64_t *last;
    struct sd_meta_tensor in, weight;
    struct sd_tensor_shape rows;
    Py_ssize_t n;
    uint8_t kept;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) || !over ||
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
    last = in.s.dims + (in.s.n - (unsigned)n);
    for (unsigned i = 2; i <= 3; i++)
        if (sd_meta_value(c, i) &&
            (!sd_meta_at(c, i, &weight) || weight.s.number != in.s.number ||
             weight.s.n != (unsigned)n ||
             memcmp(weight.s.dims, last, (size_t)n * sizeof *last) != 0))
            return NULL;
    /* Other devices keep the statistics of narrow ones in 32 bits. */
    kept = sd_meta_is_wide(&in) || c->is_on_cpu ? in.s.number : SD_TORCH_FLOAT32;
    return sd_meta_triple(sd_meta_new(c, &in.s, in.s.number),
                          sd_meta_new(c, &rows, kept), sd_meta_new(c, &rows, kept));
}

bool sd_norm_takes(const struct sd_rule_call *c, const struct sd_meta_tensor *in)
{
    return in->is_contiguous || (c->is_on_cpu && sd_meta_has_channels_last(in));
}

bool sd_norm_kept(const struct sd_rule_call *c, const struct sd_meta_tensor *in,
                  unsigned first, unsigned last, int64_t n, uint8_t *kept)
{
    struct sd_meta_tensor t;
    bool is_first = true;

    *kept = in->s.number;
    if (!sd_meta_is_float(in) || (!sd_meta_is_wide(in) && !c->is_on_cpu))
        return false;
    for (unsigned i = first; i <= last; i++) {
        if (!sd_meta_value(c, i))
            continue;
        if (!sd_meta_at(c, i, &t) || t.s.n != 1 || t.s.dims[0] != n)
            return false;
        if (is_first && !sd_meta_is_wide(in) && t.s.number == SD_TORCH_FLOAT32)
            *kept = SD_TORCH_FLOAT32;
        if (t.s.number != *kept)
            return false;
        is_first = false;
    }
    return true;
}

/* input, weight, bias, N, C, HxW, group, eps */
PyObject *sd_rule_group_norm(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    int64_t batch, channels, groups;
    struct sd_tensor_shape stats = { .n = 2 };
    uint8_t kept;

    if (!sd_meta_at(c, 0, &in) || !sd_norm_takes(c, &in) ||
        !sd_meta_number(c, 3, &batch) || !sd_meta_number(c, 4, &channels) ||
        !sd_meta_number(c, 6, &groups) || !sd_norm_kept(c, &in, 1, 2, channels, &kept))
        return NULL;
    stats.dims[0] = batch;
    stats.dims[1] = groups;
    return sd_meta_triple(sd_meta_like(c, &in), sd_meta_new(c, &stats, kept),
                          sd_meta_new(c, &stats, kept));
}

/* input, then vectors up to the `last` argument: one statistic for each channel, or
 * none. */
static PyObject *norm_batch(const struct sd_rule_call *c, unsigned last,
                            bool is_training)
{
    struct sd_meta_tensor in;
    PyObject *out;
    uint8_t kept;
    int64_t n;

    if (!sd_meta_at(c, 0, &in) || in.s.n < 2 ||
        (!c->is_on_cpu && !in.is_contiguous && !sd_meta_has_channels_last(&in)) ||
        !sd_norm_kept(c, &in, 1, last, in.s.dims[1], &kept))
        return NULL;
    n = is_training ? in.s.dims[1] : 0;
    out = sd_meta_suggests_last(&in) ? sd_meta_new_last(c, &in.s, in.s.number)
                                     : sd_meta_new(c, &in.s, in.s.number);
    return sd_meta_triple(out, sd_meta_vector(c, n, kept), sd_meta_vector(c, n, kept));
}

/* input, weight, bias, running_mean, running_var, training, momentum, eps */
PyObject *sd_rule_batch_norm(const struct sd_rule_call *c)
{
    return norm_batch(c, 4, sd_meta_value(c, 5) == Py_True);
}

/* input, weight, bias, training, momentum, eps */
PyObject *sd_rule_batch_norm_alone(const struct sd_rule_call *c)
{
    return norm_batch(c, 2, sd_meta_value(c, 3) == Py_True);
}

/* input, weight, bias, running_mean, running_var, momentum, eps */
PyObject *sd_rule_batch_norm_of_inference(const struct sd_rule_call *c)
{
    return norm_batch(c, 4, false);
}

/* input, p, train */
PyObject *sd_rule_dropout(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) || !in.is_contiguous)
        return NULL;
    return sd_meta_pair(sd_meta_new(c, &in.s, in.s.number),
                        sd_meta_new(c, &in.s, SD_TORCH_BOOL));
}

/* --- Sums and means over axes */

static bool name_axis(PyObject *v, unsigned n, bool *is_named)
{
    uint32_t axis;

    if (!sd_meta_axis(v, n, &axis) || is_named[axis])
        return false;
    is_named[axis] = true;
    return true;
}

/* Which axes a list or number names; none or an empty one means all of them. */
static bool axes_at(const struct sd_rule_call *c, unsigned i, unsigned n,
                    bool *is_named)
{
    PyObject *v = sd_meta_value(c, i);
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

static PyObject *reduced_as(const struct sd_rule_call *c,
                            const struct sd_meta_tensor *in, uint8_t number)
{
    bool is_named[SD_MODEL_DIMS_MAX], keeps = sd_meta_value(c, 2) == Py_True;
    struct sd_tensor_shape out = { 0 };

    if (!axes_at(c, 1, in->s.n, is_named))
        return NULL;
    for (unsigned i = 0; i < in->s.n; i++)
        if (keeps || !is_named[i])
            out.dims[out.n++] = is_named[i] ? 1 : in->s.dims[i];
    return sd_meta_new(c, &out, number);
}

/* input, dim, keepdim: of nothing there is no largest, which torch has the words for.
 */
PyObject *sd_rule_extreme(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    if (!sd_meta_at(c, 0, &in))
        return NULL;
    for (unsigned i = 0; i < in.s.n; i++)
        if (in.s.dims[i] == 0)
            return NULL;
    return sd_rule_reduced(c);
}

/* input, dim, keepdim, dtype: a sum or mean over some axes. */
PyObject *sd_rule_reduced(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) || !in.is_contiguous ||
        sd_meta_value(c, 3))
        return NULL;
    return reduced_as(c, &in, in.s.number);
}

PyObject *sd_rule_any_of(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    if (!sd_meta_at(c, 0, &in) || in.s.number != SD_TORCH_BOOL || !in.is_contiguous)
        return NULL;
    return reduced_as(c, &in, SD_TORCH_BOOL);
}

/* --- Pools: input, kernel_size, stride, padding, ... */

/* The stride is that of the kernel when none is given. */
static bool pool_shape(const struct sd_rule_call *c, struct sd_meta_tensor *in,
                       bool is_ceil, bool has_dilation, struct sd_tensor_shape *out)
{
    int64_t kernel[2], stride[2], padding[2] = { 0, 0 }, dilation[2] = { 1, 1 };
    PyObject *given = sd_meta_value(c, 2);
    bool has_stride = given && PySequence_Check(given) && PySequence_Size(given) > 0;

    if (!sd_meta_at(c, 0, in) || !sd_meta_is_float(in) || !in->is_contiguous ||
        in->s.n < 3 || in->s.n > 4 || !sd_meta_numbers(c, 1, 2, kernel) ||
        (has_stride && !sd_meta_numbers(c, 2, 2, stride)) ||
        (sd_meta_value(c, 3) && !sd_meta_numbers(c, 3, 2, padding)) ||
        (has_dilation && sd_meta_value(c, 4) && !sd_meta_numbers(c, 4, 2, dilation)))
        return false;
    *out = in->s;
    for (unsigned k = 0; k < 2; k++) {
        unsigned axis = in->s.n - 2 + k;

        struct sd_axis_window w = { kernel[k], has_stride ? stride[k] : kernel[k],
                                    dilation[k], padding[k], padding[k] };

        if (padding[k] > kernel[k] / 2 || in->s.dims[axis] < 1)
            return false;
        out->dims[axis] = sd_shapes_axis_window_steps(
            &w, in->s.dims[axis], is_ceil ? SD_WINDOW_HANGS : SD_WINDOW_FITS);
        if (out->dims[axis] < 1)
            return false;
    }
    return true;
}

PyObject *sd_rule_max_pool(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    struct sd_tensor_shape shape;

    if (!pool_shape(c, &in, sd_meta_value(c, 5) == Py_True, true, &shape))
        return NULL;
    return sd_meta_pair(sd_meta_new(c, &shape, in.s.number),
                        sd_meta_new(c, &shape, SD_TORCH_INT64));
}

PyObject *sd_rule_mean_pool(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    struct sd_tensor_shape shape;

    if (!pool_shape(c, &in, sd_meta_value(c, 4) == Py_True, false, &shape))
        return NULL;
    return sd_meta_new(c, &shape, in.s.number);
}

PyObject *sd_rule_adaptive_pool(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    int64_t size[2];

    if (!sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) || !in.is_contiguous ||
        in.s.n < 3 || in.s.n > 4 || !sd_meta_numbers(c, 1, 2, size) ||
        in.s.dims[in.s.n - 1] < 1 || in.s.dims[in.s.n - 2] < 1)
        return NULL;
    in.s.dims[in.s.n - 2] = size[0];
    in.s.dims[in.s.n - 1] = size[1];
    return sd_meta_new(c, &in.s, in.s.number);
}
