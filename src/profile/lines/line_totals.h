/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LINE_TOTALS_H
#define SD_PROFILE_LINE_TOTALS_H
/* line_totals: adds up the counters of each line over processes and sessions. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

enum sd_line_value {
    SD_LINE_HITS,
    SD_LINE_TIME,       /* ns, with all that was called, without SD_LINE_TRACING */
    SD_LINE_CHILD_TIME, /* ns of that in functions whose lines were counted */
    SD_LINE_TRACING,    /* ns that it took to tell of lines, which were taken off */
    SD_LINE_MIN,        /* ns: the shortest hit; SD_VALUE_NONE: none has ended */
    SD_LINE_MAX,        /* ns: the longest */
    SD_LINE_CPU_TIME,   /* ns; this one and those below: SD_VALUE_NONE where it was not
                           measured */
    SD_LINE_READ,       /* how often memory was read at its end */
    SD_LINE_INCREMENT,  /* bytes: change of resident memory, summed */
    SD_LINE_MEMORY,     /* bytes: largest after it */
    SD_LINE_PEAK,       /* bytes: largest inside it */
    /* Times as they were measured, with what telling of lines took: */
    SD_LINE_TOLD_TIME,
    SD_LINE_TOLD_CHILD_TIME,
    SD_LINE_TOLD_MIN,
    SD_LINE_TOLD_MAX,
    SD_LINE_TOLD_CPU_TIME,
    SD_LINE_VALUES
};

#define SD_LINE_NONE INT64_MIN /* SD_VALUE_NONE: not measured */

struct sd_line_total {
    uint32_t site; /* of the profile: the function */
    uint32_t line;
    int64_t values[SD_LINE_VALUES];
};

struct sd_line_totals {          /* all zero is a fresh one */
    struct sd_line_total *items; /* owned; in the order of their first appearance */
    size_t n, cap;
    struct sd_table index; /* site and line to place */
};

/* Adds what one table knows of a line.  0 or SD_ENOMEM. */
int sd_line_totals_add(struct sd_line_totals *t, const struct sd_line_total *one);
void sd_line_totals_release(struct sd_line_totals *t);
#endif
