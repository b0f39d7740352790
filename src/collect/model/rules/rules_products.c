/* SPDX-License-Identifier: MIT */
/* rules_products: products of matrices, alone, in batches, in groups and with something
 * added; and convolutions.
 *
 * The output of a product is contiguous whatever the inputs are; that of a convolution
 * has its channels last where the input or the weight has. */
#include "cpython/compat.h"

#include "collect/model/rules/dtype_checks.h"
#include "collect/model/rules/meta.h"

/* --- Matrices */

/* Two tensors of n axes, from this argument on, with the shape of their product: there
 * is no broadcasting of batches here. */
static bool multiplied(const struct sd_rule_call *c, unsigned at, unsigned n,
                       struct sd_tensor_shape *out)
{
    struct sd_meta_tensor a, b;
    int64_t inner;

    if (!sd_meta_at(c, at, &a) || !sd_meta_at(c, at + 1, &b) || a.s.n != n ||
        b.s.n != n || a.s.number != b.s.number || a.s.number == SD_TORCH_BOOL ||
        (n == 3 && a.s.dims[0] != b.s.dims[0]))
        return false;
    out->number = a.s.number;
    return sd_dims_matmul(sd_torch_shape_dims(&a.s), sd_torch_shape_dims(&b.s), 0,
                          out->dims, &out->n, &inner);
}

static PyObject *product(const struct sd_rule_call *c, unsigned n)
{
    struct sd_tensor_shape out;

    return multiplied(c, 0, n, &out) ? sd_meta_new(c, &out, out.number) : NULL;
}

PyObject *sd_rule_mm(const struct sd_rule_call *c) { return product(c, 2); }

PyObject *sd_rule_bmm(const struct sd_rule_call *c) { return product(c, 3); }

/* What is added must be stretchable to the product. */
static bool fits_sum(const struct sd_rule_call *c, const struct sd_tensor_shape *out)
{
    struct sd_meta_tensor added;

    return sd_meta_at(c, 0, &added) && added.s.number == out->number &&
           sd_meta_shape_stretches_to(&added.s, out);
}

static PyObject *sum(const struct sd_rule_call *c, unsigned n)
{
    struct sd_tensor_shape out;

    return multiplied(c, 1, n, &out) && fits_sum(c, &out)
               ? sd_meta_new(c, &out, out.number)
               : NULL;
}

PyObject *sd_rule_addmm(const struct sd_rule_call *c) { return sum(c, 2); }

PyObject *sd_rule_baddbmm(const struct sd_rule_call *c) { return sum(c, 3); }

const char *sd_doubt_sum(const struct sd_rule_call *c)
{
    struct sd_tensor_shape out;

    if ((multiplied(c, 1, 2, &out) || multiplied(c, 1, 3, &out)) && !fits_sum(c, &out))
        return "what is added does not fit the product";
    return sd_doubt_dtypes(c);
}

/* --- Groups of matrices */

enum { LINE_BYTES = 16 }; /* rows, or columns, begin at multiples of it */

static int64_t elements_of_line(const struct sd_meta_tensor *t)
{
    return LINE_BYTES / (t->s.number == SD_TORCH_FLOAT32 ? 4 : 2);
}

/* Row after row or column after column, each at the beginning of a line. */
static bool is_in_lines(const struct sd_meta_tensor *t)
{
    const int64_t *d = t->s.dims + t->s.n - 2, *s = t->strides + t->s.n - 2;
    unsigned inner = s[0] == 1 && s[1] >= d[0] ? 0 : 1;

    return s[inner] == 1 && s[!inner] >= d[inner] && s[!inner] > 0 &&
           s[!inner] % elements_of_line(t) == 0;
}

static bool is_matrix_of_groups(const struct sd_meta_tensor *t)
{
    return (t->s.n == 2 || t->s.n == 3) && is_in_lines(t) &&
           (t->s.number == SD_TORCH_FLOAT32 || t->s.number == SD_TORCH_BFLOAT16 ||
            t->s.number == SD_TORCH_FLOAT16);
}

/* Where the groups end in a side that has them one after another. */
static bool groups_of(const struct sd_rule_call *c, const struct sd_meta_tensor *a,
                      const struct sd_meta_tensor *b, int64_t *n)
{
    struct sd_meta_tensor ends;

    *n = a->s.dims[0];
    if (a->s.n == 3 && b->s.n == 3)
        return !sd_meta_value(c, 2) && b->s.dims[0] == *n;
    if (!sd_meta_at(c, 2, &ends) || ends.s.n != 1 || ends.s.number != SD_TORCH_INT32)
        return false;
    *n = ends.s.dims[0];
    return (a->s.n == 2 || a->s.dims[0] == *n) && (b->s.n == 2 || b->s.dims[0] == *n);
}

/* self, mat2, offs, bias, out_dtype: without data torch takes bfloat16 alone. */
PyObject *sd_rule_grouped_product(const struct sd_rule_call *c)
{
    struct sd_meta_tensor a, b;
    int64_t groups, rows, columns, line;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &a) || !sd_meta_at(c, 1, &b) ||
        !is_matrix_of_groups(&a) || !is_matrix_of_groups(&b) ||
        a.s.number != b.s.number || a.s.dims[a.s.n - 1] != b.s.dims[b.s.n - 2] ||
        sd_meta_value(c, 3) || sd_meta_value(c, 4) || !groups_of(c, &a, &b, &groups))
        return NULL;
    rows = a.s.dims[a.s.n - 2];
    columns = b.s.dims[b.s.n - 1];
    line = elements_of_line(&a);
    line *= (columns + line - 1) / line;
    if (a.s.n != b.s.n)
        return sd_torch_make(c->torch, a.s.number, 2, (int64_t[]){ rows, columns },
                             (int64_t[]){ line, 1 });
    return sd_torch_make(c->torch, a.s.number, 3, (int64_t[]){ groups, rows, columns },
                         (int64_t[]){ rows * line, line, 1 });
}

