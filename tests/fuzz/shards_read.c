/* SPDX-License-Identifier: MIT */
/* Lists of a model's files: whatever the text says, reading ends, and no file is named
 * that is not beside the list. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/weights/shards.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_shards s;

    if (sd_shards_read(data, size, &s) == 0) {
        for (size_t i = 0; i < s.files.n; i++)
            if (strchr(s.files.items[i].p, '/') || s.files.items[i].p[0] == '.')
                abort();
        for (size_t i = 0; i < s.tensors.n; i++)
            if (s.file_of[i] >= s.files.n)
                abort();
    }
    sd_shards_release(&s);
    return 0;
}
