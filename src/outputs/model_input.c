/* SPDX-License-Identifier: MIT */
/* model_input: reads models from files of other programs: ONNX, safetensors, gguf, ...
 */
#include "base/assert.h"
#include "outputs/inputs.h"

static bool recognises(const char *path, const void *head, size_t n)
{
    (void)head;
    (void)n;
    return sd_model_file_is(path);
}

/* One model: several do not add up. */
static int load(const struct sd_loader *how, char *const *files, size_t n,
                struct sd_contents *into)
{
    sd_assert(n == 1 && into->model);
    return sd_model_file_read(files[0], how->model, into->model);
}

const struct sd_input sd_input_model = {
    .name = "model",
    .title = "a model file",
    .has = "only layers and operators",
    .gives = SD_HOLDS_MODEL,
    .recognises = recognises,
    .load = load,
};
