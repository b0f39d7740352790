/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_FINDINGS_STATS_FINDINGS_H
#define SD_ANALYSE_FINDINGS_STATS_FINDINGS_H
/* stats_findings: what stands out in a file that is no profile: functions and their
 * callers, functions and their lines, or a model.  The sentences and thresholds are
 * those of profiles, as far as such a file knows their figures. */
#include "analyse/findings/findings.h"
#include "analyse/model/model_costs.h"
#include "profile/call_stats.h"
#include "profile/lines/line_stats.h"

/* Each: texts are in the arena; 0 or SD_ENOMEM. */
int sd_stats_findings_of_calls(const struct sd_call_stats *s, struct sd_arena *a,
                               struct sd_profile_findings *out);
int sd_stats_findings_of_lines(const struct sd_line_stats *s, struct sd_arena *a,
                               struct sd_profile_findings *out);
int sd_stats_findings_of_model(const struct sd_model_costs *c, struct sd_arena *a,
                               struct sd_profile_findings *out);
#endif
