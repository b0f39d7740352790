/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_FACTS_H
#define SD_CLI_RECORD_FACTS_H
/* facts: writes what `run` knows of a run into its capture (META). */
#include <stdint.h>

#include "capture/capture.h"
#include "capture/log.h"
#include "cli/record/run_collectors.h"
#include "cli/record/launch.h"
#include "cli/record/program.h"

/* Before the start: command, directory, host, collectors, interpreter, version. */
int sd_facts_put_before(struct sd_capture *capture, const struct sd_program *target,
                        const struct sd_collector_set *chosen);
/* After the end: run.started_ns (CLOCK_MONOTONIC), run.wall_ns, run.cpu_ns,
 * run.maxrss_bytes, run.status; run.seen_cpu_ns, where processes recorded from inside:
 * what these have used as far as it was seen, waited for or not. */
void sd_facts_put_after(struct sd_log *log, const struct sd_child *child,
                        uint64_t folded_peak, uint64_t seen_cpu_ns);
#endif
