/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_MODEL_RULES_INDICES_H
#define SD_COLLECT_MODEL_RULES_INDICES_H
/* indices: checks index tensors whose values are known.
 *
 * Without data torch does not look at them, with it they must be in range: a table of
 * 8 words has no word 9.  Where their values are known (twins.h) they are looked at, so
 * that a model that cannot run is not counted. */
#include "collect/model/model_pass.h"

/* Which arguments are meant, of an operator that takes rows; NULL: it is none. */
struct sd_taker;
const struct sd_taker *sd_taker_find(const char *name, size_t n);

/* 0, or -1 with an exception: an index is out of range. */
int sd_taker_check(const struct sd_taker *t, struct sd_pass *r,
                   PyObject *const *values);
#endif
