/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_MODEL_RULES_RULES_H
#define SD_COLLECT_MODEL_RULES_RULES_H
/* rules: works out the outputs of the operators that models call most.
 *
 * On tensors without data torch works out shapes in Python for many operators (a layer
 * norm takes it more than a millisecond), which is then most of the time of a run.
 * These rules give what torch would give: shape, strides and dtype.  Strides are part
 * of it, because a later view may depend on them.
 *
 * A rule answers only where it is sure: every argument is of the kind it expects, the
 * shapes fit each other, the strides are of the simple kinds.  Else it says nothing and
 * torch is asked, who also has the words for what is wrong. */
#include "collect/model/torch.h"

struct sd_rule_call {
    struct sd_torch *torch;
    PyObject *const
        *values; /* the arguments in the order of the schema; NULL: left out */
    unsigned n;
    int dtype_at, device_at; /* the places of these arguments; -1: it has none */
    bool is_on_cpu;          /* with data it would run there */
};

/* The output, a new reference; NULL without an exception: not sure. */
typedef PyObject *sd_rule(const struct sd_rule_call *c);

/* The rules, by what they are for: rules_elements.c, rules_products.c,
 * rules_attention.c, rules_reduce.c, rules_rooms.c, rules_make.c, rules_gradients.c.
 * One that serves several operators is declared more than once. */
#define RULE(name, function) sd_rule sd_rule_##function;
#include "collect/model/rules/rules.def"
#undef RULE

/* The rule of this operator ("aten::add.Tensor", n characters), or NULL. */
sd_rule *sd_rule_find(const char *name, size_t n);

/* rules_attention.c: would a processor run this attention as one operator, as far as
 * its tensors tell?  The mask is None where there is none. */
bool sd_attention_is_fused(const struct sd_torch *t, PyObject *query, PyObject *key,
                           PyObject *value, PyObject *mask);
#endif
