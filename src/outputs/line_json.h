/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_LINE_JSON_H
#define SD_OUTPUTS_LINE_JSON_H
/* line_json: writes functions and their lines as JSON, from a capture or from a file of
 * line_profiler, which has less of each. */
#include <stddef.h>
#include <stdint.h>

#include "base/encoding/json.h"
#include "profile/lines/line_totals.h"

struct sd_line_json { /* a function */
    const char *file, *name;
    size_t n_file, n_name;
    int64_t first, time_ns;
    int64_t tracing_ns; /* SD_LINE_NONE: it is not known what that is */
};

/* Of values that nobody measured: they stand there as null, or are no part of it. */
enum sd_line_json_nulls { SD_LINE_JSON_NULLS, SD_LINE_JSON_KNOWN };

/* Begins a function; its rows follow, and sd_line_json_end. */
void sd_line_json_begin(struct sd_json *j, const struct sd_line_json *f);
void sd_line_json_row(struct sd_json *j, int64_t line,
                      const int64_t values[SD_LINE_VALUES],
                      enum sd_line_json_nulls nulls);
void sd_line_json_end(struct sd_json *j);
#endif
