/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_LINE_REPORT_H
#define SD_OUTPUTS_LINE_REPORT_H
/* line_report: prints lines as line_profiler does, or as CSV and JSON. */
#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"
#include "outputs/line_listing.h"
#include "report/text/line_text.h"

int sd_line_report_write(const struct sd_line_stats *s, enum sd_table_form form,
                         const struct sd_line_text_request *request,
                         struct sd_out *out);
#endif
