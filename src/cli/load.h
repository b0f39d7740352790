/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LOAD_H
#define SD_CLI_LOAD_H
/* load: captures named on the command line, as one profile. */
#include "capture/capture_merge.h"
#include "cli/verb.h"
#include "profile/profile.h"

/* stdin as a file that can be looked at twice and be opened by this name, whether it is
 * one or a pipe. */
#define SD_STDIN "/dev/stdin"
int sd_load_stdin(void);

/* One of them ("-" is stdin), with a progress line on a terminal when it is large.
 * Says on stderr what it lacks (losses.h); that is no failure. */
int sd_load_one(const struct sd_command *c, const char *file, struct sd_profile **out);
/* The same of what was recorded just now: the caller says what it lacks. */
int sd_load_back(const struct sd_command *c, const char *file, struct sd_profile **out);
/* Loads all of them, merged, and says of each the same. */
int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, struct sd_profile **out);
/* Copies all of them into one file, and says the same. */
int sd_load_into(struct sd_merged *to, size_t n, char *const *files);
#endif
