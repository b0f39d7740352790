/* SPDX-License-Identifier: MIT */
/* lprof_output: counted lines as line_profiler writes them. */
#include "analyse/line_list.h"
#include "formats/lprof.h"
#include "outputs/outputs.h"

static int write_profile(const struct sd_profile *p, struct sd_out *out)
{
    struct sd_line_list lined = { 0 };
    struct sd_line_stats s;
    int rc;

    sd_line_stats_init(&s);
    rc = sd_line_list_of(p, &lined);
    if (rc == 0)
        rc = sd_line_list_stats(&lined, SD_TWINS_TOGETHER, &s);
    if (rc == 0)
        rc = sd_line_stats_write_lprof(&s, out);
    sd_line_stats_release(&s);
    sd_line_list_release(&lined);
    return rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    return job->profile ? write_profile(job->profile, out)
                        : sd_line_stats_write_lprof(job->lines, out);
}

const struct sd_output sd_output_lprof = {
    .name = "lprof",
    .suffixes = { ".lprof" },
    .summary = "lines and their times for line_profiler",
    .loses = "everything but counted lines, and of these all but hits and time",
    .needs = SD_HOLDS_LINES,
    .write = write,
};
