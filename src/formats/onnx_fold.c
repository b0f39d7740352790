/* SPDX-License-Identifier: MIT */
/* Elements are computed where all that they need is known and they are few; where not,
 * the output has none, and whoever needs them says so.  Shapes are worked out before:
 * an output without a shape is not computed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "formats/onnx_parts.h"

#define FOLD(name) int sd_onnx_fold_##name(const struct sd_onnx_step *s)

static const struct sd_onnx_elements *known(const struct sd_onnx_step *s, uint32_t i)
{
    const struct sd_onnx_value *v = sd_onnx_shaped(s, i);

    return v && v->elements && (int64_t)v->elements->n == sd_onnx_count(v) ? v->elements
                                                                           : NULL;
}

static struct sd_onnx_elements *fresh(const struct sd_onnx_step *s, uint32_t out,
                                      bool is_real, int *rc)
{
    *rc = 0;
    if (!s->out[out]->has_dims)
        return NULL;
    return sd_onnx_elements(s->x, sd_onnx_count(s->out[out]), is_real, rc);
}

static double real_at(const struct sd_onnx_elements *e, uint32_t i)
{
    return e->is_real ? e->real[i] : (double)e->whole[i];
}

/* What a whole number cannot hold becomes 0; no shape is made of it. */
static int64_t whole_at(const struct sd_onnx_elements *e, uint32_t i)
{
    if (!e->is_real)
        return e->whole[i];
    return e->real[i] > -9e18 && e->real[i] < 9e18 ? (int64_t)e->real[i] : 0;
}

static void copy_at(struct sd_onnx_elements *to, uint32_t at,
                    const struct sd_onnx_elements *from, uint32_t i)
{
    if (to->is_real)
        to->real[at] = real_at(from, i);
    else
        to->whole[at] = whole_at(from, i);
}

FOLD(none)
{
    (void)s;
    return 0;
}

FOLD(same)
{
    const struct sd_onnx_elements *e = known(s, 0);

    if (e && s->out[0]->has_dims && sd_onnx_count(s->out[0]) == (int64_t)e->n)
        s->out[0]->elements = e;
    return 0;
}

FOLD(cast)
{
    const struct sd_onnx_elements *e = known(s, 0);
    uint8_t to = s->out[0]->dtype;
    bool is_real = to == SD_DTYPE_F32 || to == SD_DTYPE_F64 || to == SD_DTYPE_F16 ||
                   to == SD_DTYPE_BF16;
    struct sd_onnx_elements *out;
    int rc;

    if (!e)
        return 0;
    out = fresh(s, 0, is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++) {
        copy_at(out, i, e, i);
        if (to == SD_DTYPE_BOOL)
            out->whole[i] = real_at(e, i) != 0;
    }
    s->out[0]->elements = out;
    return rc;
}

FOLD(size)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_elements *e;
    int rc;

    if (!x)
        return 0;
    e = sd_onnx_elements(s->x, 1, false, &rc);
    if (e)
        e->whole[0] = sd_onnx_count(x);
    s->out[0]->elements = e;
    return rc;
}

/* Along the first axis, or of a list: other axes make no shapes. */
FOLD(gather)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *e = known(s, 0), *at = known(s, 1);
    int64_t axis = sd_onnx_int(s->node, "axis", 0), row;
    struct sd_onnx_elements *out;
    int rc;

    if (!e || !at || at->is_real || x->n_dims == 0 || x->dims[0] == 0 ||
        (axis != 0 && axis != -(int64_t)x->n_dims))
        return 0;
    row = (int64_t)e->n / x->dims[0];
    out = fresh(s, 0, e->is_real, &rc);
    for (uint32_t i = 0; out && row && i < out->n; i++) {
        int64_t from = at->whole[i / row];

        if (from < 0)
            from += x->dims[0];
        if (from < 0 || from >= x->dims[0])
            return 0;
        copy_at(out, i, e, (uint32_t)(from * row + i % row));
    }
    s->out[0]->elements = out;
    return rc;
}

