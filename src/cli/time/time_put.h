/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TIME_TIME_PUT_H
#define SD_CLI_TIME_TIME_PUT_H
/* time_put: prints what timed statements take, for eyes and as JSON. */
#include "base/out.h"
#include "profile/time/timings.h"

struct sd_time_style {
    const char *unit; /* "nsec", "usec", "msec", "sec"; NULL: what suits each */
    bool has_histogram;
};

int sd_time_put_text(struct sd_out *out, const struct sd_timings *t,
                     const struct sd_time_style *style);
int sd_time_put_json(struct sd_out *out, const struct sd_timings *t);
#endif
