/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/rules/dtype_checks.h"

#include <string.h>

#include "collect/model/rules/meta.h"

static const struct {
    const char *name;
    sd_doubt *doubt;
} doubts[] = {
#define DOUBT(name, function) { name, sd_doubt_##function },
#include "collect/model/rules/dtype_checks.def"
#undef DOUBT
};

sd_doubt *sd_doubt_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (strlen(doubts[i].name) == n && memcmp(doubts[i].name, name, n) == 0)
            return doubts[i].doubt;
    return NULL;
}

/* --- Kinds of numbers, each of which can hold those before it */

enum kind { UNKNOWN, TRUTH, WHOLE, REAL, COMPLEX };

static enum kind kind_of_dtype(uint8_t number)
{
    if (number == SD_TORCH_BOOL)
        return TRUTH;
    if (number <= SD_TORCH_INT64)
        return WHOLE;
    if (number <= SD_TORCH_FLOAT64 || number == SD_TORCH_BFLOAT16)
        return REAL;
    return number < SD_TORCH_BOOL ? COMPLEX : UNKNOWN;
}

/* A tensor's, or a plain number's. */
static enum kind kind_at(const struct sd_rule_call *c, unsigned i)
{
    PyObject *v = sd_meta_value(c, i);
    struct sd_meta_tensor t;

    if (sd_meta_at(c, i, &t))
        return kind_of_dtype(t.s.number);
    if (!v)
        return UNKNOWN;
    return PyBool_Check(v)           ? TRUTH
           : PyLong_Check(v)         ? WHOLE
           : PyFloat_CheckExact(v)   ? REAL
           : PyComplex_CheckExact(v) ? COMPLEX
                                     : UNKNOWN;
}

static const char not_implemented[] = "this operator is not there for that dtype";

const char *sd_doubt_floats(const struct sd_rule_call *c)
{
    enum kind kind = kind_at(c, 0);

    return kind != UNKNOWN && kind != REAL ? not_implemented : NULL;
}

const char *sd_doubt_floats_or_bytes(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) && t.s.number == SD_TORCH_UINT8 ? NULL
                                                                : sd_doubt_floats(c);
}

/* Of 16 bits, on the processor? */
static bool is_halved(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return c->is_on_cpu && sd_meta_at(c, 0, &t) &&
           (t.s.number == SD_TORCH_FLOAT16 || t.s.number == SD_TORCH_BFLOAT16);
}

/* Without steps. */
const char *sd_doubt_smoothed(const struct sd_rule_call *c)
{
    return is_halved(c) ? not_implemented : sd_doubt_floats_or_bytes(c);
}

const char *sd_doubt_floats_or_longs(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return sd_meta_at(c, 0, &t) && t.s.number == SD_TORCH_INT64 ? NULL
                                                                : sd_doubt_floats(c);
}

const char *sd_doubt_noisy(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    return c->is_on_cpu && sd_meta_at(c, 0, &t) && t.s.number == SD_TORCH_FLOAT16
               ? not_implemented
               : sd_doubt_floats(c);
}

const char *sd_doubt_pooled_rooms(const struct sd_rule_call *c)
{
    return is_halved(c) ? not_implemented : sd_doubt_floats_or_longs(c);
}

/* Complex ones have them, too. */
const char *sd_doubt_fractions(const struct sd_rule_call *c)
{
    enum kind kind = kind_at(c, 0);

    return kind == TRUTH || kind == WHOLE ? not_implemented : NULL;
}

const char *sd_doubt_ordered(const struct sd_rule_call *c)
{
    return kind_at(c, 0) == COMPLEX || kind_at(c, 1) == COMPLEX ? not_implemented
                                                                : NULL;
}

const char *sd_doubt_numbers(const struct sd_rule_call *c)
{
    return kind_at(c, 0) == COMPLEX || kind_at(c, 0) == TRUTH ? not_implemented : NULL;
}

const char *sd_doubt_bits(const struct sd_rule_call *c)
{
    return kind_at(c, 0) >= REAL || kind_at(c, 1) >= REAL ? not_implemented : NULL;
}

const char *sd_doubt_difference(const struct sd_rule_call *c)
{
    return kind_at(c, 0) == TRUTH || kind_at(c, 1) == TRUTH
               ? "booleans cannot be subtracted"
               : sd_doubt_factor(c);
}

/* Of sums and differences, how often the second counts: nothing that the result could
 * not hold. */
const char *sd_doubt_factor(const struct sd_rule_call *c)
{
    enum kind a = kind_at(c, 0), b = kind_at(c, 1), factor = kind_at(c, 2);
    enum kind result = a > b ? a : b;

    if (a == UNKNOWN || b == UNKNOWN || factor == UNKNOWN)
        return NULL;
    if (factor == TRUTH ? result != TRUTH : factor > WHOLE && factor > result)
        return "its factor is of another kind than its result";
    return NULL;
}

const char *sd_doubt_difference_into_first(const struct sd_rule_call *c)
{
    const char *why = sd_doubt_difference(c);

    return why ? why : sd_doubt_into_first(c);
}

const char *sd_doubt_into_first(const struct sd_rule_call *c)
{
    enum kind first = kind_at(c, 0), other = kind_at(c, 1);

    return first != UNKNOWN && other > first
               ? "the result has a dtype that the first tensor cannot hold"
               : NULL;
}

/* --- Dtypes that must be the same */

static const char different[] = "its tensors have different dtypes";

