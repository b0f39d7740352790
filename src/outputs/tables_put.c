/* SPDX-License-Identifier: MIT */
/* tables_put: prints tables as text, CSV and JSON, and a capture in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/analyse.h"
#include "base/text.h"
#include "outputs/alloc_json.h"
#include "outputs/tables.h"
#include "profile/losses.h"

void sd_tables_put_text(struct sd_out *out, const struct sd_view *v,
                        const struct sd_text_style *style)
{
    for (size_t i = 0; i < v->n_tables; i++) {
        sd_out_text(out, i ? "\n" : "");
        sd_report_table_text(out, &v->tables[i], style);
    }
}

void sd_tables_put_csv(struct sd_out *out, const struct sd_view *v)
{
    if (v->n_tables)
        sd_report_table_csv(out, &v->tables[0]);
}

/* The kernel's mark of the program's memory; of several merged runs the largest. */
static int64_t largest_maxrss(const struct sd_profile *p)
{
    int64_t largest = -1, n;

    for (size_t i = 0; i < p->n_metas; i++) {
        if (strcmp(p->metas[i].key, "run.maxrss_bytes") != 0)
            continue;
        n = strtoll(p->metas[i].value, NULL, 10);
        largest = n > largest ? n : largest;
    }
    return largest;
}

int sd_tables_summary(const struct sd_profile *p, struct sd_summary *out)
{
    int64_t maxrss = largest_maxrss(p);
    int rc = sd_analyse_summary(p, out);

    if (rc < 0 || p->window.is_set) /* what `run` knew says nothing of a window */
        return rc;
    if (maxrss > out->peak_bytes) {
        out->peak_bytes = maxrss;
        out->is_peak_sum = false;
    }
    if (out->n_processes == 0)
        out->n_processes = 1; /* nobody watched it, but it ran */
    return 0;
}

static void put_summary(struct sd_json *j, const struct sd_profile *p)
{
    struct sd_summary f;

    if (sd_tables_summary(p, &f) < 0)
        j->out->pending.bad = true; /* said by the flush */
    sd_json_key_object(j, "summary");
    sd_json_key_uint(j, "wall_ns", f.wall_ns);
    sd_json_key(j, "cpu_ns");
    if (f.has_cpu)
        sd_json_uint(j, f.cpu_ns);
    else
        sd_json_null(j);
    sd_json_key(j, "peak_rss_bytes");
    if (f.peak_bytes < 0)
        sd_json_null(j);
    else
        sd_json_int(j, f.peak_bytes);
    sd_json_key_string(j, "peak_rss_of",
                       f.peak_bytes < 0 ? NULL
                       : f.is_peak_sum  ? "all processes"
                                        : "largest process");
    sd_json_key_uint(j, "processes", f.n_processes);
    sd_json_key_uint(j, "threads", f.n_threads);
    sd_json_key_uint(j, "points", f.n_points);
    sd_json_key_uint(j, "spans", f.n_spans);
    sd_json_key_uint(j, "samples", f.n_samples);
    if (p->n_timeline_calls) {
        sd_json_key_uint(j, "timeline_calls", p->n_timeline_calls);
        sd_json_key_uint(j, "timeline_lost", p->n_timeline_lost);
    }
    sd_json_end(j);
}

static void put_metrics(struct sd_json *j, const struct sd_profile *p)
{
    static const char *const units[] = { [SD_UNIT_COUNT] = "count",
                                         [SD_UNIT_NANOSECONDS] = "ns",
                                         [SD_UNIT_BYTES] = "bytes" };
    static const char *const adds[] = { [SD_ADDS_SUM] = "sum",
                                        [SD_ADDS_LEVEL] = "level",
                                        [SD_ADDS_COUNTER] = "counter",
                                        [SD_ADDS_PEAK] = "peak" };

    sd_json_key_array(j, "metrics");
    for (size_t i = 0; i < p->n_metrics; i++) {
        const struct sd_metric *m = &p->metrics[i];

        sd_json_object(j);
        sd_json_key_string(j, "name", m->name);
        sd_json_key_string(j, "unit", units[m->unit]);
        sd_json_key_string(j, "adds", adds[m->adds]);
        sd_json_key_string(j, "meaning", m->meaning);
        sd_json_end(j);
    }
    sd_json_end(j);
}

