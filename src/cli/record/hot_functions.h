/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_HOT_FUNCTIONS_H
#define SD_CLI_RECORD_HOT_FUNCTIONS_H
/* hot_functions: names the functions with most own time, as --only takes them
 * (collect/lines/line_choice.h). */
#include "base/buf.h"
#include "profile/profile.h"

/* At most n of them, "FILE:LINE" with commas between, by samples or, where there are
 * none, by traced calls; compiled code and what has no file of its own is left out.
 * SD_EABSENT when there is nothing such; 0 or < 0. */
int sd_hot_functions(const struct sd_profile *p, size_t n, struct sd_buf *to);
#endif
