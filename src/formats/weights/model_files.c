/* SPDX-License-Identifier: MIT */
#include "formats/weights/model_files.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/onnx/onnx.h"
#include "formats/weights/gguf.h"
#include "formats/weights/safetensors.h"

typedef int (*reader)(const char *path, const struct sd_model_request *request,
                      struct sd_model *m);

static const struct {
    const char *suffix;
    reader read;
} files[] = {
#define MODEL_FILE(suffix, read) { suffix, read },
#include "formats/weights/model_files.def"
#undef MODEL_FILE
};

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static reader reader_by_suffix(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (sd_text_ends(path, files[i].suffix))
            return files[i].read;
    return NULL;
}

bool sd_model_file_is(const char *path)
{
    return is_folder(path) || reader_by_suffix(path) != NULL;
}

/* A file that is named otherwise may still be one: llama.cpp's caches have no suffix.
 */
static int reader_by_content(const char *path, reader *read)
{
    struct sd_map map;
    int rc = sd_map_file(&map, path);

    *read = NULL;
    if (rc < 0)
        return rc;
    if (sd_gguf_is(map.p, map.n))
        *read = sd_weight_file_gguf;
    else if (sd_safetensors_is(map.p, map.n))
        *read = sd_weight_file_safetensors;
    else if (sd_onnx_is(map.p, map.n))
        *read = sd_onnx_file;
    sd_map_release(&map);
    if (*read)
        return 0;
    return sd_fail(SD_EFORMAT,
                   "%s is not a model that can be read; use .onnx, .safetensors, "
                   ".gguf, a config.json, an .index.json or a folder of these",
                   path);
}

static int reader_of(const char *path, reader *read)
{
    reader named = reader_by_suffix(path), found;

    *read = is_folder(path) ? sd_model_folder : named;
    if (!*read)
        return reader_by_content(path, read);
    /* One of the two under the other's name is what it is, not what it is called. */
    if ((*read == sd_weight_file_safetensors || *read == sd_weight_file_gguf) &&
        reader_by_content(path, &found) == 0 &&
        (found == sd_weight_file_safetensors || found == sd_weight_file_gguf))
        *read = found;
    return 0;
}

/* A layer in which no layer is is a leaf, whatever a file calls it. */
static void mark_leaves(struct sd_model *m)
{
    for (size_t i = 1; i < m->n_layers; i++)
        m->layers[i].flags |= SD_LAYER_LEAF;
    for (size_t i = 1; i < m->n_layers; i++)
        m->layers[m->layers[i].parent].flags &= (uint16_t)~SD_LAYER_LEAF;
}

int sd_model_file_read(const char *path, const struct sd_model_request *request,
                       struct sd_model *m)
{
    static const struct sd_model_request none;
    reader read;
    int rc = reader_of(path, &read);

    if (rc == 0)
        rc = sd_model_init(m);
    if (rc < 0)
        return rc;
    rc = read(path, request ? request : &none, m);
    if (rc == 0 && request && request->n_inputs > 0 && m->n_ops == 0)
        rc = sd_fail(SD_EUSAGE,
                     "%s takes no input: a file of weights holds no operators", path);
    if (rc == 0)
        rc = sd_model_fact(m, "path", path);
    if (rc == 0)
        mark_leaves(m);
    if (rc < 0)
        sd_model_release(m);
    return rc;
}
