/* SPDX-License-Identifier: MIT */
/* onnx_fold: computes elements where all that they need is known and they are few;
 * where not, the output has none, and whoever needs them says so.  Shapes are worked
 * out before: an output without a shape is not computed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "formats/onnx/onnx_parts.h"

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

/* May so many elements be looked at?  What is made pays for itself (sd_onnx_elements);
 * this is for work that is more than what it makes. */
static bool may_work(const struct sd_onnx_step *s, uint64_t elements)
{
    if (elements > s->x->fold_left)
        return false;
    s->x->fold_left -= elements;
    return true;
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

FOLD(shape)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_elements *e;
    int64_t from, to;
    int rc;

    if (!x)
        return 0;
    sd_onnx_axes_taken(s, x->n_dims, &from, &to);
    e = sd_onnx_elements(s->x, to - from, false, &rc);
    for (int64_t i = from; e && i < to; i++)
        e->whole[i - from] = x->dims[i];
    s->out[0]->elements = e;
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

/* May all elements of the output be looked up so? */
static bool may_place(const struct sd_onnx_step *s)
{
    const struct sd_onnx_value *y = s->out[0];
    int64_t n = y->has_dims ? sd_onnx_count(y) : 0;

    return y->has_dims && n <= SD_ONNX_FOLD_MAX && may_work(s, (uint64_t)n * y->n_dims);
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

enum arithmetic {
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    FMOD,
    POW,
    MAX,
    MIN,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    AND,
    OR,
    XOR,
};

/* Looked up once for all elements; false: there is none of this name. */
static bool arithmetic_of(const struct sd_onnx_node *node, enum arithmetic *op)
{
    static const struct {
        const char *name;
        enum arithmetic op;
    } all[] = { { "Add", ADD },
                { "Sub", SUB },
                { "Mul", MUL },
                { "Div", DIV },
                { "Mod", MOD },
                { "Pow", POW },
                { "Max", MAX },
                { "Min", MIN },
                { "BitwiseAnd", BIT_AND },
                { "BitwiseOr", BIT_OR },
                { "BitwiseXor", BIT_XOR },
                { "Equal", EQUAL },
                { "Less", LESS },
                { "LessOrEqual", LESS_EQUAL },
                { "Greater", GREATER },
                { "GreaterOrEqual", GREATER_EQUAL },
                { "And", AND },
                { "Or", OR },
                { "Xor", XOR } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!sd_onnx_text_is(node->op, all[i].name))
            continue;
        *op = all[i].op;
        if (*op == MOD && sd_onnx_int(node, "fmod", 0) != 0)
            *op = FMOD; /* the sign of what is divided, as C has it */
        return true;
    }
    return false;
}

/* False: it is none (a division by 0). */
static bool of_wholes(enum arithmetic op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case ADD:
        *out = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case SUB:
        *out = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case MUL:
        *out = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case DIV:
        if (b != 0)
            *out = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
        return b != 0;
    case MOD:
        if (b != 0)
            *out = floor_mod(a, b);
        return b != 0;
    case FMOD:
        if (b != 0)
            *out = remainder_of(a, b);
        return b != 0;
    case POW:
        *out = power(a, b);
        return true;
    case MAX:
        *out = a > b ? a : b;
        return true;
    case MIN:
        *out = a < b ? a : b;
        return true;
    case BIT_AND:
        *out = a & b;
        return true;
    case BIT_OR:
        *out = a | b;
        return true;
    case BIT_XOR:
        *out = a ^ b;
        return true;
    default:
        return false;
    }
}

