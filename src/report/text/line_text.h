/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_LINE_TEXT_H
#define SD_REPORT_TEXT_LINE_TEXT_H
/* line_text: prints the tables of line_profiler, byte for byte as its version 5 does.
 *
 * A function's table shows its source beside the numbers; where a file has changed or
 * gone since, the numbers stay and the source is what is there.  In two things it
 * shows more: a module's table has the whole file, where theirs ends with its first
 * def, and a line that ran is shown wherever it is. */
#include <stdbool.h>

#include "base/out.h"
#include "profile/lines/line_stats.h"
#include "report/text/code_files.h"

enum { SD_LINE_TEXT_COLUMNS = 5 }; /* line, hits, time, time of a hit, share */

struct sd_line_text_request {
    double unit;      /* seconds of one unit shown; 0: the stats' own */
    bool skips_zeros; /* leaves out functions that never ran */
    bool has_no_details;
    bool has_summary;                 /* one line for each function, at the end */
    bool is_sorted;                   /* by time, the least first */
    bool is_reversed;                 /* the other way round */
    int widths[SD_LINE_TEXT_COLUMNS]; /* at least; less than line_profiler's are those
                                         of line_profiler */
    sd_code_files_read *source;       /* NULL: files are read */
    void *context;
};

int sd_report_lines(const struct sd_line_stats *s,
                    const struct sd_line_text_request *request, struct sd_out *out);

/* The functions in the order that is asked for, by their places; sd_free frees it. */
int sd_line_text_order(const struct sd_line_stats *s,
                       const struct sd_line_text_request *request, size_t **order);
#endif
