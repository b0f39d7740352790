/* SPDX-License-Identifier: MIT */
/* page_head: the head of a page: what was run, how long it took, and how whole and how
 * costly the recording was. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyse/analyse.h"
#include "analyse/stacks/call_counts.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "outputs/page/page_maker.h"
#include "outputs/tables.h"

/* A shorter run reaches no rate that would mean anything. */
#define RATE_FROM_NS UINT64_C(100000000)

static int add_meta(struct sd_page_maker *m, const char *label, const char *key)
{
    const char *value = sd_profile_meta(m->profile, key);

    return value && *value ? sd_page_add_item(m, label, value) : 0;
}

/* Of a buffer that goes with it. */
static int add_made(struct sd_page_maker *m, const char *label, struct sd_buf *value)
{
    int rc = value->bad ? sd_no_memory()
             : value->n ? sd_page_add_item(m, label, sd_buf_string(value))
                        : 0;

    sd_buf_release(value);
    return rc;
}

/* --- Samples */

/* "2,600 samples, 3 missed, 1 lost, 12 partial" */
static int add_samples(struct sd_page_maker *m, const struct sd_summary *f)
{
    struct sd_sample_account a;
    struct sd_buf words = { 0 };
    char n[SD_TEXT_MAX];

    if (f->n_samples == 0)
        return 0;
    sd_buf_printf(&words, "%s sample%s", sd_text_count(n, (int64_t)f->n_samples),
                  f->n_samples == 1 ? "" : "s");
    if (sd_account_of(m->profile, &a)) {
        sd_buf_printf(&words, ", %s missed", sd_text_count(n, (int64_t)a.missed));
        if (a.lost)
            sd_buf_printf(&words, ", %s lost", sd_text_count(n, (int64_t)a.lost));
        if (a.partial)
            sd_buf_printf(&words, ", %s partial", sd_text_count(n, (int64_t)a.partial));
    }
    return add_made(m, "samples", &words);
}

/* "196 of 200 a second" */
static int add_rate(struct sd_page_maker *m)
{
    uint64_t rounds = 0, asked = 0, elapsed_ns = 0;
    struct sd_buf words = { 0 };

    sd_profile_meta_sum(m->profile, "sample.asked_per_s", &asked);
    if (!sd_profile_meta_sum(m->profile, "sample.rounds", &rounds) ||
        !sd_profile_meta_sum(m->profile, "sample.elapsed_ns", &elapsed_ns) ||
        elapsed_ns < RATE_FROM_NS || m->profile->n_captures > 1)
        return 0;
    sd_buf_printf(&words, "%.0f", (double)rounds * 1e9 / (double)elapsed_ns);
    if (asked)
        sd_buf_printf(&words, " of %llu", (unsigned long long)asked);
    sd_buf_text(&words, " rounds a second");
    return add_made(m, "rate", &words);
}

/* What sampling and tracing took. */
static int add_cost(struct sd_page_maker *m)
{
    struct sd_buf calls = { 0 };
    char text[SD_TEXT_MAX];
    uint64_t cpu_ns = 0;
    int rc = 0;

    if (sd_profile_has(m->profile, SD_SAMPLES) &&
        sd_profile_meta_sum(m->profile, "sample.cpu_ns", &cpu_ns))
        rc = sd_page_add_item(m, "CPU time of sampling",
                              sd_text_duration(text, (int64_t)cpu_ns));
    if (rc == 0 && sd_profile_has(m->profile, SD_CALLS))
        sd_call_counts_remarks(&calls, m->profile, false);
    return rc < 0 ? rc : add_made(m, "cost of tracing", &calls);
}

/* --- The run */

static int add_wall_and_cpu(struct sd_page_maker *m, const struct sd_summary *f)
{
    struct sd_buf words = { 0 };
    char text[SD_TEXT_MAX];
    int rc =
        f->wall_ns == 0
            ? 0 /* a model alone ran for no time */
            : sd_page_add_item(m, "wall", sd_text_duration(text, (int64_t)f->wall_ns));

    if (rc < 0 || !f->has_cpu)
        return rc;
    sd_buf_printf(&words, "%s%s", f->is_cpu_least ? "at least " : "",
                  sd_text_duration(text, (int64_t)f->cpu_ns));
    return add_made(m, "CPU", &words);
}

static int add_peak(struct sd_page_maker *m, const struct sd_summary *f)
{
    struct sd_buf words = { 0 };
    char text[SD_TEXT_MAX];

    if (f->peak_bytes < 0)
        return 0;
    sd_buf_printf(&words, "%s%s", sd_text_bytes(text, f->peak_bytes),
                  f->n_processes < 2 ? ""
                  : f->is_peak_sum   ? " of all processes together"
                                     : " of the largest process");
    return add_made(m, "peak memory", &words);
}

static int add_processes(struct sd_page_maker *m, const struct sd_summary *f)
{
    struct sd_buf words = { 0 };

    if (f->n_processes == 0 || m->profile->n_tracks == 0)
        return 0;
    sd_buf_printf(&words, "%u", f->n_processes);
    if (f->n_threads)
        sd_buf_printf(&words, ", with %u thread%s", f->n_threads,
                      f->n_threads == 1 ? "" : "s");
    return add_made(m, "processes", &words);
}

/* In UTC: the same capture gives the same page everywhere. */
static int add_time(struct sd_page_maker *m)
{
    time_t seconds = (time_t)(m->profile->health.created_real_ns / 1000000000u);
    char text[64];
    struct tm tm;

    if (seconds == 0 || !gmtime_r(&seconds, &tm) ||
        !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return 0;
    return sd_page_add_item(m, "recorded", text);
}

static int add_origin(struct sd_page_maker *m)
{
    int rc = add_meta(m, "Python", "sample.python");

    if (rc == 0)
        rc = add_meta(m, "Sonde", "sonde.version");
    if (rc == 0)
        rc = add_meta(m, "collectors", "collectors");
    if (rc == 0)
        rc = add_time(m);
    return rc < 0 || m->request->privacy & SD_PAGE_SHARED ? rc
                                                          : add_meta(m, "host", "host");
}

/* The command as captures have it: secrets are *** in it already. */
static int set_command(struct sd_page_maker *m)
{
    const char *command = sd_profile_meta(m->profile, "command");

    if (!command)
        command = sd_profile_meta(m->profile, "program");
    m->page.command = m->request->privacy & SD_PAGE_SHARED ? NULL : command;
    m->page.complaint = m->profile->complaint;
    return 0;
}

int sd_page_head_of(struct sd_page_maker *m)
{
    struct sd_summary f;
    int rc = sd_tables_summary(m->profile, &f);

    if (rc == 0)
        rc = set_command(m);
    if (rc == 0)
        rc = add_wall_and_cpu(m, &f);
    if (rc == 0)
        rc = add_peak(m, &f);
    if (rc == 0)
        rc = add_samples(m, &f);
    if (rc == 0)
        rc = add_rate(m);
    if (rc == 0)
        rc = add_cost(m);
    if (rc == 0)
        rc = add_processes(m, &f);
    return rc < 0 ? rc : add_origin(m);
}
