/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_MODEL_FILES_H
#define SD_FORMATS_WEIGHTS_MODEL_FILES_H
/* model_files: reads a model from a file or folder, without Python. model_files.def is
 * the list of what is read. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/model.h"

/* No axis is longer: sums and products of a few of them stay within 64 bits. */
#define SD_MODEL_AXIS_MAX ((int64_t)1 << 40)

/* The shape of an input, as the user gave it (--input NAME=1,3,224,224). */
struct sd_model_input {
    const char *name;    /* NULL: by its place among the inputs */
    const int64_t *dims; /* each from 0 to SD_MODEL_AXIS_MAX */
    uint32_t n_dims;
    uint8_t dtype; /* enum sd_dtype; UNKNOWN: the model's own */
};

struct sd_model_request { /* all zero: the model's own shapes, symbolic axes 1 */
    const struct sd_model_input *inputs;
    size_t n_inputs;
};

/* Is it named like one?  Another may be one all the same: the content tells. */
bool sd_model_file_is(const char *path);

/* *m is fresh memory; on failure it is released again.  SD_EFORMAT with one sentence
 * for what is damaged or of another kind; SD_EUSAGE for a request that does not fit. */
int sd_model_file_read(const char *path, const struct sd_model_request *request,
                       struct sd_model *m);

/* The readers of the list: as sd_model_file_read, but *m is made and stays. */
int sd_onnx_file(const char *path, const struct sd_model_request *request,
                 struct sd_model *m);
int sd_weight_file_safetensors(const char *path, const struct sd_model_request *request,
                               struct sd_model *m);
int sd_weight_file_gguf(const char *path, const struct sd_model_request *request,
                        struct sd_model *m);
int sd_shards_file(const char *path, const struct sd_model_request *request,
                   struct sd_model *m);
int sd_hf_config_file(const char *path, const struct sd_model_request *request,
                      struct sd_model *m);
int sd_model_folder(const char *path, const struct sd_model_request *request,
                    struct sd_model *m);
#endif
