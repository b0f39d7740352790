/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SUMMARY_H
#define SD_CLI_SUMMARY_H
/* summary: the few lines on stderr after a run: what it took, where it went, and what
 * to type next. */
#include "cli/say.h"
#include "profile/profile.h"

void sd_summary_print(const struct sd_command *c, const struct sd_profile *p);
/* "wrote train.sonde — look at it: sonde report train.sonde" */
void sd_summary_wrote(const char *capture);
#endif
