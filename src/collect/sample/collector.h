/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_COLLECTOR_H
#define SD_COLLECT_SAMPLE_COLLECTOR_H
/* collector: what the command line asks of the collector at the end: what became of the
 * samples. */
#include <stdint.h>

#include "collect/sample/counts.h"

struct sd_sample_result {
    struct sd_sample_counts counts;
    uint64_t elapsed_ns; /* from the first round to the last */
    uint64_t cpu_ns;     /* CPU time of the sampling thread */
    uint64_t unwritten;  /* samples for which the capture had no room */
};

/* Samples taken so far, from any thread. */
uint64_t sd_sample_so_far(void *state);

/* `state` is what the collector's start gave.  Ends the sampling; its stop is still to
 * be called, and may be called without this. */
void sd_sample_finish(void *state, struct sd_sample_result *out);
#endif
