/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LINED_H
#define SD_CLI_LINED_H
/* lined: the lines of a capture, printed with their source. */
#include <stdbool.h>

#include "base/out.h"
#include "profile/profile.h"

enum sd_lined_layout { SD_LINED_TIME, SD_LINED_MEMORY, SD_LINED_JSON };

struct sd_lined_wish {
    enum sd_lined_layout layout;
    double unit_s; /* of times */
    bool skips_zero, is_sorted, has_summary;
    unsigned precision; /* of memory */
};

/* "1e-6" to seconds; SD_EUSAGE with a sentence. */
int sd_lined_unit(const char *typed, double *unit_s);
/* Was memory read at the ends of lines? */
bool sd_lined_has_memory(const struct sd_profile *p);
int sd_lined_put(const struct sd_profile *p, const struct sd_lined_wish *wish,
                 struct sd_out *out);
#endif
