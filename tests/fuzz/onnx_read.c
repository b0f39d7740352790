/* SPDX-License-Identifier: MIT */
/* ONNX files: whatever the bytes say, reading ends within memory bounded by them, and
 * what was read can be counted, written down and read again. */
#include <stdint.h>
#include <stdlib.h>

#include "analyse/model/model_costs.h"
#include "formats/onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_writing(const struct sd_model *m)
{
    struct sd_buf bytes = { 0 };
    struct sd_model again;

    sd_model_write(m, &bytes);
    if (bytes.bad || sd_model_read(&again, bytes.p, bytes.n) < 0 ||
        again.n_ops != m->n_ops || again.n_layers != m->n_layers)
        abort();
    sd_model_release(&again);
    sd_buf_release(&bytes);
}

static void check_counting(const struct sd_model *m)
{
    struct sd_model_costs costs;

    if (sd_model_costs(m, SD_COUNT_MACS, &costs) < 0)
        abort();
    if (costs.total.macs < 0 || costs.total.params < 0)
        abort();
    sd_model_costs_release(&costs);
    if (sd_model_costs(m, SD_COUNT_FVCORE, &costs) == 0)
        sd_model_costs_release(&costs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t dims[] = { 2, 3, 8, 8 };
    struct sd_model_input given = { NULL, dims, size % 5, 0 };
    struct sd_model_request wish = { &given, size & 1 };
    struct sd_model m;

    sd_onnx_is(data, size);
    if (sd_model_init(&m) < 0)
        abort();
    if (sd_onnx_read(data, size, &wish, &m) == 0) {
        check_writing(&m);
        check_counting(&m);
    }
    sd_model_release(&m);
    return 0;
}
