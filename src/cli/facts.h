/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_FACTS_H
#define SD_CLI_FACTS_H
/* facts: what `run` itself knows of a run, as META of its capture, and back. */
#include <stdint.h>

#include "analyse/analyse.h"
#include "capture/capture.h"
#include "capture/log.h"
#include "cli/chosen.h"
#include "cli/record/launch.h"
#include "cli/record/program.h"
#include "profile/profile.h"

/* Before the start: command, directory, host, collectors, interpreter, version. */
int sd_facts_put_before(struct sd_capture *capture, const struct sd_target *target,
                        const struct sd_chosen *chosen);
/* After the end: run.wall_ns, run.cpu_ns, run.maxrss_bytes, run.status. */
void sd_facts_put_after(struct sd_log *log, const struct sd_child *child,
                        uint64_t folded_peak);

/* What the events of a capture tell, with what `run` knew unless a filter of time is
 * set.  SD_ENOMEM with its sentence; *out is then not to be shown. */
int sd_facts_of(const struct sd_profile *p, struct sd_summary *out);
#endif
