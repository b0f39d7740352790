/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_MODEL_RULES_DTYPE_CHECKS_H
#define SD_COLLECT_MODEL_RULES_DTYPE_CHECKS_H
/* dtype_checks: calls that torch answers without data and refuses with it.
 *
 * Its functions for tensors without data check less than those that compute: they give
 * a shape for a product of whole numbers with real ones, or for a transposed
 * convolution over the wrong number of channels.  A model would so be counted that
 * cannot run.  Where no rule (rules.h) is sure of a call, it is asked here whether
 * torch can be trusted with it; if not the run ends in the words below, and the model
 * is run on real tensors, by torch itself, which refuses it or not.
 *
 * So a doubt may be wrong, and costs only time then.  But a model that is itself on
 * meta has nothing else to run on, and is refused by it: so the rows are what torch
 * does on the processor, dtype by dtype, and what is unknown here (a sparse tensor, an
 * odd dtype) is never doubted. */
#include "collect/model/rules/rules.h"

/* What is wrong with the call, or NULL. */
typedef const char *sd_doubt(const struct sd_rule_call *c);

#define DOUBT(name, function) sd_doubt sd_doubt_##function;
#include "collect/model/rules/dtype_checks.def"
#undef DOUBT

/* The doubt about this operator ("aten::mm", n characters), or NULL. */
sd_doubt *sd_doubt_find(const char *name, size_t n);
#endif
