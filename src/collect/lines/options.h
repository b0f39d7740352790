/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_OPTIONS_H
#define SD_LINES_OPTIONS_H
/* options: of the collector lines, in the order of about.c, and their way into the
 * program whose lines are counted. */
#include <stdbool.h>
#include <stddef.h>

#include "base/option.h"

enum {
    SD_LINES_OPT_ONLY,
    SD_LINES_OPT_MEMORY,
    SD_LINES_OPT_CPU,
    SD_LINES_OPT_DEBUG_ABOVE,
    SD_LINES_OPT_THEN,
    SD_LINES_N_OPTIONS,
};

struct sd_lines_asked {
    char *only;           /* owned; or NULL */
    char *then;           /* owned; what to do above the limit; NULL: the debugger */
    uint64_t limit_bytes; /* 0: none */
    bool has_memory, has_cpu;
};

/* Whether the run wants lines (SONDE_WITH: "sections,lines:only=f+src/a.py;memory=1"),
 * and how.  False: it does not, or there is no memory. */
bool sd_lines_asked_from(const char *with, struct sd_lines_asked *out);
void sd_lines_asked_release(struct sd_lines_asked *a);
#endif
