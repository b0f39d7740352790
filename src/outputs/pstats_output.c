/* SPDX-License-Identifier: MIT */
/* pstats_output: traced calls as cProfile writes them; where there are none, samples as
 * profiling.sampling of CPython 3.15 does. */
#include "formats/pstats.h"
#include "formats/stack_style.h"
#include "outputs/outputs.h"
#include "outputs/pstats_tables.h"

static int write_samples(const struct sd_output_job *job, struct sd_out *out)
{
    struct sd_sample_choice choice = { .has_idle = job->style && job->style->has_idle,
                                       .is_gil_only =
                                           job->style && job->style->is_gil_only };
    struct sd_call_stats stats;
    int rc;

    sd_call_stats_init(&stats);
    rc = sd_call_counts_sampled(job->profile, &choice, &stats);
    if (rc == 0)
        rc = sd_call_stats_write_pstats(&stats, out);
    sd_call_stats_release(&stats);
    return rc;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    static const struct sd_stacks_request all;

    if (job->calls)
        return sd_call_stats_write_pstats(job->calls, out);
    if (!sd_profile_has(job->profile, SD_CALLS) &&
        sd_profile_has(job->profile, SD_SAMPLES))
        return write_samples(job, out);
    return sd_pstats_tables_put_file(job->profile, &all, out);
}

const struct sd_output sd_output_pstats = {
    .name = "pstats",
    .suffixes = { ".prof", ".pstats" },
    .summary = "traced calls, or else samples, for Python's pstats, snakeviz and "
               "gprof2dot",
    .loses = "samples where calls were traced; paths, threads, the order of time; "
             "lines, sections, readings, idle samples unless asked for",
    .needs = SD_HOLDS_CALLS,
    .write = write,
};
