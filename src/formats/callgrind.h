/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_CALLGRIND_H
#define SD_FORMATS_CALLGRIND_H
/* callgrind: writes functions and calls for KCachegrind, callgrind_annotate and
 * gprof2dot.
 *
 * Its format is text: a function with its own cost, and below it each function that it
 * called, how often, and what that cost in all.  Names are written once and have a
 * number from then on.  Costs are whole numbers. */
#include "base/out.h"
#include "profile/call_stats.h"

struct sd_callgrind_head {
    const char *command;  /* what was run, or NULL */
    const char *event;    /* what is counted: "ns", "samples" */
    double per_unit;      /* of the stats' unit: 1e9 ns in their seconds */
    bool has_names_first; /* every name stands at the top, as in yappi's files, not
                             where it comes up */
};

/* 0 or SD_ENOMEM. */
int sd_call_stats_write_callgrind(const struct sd_call_stats *s,
                                  const struct sd_callgrind_head *head,
                                  struct sd_out *out);
#endif
