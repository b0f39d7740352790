/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LIVE_VERB_DUMP_H
#define SD_CLI_LIVE_VERB_DUMP_H
/* verb_dump: prints the stacks of a running program once, in py-spy's layout, so that
 * the same programs can read it. */
#include "cli/live/snapshot.h"
#include "report/report.h"

struct sd_dump_style {
    struct sd_text_style text;
    bool has_locals, has_full_files, is_qualified;
};

/* Process by process, the oldest thread of each first. */
void sd_dump_text(struct sd_out *out, const struct sd_snapshot *p,
                  const struct sd_sampler *s, const struct sd_dump_style *style);
/* One array of all threads. */
void sd_dump_json(struct sd_out *out, const struct sd_snapshot *p,
                  const struct sd_sampler *s, const struct sd_dump_style *style);
#endif
