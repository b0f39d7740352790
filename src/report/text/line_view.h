/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_LINE_VIEW_H
#define SD_REPORT_TEXT_LINE_VIEW_H
/* line_view: lines as Sonde itself shows them: hits, time and memory side by side with
 * the source, and what is hot marked as such.
 *
 * The layouts of other tools are line_text and memory_text; these here are tables like
 * all others, so they are drawn, written as CSV and as JSON by who does that for all.
 */
#include "analyse/line_list.h"
#include "analyse/view.h"
#include "report/report.h"

/* A table for each function, with all lines of its source.  How hot a line is, is its
 * share of the function's time, and of what it grew.  0 or SD_ENOMEM. */
int sd_report_lines_combined(const struct sd_line_list *l,
                             const struct sd_text_style *style, struct sd_out *out);

/* One table of the lines of all functions by their own time, that is without what was
 * spent in lines of functions that they called: these add up to the whole.  `limit`: at
 * most so many; 0: all. */
int sd_line_view_hottest(const struct sd_line_list *l, size_t limit, struct sd_view *v);
#endif
