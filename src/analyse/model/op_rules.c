/* SPDX-License-Identifier: MIT */
#include "analyse/model/op_rules.h"

#include <stdbool.h>
#include <string.h>

enum { UNFIT = -1 };

/* --- Operands.  Whatever is asked of one that is not there is UNFIT. */

static const struct sd_operand *tensor_in(const struct sd_model_op *op, size_t i)
{
    if (i >= op->n_in || op->in[i].kind == SD_OPERAND_NONE ||
        op->in[i].kind == SD_OPERAND_SCALAR)
        return NULL;
    return &op->in[i];
}

static const struct sd_operand *tensor_out(const struct sd_model_op *op)
{
    return op->n_out > 0 && op->out[0].kind != SD_OPERAND_NONE ? &op->out[0] : NULL;
}

/* The size of an axis; negative ones are counted from the end. */
static int64_t axis(const struct sd_operand *o, int at)
{
    uint32_t found;

    return o && sd_shapes_axis_find(at, o->dims.n, &found) ? o->dims.d[found] : UNFIT;
}

static int64_t elements(const struct sd_operand *o)
{
    return o ? sd_dims_elements(o->dims) : UNFIT;
}

/* The product of these; UNFIT when any of them is. */
#define PRODUCT(...)                                                                   \
    sd_product((const int64_t[]){ __VA_ARGS__ },                                       \
               sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static int64_t sum(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? UNFIT : sd_plus(a, b);
}

/* --- Matrix products */

static int64_t matmul(const struct sd_operand *a, const struct sd_operand *b,
                      unsigned flags)
{
    int64_t dims[SD_MODEL_DIMS_MAX], inner;
    uint32_t n;

    if (!a || !b || !sd_dims_matmul(a->dims, b->dims, flags, dims, &n, &inner))
        return UNFIT;
    return PRODUCT(sd_product(dims, n), inner);
}

int64_t sd_op_rule_matmul_01(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return matmul(tensor_in(op, 0), tensor_in(op, 1), 0);
}

int64_t sd_op_rule_matmul_12(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return matmul(tensor_in(op, 1), tensor_in(op, 2), 0);
}

int64_t sd_op_rule_matmul_03(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return matmul(tensor_in(op, 0), tensor_in(op, 3), 0);
}

/* The last axes of both are summed over, each row of one with each of the other; with a
 * single number it is no product at all. */
int64_t sd_op_rule_inner(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *a = tensor_in(op, 0), *b = tensor_in(op, 1);
    int64_t k = axis(a, -1);

    (void)m;
    if (!a || !b)
        return UNFIT;
    if (a->dims.n == 0 || b->dims.n == 0)
        return 0;
    if (k != axis(b, -1))
        return UNFIT;
    return k > 0 ? PRODUCT(elements(a), elements(b) / k) : 0;
}

int64_t sd_op_rule_foreach_mm(const struct sd_model *m, const struct sd_model_op *op)
{
    size_t half = op->n_in / 2u;
    int64_t all = 0;

    (void)m;
    if (half == 0 || op->n_in % 2 != 0)
        return UNFIT;
    for (size_t i = 0; i < half; i++)
        all = sum(all, matmul(tensor_in(op, i), tensor_in(op, half + i), 0));
    return all;
}

static int64_t gemm(const struct sd_model *m, const struct sd_model_op *op, size_t b_at)
{
    const struct sd_operand *a = tensor_in(op, 0), *b = tensor_in(op, b_at);
    unsigned flags =
        (sd_model_op_number(m, op, "transA", 0, 0) ? SD_MATMUL_TURN_A : 0) |
        (sd_model_op_number(m, op, "transB", 0, 0) ? SD_MATMUL_TURN_B : 0);

    return a && b && a->dims.n == 2 && b->dims.n == 2 ? matmul(a, b, flags) : UNFIT;
}

int64_t sd_op_rule_gemm(const struct sd_model *m, const struct sd_model_op *op)
{
    return gemm(m, op, 1);
}

int64_t sd_op_rule_gemm_q(const struct sd_model *m, const struct sd_model_op *op)
{
    return gemm(m, op, 3);
}

/* transBatchA: the first axis stands behind the batches, before the last. */
int64_t sd_op_rule_fused_matmul(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *a = tensor_in(op, 0);
    bool turned = sd_model_op_number(m, op, "transA", 0, 0) != 0;
    bool is_first =
        a && a->dims.n > 2 && sd_model_op_number(m, op, "transBatchA", 0, 0) != 0;

    return PRODUCT(elements(tensor_out(op)), axis(a, !turned ? -1 : is_first ? 0 : -2));
}

int64_t sd_op_rule_linear(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *x = tensor_in(op, 0), *w = tensor_in(op, 1);

    (void)m;
    if (!x || !w || x->dims.n == 0 || w->dims.n == 0 || axis(x, -1) != axis(w, -1))
        return UNFIT;
    return PRODUCT(elements(x), w->dims.n >= 2 ? axis(w, -2) : 1);
}

/* Gradients that are wanted, of the first two: the bias' is a sum, not a product. */
static int64_t wanted(const struct sd_model *m, const struct sd_model_op *op)
{
    return (sd_model_op_number(m, op, "output_mask", 0, 1) != 0) +
           (sd_model_op_number(m, op, "output_mask", 1, 1) != 0);
}

/* input, gradient, weight */
int64_t sd_op_rule_linear_backward(const struct sd_model *m,
                                   const struct sd_model_op *op)
{
    return PRODUCT(elements(tensor_in(op, 0)), axis(tensor_in(op, 2), -2),
                   wanted(m, op));
}

/* --- Products of nested tensors */

/* A nested tensor comes as its parts, one for each sample. */
static size_t n_parts(const struct sd_model_op *op)
{
    size_t n = 0;

    while (n < op->n_in && op->in[n].kind == SD_OPERAND_MEMBER)
        n++;
    return n;
}

int64_t sd_op_rule_nested_linear(const struct sd_model *m, const struct sd_model_op *op)
{
    size_t parts = n_parts(op);
    const struct sd_operand *w = tensor_in(op, parts);
    int64_t all = 0;

    (void)m;
    if (parts == 0 || !w || w->dims.n != 2)
        return UNFIT;
    for (size_t i = 0; i < parts; i++) {
        if (axis(&op->in[i], -1) != axis(w, -1))
            return UNFIT;
        all = sum(all, elements(&op->in[i]));
    }
    return PRODUCT(all, axis(w, 0));
}

/* input, gradient, weight */
int64_t sd_op_rule_nested_linear_backward(const struct sd_model *m,
                                          const struct sd_model_op *op)
{
    size_t parts = n_parts(op);
    const struct sd_operand *w = tensor_in(op, parts);
    int64_t all = 0;

    if (parts == 0 || parts % 2 != 0 || !w || w->dims.n != 2)
        return UNFIT;
    for (size_t i = 0; i < parts / 2; i++)
        all = sum(all, elements(&op->in[i]));
    return PRODUCT(all, axis(w, 0), wanted(m, op));
}

/* Of the parts from `a` on with those from `b` on. */
static int64_t nested_matmul(const struct sd_model_op *op, size_t a, size_t b, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all = sum(all, matmul(&op->in[a + i], &op->in[b + i], 0));
    return all;
}

int64_t sd_op_rule_nested_matmul(const struct sd_model *m, const struct sd_model_op *op)
{
    size_t parts = n_parts(op);

    (void)m;
    if (parts == 0 || parts % 2 != 0 || parts != op->n_in)
        return UNFIT;
    return nested_matmul(op, 0, parts / 2, parts / 2);
}

int64_t sd_op_rule_nested_matmul_backward(const struct sd_model *m,
                                          const struct sd_model_op *op)
{
    size_t parts = n_parts(op);
    int64_t n = (sd_model_op_number(m, op, "mask", 0, 1) != 0) +
                (sd_model_op_number(m, op, "mask", 1, 1) != 0);

    if (parts == 0 || parts % 3 != 0 || parts != op->n_in)
        return UNFIT;
    return PRODUCT(n, nested_matmul(op, parts / 3, 2 * parts / 3, parts / 3));
}

/* --- Products with packed or grouped matrices */

int64_t sd_op_rule_packed(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return PRODUCT(elements(tensor_out(op)), axis(tensor_in(op, 0), -1));
}

int64_t sd_op_rule_packed_out(const struct sd_model *m, const struct sd_model_op *op)
{
    static const char *const words[] = { "out_features", "out_channel", "N" };
    int64_t width = UNFIT;

    for (size_t i = 0; i < sizeof words / sizeof words[0] && width < 0; i++)
        width = sd_model_op_number(m, op, words[i], 0, UNFIT);
    return PRODUCT(elements(tensor_in(op, 0)), width);
}

/* Whatever the groups are, together they have all rows (or columns) of the flat side.
 */
int64_t sd_op_rule_grouped_mm(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *a = tensor_in(op, 0), *b = tensor_in(op, 1);

    (void)m;
    if (!a || !b)
        return UNFIT;
    if (a->dims.n == b->dims.n)
        return matmul(a, b, 0);
    if (axis(a, -1) != axis(b, -2))
        return UNFIT;
    return PRODUCT(axis(a, -2), axis(a, -1), axis(b, -1));
}

int64_t sd_op_rule_distance(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *a = tensor_in(op, 0), *b = tensor_in(op, 1);

    (void)m;
    if (!a || !b || a->dims.n < 2 || b->dims.n < 2)
        return UNFIT;
    return matmul(a, b, SD_MATMUL_TURN_B);
}

/* Each operand is spread over all axes of one space, over those of its `expand` by
 * repeating; every point of that space is one term. */
static uint32_t n_numbers(const struct sd_attr *a)
{
    if (!a)
        return 0;
    return a->kind == SD_ATTR_INTS ? a->n : a->kind == SD_ATTR_INT;
}

static int64_t spread_axis(const struct sd_operand *o, const struct sd_attr *expand,
                           uint32_t at)
{
    uint32_t own = at;

    for (uint32_t i = 0; i < n_numbers(expand); i++) {
        int64_t repeated = sd_attr_number(expand, i, UNFIT);

        if (repeated == at)
            return 1;
        if (repeated < at)
            own--;
    }
    return own < o->dims.n ? o->dims.d[own] : UNFIT;
}

int64_t sd_op_rule_trilinear(const struct sd_model *m, const struct sd_model_op *op)
{
    static const char *const names[] = { "expand1", "expand2", "expand3" };
    const struct sd_attr *expand[3];
    int64_t all = 1;
    uint32_t n;

    for (size_t i = 0; i < 3; i++) {
        expand[i] = sd_attr_find(m, op->attrs, op->n_attrs, names[i]);
        if (!tensor_in(op, i))
            return UNFIT;
    }
    n = op->in[0].dims.n + n_numbers(expand[0]);
    if (n > SD_MODEL_DIMS_MAX)
        return UNFIT;
    for (uint32_t at = 0; at < n; at++) {
        int64_t size = 1;

        for (size_t i = 0; i < 3; i++) {
            int64_t own = spread_axis(&op->in[i], expand[i], at);

            if (own < 0 || !sd_shapes_axis_broadcast(size, own, &size))
                return UNFIT;
        }
        all = PRODUCT(all, size);
    }
    return all;
}

/* --- Convolutions */

/* Positions of a picture, over all samples: its elements without the channels' axis,
 * which stands before the `n_space` axes of space. */
static int64_t positions(const struct sd_operand *o, uint32_t n_space)
{
    int64_t all = 1;

    if (!o || o->dims.n < n_space + 1)
        return UNFIT;
    for (uint32_t i = 0; i < o->dims.n; i++)
        if (i != o->dims.n - n_space - 1)
            all = PRODUCT(all, o->dims.d[i]);
    return all;
}

static int64_t conv(const struct sd_operand *at, const struct sd_operand *weight)
{
    if (!weight || weight->dims.n < 3)
        return UNFIT;
    return PRODUCT(positions(at, weight->dims.n - 2), elements(weight));
}

/* The channels of its input are those of the weight, as often as there are groups. */
static bool fits_channels(const struct sd_operand *x, const struct sd_operand *weight)
{
    int64_t each = axis(weight, 1);

    if (!x || !weight || weight->dims.n < 3 || x->dims.n + 1 < weight->dims.n)
        return true; /* not known: the shape of its output is enough */
    return each <= 0 || x->dims.d[x->dims.n + 1 - weight->dims.n] % each == 0;
}

int64_t sd_op_rule_conv(const struct sd_model *m, const struct sd_model_op *op)
{
    if (sd_model_op_number(m, op, "transposed", 0, 0))
        return sd_op_rule_conv_transposed(m, op);
    if (!fits_channels(tensor_in(op, 0), tensor_in(op, 1)))
        return UNFIT;
    return conv(tensor_out(op), tensor_in(op, 1));
}

int64_t sd_op_rule_conv_transposed(const struct sd_model *m,
                                   const struct sd_model_op *op)
{
    (void)m;
    return conv(tensor_in(op, 0), tensor_in(op, 1));
}

int64_t sd_op_rule_conv_q(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return conv(tensor_out(op), tensor_in(op, 3));
}

/* (time, batch, channels) by (width, in, out) */
int64_t sd_op_rule_conv_tbc(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *out = tensor_out(op);

    (void)m;
    return PRODUCT(axis(out, 0), axis(out, 1), elements(tensor_in(op, 1)));
}

int64_t sd_op_rule_conv_backward(const struct sd_model *m, const struct sd_model_op *op)
{
    bool transposed = sd_model_op_number(m, op, "transposed", 0, 0) != 0;
    const struct sd_operand *at = tensor_in(op, transposed ? 1 : 0);

    return PRODUCT(conv(at, tensor_in(op, 2)), wanted(m, op));
}

/* --- Attention */

/* q, k and v of sdpa, from this input on: how many pairs of query and key there are in
 * all heads (k and v may have fewer heads than q), and how wide k and v are. */
struct attention {
    int64_t pairs, d, d_v;
};

static struct attention attention(const struct sd_model_op *op, size_t first)
{
    const struct sd_operand *q = tensor_in(op, first), *k = tensor_in(op, first + 1);
    const struct sd_operand *v = tensor_in(op, first + 2);
    struct attention a = { UNFIT, axis(q, -1), axis(v, -1) };
    int64_t lead = 1;

    if (!q || !k || !v || q->dims.n < 2 || axis(k, -1) != a.d ||
        axis(k, -2) != axis(v, -2))
        return a;
    for (uint32_t i = 0; i + 2 < q->dims.n; i++)
        lead = PRODUCT(lead, q->dims.d[i]);
    a.pairs = PRODUCT(lead, axis(q, -2), axis(k, -2));
    return a;
}

static struct attention flash(const struct sd_model_op *op, size_t first)
{
    const struct sd_operand *q = tensor_in(op, first), *k = tensor_in(op, first + 1);
    const struct sd_operand *v = tensor_in(op, first + 2);
    struct attention a = { UNFIT, axis(q, -1), axis(v, -1) };

    /* With three axes the sequences lie one behind the other, and where each ends
     * stands in a tensor's values. */
    if (!q || !k || !v || q->dims.n != 4 || k->dims.n != 4 || axis(k, -1) != a.d)
        return a;
    a.pairs = PRODUCT(axis(q, 0), axis(q, 2), axis(q, 1), axis(k, 1));
    return a;
}

static int64_t attention_forward(struct attention a)
{
    return sum(PRODUCT(a.pairs, a.d), PRODUCT(a.pairs, a.d_v));
}

/* The scores again (d), the gradients of probabilities and of v (d_v each), those of q
 * and k (d each). */
static int64_t attention_backward(struct attention a)
{
    return sum(PRODUCT(a.pairs, a.d, 3), PRODUCT(a.pairs, a.d_v, 2));
}

int64_t sd_op_rule_sdpa(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return attention_forward(attention(op, 0));
}

int64_t sd_op_rule_sdpa_backward(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return attention_backward(attention(op, 1));
}

int64_t sd_op_rule_flash(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return attention_forward(flash(op, 0));
}

int64_t sd_op_rule_flash_backward(const struct sd_model *m,
                                  const struct sd_model_op *op)
{
    (void)m;
    return attention_backward(flash(op, 1));
}

/* Of n_q queries and n_k keys of each of `batch` samples: the projection in (q, k and
 * v), both products of the attention, the projection out. */
static int64_t heads(int64_t batch, int64_t n_q, int64_t n_k, int64_t width)
{
    int64_t projections =
        sum(PRODUCT(2, batch, n_q, width, width), PRODUCT(2, batch, n_k, width, width));

    return sum(projections, PRODUCT(2, batch, n_q, n_k, width));
}

static int64_t self_attention(const struct sd_model_op *op, size_t parts)
{
    int64_t all = 0;

    if (parts == 0)
        return heads(axis(tensor_in(op, 0), 0), axis(tensor_in(op, 0), 1),
                     axis(tensor_in(op, 0), 1), axis(tensor_in(op, 0), 2));
    for (size_t i = 0; i < parts; i++)
        all = sum(all, heads(1, axis(&op->in[i], 0), axis(&op->in[i], 0),
                             axis(&op->in[i], 1)));
    return all;
}

int64_t sd_op_rule_multi_head(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *q = tensor_in(op, 0), *k = tensor_in(op, 1);

    (void)m;
    if (n_parts(op) > 0) /* of all three, and they are one: the fast path's condition */
        return self_attention(op, n_parts(op) / 3);
    return heads(axis(q, 0), axis(q, 1), axis(k, 1), axis(q, 2));
}

int64_t sd_op_rule_encoder_layer(const struct sd_model *m, const struct sd_model_op *op)
{
    enum { FEED_FORWARD_1 = 9, FEED_FORWARD_2 = 11 };
    size_t parts = n_parts(op), shift = parts > 0 ? parts - 1 : 0;
    int64_t tokens = 0, width = axis(tensor_in(op, 0), -1);
    int64_t weights = sum(elements(tensor_in(op, FEED_FORWARD_1 + shift)),
                          elements(tensor_in(op, FEED_FORWARD_2 + shift)));

    (void)m;
    for (size_t i = 0; i < (parts > 0 ? parts : 1); i++)
        tokens = sum(tokens, elements(tensor_in(op, i)));
    if (width <= 0 || tokens < 0)
        return UNFIT;
    return sum(self_attention(op, parts), PRODUCT(tokens / width, weights));
}

/* Keys that an earlier call has left. */
static int64_t past_keys(const struct sd_model_op *op, size_t i)
{
    const struct sd_operand *past = tensor_in(op, i);

    return past && past->dims.n >= 2 ? axis(past, -2) : 0;
}

/* With three axes the heads are in the last, and the attributes say how many. */
int64_t sd_op_rule_onnx_attention(const struct sd_model *m,
                                  const struct sd_model_op *op)
{
    const struct sd_operand *q = tensor_in(op, 0), *k = tensor_in(op, 1);
    const struct sd_operand *v = tensor_in(op, 2);
    int64_t n_q = sd_model_op_number(m, op, "q_num_heads", 0, UNFIT);
    int64_t n_kv = sd_model_op_number(m, op, "kv_num_heads", 0, n_q);
    int64_t n_keys = sum(axis(k, -2), past_keys(op, 4));

    if (!q || !k || !v)
        return UNFIT;
    if (q->dims.n == 4)
        return PRODUCT(axis(q, 0), axis(q, 1), axis(q, 2), n_keys,
                       sum(axis(q, 3), axis(v, 3)));
    if (q->dims.n != 3 || n_q <= 0 || n_kv <= 0)
        return UNFIT;
    return PRODUCT(axis(q, 0), axis(q, 1), n_keys,
                   sum(axis(q, 2), PRODUCT(axis(v, 2) / n_kv, n_q)));
}

/* input (b, s, k), weights (k, 3 n), or as qkv_hidden_sizes has it: q and k of one
 * width, v of another */
static int64_t packed_attention(const struct sd_model *m, const struct sd_model_op *op,
                                size_t past_at)
{
    const struct sd_operand *x = tensor_in(op, 0), *w = tensor_in(op, 1);
    int64_t keys = sum(axis(x, 1), past_keys(op, past_at)), third = axis(w, 1) / 3;
    int64_t n_q = sd_model_op_number(m, op, "qkv_hidden_sizes", 0, third);
    int64_t n_k = sd_model_op_number(m, op, "qkv_hidden_sizes", 1, third);
    int64_t n_v = sd_model_op_number(m, op, "qkv_hidden_sizes", 2, third);

    if (!x || !w || x->dims.n != 3 || w->dims.n != 2 || axis(x, 2) != axis(w, 0) ||
        n_q != n_k || sum(sum(n_q, n_k), n_v) != axis(w, 1))
        return UNFIT;
    return sum(PRODUCT(axis(x, 0), axis(x, 1), elements(w)),
               PRODUCT(axis(x, 0), axis(x, 1), keys, sum(n_q, n_v)));
}

int64_t sd_op_rule_microsoft_attention(const struct sd_model *m,
                                       const struct sd_model_op *op)
{
    return packed_attention(m, op, 4);
}

int64_t sd_op_rule_quantized_attention(const struct sd_model *m,
                                       const struct sd_model_op *op)
{
    return packed_attention(m, op, 8);
}

/* q (b, s, n), k (b, t, n), v (b, t, n_v); or k and v (b, heads, t, d) of another
 * sequence; or both in k, (b, t, heads, 2, d); or all in q, (b, s, heads, 3, d). */
int64_t sd_op_rule_microsoft_multi_head(const struct sd_model *m,
                                        const struct sd_model_op *op)
{
    const struct sd_operand *q = tensor_in(op, 0), *k = tensor_in(op, 1);
    const struct sd_operand *v = tensor_in(op, 2);
    int64_t past = past_keys(op, 6), width = axis(q, 2), width_v, keys;

    (void)m;
    if (q && q->dims.n == 5)
        return PRODUCT(2, axis(q, 0), axis(q, 1), sum(axis(q, 1), past), axis(q, 2),
                       axis(q, 4));
    if (!q || !k || q->dims.n != 3)
        return UNFIT;
    if (k->dims.n == 5) {
        keys = axis(k, 1);
        width_v = PRODUCT(axis(k, 2), axis(k, 4));
    } else if (v && k->dims.n == 4 && v->dims.n == 4) {
        keys = axis(k, 2);
        width_v = PRODUCT(axis(v, 1), axis(v, 3));
    } else if (v && k->dims.n == 3 && v->dims.n == 3 && width == axis(k, 2)) {
        keys = axis(k, 1);
        width_v = axis(v, 2);
    } else {
        return UNFIT;
    }
    return PRODUCT(axis(q, 0), axis(q, 1), sum(keys, past), sum(width, width_v));
}

/* q (b, s, heads * d), k and v (b, s, fewer heads * d); or both behind q in its last
 * axis. */
int64_t sd_op_rule_group_query(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_operand *q = tensor_in(op, 0), *k = tensor_in(op, 1);
    int64_t heads = sd_model_op_number(m, op, "num_heads", 0, UNFIT);
    int64_t kv_heads = sd_model_op_number(m, op, "kv_num_heads", 0, UNFIT);
    int64_t width = axis(q, 2), keys = k ? axis(k, 1) : axis(q, 1);

    if (!q || q->dims.n != 3 || (k && k->dims.n != 3))
        return UNFIT;
    if (!k) {
        if (heads <= 0 || kv_heads <= 0 || heads > 1 << 20 || kv_heads > 1 << 20)
            return UNFIT;
        width = width / (heads + 2 * kv_heads) * heads;
    }
    return PRODUCT(2, axis(q, 0), axis(q, 1), sum(keys, past_keys(op, 3)), width);
}

/* --- Recurrent layers */

/* Steps of all samples: each is one row of the input. */
static int64_t rows(const struct sd_operand *input)
{
    int64_t width = axis(input, -1);

    return width > 0 ? elements(input) / width : UNFIT;
}

int64_t sd_op_rule_rnn_layer(const struct sd_model *m, const struct sd_model_op *op)
{
    (void)m;
    return PRODUCT(rows(tensor_in(op, 0)),
                   sum(elements(tensor_in(op, 1)), elements(tensor_in(op, 2))));
}

/* The gradients of what went in, and of the weights. */
int64_t sd_op_rule_rnn_layer_backward(const struct sd_model *m,
                                      const struct sd_model_op *op)
{
    return PRODUCT(2, sd_op_rule_rnn_layer(m, op));
}

/* States have three axes, biases one. */
int64_t sd_op_rule_rnn_list(const struct sd_model *m, const struct sd_model_op *op)
{
    int64_t weights = 0;

    (void)m;
    for (size_t i = 1; i < op->n_in; i++)
        if (op->in[i].kind == SD_OPERAND_MEMBER && op->in[i].dims.n == 2)
            weights = sum(weights, elements(&op->in[i]));
    if (weights == 0 || !tensor_in(op, 0) || op->in[0].dims.n != 3)
        return UNFIT;
    return PRODUCT(rows(tensor_in(op, 0)), weights);
}

int64_t sd_op_rule_rnn_list_backward(const struct sd_model *m,
                                     const struct sd_model_op *op)
{
    return PRODUCT(2, sd_op_rule_rnn_list(m, op));
}

/* An LSTM's states are a list, others' a tensor. */
int64_t sd_op_rule_rnn_cell(const struct sd_model *m, const struct sd_model_op *op)
{
    size_t weights = 1;

    (void)m;
    while (weights < op->n_in && op->in[weights].kind == SD_OPERAND_MEMBER)
        weights++;
    if (weights == 1)
        weights = 2;
    return PRODUCT(rows(tensor_in(op, 0)), sum(elements(tensor_in(op, weights)),
                                               elements(tensor_in(op, weights + 1))));
}
