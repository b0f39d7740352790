/* SPDX-License-Identifier: MIT */
/* run_summary: works out the figures of the summary after a run. */
#include <stdlib.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/moments.h"
#include "analyse/processes.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/series.h"

enum { CPU_SLACK_NS = 50000000 }; /* by which two sums of it differ for no reason */

static bool meta_number(const struct sd_profile *p, const char *key, int64_t *n)
{
    const char *text = sd_profile_meta(p, key);

    *n = text ? strtoll(text, NULL, 10) : -1;
    return *n >= 0;
}

/* As many as were seen: those that recorded something, or as many as the system counted
 * at one time, which knows those that are no Python's, but none that came and went. */
static uint32_t threads_of(const struct sd_profile *p, sd_track_id process,
                           const struct sd_process *found)
{
    const struct sd_series *s = sd_profile_series(p, process, "threads");

    if (s && s->sum.max > found->n_threads && s->sum.max < INT32_MAX)
        return (uint32_t)s->sum.max;
    return found->n_threads;
}

static void add_process(const struct sd_profile *p, sd_track_id process,
                        const struct sd_process *found, struct sd_summary *out)
{
    const struct sd_series *cpu = sd_profile_series(p, process, "cpu");
    int64_t peak = sd_process_peak_bytes(p, process);

    out->n_processes++;
    out->n_threads += threads_of(p, process, found);
    out->has_cpu |= cpu != NULL;
    if (cpu && cpu->sum.total > 0)
        out->cpu_ns += (uint64_t)cpu->sum.total;
    if (peak > out->peak_bytes)
        out->peak_bytes = peak;
}

static int add_processes(const struct sd_profile *p, struct sd_summary *out)
{
    struct sd_process *found = sd_processes_survey(p);

    if (!found)
        return sd_no_memory();
    for (uint32_t i = 0; i < p->n_tracks; i++)
        if (found[i].is_one)
            add_process(p, (sd_track_id){ i }, &found[i], out);
    sd_free(found);
    return 0;
}

/* Several processes at one moment may hold more than any of them ever did. */
static int raise_peak(const struct sd_profile *p, struct sd_summary *out)
{
    struct sd_series all;
    int rc;

    if (out->n_processes < 2)
        return 0;
    rc = sd_moments_sum_processes(p, "rss", &all);
    if (rc < 0)
        return rc;
    if (all.n_buckets > 0 && all.sum.max >= out->peak_bytes) {
        out->peak_bytes = all.sum.max;
        out->is_peak_sum = true;
    }
    sd_series_release(&all);
    return 0;
}

/* Those that have all of these marks. */
static uint64_t count_marked(const struct sd_profile *p, uint32_t flags)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;
    uint32_t column = sd_profile_sample_metric(p, "samples");
    int64_t n = 0;

    for (size_t i = 0; column != UINT32_MAX && i < samples->n; i++)
        if ((samples->items[i].flags & flags) == flags)
            n = sd_sum_i64(n, samples->values[column][i]);
    return (uint64_t)n;
}

static uint64_t count_samples(const struct sd_profile *p) { return count_marked(p, 0); }

void sd_account_settle(struct sd_sample_account *a, const struct sd_profile *p)
{
    uint64_t n = count_samples(p);

    if (n >= a->samples)
        return;
    a->lost += a->samples - n;
    a->samples = n;
    a->partial = count_marked(p, SD_SAMPLE_PARTIAL);
    a->idle = count_marked(p, SD_SAMPLE_IDLE);
}

bool sd_account_of(const struct sd_profile *p, struct sd_sample_account *out)
{
    int64_t n;

    *out = (struct sd_sample_account){ 0 };
    if (!meta_number(p, "sample.samples", &n))
        return false;
    out->samples = (uint64_t)n;
    out->missed = meta_number(p, "sample.missed", &n) ? (uint64_t)n : 0;
    out->lost = meta_number(p, "sample.lost", &n) ? (uint64_t)n : 0;
    out->partial = meta_number(p, "sample.partial", &n) ? (uint64_t)n : 0;
    out->idle = meta_number(p, "sample.idle", &n) ? (uint64_t)n : 0;
    if (!p->is_part)
        sd_account_settle(out, p);
    else if (meta_number(p, "sample.unwritten", &n))
        out->lost += (uint64_t)n;
    return true;
}

uint64_t sd_run_wall_ns(const struct sd_profile *p)
{
    return p->ran_ns ? p->ran_ns : p->run_end_ns;
}

/* That of threads while they were sampled. */
static uint64_t sampled_cpu_ns(const struct sd_profile *p)
{
    const struct sd_stack_totals *samples = &p->evidence[SD_SAMPLES].stacks;
    uint32_t cpu = sd_profile_sample_metric(p, "cpu");
    int64_t sum = 0;

    for (size_t i = 0; cpu != UINT32_MAX && i < samples->n; i++)
        sum = sd_sum_i64(sum, samples->values[cpu][i]);
    return sum > 0 ? (uint64_t)sum : 0;
}

/* The program's end tells the CPU time of those processes alone that were waited for.
 * Where all of them were seen to take more than readings differ by, that is the least
 * it was. */
static void set_cpu(const struct sd_profile *p, struct sd_summary *out)
{
    uint64_t waited_ns, seen_ns, sampled_ns = sampled_cpu_ns(p);

    if (!sd_profile_meta_sum(p, "run.cpu_ns", &waited_ns))
        return;
    sd_profile_meta_sum(p, "run.seen_cpu_ns", &seen_ns);
    if (sampled_ns > seen_ns)
        seen_ns = sampled_ns;
    if (out->cpu_ns > seen_ns)
        seen_ns = out->cpu_ns;
    out->has_cpu = true;
    out->is_cpu_least = seen_ns > waited_ns + waited_ns / 16 + CPU_SLACK_NS;
    out->cpu_ns = out->is_cpu_least ? seen_ns : waited_ns;
}

/* Lines are counted for all threads in one table, which one of them made: who the
 * others were is not known. */
static bool has_lines_alone(const struct sd_profile *p)
{
    return sd_profile_has(p, SD_LINES) && !sd_profile_has_stacks(p) &&
           p->n_spans == 0 && p->n_series == 0;
}

static uint64_t window_ns(const struct sd_window *w)
{
    return w->from_ns < w->to_ns ? w->to_ns - w->from_ns : 0;
}

int sd_analyse_summary(const struct sd_profile *p, struct sd_summary *out)
{
    int rc;

    *out = (struct sd_summary){
        .wall_ns = p->window.is_set ? window_ns(&p->window) : sd_run_wall_ns(p),
        .peak_bytes = -1,
        .n_points = p->n_point_events,
        .n_spans = p->n_span_events,
        .n_samples = count_samples(p),
    };
    rc = add_processes(p, out);
    if (rc == 0)
        rc = raise_peak(p, out);
    if (has_lines_alone(p))
        out->n_threads = 0;
    if (!p->window.is_set)
        set_cpu(p, out);
    return rc;
}