static bool of_reals(enum arithmetic op, double a, double b, double *out)
{
    switch (op) {
    case ADD:
        *out = a + b;
        return true;
    case SUB:
        *out = a - b;
        return true;
    case MUL:
        *out = a * b;
        return true;
    case DIV:
        *out = b == 0 ? 0 : a / b;
        return true;
    case MAX:
        *out = a > b ? a : b;
        return true;
    case MIN:
        *out = a < b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool compare(enum arithmetic op, double a, double b, int64_t *out)
{
    switch (op) {
    case EQUAL:
        *out = a == b;
        return true;
    case LESS:
        *out = a < b;
        return true;
    case LESS_EQUAL:
        *out = a <= b;
        return true;
    case GREATER:
        *out = a > b;
        return true;
    case GREATER_EQUAL:
        *out = a >= b;
        return true;
    case AND:
        *out = a != 0 && b != 0;
        return true;
    case OR:
        *out = a != 0 || b != 0;
        return true;
    case XOR:
        *out = (a != 0) != (b != 0);
        return true;
    default:
        return false;
    }
}

static bool pair(enum arithmetic op, const struct sd_onnx_elements *a, uint32_t i,
                 const struct sd_onnx_elements *b, uint32_t k,
                 struct sd_onnx_elements *out, uint32_t at)
{
    if (out->is_real)
        return of_reals(op, real_at(a, i), real_at(b, k), &out->real[at]);
    if (compare(op, real_at(a, i), real_at(b, k), &out->whole[at]))
        return true;
    return of_wholes(op, whole_at(a, i), whole_at(b, k), &out->whole[at]);
}

FOLD(pairs)
{
    const struct sd_onnx_elements *a = known(s, 0), *b = known(s, 1);
    struct sd_onnx_elements *out;
    enum arithmetic op;
    bool is_real;
    int rc;

    if (!a || !b || s->n_in != 2 || !may_place(s) || !arithmetic_of(s->node, &op))
        return 0;
    is_real = (a->is_real || b->is_real) && s->out[0]->dtype != SD_DTYPE_BOOL;
    out = fresh(s, 0, is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++)
        if (!pair(op, a, place_in(s->in[0], s->out[0], i), b,
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

    if (!is || !a || !b || !may_place(s))
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

enum change { NEGATE, ABSOLUTE, ROUND_DOWN, ROUND_UP, ROOT, INVERT, NOT };

static enum change change_of(struct sd_onnx_text op)
{
    static const struct {
        const char *name;
        enum change change;
    } all[] = { { "Neg", NEGATE },    { "Abs", ABSOLUTE }, { "Floor", ROUND_DOWN },
                { "Ceil", ROUND_UP }, { "Sqrt", ROOT },    { "Not", NOT } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (sd_onnx_text_is(op, all[i].name))
            return all[i].change;
    return INVERT; /* Reciprocal */
}

static double of_real(enum change change, double v)
{
    switch (change) {
    case NEGATE:
        return -v;
    case ABSOLUTE:
        return v < 0 ? -v : v;
    case ROUND_DOWN:
        return __builtin_floor(v);
    case ROUND_UP:
        return __builtin_ceil(v);
    case ROOT:
        return v < 0 ? 0 : __builtin_sqrt(v);
    case INVERT:
        return v == 0 ? 0 : 1 / v;
    case NOT:
        return v == 0;
    }
    return v;
}

static int64_t of_whole(enum change change, int64_t v)
{
    if (change == NOT)
        return !v;
    if (change == NEGATE || (change == ABSOLUTE && v < 0))
        return (int64_t)(0 - (uint64_t)v);
    return v;
}

FOLD(single)
{
    const struct sd_onnx_elements *e = known(s, 0);
    enum change change = change_of(s->node->op);
    struct sd_onnx_elements *out;
    int rc;

    if (!e)
        return 0;
    out = fresh(s, 0, e->is_real, &rc);
    for (uint32_t i = 0; out && i < out->n; i++) {
        if (out->is_real)
            out->real[i] = of_real(change, e->real[i]);
        else
            out->whole[i] = of_whole(change, e->whole[i]);
    }
    s->out[0]->elements = out;
    return rc;
}

/* --- Some of them, in another order */

/* Elements of the first input in the places of the output: along axis i of the output a
 * step goes `steps[i]` elements on in the input, the first being element `from`. */
static int pick(const struct sd_onnx_step *s, int64_t from, const int64_t *steps)
{
    const struct sd_onnx_value *x = s->in[0], *y = s->out[0];
    struct sd_onnx_elements *e;
    int rc;

    if (!x->elements || (int64_t)x->elements->n != sd_onnx_count(x) || !may_place(s))
        return 0;
    e = sd_onnx_elements(s->x, sd_onnx_count(y), x->elements->is_real, &rc);
    for (uint32_t i = 0; e && i < e->n; i++) {
        int64_t left = i, at = from;

        for (uint32_t axis = y->n_dims; axis-- > 0; left /= y->dims[axis])
            at += left % y->dims[axis] * steps[axis];
        if (at < 0 || at >= (int64_t)x->elements->n)
            return 0;
        e->whole[i] = x->elements->whole[at]; /* or the bits of a real one */
    }
    s->out[0]->elements = e;
    return rc;
}

/* How many elements lie from one place of an axis to the next. */
static void strides_of(const struct sd_onnx_value *x,
                       int64_t strides[SD_MODEL_DIMS_MAX])
{
    int64_t size = 1;

    for (uint32_t i = x->n_dims; i-- > 0; size = sd_times(size, x->dims[i]))
        strides[i] = size;
}

FOLD(slice)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list starts = sd_onnx_list(s, "starts", 1),
                        ends = sd_onnx_list(s, "ends", 2);
    struct sd_onnx_list axes = sd_onnx_list(s, "axes", 3),
                        steps = sd_onnx_list(s, NULL, 4);
    bool is_cut[SD_MODEL_DIMS_MAX] = { false };
    int64_t strides[SD_MODEL_DIMS_MAX] = { 0 }, from = 0;
    uint32_t axis;

    if (!x || !x->elements || !s->out[0]->has_dims)
        return 0;
    /* No elements are known ones, too: torch's attention puts a shape together from
     * what stands before and behind some axes, and behind the last one stands nothing.
     * Axes may then have any length, and strides too: they are not looked at. */
    if (x->elements->n == 0 || sd_onnx_count(s->out[0]) == 0)
        return pick(s, 0, strides);
    strides_of(x, strides);
    for (uint32_t i = 0; i < starts.n; i++) {
        int64_t step = steps.is_there ? steps.v[i] : 1;

        if (!sd_shapes_axis_find(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims,
                                 &axis) ||
            is_cut[axis]) /* the same twice: a stride of many steps runs over */
            return 0;
        is_cut[axis] = true;
        if (sd_onnx_slice(x->dims[axis], &starts.v[i], ends.v[i], step) <= 0 ||
            step > SD_ONNX_FOLD_MAX || step < -SD_ONNX_FOLD_MAX)
            return 0;
        from += starts.v[i] * strides[axis];
        strides[axis] *= step;
    }
    return pick(s, from, strides);
}

FOLD(transpose)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t perm[SD_MODEL_DIMS_MAX], strides[SD_MODEL_DIMS_MAX],
        turned[SD_MODEL_DIMS_MAX];
    uint32_t n = sd_onnx_ints(s->node, "perm", perm, SD_MODEL_DIMS_MAX), from;

    if (!x || !x->elements || !s->out[0]->has_dims)
        return 0;
    strides_of(x, strides);
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (!sd_shapes_axis_find(n ? perm[i] : (int64_t)(x->n_dims - 1 - i), x->n_dims,
                                 &from))
            return 0;
        turned[i] = strides[from];
    }
    return pick(s, 0, turned);
}

/* All elements to one: what shapes need.  None of them have a product (the elements of
 * a single number) and a sum, but no largest and no smallest. */
FOLD(reduce)
{
    const struct sd_onnx_elements *e = known(s, 0);
    struct sd_onnx_text name = s->node->op;
    enum arithmetic op = sd_onnx_text_is(name, "ReduceProd")  ? MUL
                         : sd_onnx_text_is(name, "ReduceSum") ? ADD
                         : sd_onnx_text_is(name, "ReduceMax") ? MAX
                                                              : MIN;
    struct sd_onnx_elements *out;
    int64_t all;
    int rc;

    if (!e || e->is_real || !s->out[0]->has_dims || sd_onnx_count(s->out[0]) != 1 ||
        (e->n == 0 && op != MUL && op != ADD) || !may_work(s, e->n))
        return 0;
    all = e->n ? e->whole[0] : op == MUL;
    for (uint32_t i = 1; i < e->n; i++)
        of_wholes(op, all, e->whole[i], &all);
    out = fresh(s, 0, false, &rc);
    if (out)
        out->whole[0] = all;
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

    if (!e || !may_place(s))
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

static int fold_reals(const struct sd_onnx_step *s, const struct sd_onnx_attr *a)
{
    struct sd_onnx_elements *out;
    int rc;

    out = sd_onnx_elements(s->x, sd_onnx_attr_reals(a, NULL, 0), true, &rc);
    if (out)
        sd_onnx_attr_reals(a, out->real, out->n);
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
    if (sd_onnx_attr_find(s->node, "value_floats", &a))
        return fold_reals(s, &a);
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
