/* SPDX-License-Identifier: MIT */
/* rules_attention: attention as one operator, as processors run it, and whether they
 * would.
 *
 * torch chooses by the device how scaled_dot_product_attention runs.  On a processor
 * that is mostly one operator, which never holds the matrix of scores; without data it
 * is always products and a softmax, which keep that matrix for the backward.  So a
 * model that lives on a processor is asked here what torch would ask there. */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

enum { BATCH, HEADS, ROWS, WIDTH, AXES };

/* --- Outputs */

/* As the kernels lay it out: row after row, each with all its heads. */
static PyObject *rows_first(const struct sd_rule_call *c,
                            const struct sd_tensor_shape *s)
{
    const int64_t *d = s->dims;
    int64_t strides[AXES] = { d[HEADS] * d[ROWS] * d[WIDTH], d[WIDTH],
                              d[HEADS] * d[WIDTH], 1 };

    return sd_torch_make(c->torch, s->number, AXES, d, strides);
}

static PyObject *log_sums(const struct sd_rule_call *c,
                          const struct sd_meta_tensor *query)
{
    const int64_t *d = query->s.dims;
    int64_t strides[ROWS + 1] = { d[HEADS] * d[ROWS], 1, d[HEADS] };
    uint8_t number = sd_meta_is_wide(query) ? query->s.number : SD_TORCH_FLOAT32;

    return sd_torch_make(c->torch, number, ROWS + 1, d, strides);
}

/* Heads of the query may share those of key and value, in groups of one size. */
static bool fit(const struct sd_meta_tensor *query, const struct sd_meta_tensor *key,
                const struct sd_meta_tensor *value)
{
    const int64_t *q = query->s.dims, *k = key->s.dims, *v = value->s.dims;

    return query->s.n == AXES && key->s.n == AXES && value->s.n == AXES &&
           sd_meta_is_float(query) && query->s.number == key->s.number &&
           query->s.number == value->s.number && q[BATCH] == k[BATCH] &&
           q[BATCH] == v[BATCH] && k[HEADS] == v[HEADS] && k[HEADS] > 0 &&
           q[HEADS] % k[HEADS] == 0 && k[ROWS] == v[ROWS] && q[WIDTH] == k[WIDTH] &&
           q[WIDTH] == v[WIDTH];
}

/* query, key, value, ... */
PyObject *sd_rule_attention(const struct sd_rule_call *c)
{
    struct sd_meta_tensor query, key, value;

    if (!sd_meta_at(c, 0, &query) || !sd_meta_at(c, 1, &key) ||
        !sd_meta_at(c, 2, &value) || !fit(&query, &key, &value))
        return NULL;
    return sd_meta_pair(sd_meta_like(c, &query), log_sums(c, &query));
}

/* grad_out, query, key, value, ... */
PyObject *sd_rule_attention_backward(const struct sd_rule_call *c)
{
    struct sd_meta_tensor query, key, value;

    if (!sd_meta_at(c, 1, &query) || !sd_meta_at(c, 2, &key) ||
        !sd_meta_at(c, 3, &value) || !fit(&query, &key, &value))
        return NULL;
    return sd_meta_triple(rows_first(c, &query.s), rows_first(c, &key.s),
                          rows_first(c, &value.s));
}

/* --- Would a processor run it as one? */

/* With data or without; a mask may be a real one. */
static bool look_at(const struct sd_torch *t, PyObject *v, struct sd_meta_tensor *out)
{
    bool is_seen = sd_torch_is_tensor(t, v) && sd_torch_shape(t, v, &out->s) == 0 &&
                   !out->s.is_nested && !out->s.is_sparse &&
                   sd_torch_strides(v, &out->s, out->strides) == 0;

    PyErr_Clear();
    return is_seen;
}

static bool has_last_axis_whole(const struct sd_meta_tensor *t)
{
    return t->strides[t->s.n - 1] == 1;
}

static bool is_1_or(int64_t n, int64_t other) { return n == 1 || n == other; }

/* Two axes or four, each of 1 or of what it is a mask for. */
static bool is_mask_taken(const struct sd_meta_tensor *mask,
                          const struct sd_meta_tensor *query,
                          const struct sd_meta_tensor *key)
{
    const int64_t *m = mask->s.dims, *q = query->s.dims;
    unsigned n = mask->s.n;

    if ((n != 2 && n != AXES) || !is_1_or(m[n - 2], q[ROWS]) ||
        !is_1_or(m[n - 1], key->s.dims[ROWS]))
        return false;
    return n == 2 || (is_1_or(m[BATCH], q[BATCH]) && is_1_or(m[HEADS], q[HEADS]));
}

static bool is_learned(PyObject *tensor)
{
    PyObject *told = PyObject_GetAttrString(tensor, "requires_grad");
    bool is = told != Py_False;

    PyErr_Clear();
    Py_XDECREF(told);
    return is;
}

bool sd_attention_is_fused(const struct sd_torch *t, PyObject *query, PyObject *key,
                           PyObject *value, PyObject *mask)
{
    struct sd_meta_tensor q, k, v, m;

    if (!look_at(t, query, &q) || !look_at(t, key, &k) || !look_at(t, value, &v) ||
        !fit(&q, &k, &v) || sd_meta_shape_elements(&q.s) == 0 ||
        sd_meta_shape_elements(&k.s) == 0)
        return false;
    if (!has_last_axis_whole(&q) || !has_last_axis_whole(&k) ||
        !has_last_axis_whole(&v))
        return false;
    if (mask == Py_None)
        return true;
    return look_at(t, mask, &m) &&
           (m.s.number == SD_TORCH_BOOL || m.s.number == SD_TORCH_FLOAT32 ||
            m.s.number == q.s.number) &&
           is_mask_taken(&m, &q, &k) && !is_learned(mask);
}
