/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LOSSES_H
#define SD_CLI_LOSSES_H
/* losses: says what a capture lacks (profile/losses.h), on stderr, whatever the verb,
 * the output and --quiet: who looks at numbers must know that they are not all. */
#include "profile/losses.h"

/* One sentence, or none.  `file` stands before it; NULL: the capture that was recorded
 * just now.  `kinds`: those that nobody has said yet. */
void sd_losses_say(const char *file, const struct sd_profile *p, unsigned kinds);
#endif
