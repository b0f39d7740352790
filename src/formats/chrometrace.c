/* SPDX-License-Identifier: MIT */
/* chrometrace: writes each thread's stack over time as the trace events that Perfetto,
 * chrome://tracing, speedscope and the Firefox Profiler read.
 *
 * A frame begins (B) with the first sample that has it and ends (E) with the first one
 * that has not, as py-spy writes it, with its keys.  What is not known is left open: a
 * stretch in which no sample was taken, or only idle ones, ends all frames.  Sections
 * are asynchronous events (b, e): they begin and end exactly, samples only nearly, so
 * on the same track the two would not nest.  Each has an id of its own, so that
 * sections which overlap stay apart.  Readings are counters (C).
 *
 * A capture with a timeline of calls has something better than samples: every call is a
 * complete event (X), and samples, which would not nest with them, are left out.
 *
 * Frames come out thread after thread and hold 32 bytes a record meanwhile; calls,
 * sections and readings are streamed. */
#include <string.h>

#include "base/encoding/json.h"
#include "base/mem.h"
#include "formats/format_frames.h"
#include "formats/output.h"
#include "formats/thread_samples.h"
#include "formats/trace_calls.h"

enum { NONE = UINT32_MAX };

struct writer {
    const struct sd_profile *p;
    const struct sd_stack_style *style;
    struct sd_json j;
    struct sd_frames frames;
    struct sd_thread_samples sampled;
    uint32_t *open; /* owned; frames that have begun, from the outermost in */
    size_t n_open, cap_open;
    uint32_t *path; /* owned; frames of the stack at hand, from the newest out */
    size_t cap_path;
    uint64_t n_sections; /* ids given so far */
    uint64_t n_left_out; /* calls that were not wanted */
    struct sd_trace_calls calls;
};

/* --- Parts of an event */

/* A process is the thread of its own number, its first one. */
static void put_whose(struct writer *w, sd_track_id track)
{
    sd_track_id process = sd_profile_process_of(w->p, track);
    sd_track_id thread = sd_profile_thread_of(w->p, track);

    sd_json_key_uint(&w->j, "pid",
                     process.at == NONE ? 0 : w->p->tracks[process.at].number);
    sd_json_key_uint(&w->j, "tid", w->p->tracks[thread.at].number);
}

/* Everything but its `args` and its end, which the caller adds.  One per line: JSON
 * does not mind, and editors do. */
static void begin_event(struct writer *w, const char *phase, const char *category,
                        const char *name, sd_track_id track, uint64_t ns)
{
    sd_out_text(w->j.out, "\n");
    sd_json_object(&w->j);
    sd_json_key_string(&w->j, "name", name);
    if (category)
        sd_json_key_string(&w->j, "cat", category);
    sd_json_key_string(&w->j, "ph", phase);
    put_whose(w, track);
    sd_json_key(&w->j, "ts");
    sd_json_real(&w->j, (double)ns / 1e3); /* microseconds, exact below 104 days */
}

/* --- Frames */

static void put_frame(struct writer *w, const char *phase, uint32_t frame,
                      sd_track_id track, uint64_t ns)
{
    const struct sd_format_frame *f = &w->frames.items[frame];
    bool is_native = w->p->sites[f->site.at].is_native;

    begin_event(w, phase, is_native ? "native" : "python", f->name, track, ns);
    sd_json_key(&w->j, "args");
    sd_json_object(&w->j);
    if (f->file)
        sd_json_key_string(&w->j, "filename", f->file);
    if (f->line)
        sd_json_key_uint(&w->j, "line", f->line);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}

static void close_frames(struct writer *w, size_t n_kept, sd_track_id track,
                         uint64_t ns)
{
    while (w->n_open > n_kept)
        put_frame(w, "E", w->open[--w->n_open], track, ns);
}

static int find_path(struct writer *w, uint32_t stack, size_t *depth)
{
    for (*depth = 0; stack != NONE; stack = w->p->stacks[stack].parent.at) {
        uint32_t *path = sd_grow_array(w->path, &w->cap_path, *depth + 1, sizeof *path);

        if (!path)
            return sd_no_memory();
        w->path = path;
        path[(*depth)++] = w->frames.of_stack[stack];
    }
    return 0;
}

