/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_WEIGHT_FILES_H
#define SD_FORMATS_WEIGHTS_WEIGHT_FILES_H
/* weight_files: reads a single file of weights, whatever its kind.
 *
 * Large models are stored as model-00001-of-00030.safetensors and so on, beside a list
 * (shards.h); files of gguf have such names too, but no list. */
#include <stdbool.h>
#include <stddef.h>

#include "formats/weights/weights.h"

/* Adds what the file holds; of which kind it is, its bytes and its name tell. */
int sd_weight_file_add(const char *path, struct sd_weights *to);

/* "x-00002-of-00005.gguf": where the number is, and of how many. */
bool sd_weight_file_shard_name(const char *name, size_t *at, unsigned *which,
                               unsigned *of);
#endif
