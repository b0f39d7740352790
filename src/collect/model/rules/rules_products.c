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

static bool matrices(const struct sd_rule_call *c, unsigned at, unsigned n,
                     struct sd_meta *a, struct sd_meta *b)
{
    if (!sd_meta_at(c, at, a) || !sd_meta_at(c, at + 1, b))
        return false;
    return a->s.n == n && b->s.n == n && a->s.number == b->s.number &&
           a->s.number != SD_TORCH_BOOL && a->s.dims[n - 1] == b->s.dims[n - 2];
}

static PyObject *product(const struct sd_rule_call *c, const struct sd_meta *a,
                         const struct sd_meta *b)
{
    struct sd_shape out = a->s;

    out.dims[out.n - 1] = b->s.dims[out.n - 1];
    return sd_meta_new(c, &out, a->s.number);
}

PyObject *sd_rule_mm(const struct sd_rule_call *c)
{
    struct sd_meta a, b;

    return matrices(c, 0, 2, &a, &b) ? product(c, &a, &b) : NULL;
}

PyObject *sd_rule_bmm(const struct sd_rule_call *c)
{
    struct sd_meta a, b;

    if (!matrices(c, 0, 3, &a, &b) || a.s.dims[0] != b.s.dims[0])
        return NULL;
    return product(c, &a, &b);
}

/* What is added must be stretchable to the product. */
static bool fits_sum(const struct sd_rule_call *c, const struct sd_meta *a,
                     const struct sd_meta *b)
{
    struct sd_shape out = a->s, both;
    struct sd_meta added;

    out.dims[out.n - 1] = b->s.dims[out.n - 1];
    return sd_meta_at(c, 0, &added) && added.s.number == a->s.number &&
           sd_shape_stretch(&added.s, &out, &both) && sd_shape_is_same(&both, &out);
}

PyObject *sd_rule_addmm(const struct sd_rule_call *c)
{
    struct sd_meta a, b;

    if (!matrices(c, 1, 2, &a, &b) || !fits_sum(c, &a, &b))
        return NULL;
    return product(c, &a, &b);
}

PyObject *sd_rule_baddbmm(const struct sd_rule_call *c)
{
    struct sd_meta a, b;

    if (!matrices(c, 1, 3, &a, &b) || a.s.dims[0] != b.s.dims[0] ||
        !fits_sum(c, &a, &b))
        return NULL;
    return product(c, &a, &b);
}

const char *sd_doubt_sum(const struct sd_rule_call *c)
{
    struct sd_meta a, b;

    if ((matrices(c, 1, 2, &a, &b) || matrices(c, 1, 3, &a, &b)) &&
        !fits_sum(c, &a, &b))
        return "what is added does not fit the product";
    return sd_doubt_dtypes(c);
}

/* --- Groups of matrices */

enum { LINE_BYTES = 16 }; /* rows, or columns, begin at multiples of it */

static int64_t elements_of_line(const struct sd_meta *t)
{
    return LINE_BYTES / (t->s.number == SD_TORCH_FLOAT32 ? 4 : 2);
}

/* Row after row or column after column, each at the beginning of a line. */
static bool is_in_lines(const struct sd_meta *t)
{
    const int64_t *d = t->s.dims + t->s.n - 2, *s = t->strides + t->s.n - 2;
    unsigned inner = s[0] == 1 && s[1] >= d[0] ? 0 : 1;

    return s[inner] == 1 && s[!inner] >= d[inner] && s[!inner] > 0 &&
           s[!inner] % elements_of_line(t) == 0;
}

static bool is_matrix_of_groups(const struct sd_meta *t)
{
    return (t->s.n == 2 || t->s.n == 3) && is_in_lines(t) &&
           (t->s.number == SD_TORCH_FLOAT32 || t->s.number == SD_TORCH_BFLOAT16 ||
            t->s.number == SD_TORCH_FLOAT16);
}

/* Where the groups end in a side that has them one after another. */
static bool groups_of(const struct sd_rule_call *c, const struct sd_meta *a,
                      const struct sd_meta *b, int64_t *n)
{
    struct sd_meta ends;

    *n = a->s.dims[0];
    if (a->s.n == 3 && b->s.n == 3)
        return !sd_rule_value(c, 2) && b->s.dims[0] == *n;
    if (!sd_meta_at(c, 2, &ends) || ends.s.n != 1 || ends.s.number != SD_TORCH_INT32)
        return false;
    *n = ends.s.dims[0];
    return (a->s.n == 2 || a->s.dims[0] == *n) && (b->s.n == 2 || b->s.dims[0] == *n);
}

/* self, mat2, offs, bias, out_dtype: without data torch takes bfloat16 alone. */
PyObject *sd_rule_grouped_product(const struct sd_rule_call *c)
{
    struct sd_meta a, b;
    int64_t groups, rows, columns, line;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &a) || !sd_meta_at(c, 1, &b) ||
        !is_matrix_of_groups(&a) || !is_matrix_of_groups(&b) ||
        a.s.number != b.s.number || a.s.dims[a.s.n - 1] != b.s.dims[b.s.n - 2] ||
        sd_rule_value(c, 3) || sd_rule_value(c, 4) || !groups_of(c, &a, &b, &groups))
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

