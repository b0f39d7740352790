/* SPDX-License-Identifier: MIT */
/* cpu_share: how much of the time threads that could run had a CPU.
 *
 * A thread that waits for a CPU is sampled at the place where it was interrupted. Where
 * that happens often, a few such places have most of the samples, and shares of samples
 * scatter widely around those of the work; shares of CPU time do not. */
#include "analyse/analyse.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX, LEAST_SAMPLES = 100 };
#define ENOUGH 0.8

bool sd_analyse_lacks_cpu(const struct sd_profile *p, double *share)
{
    uint32_t samples = sd_profile_sample_metric(p, "samples");
    uint32_t wall = sd_profile_sample_metric(p, "wall");
    uint32_t cpu = sd_profile_sample_metric(p, "cpu");
    int64_t n = 0, wall_ns = 0, cpu_ns = 0;

    *share = 1;
    if (samples == NONE || wall == NONE || cpu == NONE)
        return false;
    for (size_t i = 0; i < p->samples.n; i++) {
        if (p->samples.items[i].flags & (SD_SAMPLE_IDLE | SD_SAMPLE_WAITS_GIL))
            continue;
        n = sd_sum_i64(n, p->samples.values[samples][i]);
        wall_ns = sd_sum_i64(wall_ns, p->samples.values[wall][i]);
        cpu_ns = sd_sum_i64(cpu_ns, p->samples.values[cpu][i]);
    }
    if (n < LEAST_SAMPLES || wall_ns <= 0 || cpu_ns <= 0)
        return false;
    *share = (double)cpu_ns / (double)wall_ns;
    return *share < ENOUGH;
}