/* Of lists. */
FOLD(concat)
{
    struct sd_onnx_elements *out;
    uint32_t at = 0;
    int rc;

    if (!s->out[0]->has_dims || s->out[0]->n_dims != 1 || !known(s, 0))
        return 0;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (!known(s, i))
            return 0;
    out = fresh(s, 0, known(s, 0)->is_real, &rc);
    for (uint32_t i = 0; out && i < s->n_in; i++) {
        const struct sd_onnx_elements *e = known(s, i);

        for (uint32_t k = 0; k < e->n && at < out->n; k++)
            copy_at(out, at++, e, k);
    }
    s->out[0]->elements = out;
    return rc;
}

FOLD(split)
{
    const struct sd_onnx_elements *e = known(s, 0);
    uint32_t at = 0;
    int rc = 0;

    if (!e || s->in[0]->n_dims != 1)
        return 0;
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++) {
        struct sd_onnx_elements *out = fresh(s, i, e->is_real, &rc);

        if (!out || out->n > e->n - at)
            return rc;
        for (uint32_t k = 0; k < out->n; k++)
            copy_at(out, k, e, at++);
        s->out[i]->elements = out;
    }
    return rc;
}

/* --- Arithmetic, with broadcasting */

/* Which element of `v` stands at place `at` of a result of these axes. */
static uint32_t place_in(const struct sd_onnx_value *v, const struct sd_onnx_value *out,
                         uint32_t at)
{
    int64_t place = 0, size = 1, left = at;

    for (uint32_t i = 0; i < out->n_dims; i++) { /* from the last axis */
        int64_t length = out->dims[out->n_dims - 1 - i];

        if (i < v->n_dims && v->dims[v->n_dims - 1 - i] != 1) {
            place += left % length * size;
            size *= length;
        }
        left /= length;
    }
    return (uint32_t)place;
}

