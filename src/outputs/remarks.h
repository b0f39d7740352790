/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_REMARKS_H
#define SD_OUTPUTS_REMARKS_H
/* remarks: sentences that the user should read beside a result.
 *
 * This room prints nothing.  Whoever asks for a result hands over a function that takes
 * the sentences: the program prints them on stderr (cli/say.h). */
#include "profile/losses.h"

struct sd_remarks {
    void (*take)(void *of, const char *sentence);
    void *of; /* handed to `take` */
};

/* `r` NULL: nobody takes them. */
void sd_remark(const struct sd_remarks *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What the capture lacks (profile/losses.h), in one sentence, or none.  `file` stands
 * before it; NULL: the capture that was recorded just now.  `kinds`: those that nobody
 * has said yet. */
void sd_remark_losses(const struct sd_remarks *r, const char *file,
                      const struct sd_profile *p, unsigned kinds);
#endif
