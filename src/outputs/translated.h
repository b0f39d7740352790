/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_TRANSLATED_H
#define SD_OUTPUTS_TRANSLATED_H
/* translated: files of other programs as captures in memory, under names that can be
 * opened like those of captures, more than once: views over time, events and pages read
 * a capture again.
 *
 * Who reads files of any input opens them so, and shows the names that were typed. */
#include "outputs/inputs.h"

struct sd_translated {
    char *const *paths; /* of captures, the files themselves */
    size_t n;
    char **names; /* owned; NULL where nothing was translated */
    int *fds;     /* owned; of memory */
};

/* Fails with a sentence that names the file; `remarks` takes what is missing of one. */
int sd_translated_open(struct sd_translated *t, const struct sd_input *input,
                       const struct sd_remarks *remarks, char *const *files, size_t n);
void sd_translated_close(struct sd_translated *t);
#endif
