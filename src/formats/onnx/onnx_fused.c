/* SPDX-License-Identifier: MIT */
/* onnx_fused: shapes of onnxruntime's fused operators (attention, embeddings, norms of
 * sums) and of quantised ones (numbers with scales and zero points).  As in
 * onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- Attention */

/* input (b, s, k), weights (k, q and k and v side by side); a past that all share has
 * (2, b, heads, t, d). */
static int give_packed_attention(const struct sd_onnx_step *s, uint32_t past_at)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *w = sd_onnx_shaped(s, 1);
    const struct sd_onnx_value *past = sd_onnx_shaped(s, past_at);
    int64_t heads = sd_onnx_int(s->node, "num_heads", 0), sizes[3], width;
    int rc;

    if (!x || !w || x->n_dims != 3 || w->n_dims != 2)
        return 0;
    width = sd_onnx_ints(s->node, "qkv_hidden_sizes", sizes, 3) == 3 ? sizes[2]
                                                                     : w->dims[1] / 3;
    rc = sd_onnx_give(s, 0, (int64_t[]){ x->dims[0], x->dims[1], width }, 3);
    if (rc < 0 || heads <= 0 || width < 0)
        return rc;
    return sd_onnx_give(
        s, 1,
        (int64_t[]){ 2, x->dims[0], heads,
                     sd_plus(x->dims[1], past && past->n_dims == 5 ? past->dims[3] : 0),
                     width / heads },
        5);
}

RULE(packed_attention) { return give_packed_attention(s, 4); }

RULE(quantized_attention)
{
    if (s->n_in > 3 && s->in[3])
        s->out[0]->dtype = s->in[3]->dtype; /* that of the scale */
    return give_packed_attention(s, 8);
}

/* query (b, s, n), or (b, s, heads, 3, d) with key and value in it; value (b, t, n_v),
 * or (b, heads, t, d_v) of another sequence; without one it is in the key, (b, t,
 * heads, 2, d). */
RULE(multi_head)
{
    const struct sd_onnx_value *q = sd_onnx_shaped(s, 0), *k = sd_onnx_shaped(s, 1);
    const struct sd_onnx_value *v = sd_onnx_shaped(s, 2);
    int64_t width = -1;

    if (!q || (q->n_dims != 3 && q->n_dims != 5))
        return 0;
    if (q->n_dims == 5)
        width = sd_times(q->dims[2], q->dims[4]);
    else if (v && v->n_dims == 3)
        width = v->dims[2];
    else if (v && v->n_dims == 4)
        width = sd_times(v->dims[1], v->dims[3]);
    else if (k && k->n_dims == 5)
        width = q->dims[2];
    return sd_onnx_give(s, 0, (int64_t[]){ q->dims[0], q->dims[1], width }, 3);
}

/* query (b, s, heads * d), or with key and value behind it. */
RULE(group_query)
{
    const struct sd_onnx_value *q = sd_onnx_shaped(s, 0), *past = sd_onnx_shaped(s, 3);
    int64_t heads = sd_onnx_int(s->node, "num_heads", 0);
    int64_t kv_heads = sd_onnx_int(s->node, "kv_num_heads", 0);
    int64_t dims[4] = { 0 }, d;
    int rc;

    if (!q || q->n_dims != 3 || heads <= 0 || kv_heads <= 0 || heads > 1 << 20 ||
        kv_heads > 1 << 20)
        return 0;
    d = q->dims[2] / (s->n_in > 1 && s->in[1] ? heads : heads + 2 * kv_heads);
    rc = sd_onnx_give(s, 0, (int64_t[]){ q->dims[0], q->dims[1], heads * d }, 3);
    dims[0] = q->dims[0];
    dims[1] = kv_heads;
    dims[2] = sd_plus(q->dims[1], past && past->n_dims == 4 ? past->dims[2] : 0);
    dims[3] = d;
    for (uint32_t i = 1; i < 3 && rc == 0; i++)
        rc = sd_onnx_give(s, i, dims, 4);
    return rc;
}

/* --- Norms and embeddings */

/* The sum that is normalised comes out too, last. */
RULE(skip_norm)
{
    int rc = sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));

    return rc == 0 ? sd_onnx_give_like(s, 3, sd_onnx_shaped(s, 0)) : rc;
}

/* ids (b, s), kinds of token, words (n, width), ... */
RULE(embed_norm)
{
    const struct sd_onnx_value *ids = sd_onnx_shaped(s, 0);
    const struct sd_onnx_value *words = sd_onnx_shaped(s, 2);
    int64_t dims[3];
    int rc;

    if (!ids || !words || ids->n_dims != 2 || words->n_dims != 2)
        return 0;
    memcpy(dims, ids->dims, 2 * sizeof *dims);
    dims[2] = words->dims[1];
    s->out[0]->dtype = words->dtype;
    rc = sd_onnx_give(s, 0, dims, 3);
    if (rc == 0)
        rc = sd_onnx_give(s, 1, dims, 1); /* how long each is */
    if (rc == 0 && s->n_out > 2) {
        s->out[2]->dtype = words->dtype;
        rc = sd_onnx_give(s, 2, dims, 3);
    }
    return rc;
}

