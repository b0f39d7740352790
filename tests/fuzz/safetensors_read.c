/* SPDX-License-Identifier: MIT */
/* safetensors files: whatever the bytes say, reading ends within memory bounded by
 * them, and no tensor is larger than the file. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/weights/packed.h"
#include "formats/weights/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_model m;
    struct sd_weights w = { .into = &m };

    if (sd_model_init(&m) < 0)
        abort();
    sd_safetensors_is(data, size);
    if (sd_safetensors_read(data, size, &w) == 0 &&
        (m.n_tensors > size || (uint64_t)w.bytes > size || sd_packed_count(&w) < 0))
        abort();
    sd_weights_release(&w);
    sd_model_release(&m);
    return 0;
}