/* input, weight, bias, stride, padding, dilation, transposed, output_padding, groups */
struct window {
    int64_t stride[3], padding[3], dilation[3], more[3], groups;
    bool is_transposed;
};

static bool window_of(const struct sd_rule_call *c, unsigned axes, struct window *w)
{
    w->is_transposed = sd_rule_value(c, 6) == Py_True;
    return sd_rule_numbers(c, 3, axes, w->stride) &&
           sd_rule_numbers(c, 4, axes, w->padding) &&
           sd_rule_numbers(c, 5, axes, w->dilation) &&
           sd_rule_numbers(c, 7, axes, w->more) && sd_rule_number(c, 8, &w->groups) &&
           w->groups > 0;
}

/* Does it stand still, or look at nothing? */
static bool is_window_empty(const struct window *w, const struct sd_meta *in,
                            const struct sd_meta *weight)
{
    for (unsigned k = 0; k + 2 < in->s.n; k++)
        if (w->stride[k] < 1 || w->dilation[k] < 1 || weight->s.dims[2 + k] < 1 ||
            in->s.dims[2 + k] < 1)
            return true;
    return false;
}

static bool fits_channels(const struct window *w, const struct sd_meta *in,
                          const struct sd_meta *weight)
{
    return in->s.dims[1] ==
               weight->s.dims[!w->is_transposed] * (w->is_transposed ? 1 : w->groups) &&
           weight->s.dims[0] % w->groups == 0;
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

/* torch refuses to add more than the gaps can take. */
static bool is_padding_small(const struct window *w, unsigned k)
{
    return w->more[k] < w->stride[k] || w->more[k] < w->dilation[k];
}

static bool bias_fits(const struct sd_rule_call *c, int64_t channels, uint8_t number)
{
    struct sd_meta bias;

    if (!sd_rule_value(c, 2))
        return true;
    return sd_meta_at(c, 2, &bias) && bias.s.n == 1 && bias.s.dims[0] == channels &&
           bias.s.number == number;
}

/* On the processor: of pictures in any order, and where one of the two has its channels
 * last, so has the result.  With three axes of the picture that depends on which
 * library computes it: torch is asked. */
static bool has_known_order(const struct sd_rule_call *c, const struct sd_meta *in,
                            const struct sd_meta *weight, bool *is_last)
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
    struct sd_meta in, weight;
    struct sd_shape out;
    struct window w;
    unsigned axes;
    bool is_last;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_at(c, 1, &weight) || in.s.n < 3 ||
        in.s.n > 5 || weight.s.n != in.s.n ||
        !has_known_order(c, &in, &weight, &is_last) || in.s.number != weight.s.number ||
        !sd_meta_is_float(&in))
        return NULL;
    axes = in.s.n - 2;
    if (!window_of(c, axes, &w))
        return NULL;
    out = in.s;
    out.dims[1] = w.is_transposed ? weight.s.dims[1] * w.groups : weight.s.dims[0];
    if (!fits_channels(&w, &in, &weight) || is_window_empty(&w, &in, &weight) ||
        !bias_fits(c, out.dims[1], in.s.number))
        return NULL;
    for (unsigned k = 0; k < axes; k++) {
        out.dims[2 + k] = along(&w, k, in.s.dims[2 + k], weight.s.dims[2 + k]);
        if (out.dims[2 + k] <= 0 || (w.is_transposed && !is_padding_small(&w, k)))
            return NULL;
    }
    return is_last ? sd_meta_new_last(c, &out, in.s.number)
                   : sd_meta_new(c, &out, in.s.number);
}

const char *sd_doubt_convolution(const struct sd_rule_call *c)
{
    struct sd_meta in, weight;
    struct window w;

    if (!sd_meta_at(c, 0, &in) || !sd_meta_at(c, 1, &weight) || weight.s.n > 5)
        return NULL;
    if (weight.s.n != in.s.n || in.s.n < 3)
        return "its input has not as many axes as its weight";
    if (!window_of(c, in.s.n - 2, &w) || is_window_empty(&w, &in, &weight))
        return "it has no such stride, padding, dilation or groups";
    if (!fits_channels(&w, &in, &weight))
        return "its input has not the channels that its weight is for";
    if (in.s.number != weight.s.number ||
        !bias_fits(c, w.is_transposed ? weight.s.dims[1] * w.groups : weight.s.dims[0],
                   in.s.number))
        return "input, weight and bias do not go together";
    if (in.s.number <= SD_TORCH_INT64 &&
        (!w.is_transposed || in.s.number == SD_TORCH_INT64))
        return NULL;
    return sd_doubt_floats(c);
}
