/* SPDX-License-Identifier: MIT */
/* events_json: writes a capture as one JSON object: `health`, `meta`, `notes`, then
 * `metrics`, `tracks`, `sites` and `stacks` numbered by `id` (a stack is a frame on top
 * of its `parent`), then `calls` that were traced and `events`, which name those ids.
 * Times are nanoseconds from the capture's zero, values raw under the metric's unit.
 * Events are streamed, one per line, so that writing them takes no memory. */
#include <string.h>

#include "base/encoding/json.h"
#include "formats/event_files.h"

static const char *const units[] = {
    [SD_UNIT_COUNT] = "count",
    [SD_UNIT_NANOSECONDS] = "ns",
    [SD_UNIT_BYTES] = "bytes",
};
static const char *const adds[] = {
    [SD_ADDS_SUM] = "sum",
    [SD_ADDS_LEVEL] = "level",
    [SD_ADDS_COUNTER] = "counter",
    [SD_ADDS_PEAK] = "peak",
};
static const char *const track_kinds[] = {
    [SD_TRACK_PROCESS] = "process",
    [SD_TRACK_THREAD] = "thread",
    [SD_TRACK_TASK] = "task",
    [SD_TRACK_DEVICE] = "device",
};
static const char *const site_kinds[] = {
    [SD_SITE_SECTION] = "section",   [SD_SITE_FUNCTION] = "function",
    [SD_SITE_LINE] = "line",         [SD_SITE_TYPE] = "type",
    [SD_SITE_OPERATOR] = "operator", [SD_SITE_LAYER] = "layer",
};
static const char *const note_kinds[] = {
    [SD_NOTE_INFO] = "info",
    [SD_NOTE_WARNING] = "warning",
    [SD_NOTE_LOSS] = "loss",
    [SD_NOTE_REFUSAL] = "refusal",
};

/* An id, or null where there is none. */
static void key_id(struct sd_json *j, const char *key, uint32_t id)
{
    sd_json_key(j, key);
    if (id == UINT32_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, id);
}

static void key_true(struct sd_json *j, const char *key, bool is_true)
{
    if (!is_true)
        return;
    sd_json_key_bool(j, key, true);
}

static void key_status(struct sd_json *j, const char *key, int32_t status)
{
    sd_json_key(j, key);
    if (status == SD_STATUS_UNKNOWN)
        sd_json_null(j);
    else
        sd_json_int(j, status);
}

static void put_health(struct sd_json *j, const struct sd_profile *p)
{
    const struct sd_health *h = &p->health;

    sd_json_key_object(j, "health");
    sd_json_key_bool(j, "whole", p->complaint == NULL);
    sd_json_key_string(j, "complaint", p->complaint);
    sd_json_key_bool(j, "ended", h->is_ended);
    key_status(j, "status", h->status);
    sd_json_key_uint(j, "chunks", h->chunks);
    sd_json_key_uint(j, "events", h->events);
    sd_json_key_uint(j, "lost_events", h->lost_events);
    sd_json_key_uint(j, "bad_chunks", h->bad_chunks);
    sd_json_key_uint(j, "bad_bytes", h->bad_bytes);
    sd_json_key_uint(j, "missing_chunks", h->missing_chunks);
    sd_json_key_uint(j, "created_real_ns", h->created_real_ns);
    sd_json_key_uint(j, "created_mono_ns", h->created_mono_ns);
    sd_json_end(j);
}