const char *sd_doubt_dtypes(const struct sd_rule_call *c)
{
    struct sd_meta_tensor first, next;
    bool has_first = false;

    for (unsigned i = 0; i < c->n; i++) {
        if (!sd_meta_at(c, i, has_first ? &next : &first))
            continue;
        if (has_first && next.s.number != first.s.number)
            return different;
        has_first = true;
    }
    return has_first && first.s.number == SD_TORCH_BOOL ? not_implemented : NULL;
}

const char *sd_doubt_loss(const struct sd_rule_call *c)
{
    const char *why = sd_doubt_dtypes(c);

    return why ? why : sd_doubt_floats(c);
}

/* --- Axes */

static const char no_axis[] = "its tensor has no such axis";

/* input, dim: a tensor without axes is taken as one of a single one. */
static const char *axis_of(const struct sd_rule_call *c)
{
    PyObject *dim = sd_meta_value(c, 1);
    struct sd_meta_tensor t;

    if (!dim || !PyLong_Check(dim) || !sd_meta_at(c, 0, &t))
        return NULL;
    return sd_meta_has_axis(&t.s, dim) ? NULL : no_axis;
}

const char *sd_doubt_sorted(const struct sd_rule_call *c)
{
    const char *why = axis_of(c);

    return why ? why : kind_at(c, 0) == COMPLEX ? not_implemented : NULL;
}

const char *sd_doubt_softmax(const struct sd_rule_call *c)
{
    const char *why = axis_of(c);

    return why ? why : sd_doubt_floats(c);
}

/* Only a batch may be empty. */
const char *sd_doubt_pooled(const struct sd_rule_call *c)
{
    struct sd_meta_tensor t;

    if (!sd_meta_at(c, 0, &t))
        return NULL;
    for (unsigned i = 1; i < t.s.n; i++)
        if (t.s.dims[i] == 0)
            return "its input is empty";
    return sd_doubt_floats(c);
}

/* input, dim, index, ... */
const char *sd_doubt_picked(const struct sd_rule_call *c)
{
    struct sd_meta_tensor index;

    if (!sd_meta_at(c, 2, &index))
        return NULL;
    if (index.s.n > 1)
        return "its index is not a vector";
    return index.s.number != SD_TORCH_INT64 && index.s.number != SD_TORCH_INT32
               ? "its index is not of whole numbers"
               : NULL;
}

/* self, dim, index, source: of one dtype, and alike but for that axis. */
const char *sd_doubt_added(const struct sd_rule_call *c)
{
    struct sd_meta_tensor to, from;
    int64_t axis;

    if (!sd_meta_at(c, 0, &to) || !sd_meta_number(c, 1, &axis) ||
        !sd_meta_at(c, 3, &from))
        return sd_doubt_picked(c);
    if (to.s.number != from.s.number)
        return different;
    if (to.s.n != from.s.n && to.s.n > 0 && from.s.n > 0)
        return "its source has other axes";
    axis += axis < 0 ? to.s.n : 0;
    for (unsigned i = 0; i < to.s.n && i < from.s.n; i++)
        if (i != axis && to.s.dims[i] != from.s.dims[i])
            return "its source has another shape";
    return sd_doubt_picked(c);
}

/* --- Norms */

/* Their weights have the dtype of the input, or are all of 32 bits where that is
 * narrower. */
static bool is_weight_of(const struct sd_meta_tensor *in,
                         const struct sd_meta_tensor *weight)
{
    return weight->s.number == in->s.number ||
           (weight->s.number == SD_TORCH_FLOAT32 &&
            (in->s.number == SD_TORCH_FLOAT16 || in->s.number == SD_TORCH_BFLOAT16));
}

/* `channels` is how many elements each weight has; -1: torch looks at that itself. */
static const char *weights_of(const struct sd_rule_call *c, unsigned first,
                              unsigned last, int64_t channels)
{
    struct sd_meta_tensor in, weight;
    int dtype = -1;

    if (!sd_meta_at(c, 0, &in))
        return NULL;
    for (unsigned i = first; i <= last; i++) {
        if (!sd_meta_at(c, i, &weight))
            continue;
        if (!is_weight_of(&in, &weight) || (dtype >= 0 && dtype != weight.s.number))
            return different;
        if (channels >= 0 && (weight.s.n != 1 || weight.s.dims[0] != channels))
            return "its weights are not as long as there are channels";
        dtype = weight.s.number;
    }
    return sd_doubt_floats(c);
}

/* input, normalized_shape, weight, bias */
const char *sd_doubt_layer_norm(const struct sd_rule_call *c)
{
    return weights_of(c, 2, 3, -1);
}

/* input, weight, bias, N, C, ... */
const char *sd_doubt_group_norm(const struct sd_rule_call *c)
{
    int64_t channels;

    return weights_of(c, 1, 2, sd_meta_number(c, 4, &channels) ? channels : -1);
}

/* input, weight, bias, training, ... */
const char *sd_doubt_plain_norm(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    return sd_meta_at(c, 0, &in) && in.s.n > 1 ? weights_of(c, 1, 2, in.s.dims[1])
                                               : NULL;
}

/* input, weight, bias, running_mean, running_var, ... */
const char *sd_doubt_batch_norm(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;

    return sd_meta_at(c, 0, &in) && in.s.n > 1 ? weights_of(c, 1, 4, in.s.dims[1])
                                               : NULL;
}
