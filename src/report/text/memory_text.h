/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_MEMORY_TEXT_H
#define SD_REPORT_TEXT_MEMORY_TEXT_H
/* memory_text: prints the memory of lines exactly as memory_profiler does. */
#include "analyse/line_list.h"
#include "base/out.h"

/* `precision`: digits of MiB behind the point.  0 or SD_ENOMEM. */
int sd_report_line_memory(const struct sd_line_list *l, unsigned precision,
                          struct sd_out *out);
#endif