/* Ends what this stack no longer has and begins what it has new. */
static int change_to(struct writer *w, uint32_t stack, sd_track_id track, uint64_t ns)
{
    size_t depth, n_same = 0;
    uint32_t *open;
    int rc = find_path(w, stack, &depth);

    if (rc < 0)
        return rc;
    open = sd_grow_array(w->open, &w->cap_open, depth, sizeof *open);
    if (!open)
        return sd_no_memory();
    w->open = open;
    while (n_same < depth && n_same < w->n_open &&
           open[n_same] == w->path[depth - 1 - n_same])
        n_same++;
    close_frames(w, n_same, track, ns);
    for (; w->n_open < depth; w->n_open++) {
        open[w->n_open] = w->path[depth - 1 - w->n_open];
        put_frame(w, "B", open[w->n_open], track, ns);
    }
    return 0;
}

/* When what the sample stands for began: never before the end of the one before it,
 * and there when it does not say. */
static uint64_t beginning(const struct sd_timed_sample *t, uint64_t last_ns)
{
    uint64_t ns = last_ns;

    if (t->wall_ns > 0)
        ns = t->time_ns > (uint64_t)t->wall_ns ? t->time_ns - (uint64_t)t->wall_ns : 0;
    return ns > last_ns ? ns : last_ns;
}

static int put_thread(struct writer *w, const struct sd_samples_of_thread *t)
{
    uint64_t last_ns = t->taken[0].wall_ns > 0 ? 0 : t->taken[0].time_ns;
    int rc = 0;

    for (size_t i = 0; i < t->n && rc == 0 && w->j.out->err == 0; i++) {
        uint64_t from_ns = beginning(&t->taken[i], last_ns);

        if (from_ns > last_ns)
            close_frames(w, 0, t->track, last_ns);
        rc = change_to(w, t->taken[i].stack, t->track, from_ns);
        last_ns = t->taken[i].time_ns;
    }
    close_frames(w, 0, t->track, last_ns);
    return rc;
}

/* --- Sections and readings */

static void begin_section(struct writer *w, const char *phase, const struct sd_event *e,
                          uint64_t id, uint64_t ns)
{
    begin_event(w, phase, "section", w->p->sites[e->site.at].name, e->track, ns);
    sd_json_key_uint(&w->j, "id", id);
}

static void put_section(struct writer *w, const struct sd_event *e)
{
    struct sd_json *j = &w->j;
    const char *who = w->p->tracks[e->track.at].name;
    uint64_t id = ++w->n_sections;

    begin_section(w, "b", e, id, e->from_ns);
    sd_json_key_object(j, "args");
    sd_json_key_string(j, "path", w->p->sites[e->site.at].path);
    if (who)
        sd_json_key_string(j, "track", who);
    if (e->flags & SD_SPAN_UNFINISHED)
        sd_json_key_string(j, "end", "unfinished");
    else if (e->flags & SD_SPAN_RAISED)
        sd_json_key_string(j, "end", "raised");
    for (uint32_t i = 0; i < e->n_values; i++)
        if (e->values[i] != SD_VALUE_NONE) {
            sd_json_key_int(j, w->p->metrics[e->metrics[i].at].name, e->values[i]);
        }
    sd_json_end(j);
    sd_json_end(j);
    begin_section(w, "e", e, id, e->to_ns);
    sd_json_end(j);
}

static void put_reading(struct writer *w, const struct sd_event *e)
{
    static const char *const units[] = {
        [SD_UNIT_COUNT] = "count",
        [SD_UNIT_NANOSECONDS] = "ns",
        [SD_UNIT_BYTES] = "bytes",
    };

    for (uint32_t i = 0; i < e->n_values; i++) {
        const struct sd_metric *m = &w->p->metrics[e->metrics[i].at];

        if (e->values[i] == SD_VALUE_NONE)
            continue;
        begin_event(w, "C", NULL, m->name, e->track, e->to_ns);
        if (w->p->tracks[e->track.at].kind != SD_TRACK_PROCESS)
            sd_json_key_uint(&w->j, "id",
                             e->track.at); /* else those of a process are one */
        sd_json_key(&w->j, "args");
        sd_json_object(&w->j);
        sd_json_key(&w->j, units[m->unit]);
        sd_json_int(&w->j, e->values[i]);
        sd_json_end(&w->j);
        sd_json_end(&w->j);
    }
}

/* What it had called is shorter still, so that nothing is left without its
 * caller.  One that has not ended may yet be long. */
static bool is_short(const struct writer *w, const struct sd_event *e)
{
    return e->to_ns - e->from_ns < w->style->min_ns && !(e->flags & SD_SPAN_UNFINISHED);
}

/* Whom a library called stands in the one that called the library then. */
static bool is_left_out(const struct writer *w, const struct sd_event *e)
{
    return is_short(w, e) ||
           (w->style->is_mine && sd_site_is_library(&w->p->sites[e->site.at]));
}