/* --- Convolutions */

struct windows {
    struct sd_axis_window w[3]; /* of each axis of the picture */
    int64_t more[3], groups;
    bool is_transposed;
};

/* input, weight, bias, stride, padding, dilation, transposed, output_padding, groups:
 * false: one stands still, or looks at nothing. */
static bool windows_of(const struct sd_rule_call *c, const struct sd_meta_tensor *in,
                       const struct sd_meta_tensor *weight, struct windows *out)
{
    int64_t stride[3], padding[3], dilation[3];
    unsigned axes = in->s.n - 2;

    out->is_transposed = sd_meta_value(c, 6) == Py_True;
    if (!sd_meta_numbers(c, 3, axes, stride) || !sd_meta_numbers(c, 4, axes, padding) ||
        !sd_meta_numbers(c, 5, axes, dilation) ||
        !sd_meta_numbers(c, 7, axes, out->more) ||
        !sd_meta_number(c, 8, &out->groups) || out->groups < 1)
        return false;
    for (unsigned k = 0; k < axes; k++) {
        int64_t kernel = weight->s.dims[2 + k];

        if (stride[k] < 1 || dilation[k] < 1 || kernel < 1 || in->s.dims[2 + k] < 1)
            return false;
        out->w[k] = (struct sd_axis_window){ kernel, stride[k], dilation[k], padding[k],
                                             padding[k] };
    }
    return true;
}

static int64_t along(const struct windows *w, unsigned k, int64_t length)
{
    return w->is_transposed
               ? sd_shapes_axis_window_spread(&w->w[k], length, w->more[k],
                                              SD_WINDOW_FITS)
               : sd_shapes_axis_window_steps(&w->w[k], length, SD_WINDOW_FITS);
}

/* torch refuses to add more than the gaps can take. */
static bool is_padding_small(const struct windows *w, unsigned k)
{
    return w->more[k] < w->w[k].stride || w->more[k] < w->w[k].dilation;
}

static bool bias_fits(const struct sd_rule_call *c, int64_t channels, uint8_t number)
{
    struct sd_meta_tensor bias;

    if (!sd_meta_value(c, 2))
        return true;
    return sd_meta_at(c, 2, &bias) && bias.s.n == 1 && bias.s.dims[0] == channels &&
           bias.s.number == number;
}

/* On the processor: of pictures in any order, and where one of the two has its channels
 * last, so has the result.  With three axes of the picture that depends on which
 * library computes it: torch is asked. */
static bool has_known_order(const struct sd_rule_call *c,
                            const struct sd_meta_tensor *in,
                            const struct sd_meta_tensor *weight, bool *is_last)
{
    *is_last = false;
    if (c->is_on_cpu && in->s.n == 4)
        *is_last = sd_meta_suggests_last(in) || sd_meta_suggests_last(weight);
    else if (!in->is_contiguous)
        *is_last = sd_meta_has_channels_last(in);
    return (c->is_on_cpu && in->s.n == 4) ||
           (weight->is_contiguous && (in->is_contiguous || *is_last));
}

PyObject *sd_rule_convolution(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in, weight;
    struct sd_tensor_shape out;
    struct windows w;
    bool is_last;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_at(c, 1, &weight) || in.s.n < 3 ||
        in.s.n > 5 || weight.s.n != in.s.n ||
        !has_known_order(c, &in, &weight, &is_last) || in.s.number != weight.s.number ||
        !sd_meta_is_float(&in))
        return NULL;
    out = in.s;
    if (!windows_of(c, &in, &weight, &w) ||
        !sd_shapes_conv_channels(sd_torch_shape_dims(&weight.s), w.groups,
                                 w.is_transposed, in.s.dims[1], &out.dims[1]) ||
        !bias_fits(c, out.dims[1], in.s.number))
        return NULL;
    for (unsigned k = 0; k + 2 < in.s.n; k++) {
        out.dims[2 + k] = along(&w, k, in.s.dims[2 + k]);
        if (out.dims[2 + k] <= 0 || (w.is_transposed && !is_padding_small(&w, k)))
            return NULL;
    }
    return is_last ? sd_meta_new_last(c, &out, in.s.number)
                   : sd_meta_new(c, &out, in.s.number);
}

const char *sd_doubt_convolution(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in, weight;
    struct windows w;
    int64_t channels;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_at(c, 1, &weight) || weight.s.n > 5)
        return NULL;
    if (weight.s.n != in.s.n || in.s.n < 3)
        return "its input has not as many axes as its weight";
    if (!windows_of(c, &in, &weight, &w))
        return "it has no such stride, padding, dilation or groups";
    if (!sd_shapes_conv_channels(sd_torch_shape_dims(&weight.s), w.groups,
                                 w.is_transposed, in.s.dims[1], &channels))
        return "its input has not the channels that its weight is for";
    if (in.s.number != weight.s.number || !bias_fits(c, channels, in.s.number))
        return "input, weight and bias do not go together";
    if (in.s.number <= SD_TORCH_INT64 &&
        (!w.is_transposed || in.s.number == SD_TORCH_INT64))
        return NULL;
    return sd_doubt_floats(c);
}