/* By -1 nothing is left; the processor traps on the least number by it. */
static int64_t remainder_of(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = remainder_of(a, b);

    return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t power(int64_t base, int64_t exponent)
{
    uint64_t v = 1, b = (uint64_t)base;

    if (exponent < 0)
        return 0;
    for (; exponent; exponent >>= 1, b *= b)
        if (exponent & 1)
            v *= b;
    return (int64_t)v;
}

/* An operator of two, its attributes looked up once for all elements. */
struct arithmetic {
    struct sd_onnx_text op;
    bool is_truncated; /* of Mod: the sign of what is divided, as C has it */
};

/* False: it is none (a division by 0). */
static bool of_wholes(const struct arithmetic *how, int64_t a, int64_t b, int64_t *out)
{
    struct sd_onnx_text op = how->op;

    if (sd_onnx_text_is(op, "Add"))
        *out = (int64_t)((uint64_t)a + (uint64_t)b);
    else if (sd_onnx_text_is(op, "Sub"))
        *out = (int64_t)((uint64_t)a - (uint64_t)b);
    else if (sd_onnx_text_is(op, "Mul"))
        *out = (int64_t)((uint64_t)a * (uint64_t)b);
    else if (sd_onnx_text_is(op, "Div") && b != 0)
        *out = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    else if (sd_onnx_text_is(op, "Mod") && b != 0)
        *out = how->is_truncated ? remainder_of(a, b) : floor_mod(a, b);
    else if (sd_onnx_text_is(op, "Pow"))
        *out = power(a, b);
    else if (sd_onnx_text_is(op, "Max"))
        *out = a > b ? a : b;
    else if (sd_onnx_text_is(op, "Min"))
        *out = a < b ? a : b;
    else if (sd_onnx_text_is(op, "BitwiseAnd"))
        *out = a & b;
    else if (sd_onnx_text_is(op, "BitwiseOr"))
        *out = a | b;
    else if (sd_onnx_text_is(op, "BitwiseXor"))
        *out = a ^ b;
    else
        return false;
    return true;
}

static bool of_reals(struct sd_onnx_text op, double a, double b, double *out)
{
    if (sd_onnx_text_is(op, "Add"))
        *out = a + b;
    else if (sd_onnx_text_is(op, "Sub"))
        *out = a - b;
    else if (sd_onnx_text_is(op, "Mul"))
        *out = a * b;
    else if (sd_onnx_text_is(op, "Div"))
        *out = b == 0 ? 0 : a / b;
    else if (sd_onnx_text_is(op, "Max"))
        *out = a > b ? a : b;
    else if (sd_onnx_text_is(op, "Min"))
        *out = a < b ? a : b;
    else
        return false;
    return true;
}

static bool compare(struct sd_onnx_text op, double a, double b, int64_t *out)
{
    if (sd_onnx_text_is(op, "Equal"))
        *out = a == b;
    else if (sd_onnx_text_is(op, "Less"))
        *out = a < b;
    else if (sd_onnx_text_is(op, "LessOrEqual"))
        *out = a <= b;
    else if (sd_onnx_text_is(op, "Greater"))
        *out = a > b;
    else if (sd_onnx_text_is(op, "GreaterOrEqual"))
        *out = a >= b;
    else if (sd_onnx_text_is(op, "And"))
        *out = a != 0 && b != 0;
    else if (sd_onnx_text_is(op, "Or"))
        *out = a != 0 || b != 0;
    else if (sd_onnx_text_is(op, "Xor"))
        *out = (a != 0) != (b != 0);
    else
        return false;
    return true;
}

static bool pair(const struct arithmetic *how, const struct sd_onnx_elements *a,
                 uint32_t i, const struct sd_onnx_elements *b, uint32_t k,
                 struct sd_onnx_elements *out, uint32_t at)
{
    if (out->is_real)
        return of_reals(how->op, real_at(a, i), real_at(b, k), &out->real[at]);
    if (compare(how->op, real_at(a, i), real_at(b, k), &out->whole[at]))
        return true;
    return of_wholes(how, whole_at(a, i), whole_at(b, k), &out->whole[at]);
}

FOLD(pairs)
{
    const struct arithmetic how = { s->node->op, sd_onnx_int(s->node, "fmod", 0) != 0 };
    const struct sd_onnx_elements *a = known(s, 0), *b = known(s, 1);
    struct sd_onnx_elements *out;
    bool is_real;
    int rc;

    if (!a || !b || s->n_in != 2)
        return 0;
    is_real = (a->is_real || b->is_real) && s->out[0]->dtype != SD_DTYPE_BOOL;
    out = fresh(s, 0, is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++)
        if (!pair(&how, a, place_in(s->in[0], s->out[0], i), b,
                  place_in(s->in[1], s->out[0], i), out, i))
            return 0;
    s->out[0]->elements = out;
    return rc;
}

FOLD(where)
{
    const struct sd_onnx_elements *is = known(s, 0), *a = known(s, 1), *b = known(s, 2);
    struct sd_onnx_elements *out;
    int rc;

    if (!is || !a || !b)
        return 0;
    out = fresh(s, 0, a->is_real || b->is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++) {
        if (real_at(is, place_in(s->in[0], s->out[0], i)) != 0)
            copy_at(out, i, a, place_in(s->in[1], s->out[0], i));
        else
            copy_at(out, i, b, place_in(s->in[2], s->out[0], i));
    }
    s->out[0]->elements = out;
    return rc;
}

static double of_real(struct sd_onnx_text op, double v)
{
    if (sd_onnx_text_is(op, "Neg"))
        return -v;
    if (sd_onnx_text_is(op, "Abs"))
        return v < 0 ? -v : v;
    if (sd_onnx_text_is(op, "Floor"))
        return __builtin_floor(v);
    if (sd_onnx_text_is(op, "Ceil"))
        return __builtin_ceil(v);
    if (sd_onnx_text_is(op, "Sqrt"))
        return v < 0 ? 0 : __builtin_sqrt(v);
    return v == 0 ? 0 : 1 / v; /* Reciprocal */
}

FOLD(single)
{
    const struct sd_onnx_elements *e = known(s, 0);
    struct sd_onnx_text op = s->node->op;
    struct sd_onnx_elements *out;
    int rc;

    if (!e)
        return 0;
    out = fresh(s, 0, e->is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++) {
        if (out->is_real)
            out->real[i] = of_real(op, e->real[i]);
        else if (sd_onnx_text_is(op, "Not"))
            out->whole[i] = !e->whole[i];
        else if (sd_onnx_text_is(op, "Neg") ||
                 (sd_onnx_text_is(op, "Abs") && e->whole[i] < 0))
            out->whole[i] = (int64_t)(0 - (uint64_t)e->whole[i]);
        else
            out->whole[i] = e->whole[i];
    }
    s->out[0]->elements = out;
    return rc;
}

/* All elements to one: what shapes need.  None of them have a product (the elements of
 * a single number) and a sum, but no largest and no smallest. */
FOLD(reduce)
{
    const struct sd_onnx_elements *e = known(s, 0);
    struct sd_onnx_text op = s->node->op;
    bool is_product = sd_onnx_text_is(op, "ReduceProd");
    struct sd_onnx_elements *out;
    int64_t sum;
    int rc;

    if (!e || e->is_real || !s->out[0]->has_dims || sd_onnx_count(s->out[0]) != 1 ||
        (e->n == 0 && !is_product && !sd_onnx_text_is(op, "ReduceSum")))
        return 0;
    sum = e->n ? e->whole[0] : is_product;
    for (uint32_t i = 1; i < e->n; i++) {
        int64_t v = e->whole[i];

        if (is_product)
            sum = (int64_t)((uint64_t)sum * (uint64_t)v);
        else if (sd_onnx_text_is(op, "ReduceSum"))
            sum = (int64_t)((uint64_t)sum + (uint64_t)v);
        else if (sd_onnx_text_is(op, "ReduceMax"))
            sum = v > sum ? v : sum;
        else
            sum = v < sum ? v : sum;
    }
    out = fresh(s, 0, false, &rc);
    if (out)
        out->whole[0] = sum;
    s->out[0]->elements = out;
    return rc;
}

/* --- New ones */

FOLD(range)
{
    const struct sd_onnx_elements *start = known(s, 0), *step = known(s, 2);
    struct sd_onnx_elements *out;
    int rc;

    if (!start || !step || start->n != 1 || step->n != 1)
        return 0;
    out = fresh(s, 0, start->is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++) {
        if (out->is_real)
            out->real[i] = start->real[0] + real_at(step, 0) * i;
        else
            out->whole[i] =
                (int64_t)((uint64_t)start->whole[0] + (uint64_t)whole_at(step, 0) * i);
    }
    s->out[0]->elements = out;
    return rc;
}

FOLD(fill)
{
    const struct sd_onnx_elements *value = NULL;
    struct sd_onnx_elements *out;
    struct sd_onnx_tensor t;
    struct sd_onnx_attr a;
    int rc = 0;

    if (sd_onnx_attr_find(s->node, "value", &a) && a.has_tensor) {
        rc = sd_onnx_tensor_read(a.tensor, &t);
        if (rc == 0)
            rc = sd_onnx_tensor_elements(s->x, &t, &value);
        if (rc < 0 || !value || value->n != 1)
            return rc;
    }
    out = fresh(s, 0, value ? value->is_real : true, &rc);
    for (uint32_t i = 0; out && value && i < out->n; i++)
        copy_at(out, i, value, 0);
    s->out[0]->elements = out;
    return rc;
}

FOLD(expand)
{
    const struct sd_onnx_elements *e = known(s, 0);
    struct sd_onnx_elements *out;
    int rc;

    if (!e)
        return 0;
    out = fresh(s, 0, e->is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++)
        copy_at(out, i, e, place_in(s->in[0], s->out[0], i));
    s->out[0]->elements = out;
    return rc;
}

static int fold_list(const struct sd_onnx_step *s, const struct sd_onnx_attr *a)
{
    uint32_t n = sd_onnx_attr_ints(a, NULL, 0);
    struct sd_onnx_elements *out;
    int rc;

    out = sd_onnx_elements(s->x, n, false, &rc);
    if (out)
        sd_onnx_attr_ints(a, out->whole, out->n);
    s->out[0]->elements = out;
    return rc;
}

FOLD(constant)
{
    struct sd_onnx_elements *out;
    struct sd_onnx_tensor t;
    struct sd_onnx_attr a;
    int rc;

    if (sd_onnx_attr_find(s->node, "value", &a) && a.has_tensor) {
        rc = sd_onnx_tensor_read(a.tensor, &t);
        return rc < 0 ? rc : sd_onnx_tensor_elements(s->x, &t, &s->out[0]->elements);
    }
    if (sd_onnx_attr_find(s->node, "value_ints", &a))
        return fold_list(s, &a);
    if (!sd_onnx_attr_find(s->node, "value_int", &a) &&
        !sd_onnx_attr_find(s->node, "value_float", &a))
        return 0;
    out = sd_onnx_elements(s->x, 1, !a.has_number, &rc);
    if (out && a.has_number)
        out->whole[0] = a.number;
    else if (out)
        out->real[0] = a.real;
    s->out[0]->elements = out;
    return rc;
}
