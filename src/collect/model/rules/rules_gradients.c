/* SPDX-License-Identifier: MIT */
/* rules_gradients: gradients have the shape of what they are the gradient of.
 *
 * An operator of a backward names its inputs in an order of its own, so each rule says
 * which argument is which, and a mask says which gradients are wanted at all: the
 * others are None. */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

/* Which of three are wanted: a list of truth values. */
static bool mask_at(const struct sd_rule_call *c, unsigned i, bool *wants)
{
    PyObject *v = sd_meta_value(c, i);

    if (!v || !(PyList_CheckExact(v) || PyTuple_Check(v)) ||
        PySequence_Fast_GET_SIZE(v) != 3)
        return false;
    for (Py_ssize_t k = 0; k < 3; k++)
        wants[k] = PySequence_Fast_GET_ITEM(v, k) == Py_True;
    return true;
}

/* One as this, without gaps, or None. */
static PyObject *gradient(const struct sd_rule_call *c, const struct sd_tensor_shape *s,
                          uint8_t number, bool is_wanted)
{
    return is_wanted ? sd_meta_new(c, s, number) : Py_NewRef(Py_None);
}

/* Of an input, which stays as it lies in memory, and of a weight and bias of one axis:
 * the norms.  Their weights and statistics are the arguments from `first` to `last`. */
static PyObject *norm_gradients(const struct sd_rule_call *c, int64_t channels,
                                unsigned first, unsigned last)
{
    struct sd_tensor_shape one = { .n = 1, .dims = { channels } };
    struct sd_meta_tensor in;
    bool wants[3];
    uint8_t kept;

    if (!sd_meta_at(c, 1, &in) || !sd_norm_takes(c, &in) || !mask_at(c, 9, wants) ||
        !sd_norm_kept(c, &in, first, last, channels, &kept))
        return NULL;
    return sd_meta_triple(wants[0] ? sd_meta_like(c, &in) : Py_NewRef(Py_None),
                          gradient(c, &one, kept, wants[1]),
                          gradient(c, &one, kept, wants[2]));
}

/* grad_out, input, weight, running_mean, running_var, mean, invstd, train, eps, mask */
PyObject *sd_rule_batch_norm_backward(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    if (!sd_meta_at(c, 1, &in) || in.s.n < 2)
        return NULL;
    return norm_gradients(c, in.s.dims[1], 2, 4);
}

/* grad_out, input, mean, rstd, weight, N, C, HxW, group, mask */
PyObject *sd_rule_group_norm_backward(const struct sd_rule_call *c)
{
    int64_t channels;

    return sd_meta_number(c, 6, &channels) ? norm_gradients(c, channels, 4, 4) : NULL;
}

/* grad_out, input, normalized_shape, mean, rstd, weight, bias, mask */
PyObject *sd_rule_layer_norm_backward(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in, weight;
    bool wants[3];

    if (!sd_meta_at(c, 1, &in) || !sd_meta_is_float(&in) ||
        !sd_meta_at(c, 5, &weight) || weight.s.number != in.s.number ||
        !mask_at(c, 7, wants))
        return NULL;
    return sd_meta_triple(gradient(c, &in.s, in.s.number, wants[0]),
                          gradient(c, &weight.s, in.s.number, wants[1]),
                          gradient(c, &weight.s, in.s.number, wants[2]));
}

/* grad_output, input, weight, bias_sizes, ..., mask */
PyObject *sd_rule_convolution_backward(const struct sd_rule_call *c)
{
    struct sd_meta_tensor out, in, weight;
    struct sd_tensor_shape bias = { .n = 1 };
    bool wants[3];

    if (!sd_meta_at(c, 0, &out) || !sd_meta_at(c, 1, &in) ||
        !sd_meta_at(c, 2, &weight) || !out.is_contiguous || !in.is_contiguous ||
        !weight.is_contiguous || in.s.n < 3 || !sd_meta_is_float(&in) ||
        !mask_at(c, c->n - 1, wants))
        return NULL;
    bias.dims[0] = out.s.dims[1];
    return sd_meta_triple(gradient(c, &in.s, in.s.number, wants[0]),
                          gradient(c, &weight.s, in.s.number, wants[1]),
                          gradient(c, &bias, in.s.number, wants[2]));
}

/* grad_output, self, ... */
PyObject *sd_rule_like_second(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 1, &t) && sd_meta_is_float(&t) && t.is_contiguous
               ? sd_meta_new(c, &t.s, t.s.number)
               : NULL;
}

/* grad_output, indices, num_weights, ... */
PyObject *sd_rule_embedding_backward(const struct sd_rule_call *c)
{
    struct sd_meta_tensor out;
    struct sd_tensor_shape weight = { .n = 2 };

    if (!sd_meta_at(c, 0, &out) || out.s.n < 1 ||
        !sd_meta_number(c, 2, &weight.dims[0]))
        return NULL;
    weight.dims[1] = out.s.dims[out.s.n - 1];
    return sd_meta_new(c, &weight, out.s.number);
}