/* An array: a key may stand there more than once. */
static void put_metas(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "meta");
    for (size_t i = 0; i < p->n_metas; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "key", p->metas[i].key);
        sd_json_key_string(j, "value", p->metas[i].value);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_notes(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "notes");
    for (size_t i = 0; i < p->n_notes; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "kind", note_kinds[p->notes[i].kind]);
        sd_json_key_uint(j, "time_ns", p->notes[i].time_ns);
        key_id(j, "track", p->notes[i].track.at);
        sd_json_key_string(j, "text", p->notes[i].text);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_metrics(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "metrics");
    for (size_t i = 0; i < p->n_metrics; i++) {
        sd_json_object(j);
        sd_json_key_uint(j, "id", i);
        sd_json_key_string(j, "name", p->metrics[i].name);
        sd_json_key_string(j, "unit", units[p->metrics[i].unit]);
        sd_json_key_string(j, "adds", adds[p->metrics[i].adds]);
        sd_json_key_string(j, "meaning", p->metrics[i].meaning);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_tracks(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "tracks");
    for (size_t i = 0; i < p->n_tracks; i++) {
        const struct sd_track *t = &p->tracks[i];

        sd_json_object(j);
        sd_json_key_uint(j, "id", i);
        sd_json_key_string(j, "kind", track_kinds[t->kind]);
        key_id(j, "parent", t->parent.at);
        sd_json_key_uint(j, "number", t->number);
        sd_json_key_uint(j, "start", t->start);
        sd_json_key_string(j, "name", t->name);
        sd_json_key_string(j, "command", t->command);
        sd_json_key_string(j, "host", t->host);
        key_status(j, "status", t->status);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_sites(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "sites");
    for (size_t i = 0; i < p->n_sites; i++) {
        const struct sd_site *s = &p->sites[i];

        sd_json_object(j);
        sd_json_key_uint(j, "id", i);
        sd_json_key_string(j, "kind", site_kinds[s->kind]);
        sd_json_key_string(j, "name", s->name);
        sd_json_key_string(j, "path", s->path);
        key_id(j, "parent", s->parent.at);
        sd_json_key_string(j, "file", s->file);
        sd_json_key_uint(j, "line", s->line);
        sd_json_key_string(j, "label", s->label);
        key_true(j, "native", s->is_native);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_stacks(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_array(j, "stacks");
    for (size_t i = 0; i < p->n_stacks; i++) {
        sd_json_object(j);
        sd_json_key_uint(j, "id", i);
        key_id(j, "parent", p->stacks[i].parent.at);
        sd_json_key_uint(j, "site", p->stacks[i].site.at);
        sd_json_key_uint(j, "line", p->stacks[i].line);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_values(struct sd_json *j, const struct sd_profile *p,
                       const struct sd_event *e)
{
    sd_json_key_object(j, "values");
    for (uint32_t i = 0; i < e->n_values; i++) {
        if (e->values[i] == SD_VALUE_NONE)
            continue;
        sd_json_key_int(j, p->metrics[e->metrics[i].at].name, e->values[i]);
    }
    sd_json_end(j);
}

/* What every function did or allocated itself, along each path, in the whole run. */
static void put_totals(struct sd_json *j, const struct sd_profile *p,
                       enum sd_evidence evidence)
{
    if (!sd_evidence_has_stacks(evidence) || evidence == SD_SAMPLES ||
        !sd_profile_has(p, evidence))
        return;
    sd_json_key_array(j, sd_evidence[evidence].name);
    for (size_t i = 0; i < p->evidence[evidence].stacks.n; i++) {
        int64_t values[SD_SAMPLE_METRICS];
        struct sd_event e = sd_event_of_total(p, evidence, i, values);

        sd_json_object(j);
        sd_json_key_uint(j, "track", e.track.at);
        key_id(j, "stack", e.stack.at);
        put_values(j, p, &e);
        sd_json_end(j);
    }
    sd_json_end(j);
}

/* Calls beyond a full tree, by caller and callee. */
static void put_pairs(struct sd_json *j, const struct sd_profile *p)
{
    static const char *const names[SD_PAIR_VALUES] = {
        "calls",    "starts",     "primitive",      "pair_primitive", "time",
        "total",    "pair_total", "tracing",        "total_tracing",  "pair_tracing",
        "cpu_time", "total_cpu",  "pair_total_cpu", "awaited",
    };

    if (p->pairs.n == 0)
        return;
    sd_json_key_array(j, "pairs");
    for (size_t i = 0; i < p->pairs.n; i++) {
        const struct sd_pair_total *pair = &p->pairs.items[i];

        sd_json_object(j);
        sd_json_key_uint(j, "track", pair->track);
        key_id(j, "caller", pair->caller);
        sd_json_key_uint(j, "site", pair->callee);
        sd_json_key_object(j, "values");
        for (int k = 0; k < SD_PAIR_VALUES; k++) {
            sd_json_key_int(j, names[k], pair->values[k]);
        }
        sd_json_end(j);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_span(struct sd_json *j, const struct sd_event *e)
{
    sd_json_key_uint(j, "site", e->site.at);
    sd_json_key_uint(j, "from_ns", e->from_ns);
    sd_json_key_uint(j, "to_ns", e->to_ns);
    key_true(j, "raised", e->flags & SD_SPAN_RAISED);
    key_true(j, "unfinished", e->flags & SD_SPAN_UNFINISHED);
}

static void put_sample(struct sd_json *j, const struct sd_event *e)
{
    key_id(j, "stack", e->stack.at);
    sd_json_key_uint(j, "time_ns", e->from_ns);
    key_true(j, "idle", e->flags & SD_SAMPLE_IDLE);
    key_true(j, "gil", e->flags & SD_SAMPLE_GIL);
    key_true(j, "waits_gil", e->flags & SD_SAMPLE_WAITS_GIL);
    key_true(j, "partial", e->flags & SD_SAMPLE_PARTIAL);
    key_true(j, "stopped", e->flags & SD_SAMPLE_STOPPED);
}

static void put_event(struct sd_json *j, const struct sd_profile *p,
                      const struct sd_event *e)
{
    static const char *const kinds[] = {
        [SD_EVENT_SPAN] = "span",
        [SD_EVENT_POINT] = "point",
        [SD_EVENT_SAMPLE] = "sample",
    };

    sd_json_object(j);
    sd_json_key_string(j, "kind", kinds[e->kind]);
    sd_json_key_uint(j, "track", e->track.at);
    if (e->kind == SD_EVENT_SPAN)
        put_span(j, e);
    else if (e->kind == SD_EVENT_SAMPLE)
        put_sample(j, e);
    else
        sd_json_key_uint(j, "time_ns", e->from_ns);
    put_values(j, p, e);
    sd_json_end(j);
}

static void put_definitions(struct sd_json *j, const struct sd_profile *p)
{
    sd_json_key_uint(j, "sonde", 1); /* version of this form */
    put_health(j, p);
    put_metas(j, p);
    put_notes(j, p);
    put_metrics(j, p);
    put_tracks(j, p);
    put_sites(j, p);
    put_stacks(j, p);
}

int sd_json_write_events(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    struct sd_events *events = NULL;
    struct sd_event e;
    struct sd_json j;
    int rc = sd_events_open(p, job->from, job->filter, &events);

    if (rc < 0)
        return rc;
    sd_json_init(&j, out, false);
    sd_json_object(&j);
    put_definitions(&j, p);
    for (enum sd_evidence k = 0; k < SD_EVIDENCES; k++)
        put_totals(&j, p, k);
    put_pairs(&j, p);
    sd_json_key_array(&j, "events");
    while (out->err == 0 && (rc = sd_events_next(events, &e)) == 1) {
        sd_out_text(out, "\n"); /* white space, so that lines stay short */
        put_event(&j, p, &e);
    }
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
    sd_events_free(events);
    return rc < 0 ? rc : 0;
}
