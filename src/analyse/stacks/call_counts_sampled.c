/* SPDX-License-Identifier: MIT */
/* call_counts_sampled: samples as what a pstats file holds.
 *
 * As profiling.sampling of CPython 3.15 has them: calls are samples with the function
 * on the stack, primitive ones those in the function itself.  Times are measured, not
 * counts times an interval.  A recursive function has one sample per stack. */
#include "analyse/stacks/call_counts.h"
#include "base/error.h"
#include "base/sum.h"

static struct sd_call_numbers counts_of(const struct sd_call_numbers *samples)
{
    return (struct sd_call_numbers){ .calls = sd_round_i64(samples->total),
                                     .primitive = sd_round_i64(samples->own) };
}

static int same_function(struct sd_call_stats *out, const struct sd_call_function *f,
                         sd_function_id *id)
{
    return sd_call_stats_function(out, f->file.p, f->file.n, f->line, f->name.p,
                                  f->name.n, id);
}

/* Adds the samples of one function, and of those that called it. */
static int add_function(struct sd_call_stats *out, const struct sd_call_stats *samples,
                        const struct sd_call_function *f)
{
    struct sd_call_numbers n = counts_of(&f->n);
    sd_function_id callee, caller;
    int rc = same_function(out, f, &callee);

    if (rc == 0)
        rc = sd_call_stats_count(out, callee, &n);
    for (uint32_t e = f->first_caller; e != SD_NO_EDGE && rc == 0;
         e = samples->edges[e].next) {
        n = counts_of(&samples->edges[e].n);
        rc = same_function(out, sd_call_stats_at(samples, samples->edges[e].caller),
                           &caller);
        if (rc == 0)
            rc = sd_call_stats_count_calls(out, caller, callee, &n);
    }
    return rc;
}

int sd_call_counts_sampled(const struct sd_profile *p,
                           const struct sd_sample_choice *choice,
                           struct sd_call_stats *out)
{
    struct sd_stacks_request request = { .choice = *choice, .is_sampled = true };
    struct sd_call_stats samples;
    int rc;

    sd_call_stats_init(&samples);
    request.choice.evidence = &sd_evidence[SD_SAMPLES];
    request.choice.metric = "wall";
    rc = sd_call_counts_stats(p, &request, out);
    request.choice.metric = "samples";
    if (rc == 0)
        rc = sd_call_counts_stats(p, &request, &samples);
    for (size_t i = 0; i < samples.n_listed && rc == 0; i++)
        rc = add_function(out, &samples, sd_call_stats_at(&samples, samples.listed[i]));
    sd_call_stats_release(&samples);
    out->is_sampled = true;
    return rc < 0 ? rc : sd_call_stats_sum(out);
}
