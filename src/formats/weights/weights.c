/* SPDX-License-Identifier: MIT */
#include "formats/weights/weights.h"

#include <string.h>

#include "base/error.h"

void sd_weights_release(struct sd_weights *w)
{
    sd_table_release(&w->seen);
    *w = (struct sd_weights){ 0 };
}

size_t sd_weights_place(const struct sd_weights *w, const char *name, size_t n)
{
    uint32_t id = sd_intern_find(&w->into->strings, name, n);
    uint64_t place;

    return id != UINT32_MAX && sd_table_get(&w->seen, id, &place) ? place : SIZE_MAX;
}

/* How much of a name is its layer's.  One of a hundred levels names no layer of
 * anything and would make a hundred of them, each with a longer name: it is the model's
 * own. */
enum { LEVELS_MAX = 32, LAYER_NAME_MAX = 1024 };

static size_t layer_length(const char *name)
{
    size_t n = 0, levels = 0;

    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'), levels++)
        n = (size_t)(dot - name);
    return levels > LEVELS_MAX || n > LAYER_NAME_MAX ? 0 : n;
}

/* Levels that no two names share would make many layers of each, with all their names:
 * a hundred times what the file has.  Layers of models have tensors, so a few for each
 * tensor is all that is made; what comes behind that is the model's own. */
static int find_layer(struct sd_weights *w, const char *name, uint32_t *layer)
{
    enum { LAYERS_FREE = 1024, LAYERS_EACH = 4 };
    size_t n = layer_length(name);
    uint32_t known = sd_model_find_layer(w->into, name, n);

    if (known == UINT32_MAX &&
        w->into->n_layers < LAYERS_FREE + LAYERS_EACH * w->seen.n)
        return sd_model_layer_at(w->into, name, n, layer);
    *layer = known == UINT32_MAX ? SD_MODEL_ROOT : known;
    return 0;
}

static bool is_statistic(const char *last)
{
    return strcmp(last, "running_mean") == 0 || strcmp(last, "running_var") == 0 ||
           strcmp(last, "num_batches_tracked") == 0;
}

int sd_weights_add(struct sd_weights *w, uint32_t name, uint8_t dtype,
                   struct sd_dims dims, int64_t bytes)
{
    const char *text = sd_model_text(w->into, name), *dot = strrchr(text, '.');
    struct sd_model_tensor t = { .name = name,
                                 .dtype = dtype,
                                 .dims = dims,
                                 .bytes = bytes,
                                 .flags = is_statistic(dot ? dot + 1 : text)
                                              ? SD_TENSOR_BUFFER
                                              : SD_TENSOR_PARAMETER };
    uint64_t unused;
    int rc;

    if (sd_table_get(&w->seen, name, &unused))
        return SD_EEXISTS;
    rc = sd_table_put(&w->seen, name, w->into->n_tensors);
    if (rc == 0)
        rc = find_layer(w, text, &t.layer);
    if (rc == 0)
        rc = sd_model_tensor(w->into, &t);
    if (rc == 0)
        w->bytes = sd_plus(w->bytes, sd_model_tensor_bytes(&t));
    return rc;
}