static int put_others(struct writer *w, const char *path,
                      const struct sd_filter *filter)
{
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(w->p, path, filter, &events);

    if (rc == 0 && w->p->n_timeline_calls)
        sd_events_want_calls(events);
    while (rc == 0 && w->j.out->err == 0 && (rc = sd_events_next(events, &e)) == 1) {
        rc = 0;
        if (e.kind == SD_EVENT_CALL && is_left_out(w, &e))
            w->n_left_out++;
        else if (e.kind == SD_EVENT_CALL)
            sd_trace_calls_put(&w->calls, &w->j, &e);
        else if (e.kind == SD_EVENT_SPAN)
            put_section(w, &e);
        else if (e.kind == SD_EVENT_POINT)
            put_reading(w, &e);
    }
    sd_events_free(events);
    return rc;
}

/* --- The whole */

static void put_name(struct writer *w, const char *what, sd_track_id track)
{
    begin_event(w, "M", NULL, what, track, 0);
    sd_json_key(&w->j, "args");
    sd_json_object(&w->j);
    sd_json_key_string(&w->j, "name", w->p->tracks[track.at].name);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}

static void put_names(struct writer *w)
{
    for (uint32_t i = 0; i < w->p->n_tracks; i++) {
        const struct sd_track *t = &w->p->tracks[i];

        if (!t->name)
            continue;
        if (t->kind == SD_TRACK_PROCESS)
            put_name(w, "process_name", (sd_track_id){ i });
        else if (t->kind == SD_TRACK_THREAD)
            put_name(w, "thread_name", (sd_track_id){ i });
    }
}

static void put_facts(struct writer *w)
{
    const char *command = sd_profile_meta(w->p, "command");

    sd_json_key(&w->j, "otherData");
    sd_json_object(&w->j);
    sd_json_key_string(&w->j, "exporter", "sonde");
    if (command)
        sd_json_key_string(&w->j, "command", command);
    sd_json_key_uint(&w->j, "zero_unix_ns", w->p->real_zero_ns);
    sd_json_end(&w->j);
}

static int put_all(struct writer *w, const char *path, const struct sd_filter *filter)
{
    int rc = 0;

    sd_json_object(&w->j);
    sd_json_key_string(&w->j, "displayTimeUnit", "ms");
    put_facts(w);
    sd_json_key(&w->j, "traceEvents");
    sd_json_array(&w->j);
    put_names(w);
    for (size_t i = 0; i < w->sampled.n && rc == 0; i++)
        rc = put_thread(w, &w->sampled.threads[i]);
    if (rc == 0)
        rc = put_others(w, path, filter);
    if (rc < 0)
        return rc;
    sd_json_end(&w->j);
    if (w->style->min_ns || w->style->is_mine)
        sd_json_key_uint(&w->j, "calls_left_out", w->n_left_out);
    if (w->p->n_timeline_lost)
        sd_json_key_uint(&w->j, "calls_missing", w->p->n_timeline_lost);
    sd_json_end(&w->j);
    sd_out_text(w->j.out, "\n");
    return 0;
}

static int write(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_profile *p = job->profile;
    const struct sd_stack_style style = sd_output_style(job);
    struct sd_stack_style in_full = style;
    struct writer w = { .p = p, .style = &style };
    int rc;

    in_full.has_full_files = true; /* as py-spy does here */
    rc = sd_format_frames_make(p, &in_full, &w.frames);
    if (rc == 0)
        rc = p->n_timeline_calls ? sd_trace_calls_init(&w.calls, p)
                                 : sd_thread_samples_collect(p, job->from, job->filter,
                                                             &style, &w.sampled);
    if (rc == 0) {
        sd_json_init(&w.j, out, false);
        w.j.keeps_less = true; /* Perfetto shows \u003cmodule> as it stands */
        rc = put_all(&w, job->from, job->filter);
    }
    sd_format_frames_release(&w.frames);
    sd_thread_samples_release(&w.sampled);
    sd_trace_calls_release(&w.calls);
    sd_free(w.open);
    sd_free(w.path);
    return rc;
}

const struct sd_output sd_output_chrometrace = {
    .name = "chrometrace",
    .suffixes = { ".trace.json" },
    .pyspy_word = "chrometrace",
    .pyspy_suffix = ".json",
    .summary = "calls or frames, sections and readings over time, for Perfetto and "
               "chrome://tracing",
    .loses = "how many samples stand behind a frame, CPU time of samples, idle samples "
             "unless asked for; all samples where calls have a timeline",
    .prefers_timeline = true,
    /* A timeline of calls may be there without any total of them. */
    .needs = SD_HOLDS_TIMES | SD_HOLDS_SECTIONS | SD_HOLDS_TIMELINE,
    .reads_events = true,
    .folds_paths = true,
    .write = write,
};
