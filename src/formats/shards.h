/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_SHARDS_H
#define SD_FORMATS_SHARDS_H
/* shards: one model in many files.
 *
 * Large models are stored as model-00001-of-00030.safetensors and so on, beside a list
 * (model.safetensors.index.json) that says which tensor is in which.  Files of gguf
 * have such names too, but no list.  What the list names must be there: a model of
 * which a part is missing is not added up. */
#include <stdbool.h>
#include <stddef.h>

/* "x-00002-of-00005.gguf": where the number is, and of how many. */
bool sd_shard_name(const char *name, size_t *at, unsigned *which, unsigned *of);
#endif
