/* SPDX-License-Identifier: MIT */
/* events_csv: writes every event as a row, every metric of the capture as a column. The
 * name of a sample is the function it was in.  Traced calls and
 * allocations come last: a row for each function as it was called along one path, with
 * what it did or allocated itself, and without a time.
 *
 * Values are raw: nanoseconds, bytes, counts.  Metrics of one name share a column: a
 * row is a span, a point or a sample, never two of them. */
#include <inttypes.h>
#include <string.h>

#include "base/encoding/csv.h"
#include "base/mem.h"
#include "formats/event_files.h"

struct columns {
    uint32_t *of_metric; /* owned; by metric: its column */
    const char **names;  /* owned; borrowed from the profile */
    uint32_t n;
    int64_t *values; /* owned; of the row at hand */
};

static void release(struct columns *c)
{
    sd_free(c->of_metric);
    sd_free(c->names);
    sd_free(c->values);
}

static int arrange(const struct sd_profile *p, struct columns *c)
{
    *c = (struct columns){
        .of_metric = sd_alloc((p->n_metrics + 1) * sizeof *c->of_metric),
        .names = sd_alloc((p->n_metrics + 1) * sizeof *c->names),
        .values = sd_alloc((p->n_metrics + 1) * sizeof *c->values),
    };
    if (!c->of_metric || !c->names || !c->values)
        return sd_no_memory();
    for (size_t i = 0; i < p->n_metrics; i++) {
        uint32_t k = 0;

        while (k < c->n && strcmp(c->names[k], p->metrics[i].name) != 0)
            k++;
        c->of_metric[i] = k;
        if (k == c->n)
            c->names[c->n++] = p->metrics[i].name;
    }
    return 0;
}

static void put_heading(struct sd_out *out, const struct columns *c)
{
    sd_out_text(out, "kind,process,thread,name,start_s,end_s");
    for (uint32_t k = 0; k < c->n; k++) {
        sd_out_text(out, ",");
        sd_csv_text(out, c->names[k], strlen(c->names[k]));
    }
    sd_out_text(out, "\r\n");
}

static void put_seconds(struct sd_out *out, uint64_t ns)
{
    sd_out_printf(out, ",%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* Process and thread: the numbers of the track and of the process it is in. */
static void put_track(struct sd_out *out, const struct sd_profile *p, sd_track_id t)
{
    sd_track_id process = sd_profile_process_of(p, t);

    sd_out_text(out, ",");
    if (process.at != UINT32_MAX)
        sd_out_printf(out, "%" PRIu64, p->tracks[process.at].number);
    sd_out_text(out, ",");
    if (process.at != t.at)
        sd_out_printf(out, "%" PRIu64, p->tracks[t.at].number);
    sd_out_text(out, ",");
}

static const char *kind_of(const struct sd_event *e)
{
    switch (e->kind) {
    case SD_EVENT_SPAN:
        return e->flags & SD_SPAN_UNFINISHED ? "unfinished" : "span";
    case SD_EVENT_POINT:
        return "point";
    case SD_EVENT_SAMPLE:
        return e->flags & SD_SAMPLE_IDLE ? "idle" : "sample";
    case SD_EVENT_CALLS:
    case SD_EVENT_CALLS_RUN:
        return "calls";
    case SD_EVENT_PAIRS:
    case SD_EVENT_WHOLE_PAIRS:
        return "pairs";
    case SD_EVENT_LINES:
        return "lines";
    case SD_EVENT_CALL:
        return "call";
    }
    return "";
}

static const char *name_of(const struct sd_profile *p, const struct sd_event *e)
{
    if (e->kind == SD_EVENT_SPAN)
        return p->sites[e->site.at].path;
    if ((e->kind == SD_EVENT_SAMPLE || e->kind == SD_EVENT_CALLS) &&
        e->stack.at != UINT32_MAX)
        return p->sites[p->stacks[e->stack.at].site.at].path;
    return NULL;
}

static void put_event(struct sd_out *out, const struct sd_profile *p,
                      const struct columns *c, const char *kind,
                      const struct sd_event *e)
{
    const char *name = name_of(p, e);

    sd_out_text(out, kind);
    put_track(out, p, e->track);
    if (name)
        sd_csv_text(out, name, strlen(name));
    if (e->kind == SD_EVENT_CALLS) { /* all of the run */
        sd_out_text(out, ",,");
    } else {
        put_seconds(out, e->from_ns);
        put_seconds(out, e->to_ns);
    }
    for (uint32_t k = 0; k < c->n; k++)
        c->values[k] = SD_VALUE_NONE;
    for (uint32_t i = 0; i < e->n_values; i++)
        c->values[c->of_metric[e->metrics[i].at]] = e->values[i];
    for (uint32_t k = 0; k < c->n; k++) {
        sd_out_text(out, ",");
        if (c->values[k] != SD_VALUE_NONE)
            sd_out_printf(out, "%" PRId64, c->values[k]);
    }
    sd_out_text(out, "\r\n");
}

static void put_totals(struct sd_out *out, const struct sd_profile *p,
                       const struct columns *c, enum sd_evidence evidence)
{
    for (size_t i = 0; out->err == 0 && i < p->evidence[evidence].stacks.n; i++) {
        int64_t values[SD_SAMPLE_METRICS];
        struct sd_event e = sd_event_of_total(p, evidence, i, values);

        put_event(out, p, c, sd_evidence[evidence].name, &e);
    }
}

int sd_csv_write_events(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    struct sd_events *events = NULL;
    struct sd_event e;
    struct columns c;
    int rc = arrange(p, &c);

    if (rc == 0)
        rc = sd_events_open(p, job->from, job->filter, &events);
    if (rc == 0)
        put_heading(out, &c);
    while (rc == 0 && out->err == 0 && (rc = sd_events_next(events, &e)) == 1) {
        put_event(out, p, &c, kind_of(&e), &e);
        rc = 0;
    }
    for (enum sd_evidence k = 0; rc == 0 && k < SD_EVIDENCES; k++)
        if (sd_evidence_has_stacks(k) && k != SD_SAMPLES)
            put_totals(out, p, &c, k);
    sd_events_free(events);
    release(&c);
    return rc;
}
