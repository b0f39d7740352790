/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_SHARDS_H
#define SD_FORMATS_WEIGHTS_SHARDS_H
/* shards: reads the list of the files of a model, model.safetensors.index.json: which
 * tensor is in which file.  It comes from a stranger: the files that it names are
 * beside it, and no others.  What it names must be there: a model of which a part is
 * missing is not added up. */
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"

struct sd_shards {
    struct sd_arena arena;
    struct sd_intern files;   /* names, each once */
    struct sd_intern tensors; /* names */
    uint32_t *file_of;        /* owned; of each tensor */
    size_t cap;
    int64_t total_bytes; /* claimed; -1: not */
};

/* *s is to be released, after a failure too. */
int sd_shards_read(const void *p, size_t n, struct sd_shards *s);
void sd_shards_release(struct sd_shards *s);
/* Adds up the files of the list in the file `path`, and keeps the list in *s, which is
 * to be released in any case. */
struct sd_model;
int sd_shards_add(const char *path, struct sd_model *m, struct sd_shards *s);
#endif
