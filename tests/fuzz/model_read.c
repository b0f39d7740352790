/* SPDX-License-Identifier: MIT */
/* A model's bytes: whatever they say, reading ends within memory bounded by them, and
 * what was read can be counted in every mode, and written and read again as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/model/model_costs.h"
#include "analyse/model/model_fit.h"
#include "base/error.h"
#include "profile/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Equal records in a row become one when read, so that the second writing, not the
 * first, is the form that stays. */
static void check_writing(const struct sd_model *m)
{
    struct sd_buf first = { 0 }, second = { 0 };
    struct sd_model again;

    sd_model_write(m, &first);
    if (first.bad || sd_model_read(&again, first.p, first.n) < 0)
        abort();
    sd_model_write(&again, &second);
    if (first.n != second.n || memcmp(first.p, second.p, first.n) != 0)
        abort();
    sd_model_release(&again);
    sd_buf_release(&first);
    sd_buf_release(&second);
}

static void check_counting(const struct sd_model *m)
{
    for (enum sd_model_mode mode = 0; mode < SD_COUNT_MODES; mode++) {
        struct sd_model_costs costs;
        struct sd_model_fit fit;
        int rc = sd_model_costs(m, mode, &costs);

        if (rc == SD_EUSAGE)
            continue; /* a tool of modules counts no backward */
        if (rc < 0)
            abort();
        if (costs.coverage < 0 || costs.coverage > 1 || costs.n_rows > m->n_layers)
            abort();
        sd_model_fit(&costs, SD_OPTIMIZER_ADAM, 4, 1 << 30, &fit);
        sd_model_costs_release(&costs);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sd_model m;

    if (sd_model_read(&m, data, size) < 0)
        return 0;
    if (m.n_layers > size + 1 || m.n_ops > size || m.n_tensors > size)
        abort();
    check_counting(&m);
    check_writing(&m);
    sd_model_release(&m);
    return 0;
}