RULE(half) /* one half of the last axis by the other */
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t dims[AXES];

    if (!x || x->n_dims == 0)
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    dims[x->n_dims - 1] /= 2;
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* --- With scales and zero points */

static int give_broadcast(const struct sd_onnx_step *s, const uint32_t *of, uint32_t n)
{
    int64_t dims[AXES];
    uint32_t n_dims = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct sd_onnx_value *v = sd_onnx_shaped(s, of[i]);

        if (!v || !sd_dims_broadcast((struct sd_dims){ dims, n_dims }, sd_onnx_dims(v),
                                     dims, &n_dims))
            return 0;
    }
    return sd_onnx_give(s, 0, dims, n_dims);
}

RULE(quantized_pair) { return give_broadcast(s, (uint32_t[]){ 0, 3 }, 2); }

RULE(quantized_where)
{
    if (s->n_in > 1 && s->in[1])
        s->out[0]->dtype = s->in[1]->dtype;
    return give_broadcast(s, (uint32_t[]){ 0, 1, 4 }, 3);
}

/* The scale and zero point of the result, then each with its own. */
RULE(quantized_concat)
{
    const struct sd_onnx_value *first = sd_onnx_shaped(s, 2);
    int64_t dims[AXES];
    uint32_t axis;

    if (!first ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 1), first->n_dims, &axis))
        return 0;
    s->out[0]->dtype = first->dtype;
    memcpy(dims, first->dims, first->n_dims * sizeof *dims);
    for (uint32_t i = 5; i < s->n_in; i += 3)
        if (!sd_onnx_join(dims, first->n_dims, axis, sd_onnx_shaped(s, i)))
            return 0;
    return sd_onnx_give(s, 0, dims, first->n_dims);
}

RULE(quantized_global_pool)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    bool is_last = sd_onnx_int(s->node, "channels_last", 0) != 0;
    int64_t dims[AXES];

    if (!x || x->n_dims < 2)
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++)
        dims[i] = i == 0 || i == (is_last ? x->n_dims - 1 : 1) ? x->dims[i] : 1;
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* The formulas have the channels first. */
static bool is_channels_last(const struct sd_onnx_step *s)
{
    return sd_onnx_int(s->node, "channels_last", 0) != 0;
}

RULE(quantized_pool) { return is_channels_last(s) ? 0 : sd_onnx_shape_pool(s); }

RULE(quantized_conv_2)
{
    return is_channels_last(s) ? 0 : sd_onnx_shape_quantized_conv(s);
}

RULE(matmul_scaled) /* a and b, then their scales */
{
    if (s->n_in > 2 && s->in[2])
        s->out[0]->dtype = s->in[2]->dtype;
    return sd_onnx_shape_matmul(s);
}

RULE(quantized_gemm)
{
    const struct sd_onnx_value *a = sd_onnx_shaped(s, 0), *b = sd_onnx_shaped(s, 3);
    bool turn_a = sd_onnx_int(s->node, "transA", 0) != 0;
    bool turn_b = sd_onnx_int(s->node, "transB", 0) != 0;

    if (!a || !b || a->n_dims != 2 || b->n_dims != 2)
        return 0;
    if (s->n_in > 1 && s->in[1] && (s->n_in < 8 || !s->in[7])) /* no scale to go to */
        s->out[0]->dtype = s->in[1]->dtype;
    return sd_onnx_give(s, 0, (int64_t[]){ a->dims[turn_a], b->dims[!turn_b] }, 2);
}

/* Rows of a table whose last axis has several numbers in a byte. */
RULE(gather_blocks)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *at = sd_onnx_shaped(s, 1);
    int64_t bits = sd_onnx_int(s->node, "bits", 4), dims[2 * AXES];
    uint32_t axis, packed, n = 0;

    if (s->n_in > 2 && s->in[2])
        s->out[0]->dtype = s->in[2]->dtype;
    if (!x || !at ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "gather_axis", 0), x->n_dims,
                             &axis) ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "quantize_axis", 1), x->n_dims,
                             &packed) ||
        bits < 1 || bits > 8)
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (i != axis)
            dims[n++] = i == packed && x->dtype == SD_DTYPE_U8
                            ? sd_times(x->dims[i], 8 / bits)
                            : x->dims[i];
        for (uint32_t k = 0; i == axis && k < at->n_dims; k++)
            dims[n++] = at->dims[k];
    }
    return sd_onnx_give(s, 0, dims, n);
}
