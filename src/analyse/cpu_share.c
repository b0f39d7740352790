/* SPDX-License-Identifier: MIT */
/* cpu_share: works out how much of the time runnable threads had a CPU.
 *
 * A thread that waits for a CPU is sampled at the place where it was interrupted. Where
 * that happens often, a few such places have most of the samples, and shares of samples
 * scatter widely around those of the work; shares of CPU time do not. */
#include "analyse/analyse.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX, LEAST_SAMPLES = 100 };
#define ENOUGH 0.8

/* As the kernel counted it, for the threads that were sampled. */
static bool counted_share(const struct sd_profile *p, double *share)
{
    uint64_t ran_ns, queued_ns;

    if (!sd_profile_meta_sum(p, "sample.ran_ns", &ran_ns) ||
        !sd_profile_meta_sum(p, "sample.queued_ns", &queued_ns) || ran_ns == 0)
        return false;
    *share = (double)ran_ns / ((double)ran_ns + (double)queued_ns);
    return true;
}

/* Without these counts the samples must do.  They give too low a share for threads that
 * sleep often, because the wall time of a sample includes the sleep before it. */
bool sd_analyse_lacks_cpu(const struct sd_profile *p, double *share)
{
    const struct sd_stack_totals *t = &p->evidence[SD_SAMPLES].stacks;
    uint32_t samples = sd_profile_sample_metric(p, "samples");
    uint32_t wall = sd_profile_sample_metric(p, "wall");
    uint32_t cpu = sd_profile_sample_metric(p, "cpu");
    int64_t n = 0, wall_ns = 0, cpu_ns = 0;

    *share = 1;
    if (samples == NONE || wall == NONE || cpu == NONE)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].flags & (SD_SAMPLE_IDLE | SD_SAMPLE_WAITS_GIL))
            continue;
        n = sd_sum_i64(n, t->values[samples][i]);
        wall_ns = sd_sum_i64(wall_ns, t->values[wall][i]);
        cpu_ns = sd_sum_i64(cpu_ns, t->values[cpu][i]);
    }
    if (n < LEAST_SAMPLES || wall_ns <= 0 || cpu_ns <= 0)
        return false;
    if (!counted_share(p, share))
        *share = (double)cpu_ns / (double)wall_ns;
    return *share < ENOUGH;
}
