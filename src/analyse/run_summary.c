/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/moments.h"
#include "analyse/processes.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/series.h"

static bool meta_number(const struct sd_profile *p, const char *key, int64_t *n)
{
    const char *text = sd_profile_meta(p, key);

    *n = text ? strtoll(text, NULL, 10) : -1;
    return *n >= 0;
}

int64_t sd_peak_bytes_of(const struct sd_profile *p, sd_track_id process)
{
    const struct sd_series *rss = sd_profile_series(p, process, "rss");
    const struct sd_series *peak = sd_profile_series(p, process, "peak_rss");
    int64_t most = -1;

    if (rss)
        most = rss->sum.max;
    if (!p->window.is_set && peak && peak->sum.max > most)
        most = peak->sum.max;
    return most;
}

struct sd_process *sd_survey_processes(const struct sd_profile *p)
{
    struct sd_process *found = sd_zalloc((p->n_tracks + 1) * sizeof *found);

    for (size_t i = 0; found && i < p->n_tracks; i++)
        found[i].first_ns = UINT64_MAX;
    for (uint32_t i = 0; found && i < p->n_tracks; i++) {
        const struct sd_track *t = &p->tracks[i];
        uint32_t at = sd_profile_process_of(p, (sd_track_id){ i }).at;
        struct sd_process *one = at == UINT32_MAX ? NULL : &found[at];
        bool has_events = t->first_ns <= t->last_ns;

        if (!one)
            continue;
        one->is_one |= has_events ||
                       (at == i && !p->window.is_set && t->status != SD_STATUS_UNKNOWN);
        one->n_threads += has_events && t->kind == SD_TRACK_THREAD;
        one->first_ns = t->first_ns < one->first_ns ? t->first_ns : one->first_ns;
        one->last_ns = t->last_ns > one->last_ns ? t->last_ns : one->last_ns;
    }
    return found;
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
    int64_t peak = sd_peak_bytes_of(p, process);

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
    struct sd_process *found = sd_survey_processes(p);

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
    rc = sd_sum_over_processes(p, "rss", &all);
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
    uint32_t column = sd_profile_sample_metric(p, "samples");
    int64_t n = 0;

    for (size_t i = 0; column != UINT32_MAX && i < p->samples.n; i++)
        if ((p->samples.items[i].flags & flags) == flags)
            n = sd_sum_i64(n, p->samples.values[column][i]);
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

/* Of several captures the longest, whichever came first. */
uint64_t sd_run_wall_ns(const struct sd_profile *p)
{
    uint64_t longest = 0, n;

    for (size_t i = 0; i < p->n_metas; i++)
        if (strcmp(p->metas[i].key, "run.wall_ns") == 0 &&
            sd_text_parse_number(p->metas[i].value, &n) && n > longest)
            longest = n;
    return longest ? longest : p->run_end_ns;
}

/* Of several captures all of it. */
static bool run_cpu_ns(const struct sd_profile *p, uint64_t *sum)
{
    bool is_known = false;
    uint64_t n;

    *sum = 0;
    for (size_t i = 0; i < p->n_metas; i++)
        if (strcmp(p->metas[i].key, "run.cpu_ns") == 0 &&
            sd_text_parse_number(p->metas[i].value, &n)) {
            *sum += n;
            is_known = true;
        }
    return is_known;
}

/* Lines are counted for all threads in one table, which one of them made: who the
 * others were is not known. */
static bool has_lines_alone(const struct sd_profile *p)
{
    return p->lines.n > 0 && p->samples.n == 0 && p->calls.n == 0 && p->n_spans == 0 &&
           p->n_series == 0;
}

static uint64_t window_ns(const struct sd_window *w)
{
    return w->from_ns < w->to_ns ? w->to_ns - w->from_ns : 0;
}

int sd_analyse_summary(const struct sd_profile *p, struct sd_summary *out)
{
    uint64_t cpu_ns;
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
    if (!p->window.is_set && run_cpu_ns(p, &cpu_ns)) {
        out->has_cpu = true;
        if (cpu_ns > out->cpu_ns)
            out->cpu_ns = cpu_ns;
    }
    return rc;
}
