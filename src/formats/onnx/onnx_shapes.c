/* SPDX-License-Identifier: MIT */
/* onnx_shapes: finds the shape rule of an operator.  A rule gives the outputs their
 * shapes where the inputs' are known and fit; where not, it leaves them unknown and
 * fails nothing: the caller looks and tells. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

/* --- Tools of the rules */

const struct sd_onnx_value *sd_onnx_shaped(const struct sd_onnx_step *s, uint32_t i)
{
    return i < s->n_in && s->in[i] && s->in[i]->has_dims ? s->in[i] : NULL;
}

void sd_onnx_blame(const struct sd_onnx_step *s, const struct sd_onnx_value *v)
{
    for (uint32_t i = 0; i < s->n_out; i++)
        if (!s->out[i]->needs)
            s->out[i]->needs = v->needs ? v->needs : v;
}

const struct sd_onnx_elements *sd_onnx_wholes(const struct sd_onnx_step *s, uint32_t i)
{
    const struct sd_onnx_value *v = i < s->n_in ? s->in[i] : NULL;

    if (v && v->elements && !v->elements->is_real)
        return v->elements;
    if (v)
        sd_onnx_blame(s, v);
    return NULL;
}

int sd_onnx_give(const struct sd_onnx_step *s, uint32_t i, const int64_t *dims,
                 uint32_t n)
{
    if (i >= s->n_out || n > SD_MODEL_DIMS_MAX)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        if (dims[k] < 0 || dims[k] > SD_ONNX_AXIS_MAX)
            return 0;
    return sd_onnx_set_dims(s->x, s->out[i], dims, n);
}

int sd_onnx_misfit(const struct sd_onnx_step *s, const int64_t *dims, uint32_t n)
{
    int rc = sd_onnx_give(s, 0, dims, n);

    s->out[0]->is_unfit = s->out[0]->has_dims;
    s->out[0]->has_dims = false;
    return rc;
}

struct sd_onnx_list sd_onnx_list(const struct sd_onnx_step *s, const char *attribute,
                                 uint32_t input)
{
    struct sd_onnx_list l = { .is_known = true };
    const struct sd_onnx_elements *e;
    struct sd_onnx_attr a;

    if (attribute && sd_onnx_attr_find(s->node, attribute, &a) && a.has_list) {
        l.n = sd_onnx_attr_ints(&a, l.v, AXES);
        l.is_there = true;
    } else if (input < s->n_in && s->in[input]) {
        e = sd_onnx_wholes(s, input);
        l.is_there = true;
        l.is_known = e != NULL;
        l.n = e ? e->n : 0;
        if (e && e->n <= AXES)
            memcpy(l.v, e->whole, e->n * sizeof *l.v);
    }
    if (l.n > AXES)
        l.is_known = false;
    return l;
}

/* Which axes a Shape with `start` and `end` takes. */
void sd_onnx_axes_taken(const struct sd_onnx_step *s, int64_t n, int64_t *from,
                        int64_t *to)
{
    *from = sd_onnx_int(s->node, "start", 0);
    *to = sd_onnx_int(s->node, "end", n);
    *from = *from < -n ? 0 : *from < 0 ? *from + n : *from > n ? n : *from;
    *to = *to < -n ? 0 : *to < 0 ? *to + n : *to > n ? n : *to;
    if (*to < *from)
        *to = *from;
}

int sd_onnx_give_like(const struct sd_onnx_step *s, uint32_t i,
                      const struct sd_onnx_value *v)
{
    return v ? sd_onnx_give(s, i, v->dims, v->n_dims) : 0;
}

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- The shape of the first input */

/* Norms give statistics in further outputs, in other shapes. */
RULE(same) { return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0)); }

RULE(same_both)
{
    int rc = sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));

    return rc == 0 ? sd_onnx_give_like(s, 1, sd_onnx_shaped(s, 0)) : rc;
}

RULE(same_bool)
{
    s->out[0]->dtype = SD_DTYPE_BOOL;
    return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));
}

RULE(cast)
{
    const char *name =
        sd_onnx_text_is(s->node->op, "Cast") || sd_onnx_text_is(s->node->op, "BitCast")
            ? "to"
            : "dtype";
    int64_t to = sd_onnx_int(s->node, name, -1);

    if (to >= 0)
        s->out[0]->dtype = (uint8_t)sd_dtype_of_onnx(to);
    return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));
}

RULE(second_type)
{
    if (s->n_in > 1 && s->in[1])
        s->out[0]->dtype = s->in[1]->dtype;
    return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));
}

RULE(second_shape) { return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 1)); }

RULE(quantize)
{
    s->out[0]->dtype = s->n_in > 2 && s->in[2] ? s->in[2]->dtype : SD_DTYPE_U8;
    return sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));
}

RULE(dynamic_quantize)
{
    int rc = sd_onnx_give_like(s, 0, sd_onnx_shaped(s, 0));

    s->out[0]->dtype = SD_DTYPE_U8;
    if (rc == 0)
        rc = sd_onnx_give(s, 1, NULL, 0);
    return rc == 0 ? sd_onnx_give(s, 2, NULL, 0) : rc;
}

RULE(unknown) /* it depends on the data */
{
    (void)s;
    return 0;
}

/* --- Broadcasting */

RULE(broadcast)
{
    int64_t dims[AXES];
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_in; i++) {
        const struct sd_onnx_value *v = sd_onnx_shaped(s, i);

        if (!v ||
            !sd_dims_broadcast((struct sd_dims){ dims, n }, sd_onnx_dims(v), dims, &n))
            return 0;
    }
    return s->n_in ? sd_onnx_give(s, 0, dims, n) : 0;
}

RULE(broadcast_bool)
{
    s->out[0]->dtype = SD_DTYPE_BOOL;
    return sd_onnx_shape_broadcast(s);
}

RULE(where)
{
    if (s->n_in > 1 && s->in[1])
        s->out[0]->dtype = s->in[1]->dtype;
    return sd_onnx_shape_broadcast(s);
}

/* --- The table */

struct op {
    const char *name;
    sd_onnx_rule shape, fold;
};

static const struct op standard[] = {
#define ONNX_OP(name, shape, fold) { name, sd_onnx_shape_##shape, sd_onnx_fold_##fold },
#define MS_OP(name, shape, fold)
#include "formats/onnx/onnx_ops.def"
#undef ONNX_OP
#undef MS_OP
};
static const struct op microsoft[] = {
#define ONNX_OP(name, shape, fold)
#define MS_OP(name, shape, fold) { name, sd_onnx_shape_##shape, sd_onnx_fold_##fold },
#include "formats/onnx/onnx_ops.def"
#undef ONNX_OP
#undef MS_OP
};

static bool find(const struct op *ops, size_t n, struct sd_onnx_text name,
                 sd_onnx_rule *shape, sd_onnx_rule *fold)
{
    for (size_t i = 0; i < n; i++) {
        if (!sd_onnx_text_is(name, ops[i].name))
            continue;
        *shape = ops[i].shape;
        *fold = ops[i].fold;
        return true;
    }
    return false;
}

bool sd_onnx_rules(const struct sd_onnx_node *node, sd_onnx_rule *shape,
                   sd_onnx_rule *fold)
{
    if (node->domain.n == 0 || sd_onnx_text_is(node->domain, "ai.onnx"))
        return find(standard, sizeof standard / sizeof *standard, node->op, shape,
                    fold);
    if (sd_onnx_text_is(node->domain, "com.microsoft"))
        return find(microsoft, sizeof microsoft / sizeof *microsoft, node->op, shape,
                    fold);
    return false;
}
