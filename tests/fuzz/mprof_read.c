/* SPDX-License-Identifier: MIT */
/* Files of mprof: whatever the bytes say, reading ends within memory bounded by them,
 * and what was read is sound. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/mprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_mprof m;

    sd_mprof_init(&m);
    if (sd_mprof_read(data, size, &m) == 0) {
        if (m.n_readings + m.n_calls > size / 8 + 1)
            abort();
        for (size_t i = 0; i < m.n_calls; i++)
            if (m.calls[i].n_name == 0 || m.calls[i].to_ns < m.calls[i].from_ns)
                abort();
        for (size_t i = 0; i < m.n_readings; i++)
            if (m.readings[i].memory >= 0 && sd_mprof_bytes(m.readings[i].memory) < 0)
                abort();
    }
    sd_mprof_release(&m);
    return 0;
}
