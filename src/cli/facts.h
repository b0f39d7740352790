/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_FACTS_H
#define SD_CLI_FACTS_H
/* facts: what `run` itself knows of a run, as META of its capture, and back.
 *
 * The kernel's own account of the program (wait4) is exact where readings are taken
 * from time to time, so it comes first where there is one. */
#include <stdint.h>

#include "capture/capture.h"
#include "capture/log.h"
#include "cli/chosen.h"
#include "cli/launch.h"
#include "cli/target.h"
#include "profile/profile.h"

/* Before the start: command, directory, host, collectors, interpreter, version. */
int sd_facts_put_before(struct sd_capture *capture, const struct sd_target *target,
                        const struct sd_chosen *chosen);
/* After the end: run.wall_ns, run.cpu_ns, run.maxrss_bytes, run.status. */
void sd_facts_put_after(struct sd_log *log, const struct sd_child *child);

struct sd_facts {
    uint64_t wall_ns, cpu_ns;
    int64_t peak_bytes; /* -1: not known */
    uint32_t n_processes, n_threads;
    uint64_t n_points, n_spans;
};
void sd_facts_of(const struct sd_profile *p, struct sd_facts *out);
#endif
