/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_OPTIONS_H
#define SD_LINES_OPTIONS_H
/* options: the options of the collector lines, in the order of about.c. */
enum {
    SD_LINES_OPT_ONLY,
    SD_LINES_OPT_MEMORY,
    SD_LINES_OPT_CPU,
    SD_LINES_OPT_DEBUG_ABOVE,
    SD_LINES_OPT_THEN,
    SD_LINES_N_OPTIONS,
};

#endif
