/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_OPTIONS_H
#define SD_CALLS_OPTIONS_H
/* options: the options of the collector calls, in the order of about.c. */
#include "base/option.h"

enum { SD_CALLS_NODES_LEAST = 2, SD_CALLS_NODES_MOST = 16000000 };

enum {
    SD_CALLS_OPT_BUILTINS,
    SD_CALLS_OPT_THREADS,
    SD_CALLS_OPT_CPU,
    SD_CALLS_OPT_BOUNDED,
    SD_CALLS_OPT_NODES,
    SD_CALLS_OPT_TIMELINE,
    SD_CALLS_OPT_SIGNATURES,
    SD_CALLS_OPT_SCALING,
    SD_CALLS_N_OPTIONS,
};

/* How much of arguments is wanted (enum sd_value_detail), 0: nothing; -1: no such word.
 */
int sd_calls_signatures_of(const struct sd_option_value *v);
/* Sets the options that another one implies (scaling). */
void sd_calls_imply(struct sd_option_value values[SD_CALLS_N_OPTIONS]);
#endif
