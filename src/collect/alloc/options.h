/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_OPTIONS_H
#define SD_ALLOC_OPTIONS_H
/* options: the options of the collector alloc, in the order of about.c. */
#include "base/option.h"
#include "capture/alloc/alloc_cell.h"

enum {
    SD_ALLOC_OPT_LAYER,
    SD_ALLOC_OPT_MODE,
    SD_ALLOC_OPT_SAMPLE_BYTES,
    SD_ALLOC_OPT_MAX_FILE,
    SD_ALLOC_OPT_NATIVE,
    SD_ALLOC_OPT_PRELOAD,
    SD_ALLOC_N_OPTIONS,
};

enum sd_alloc_mode { SD_ALLOC_FULL, SD_ALLOC_AGGREGATE, SD_ALLOC_SAMPLED };

/* What the words of --layer and --mode mean; of layers bits of enum sd_alloc_layer. -1:
 * there is no such word. */
int sd_alloc_layers_of(const struct sd_option_value *v);
int sd_alloc_mode_of(const struct sd_option_value *v);
#endif
