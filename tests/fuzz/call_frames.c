/* SPDX-License-Identifier: MIT */
/* call_frames: any bytes as the unwind tables of a loaded object: its search table at
 * their beginning, addresses among them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/alloc/native/call_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* keeps what was read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = size };
    struct sd_loaded o = { .segments = &segment, .n_segments = 1 };
    struct sd_frame_rule rule;
    uint8_t *copy = malloc(size ? size : 1); /* a read behind it is told */

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    o.base = (uintptr_t)copy;
    for (size_t at = 0; at < size; at += 1 + size / 16)
        if (sd_call_frames_find(&o, o.base, o.base + at, &rule))
            sink += (uint64_t)rule.base_offset + rule.start;
    free(copy);
    return 0;
}
