/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_CALL_REPORT_H
#define SD_OUTPUTS_CALL_REPORT_H
/* call_report: prints calls as pstats does, or as CSV and JSON. */
#include <stdbool.h>
#include <stddef.h>

#include "base/matcher.h"
#include "base/out.h"
#include "formats/output.h"
#include "profile/call_stats.h"

/* One of the two. */
struct sd_call_limit {
    const char *rows;  /* "10", or "0.1" of them; "0" is all */
    const char *match; /* a regular expression */
    bool prefers_own;  /* of a number of rows: the program's own are chosen first */
};
enum { SD_CALL_LIMITS_MAX = 4 };

struct sd_call_request {
    enum sd_table_form form;
    const char *const *sort; /* as typed, each perhaps several apart by commas; ended by
                                NULL, or NULL */
    bool is_reversed;
    bool strips_dirs;
    bool has_callers, has_callees; /* instead of the functions themselves */
    bool is_cpu;                   /* the times are the CPU's, which is said */
    unsigned digits;               /* of seconds; 0: three */
    struct sd_call_limit limits[SD_CALL_LIMITS_MAX]; /* one after the other */
    size_t n_limits;
    const struct sd_matcher_maker *maker; /* of expressions; NULL: there are none */
};

/* Writes what is asked for; strips the stats when that is.  SD_EUSAGE with a sentence
 * for words, rows and expressions that are none. */
int sd_call_report_write(struct sd_call_stats *s, const struct sd_call_request *request,
                         struct sd_out *out);

/* Are these words that calls can be sorted by? */
bool sd_call_report_sort_is(const char *const *sort);
#endif
