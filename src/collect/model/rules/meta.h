/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_MODEL_RULES_META_H
#define SD_COLLECT_MODEL_RULES_META_H
/* meta: tensors without data ("meta tensors" in torch's words), as rules are given them
 * and make them.
 *
 * A rule sees the arguments of its call as Python has them.  What it asks for here is
 * either of the kind that it expects or the answer is false, without an exception, so
 * that a rule can ask for all it needs in one condition and leave the call to torch
 * when anything is missing. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/model/rules/rules.h"

struct sd_meta_tensor {
    struct sd_tensor_shape s;
    int64_t strides[SD_MODEL_DIMS_MAX];
    bool is_contiguous;
};

/* --- Arguments, by their places in the schema */

/* Borrowed; NULL: left out, or None. */
PyObject *sd_meta_value(const struct sd_rule_call *c, unsigned i);
/* A whole number that is not negative. */
bool sd_meta_number(const struct sd_rule_call *c, unsigned i, int64_t *out);
/* As many of them as there are axes; one is meant for all. */
bool sd_meta_numbers(const struct sd_rule_call *c, unsigned i, unsigned n,
                     int64_t *out);
/* A tensor without data that we know everything of. */
bool sd_meta_at(const struct sd_rule_call *c, unsigned i, struct sd_meta_tensor *out);
bool sd_meta_of(const struct sd_rule_call *c, PyObject *v, struct sd_meta_tensor *out);

bool sd_meta_is_float(const struct sd_meta_tensor *t);
/* Of 32 or 64 bits: for narrower ones norms keep their statistics in another dtype. */
bool sd_meta_is_wide(const struct sd_meta_tensor *t);
/* Pixel after pixel, each with all its channels. */
bool sd_meta_has_channels_last(const struct sd_meta_tensor *t);
/* The same with gaps, as torch sees it when it chooses how a result is to lie. */
bool sd_meta_suggests_last(const struct sd_meta_tensor *t);

/* rules_reduce.c: what norms of batches and groups have in common, forward and back. An
 * input that they leave as it lies in memory: */
bool sd_norm_takes(const struct sd_rule_call *c, const struct sd_meta_tensor *in);
/* The dtype of their statistics and gradients of weights, of which the arguments from
 * `first` to `last` are vectors of n: of narrow floats, on a processor, that of the
 * input, but 32 bits where those are.  False: they do not go together. */
bool sd_norm_kept(const struct sd_rule_call *c, const struct sd_meta_tensor *in,
                  unsigned first, unsigned last, int64_t n, uint8_t *kept);

/* --- Shapes */

/* The axes of both, stretched along those of 1.  False: they do not fit. */
static inline bool sd_meta_shape_stretch(const struct sd_tensor_shape *a,
                                         const struct sd_tensor_shape *b,
                                         struct sd_tensor_shape *out)
{
    return sd_dims_broadcast(sd_torch_shape_dims(a), sd_torch_shape_dims(b), out->dims,
                             &out->n);
}
static inline bool sd_meta_shape_stretches_to(const struct sd_tensor_shape *s,
                                              const struct sd_tensor_shape *whole)
{
    return sd_dims_broadcasts_to(sd_torch_shape_dims(s), sd_torch_shape_dims(whole));
}
static inline bool sd_meta_shape_is_same(const struct sd_tensor_shape *a,
                                         const struct sd_tensor_shape *b)
{
    return sd_dims_is_same(sd_torch_shape_dims(a), sd_torch_shape_dims(b));
}
static inline int64_t sd_meta_shape_elements(const struct sd_tensor_shape *s)
{
    return sd_dims_elements(sd_torch_shape_dims(s));
}
/* Which of n axes this number names, from the front or, negative, from behind; false:
 * it is none of them, or no whole number. */
bool sd_meta_axis(PyObject *number, unsigned n, uint32_t *at);
/* Does it name one of its axes?  One without axes counts as one of a single axis, as
 * torch does it. */
bool sd_meta_has_axis(const struct sd_tensor_shape *s, PyObject *number);

/* --- Outputs: new references, or NULL */

/* Contiguous; `number` is that of its dtype. */
PyObject *sd_meta_new(const struct sd_rule_call *c, const struct sd_tensor_shape *s,
                      uint8_t number);
/* The same in a storage that has room for more elements. */
PyObject *sd_meta_new_in(const struct sd_rule_call *c, const struct sd_tensor_shape *s,
                         uint8_t number, int64_t room);
PyObject *sd_meta_vector(const struct sd_rule_call *c, int64_t n, uint8_t number);
/* With channels last; s has four or five axes. */
PyObject *sd_meta_new_last(const struct sd_rule_call *c,
                           const struct sd_tensor_shape *s, uint8_t number);
/* As operators on single elements give it: the order of axes stays, without gaps. */
PyObject *sd_meta_like_as(const struct sd_rule_call *c, const struct sd_meta_tensor *t,
                          uint8_t number);
PyObject *sd_meta_like(const struct sd_rule_call *c, const struct sd_meta_tensor *t);
/* A tuple; the references are taken, and when one of them is NULL so is the tuple. */
PyObject *sd_meta_pair(PyObject *a, PyObject *b);
PyObject *sd_meta_triple(PyObject *a, PyObject *b, PyObject *d);
PyObject *sd_meta_quadruple(PyObject *a, PyObject *b, PyObject *d, PyObject *e);
#endif
