/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_IDLE_SAMPLES_H
#define SD_CLI_IDLE_SAMPLES_H
/* idle_samples: says why tables and pictures are empty: every sample is of a thread
 * that waited or was stopped, and those are left out unless --idle is given. */
#include "cli/verb.h"
#include "profile/profile.h"

/* One sentence on stderr where all samples are such and there are no traced calls,
 * which have tables and pictures of their own; none with --quiet.  `capture`: the file
 * that has just been recorded and still has them; NULL: the verb has read one, or has
 * written another kind of file. */
void sd_idle_samples_say(const struct sd_command *c, const struct sd_profile *p,
                         const char *capture);
/* The same for who has counted them. */
void sd_idle_samples_say_counted(const struct sd_command *c, uint64_t n_samples,
                                 const char *capture);
#endif
