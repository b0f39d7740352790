/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_SERVE_QUERY_H
#define SD_CLI_SERVE_SERVE_QUERY_H
/* serve_query: what a page asks for, read from JSON: the same words as the options of
 * `sonde report`. */
#include <stddef.h>

#include "analyse/view_request.h"
#include "base/arena.h"

struct sd_serve_query { /* all zero is a released one */
    struct sd_view_request request;
    struct sd_arena arena; /* its texts */
};

/* An object with "views" and, where wanted, "from_ns", "to_ns", "section", "track",
 * "metric", "by", "idle", "gil", "mine".  SD_EUSAGE with a sentence for any other. */
int sd_serve_query_read(struct sd_serve_query *q, const char *json, size_t n);
void sd_serve_query_release(struct sd_serve_query *q);
#endif
