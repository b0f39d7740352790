/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LOAD_H
#define SD_CLI_LOAD_H
/* load: captures named on the command line, as one profile. */
#include "capture/merged.h"
#include "cli/verb.h"
#include "profile/profile.h"

/* stdin as a file that can be looked at twice and be opened by this name, whether it is
 * one or a pipe. */
#define SD_STDIN "/dev/stdin"
int sd_load_stdin(void);

/* One of them ("-" is stdin), with a progress line on a terminal when it is large. */
int sd_load_one(const struct sd_command *c, const char *file,
                const struct sd_filter *filter, struct sd_profile **out);
/* Loads all of them, merged.  Says on stderr, in one sentence each, what a damaged one
 * lacks; that is no failure. */
int sd_load(const struct sd_command *c, size_t n, char *const *files,
            const struct sd_filter *filter, struct sd_profile **out);
/* Copies all of them into one file, and says the same. */
int sd_load_into(struct sd_merged *to, size_t n, char *const *files);
#endif
