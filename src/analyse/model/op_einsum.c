/* SPDX-License-Identifier: MIT */
/* op_einsum: counts the multiply-adds of an einsum, "bij,bjk->bik".
 *
 * Two operands at a time, from left to right, as torch does without an optimizer: all
 * letters of the two span a space, and if a letter is summed away by this step each
 * point of it is one multiply-add; else the step only multiplies element by element.
 * Letters are sets of bits (profile/model/shapes.h). */
#include "analyse/model/op_rules.h"

#include <string.h>

enum { UNFIT = -1 };

static int64_t points(const struct sd_einsum *e, uint64_t set)
{
    int64_t all = 1;

    for (unsigned i = 0; i < SD_EINSUM_LETTERS; i++)
        if (set >> i & 1)
            all = sd_times(all, e->sizes[i]);
    return all;
}

/* A letter that only one of the two has, and nobody later, is summed before the product
 * and costs none. */
static int64_t steps(const struct sd_einsum *e)
{
    uint64_t have = e->terms[0];
    int64_t all = 0;

    for (size_t i = 1; i < e->n_terms; i++) {
        uint64_t later = e->out, next = e->terms[i], both;

        for (size_t k = i + 1; k < e->n_terms; k++)
            later |= e->terms[k];
        have &= later | next;
        next &= later | have;
        both = have & next & ~later;
        if (both)
            all = sd_plus(all, points(e, have | next));
        have = (have | next) & later;
    }
    return all;
}

int64_t sd_op_rule_einsum(const struct sd_model *m, const struct sd_model_op *op)
{
    const struct sd_attr *a = sd_attr_find(m, op->attrs, op->n_attrs, "equation");
    struct sd_dims operands[SD_EINSUM_TERMS_MAX];
    struct sd_einsum e;
    const char *text;

    if (!a || a->kind != SD_ATTR_TEXT || op->n_in > SD_EINSUM_TERMS_MAX)
        return UNFIT;
    for (size_t i = 0; i < op->n_in; i++)
        operands[i] = op->in[i].dims;
    text = sd_model_text(m, a->text);
    return sd_shapes_einsum_read(text, strlen(text), operands, op->n_in, &e) ? steps(&e)
                                                                             : UNFIT;
}
