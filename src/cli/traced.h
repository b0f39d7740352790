/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_TRACED_H
#define SD_CLI_TRACED_H
/* traced: the traced calls of a capture, in the tables of pstats or as its file. */
#include "analyse/traced.h"
#include "base/out.h"
#include "outputs/call_report.h"

struct sd_traced_tables {
    struct sd_traced_wish traced;
    struct sd_call_wish calls;
    bool has_threads; /* a table for each thread, and none for all */
};

int sd_traced_put(const struct sd_profile *p, const struct sd_traced_tables *wish,
                  struct sd_out *out);
/* A pstats file of all of it. */
int sd_traced_put_pstats(const struct sd_profile *p, const struct sd_traced_wish *wish,
                         struct sd_out *out);
/* Says on stderr what is to be known of the numbers. */
void sd_traced_say(const struct sd_profile *p, const struct sd_traced_wish *wish);
#endif
