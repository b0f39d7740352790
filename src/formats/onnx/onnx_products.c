/* SPDX-License-Identifier: MIT */
/* onnx_products: shapes of products: matrices, attention, recurrent nets, einsum.  As
 * in onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- Products */

static int give_matmul(const struct sd_onnx_step *s, const struct sd_onnx_value *a,
                       const struct sd_onnx_value *b, bool turn_a, bool turn_b)
{
    unsigned flags = (turn_a ? SD_MATMUL_TURN_A : 0) | (turn_b ? SD_MATMUL_TURN_B : 0);
    int64_t dims[AXES], inner;
    uint32_t n;

    if (!a || !b || a->n_dims == 0 || b->n_dims == 0)
        return 0;
    if (!sd_dims_matmul(sd_onnx_dims(a), sd_onnx_dims(b), flags, dims, &n, &inner))
        return sd_onnx_unfit(s, a, b, turn_a ? "transA" : turn_b ? "transB" : NULL);
    return sd_onnx_give(s, 0, dims, n);
}

RULE(matmul)
{
    return give_matmul(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 1),
                       sd_onnx_int(s->node, "transA", 0) != 0,
                       sd_onnx_int(s->node, "transB", 0) != 0);
}

/* The first axis behind the others, but before the last. */
static struct sd_onnx_value batches_first(const struct sd_onnx_value *v,
                                          int64_t dims[AXES])
{
    struct sd_onnx_value turned = *v;

    if (v->n_dims < 3)
        return turned;
    memcpy(dims, v->dims + 1, (v->n_dims - 2) * sizeof *dims);
    dims[v->n_dims - 2] = v->dims[0];
    dims[v->n_dims - 1] = v->dims[v->n_dims - 1];
    turned.dims = dims;
    return turned;
}

RULE(fused_matmul)
{
    const struct sd_onnx_value *a = sd_onnx_shaped(s, 0), *b = sd_onnx_shaped(s, 1);
    struct sd_onnx_value turned_a, turned_b;
    int64_t dims_a[AXES], dims_b[AXES];

    if (!a || !b)
        return 0;
    if (sd_onnx_int(s->node, "transBatchA", 0)) {
        turned_a = batches_first(a, dims_a);
        a = &turned_a;
    }
    if (sd_onnx_int(s->node, "transBatchB", 0)) {
        turned_b = batches_first(b, dims_b);
        b = &turned_b;
    }
    return give_matmul(s, a, b, sd_onnx_int(s->node, "transA", 0) != 0,
                       sd_onnx_int(s->node, "transB", 0) != 0);
}

RULE(matmul_integer)
{
    s->out[0]->dtype = SD_DTYPE_I32;
    return give_matmul(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 1), false, false);
}

RULE(quantized_matmul) /* a, its scale and zero; b, its scale and zero */
{
    return give_matmul(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 3), false, false);
}

RULE(matmul_bits) /* the weight is packed: its shape is in the attributes */
{
    const struct sd_onnx_value *a = sd_onnx_shaped(s, 0);
    int64_t dims[AXES];

    if (!a || a->n_dims == 0)
        return 0;
    memcpy(dims, a->dims, a->n_dims * sizeof *dims);
    dims[a->n_dims - 1] = sd_onnx_int(s->node, "N", -1);
    return sd_onnx_give(s, 0, dims, a->n_dims);
}

RULE(gemm)
{
    const struct sd_onnx_value *a = sd_onnx_shaped(s, 0), *b = sd_onnx_shaped(s, 1);

    if (!a || !b || a->n_dims != 2 || b->n_dims != 2)
        return 0;
    return sd_onnx_shape_matmul(s);
}

/* Heads first (B, H, S, D), or folded into the last axis (B, S, H * D). */
RULE(attention)
{
    const struct sd_onnx_value *q = sd_onnx_shaped(s, 0), *v = sd_onnx_shaped(s, 2);
    int64_t q_heads = sd_onnx_int(s->node, "q_num_heads", 0);
    int64_t kv_heads = sd_onnx_int(s->node, "kv_num_heads", 0);
    int64_t dims[4];

    if (!q || !v || q->n_dims != v->n_dims || (q->n_dims != 4 && q->n_dims != 3))
        return 0;
    memcpy(dims, q->dims, q->n_dims * sizeof *dims);
    if (q->n_dims == 4)
        dims[3] = v->dims[3];
    else if (q_heads > 0 && kv_heads > 0 && q_heads < 1 << 20)
        dims[2] = v->dims[2] / kv_heads * q_heads;
    else
        return 0;
    return sd_onnx_give(s, 0, dims, q->n_dims);
}

static int give_recurrent(const struct sd_onnx_step *s, uint32_t hidden_at)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *r = sd_onnx_shaped(s, 2);
    bool batch_first = sd_onnx_int(s->node, "layout", 0) != 0;
    int64_t steps, batch, ways, hidden;
    int rc;

    if (!x || !r || x->n_dims != 3 || r->n_dims != 3)
        return 0;
    steps = x->dims[batch_first ? 1 : 0];
    batch = x->dims[batch_first ? 0 : 1];
    ways = r->dims[0];
    hidden = r->dims[hidden_at];
    rc = batch_first ? sd_onnx_give(s, 0, (int64_t[]){ batch, steps, ways, hidden }, 4)
                     : sd_onnx_give(s, 0, (int64_t[]){ steps, ways, batch, hidden }, 4);
    for (uint32_t i = 1; i < s->n_out && i < 3 && rc == 0; i++)
        rc = batch_first ? sd_onnx_give(s, i, (int64_t[]){ batch, ways, hidden }, 3)
                         : sd_onnx_give(s, i, (int64_t[]){ ways, batch, hidden }, 3);
    return rc;
}

RULE(recurrent) { return give_recurrent(s, 2); }

RULE(recurrent_turned) { return give_recurrent(s, 1); } /* weights are transposed */

/* --- Einstein's sums */

RULE(einsum)
{
    struct sd_dims operands[SD_EINSUM_TERMS_MAX];
    int64_t dims[SD_EINSUM_LETTERS];
    struct sd_onnx_text text;
    struct sd_einsum e;

    if (s->n_in > SD_EINSUM_TERMS_MAX || !sd_onnx_word(s->node, "equation", &text))
        return 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        if (!sd_onnx_shaped(s, i))
            return 0;
        operands[i] = sd_onnx_dims(s->in[i]);
    }
    if (text.n == 0 || !sd_shapes_einsum_read(text.p, text.n, operands, s->n_in, &e))
        return 0;
    for (uint32_t i = 0; i < e.n_out; i++)
        dims[i] = e.sizes[e.order[i]];
    return sd_onnx_give(s, 0, dims, e.n_out);
}