void sd_tables_put_losses_json(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "losses");
    for (unsigned i = 0; i < SD_LOSS_KINDS; i++) {
        enum sd_loss_kind kind = (enum sd_loss_kind)i;
        struct sd_buf words = { 0 };

        if (sd_loss_amount(p, kind) == 0)
            continue;
        sd_loss_put(&words, p, kind);
        sd_json_object(j);
        sd_json_key_string(j, "kind", sd_loss_word(kind));
        sd_json_key_uint(j, "amount", sd_loss_amount(p, kind));
        sd_json_key_string(j, "text", sd_buf_string(&words));
        j->out->pending.bad |= words.bad;
        sd_json_end(j);
        sd_buf_release(&words);
    }
    sd_json_end(j);
}

void sd_tables_put_json(struct sd_out *out, const struct sd_profile *p,
                        const struct sd_view *v, char *const *files, size_t n_files)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_string(&j, "file", n_files ? files[0] : NULL);
    sd_json_key_array(&j, "files");
    for (size_t i = 0; i < n_files; i++)
        sd_json_string(&j, files[i]);
    sd_json_end(&j);
    sd_json_key_bool(&j, "whole", p->complaint == NULL);
    sd_json_key_string(&j, "complaint", p->complaint);
    sd_tables_put_losses_json(&j, p);
    put_summary(&j, p);
    put_metrics(&j, p);
    sd_alloc_json(&j, p);
    for (size_t i = 0; i < v->n_tables; i++)
        sd_report_table_json(&j, &v->tables[i]);
    for (size_t i = 0; i < v->n_drawings; i++)
        sd_report_drawing_json(&j, &v->drawings[i]);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

/* Rounds that came too late are of the whole recording: nothing to say of a window. */
static void put_samples(struct sd_buf *to, const struct sd_profile *p,
                        const struct sd_summary *f, bool says_lost)
{
    char number[SD_TEXT_MAX];
    struct sd_sample_account a;

    if (f->n_samples == 0)
        return;
    sd_buf_printf(to, ", %s %s", sd_text_count(number, (int64_t)f->n_samples),
                  plural(f->n_samples, "sample", "samples"));
    if (p->window.is_set || !sd_account_of(p, &a))
        return;
    sd_buf_printf(to, " (%s missed", sd_text_count(number, (int64_t)a.missed));
    if (a.lost && says_lost)
        sd_buf_printf(to, ", %s lost", sd_text_count(number, (int64_t)a.lost));
    sd_buf_text(to, ")");
}

/* In one unit as long as that reads well: the two stand side by side to be compared. */
static const char *in_seconds(char out[SD_TEXT_MAX], uint64_t ns)
{
    if (ns >= 1000000000u)
        return sd_text_duration(out, (int64_t)ns);
    snprintf(out, SD_TEXT_MAX, "%.3f s", (double)ns / 1e9);
    return out;
}

void sd_tables_summary_words(struct sd_buf *to, const struct sd_profile *p,
                             bool says_lost)
{
    char wall[SD_TEXT_MAX], cpu[SD_TEXT_MAX], peak[SD_TEXT_MAX];
    struct sd_summary f;

    if (sd_tables_summary(p, &f) < 0) {
        to->bad = true;
        return;
    }
    sd_buf_printf(to, "%s wall", in_seconds(wall, f.wall_ns));
    if (f.has_cpu)
        sd_buf_printf(to, ", %s%s CPU", f.is_cpu_least ? "at least " : "",
                      in_seconds(cpu, f.cpu_ns));
    if (f.peak_bytes >= 0)
        sd_buf_printf(to, ", peak %s%s", sd_text_bytes(peak, f.peak_bytes),
                      f.n_processes < 2 ? ""
                      : f.is_peak_sum   ? " of all processes together"
                                        : " of the largest process");
    put_samples(to, p, &f, says_lost);
    sd_buf_printf(to, " in %u %s", f.n_processes,
                  plural(f.n_processes, "process", "processes"));
    if (f.n_threads)
        sd_buf_printf(to, ", %u %s", f.n_threads,
                      plural(f.n_threads, "thread", "threads"));
}
