/* SPDX-License-Identifier: MIT */
/* Shapes of products: matrices, attention, recurrent nets, Einstein's sums.  As in
 * onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- Products */

/* numpy's: a vector on either side loses its axis in the result. */
static int give_matmul(const struct sd_onnx_step *s, const struct sd_onnx_value *a,
                       const struct sd_onnx_value *b, bool turn_a, bool turn_b)
{
    int64_t dims[AXES + 2];
    uint32_t n;

    if (!a || !b || a->n_dims == 0 || b->n_dims == 0)
        return 0;
    if (a->dims[a->n_dims - (turn_a && a->n_dims > 1 ? 2 : 1)] !=
            b->dims[b->n_dims - (turn_b || b->n_dims == 1 ? 1 : 2)] ||
        !sd_onnx_broadcast(a->dims, a->n_dims > 2 ? a->n_dims - 2 : 0, b->dims,
                           b->n_dims > 2 ? b->n_dims - 2 : 0, dims, &n))
        return sd_onnx_unfit(s, a, b, turn_a ? "transA" : turn_b ? "transB" : NULL);
    if (a->n_dims > 1)
        dims[n++] = a->dims[a->n_dims - (turn_a ? 1 : 2)];
    if (b->n_dims > 1)
        dims[n++] = b->dims[b->n_dims - (turn_b ? 2 : 1)];
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

/* --- Einstein's sums: letters are axes; "..." stands for leading ones */

struct einsum {
    int64_t letters[128]; /* -1: not met */
    int64_t rest[AXES];   /* of "..." */
    uint32_t n_rest;
    bool is_bad;
};

static void einsum_rest(struct einsum *e, const struct sd_onnx_value *v, uint32_t from,
                        uint32_t n)
{
    if (from + n > v->n_dims ||
        !sd_onnx_broadcast(e->rest, e->n_rest, v->dims + from, n, e->rest, &e->n_rest))
        e->is_bad = true;
}

static void einsum_term(struct einsum *e, const char *p, size_t n,
                        const struct sd_onnx_value *v)
{
    uint32_t n_letters = 0, at = 0;
    bool has_rest = false;

    for (size_t i = 0; i < n; i++)
        n_letters += p[i] != '.' && p[i] != ' ';
    if (!v || n_letters > v->n_dims) {
        e->is_bad = true;
        return;
    }
    for (size_t i = 0; i < n && !e->is_bad; i++) {
        if (p[i] == ' ')
            continue;
        if (p[i] == '.') { /* one "..." in a term takes all axes without a letter */
            if (has_rest || n - i < 3 || memcmp(p + i, "...", 3) != 0) {
                e->is_bad = true;
                return;
            }
            einsum_rest(e, v, at, v->n_dims - n_letters);
            at += v->n_dims - n_letters;
            has_rest = true;
            i += 2;
            continue;
        }
        if (at >= v->n_dims || (unsigned char)p[i] > 127) {
            e->is_bad = true;
            return;
        }
        if (e->letters[(int)p[i]] <= 1)
            e->letters[(int)p[i]] = v->dims[at];
        at++;
    }
}

/* Without "->" the result has the letters that are met once, in their order. */
static void einsum_implied(struct einsum *e, const char *p, size_t n,
                           int64_t dims[AXES], uint32_t *n_dims)
{
    for (uint32_t i = 0; i < e->n_rest; i++)
        dims[(*n_dims)++] = e->rest[i];
    for (int c = 'A'; c <= 'z'; c++) {
        unsigned times = 0;

        for (size_t i = 0; i < n; i++)
            times += p[i] == c;
        if (times == 1 && *n_dims < AXES)
            dims[(*n_dims)++] = e->letters[c];
    }
}

static void einsum_result(struct einsum *e, const char *p, size_t n, int64_t dims[AXES],
                          uint32_t *n_dims)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == ' ')
            continue;
        if (p[i] == '.' && i + 2 < n) {
            for (uint32_t k = 0; k < e->n_rest && *n_dims < AXES; k++)
                dims[(*n_dims)++] = e->rest[k];
            i += 2;
        } else if ((unsigned char)p[i] < 128 && *n_dims < AXES) {
            dims[(*n_dims)++] = e->letters[(int)p[i]];
        } else {
            e->is_bad = true;
        }
    }
}

RULE(einsum)
{
    struct einsum e = { .n_rest = 0 };
    struct sd_onnx_text text;
    int64_t dims[AXES];
    uint32_t n = 0, term = 0;
    const char *arrow, *p, *end;

    if (!sd_onnx_word(s->node, "equation", &text) || text.n == 0)
        return 0;
    for (int i = 0; i < 128; i++)
        e.letters[i] = -1;
    arrow = memmem(text.p, text.n, "->", 2);
    end = arrow ? arrow : text.p + text.n;
    for (p = text.p; p <= end && !e.is_bad; term++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;

        einsum_term(&e, p, (size_t)(stop - p), sd_onnx_shaped(s, term));
        p = stop + 1;
    }
    if (e.is_bad)
        return 0;
    if (arrow)
        einsum_result(&e, arrow + 2, (size_t)(text.p + text.n - arrow - 2), dims, &n);
    else
        einsum_implied(&e, text.p, text.n, dims, &n);
    return e.is_bad ? 0 : sd_onnx_give(s, 0, dims, n);
}
