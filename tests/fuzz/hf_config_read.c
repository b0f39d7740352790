/* SPDX-License-Identifier: MIT */
/* Configurations of Hugging Face models: whatever the text says, reading ends, and no
 * more layers are made of it than any model has. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/weights/hf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_model m;

    if (sd_model_init(&m) < 0)
        abort();
    sd_hf_config_read(data, size, &m);
    sd_model_release(&m);
    return 0;
}
