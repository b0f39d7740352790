/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_MEMORY_TEXT_H
#define SD_REPORT_MEMORY_TEXT_H
/* memory_text: the memory of lines in the layout of memory_profiler, to the letter. */
#include "analyse/line_list.h"
#include "base/out.h"

/* `precision`: digits of MiB behind the point.  0 or SD_ENOMEM. */
int sd_report_line_memory(const struct sd_lined *l, unsigned precision,
                          struct sd_out *out);
#endif
