/* SPDX-License-Identifier: MIT */
/* firefox: samples, sections and memory for profiler.firefox.com, in its processed
 * form.
 *
 * The form is frozen at version 60, the first in which all threads share one table of
 * stacks: ours can then be written as it is.  The viewer brings older forms up to its
 * own when it opens them.
 *
 * Everything is a table of columns, each with a `length`.  Times are milliseconds from
 * meta.startTime.  Sections are markers of their thread; they are collected, because a
 * thread's markers stand together while a capture has them mixed (40 bytes each). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "formats/format.h"
#include "formats/frames.h"
#include "formats/sampled.h"

enum { NONE = UINT32_MAX, FORM = 60, RESOURCE_LIBRARY = 1, MARKER_INTERVAL = 1 };
enum category { PYTHON, NATIVE, OTHER };

struct mark {
    uint64_t from_ns, to_ns;
    uint32_t thread, track, site, flags;
};

struct thread {
    sd_track_id track;
    const struct sd_sampled_thread *sampled; /* or NULL; borrowed */
    size_t first_mark, n_marks;
};

struct writer {
    const struct sd_profile *p;
    struct sd_json j;
    struct sd_frames frames;
    struct sd_sampled sampled;
    struct mark *marks; /* owned; by thread, then time */
    size_t n_marks, cap_marks;
    struct thread *threads; /* owned */
    size_t n_threads;
    bool *is_shown;    /* owned; by track: a process with a thread and no counter yet */
    uint32_t *func_of; /* owned; by site: its place in `funcs`, or NONE */
    uint32_t *funcs;   /* owned; sites that frames have */
    size_t n_funcs;
    struct sd_arena arena;
    struct sd_intern strings, files, libraries;
    bool is_bad; /* a text was lost */
    bool has_wall, has_cpu;
};

/* --- Tables */

static void key_text(struct writer *w, const char *key, const char *text)
{
    sd_json_key(&w->j, key);
    sd_json_string(&w->j, text);
}

static void key_int(struct writer *w, const char *key, int64_t n)
{
    sd_json_key(&w->j, key);
    sd_json_int(&w->j, n);
}

static void key_bool(struct writer *w, const char *key, bool is_true)
{
    sd_json_key(&w->j, key);
    sd_json_bool(&w->j, is_true);
}

static void key_null(struct writer *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_null(&w->j);
}

static void key_ms(struct writer *w, const char *key, uint64_t ns)
{
    sd_json_key(&w->j, key);
    sd_json_real(&w->j, (double)ns / 1e6);
}

static void begin_object(struct writer *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_object(&w->j);
}

static void begin_array(struct writer *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_array(&w->j);
}

static void end_table(struct writer *w, size_t n)
{
    key_int(w, "length", (int64_t)n);
    sd_json_end(&w->j);
}

/* What a column holds at i; BLANK is null. */
#define BLANK INT64_MIN
typedef int64_t cell(struct writer *w, size_t i);

static void put_column(struct writer *w, const char *key, size_t n, cell *at)
{
    begin_array(w, key);
    for (size_t i = 0; i < n && w->j.out->err == 0; i++) {
        int64_t v = at(w, i);

        if (v == BLANK)
            sd_json_null(&w->j);
        else
            sd_json_int(&w->j, v);
    }
    sd_json_end(&w->j);
}

static int64_t zero(struct writer *w, size_t i)
{
    (void)w;
    (void)i;
    return 0;
}

static int64_t minus_one(struct writer *w, size_t i)
{
    (void)w;
    (void)i;
    return -1;
}

static int64_t blank(struct writer *w, size_t i)
{
    (void)w;
    (void)i;
    return BLANK;
}

static void put_falses(struct writer *w, const char *key, size_t n)
{
    begin_array(w, key);
    for (size_t i = 0; i < n && w->j.out->err == 0; i++)
        sd_json_bool(&w->j, false);
    sd_json_end(&w->j);
}

static uint32_t intern(struct writer *w, struct sd_intern *texts, const char *text)
{
    uint32_t id = 0;

    if (sd_intern(texts, text, strlen(text), &id) < 0)
        w->is_bad = true;
    return id;
}

static int64_t string(struct writer *w, const char *text)
{
    return intern(w, &w->strings, text);
}

/* --- What all threads share */

static const struct sd_site *func(const struct writer *w, size_t i)
{
    return &w->p->sites[w->funcs[i]];
}

static int64_t func_name(struct writer *w, size_t i)
{
    return string(w, func(w, i)->name);
}

static int64_t func_resource(struct writer *w, size_t i)
{
    const struct sd_site *s = func(w, i);

    return s->is_native && s->file ? (int64_t)intern(w, &w->libraries, s->file) : -1;
}

static int64_t func_source(struct writer *w, size_t i)
{
    const struct sd_site *s = func(w, i);

    return !s->is_native && s->file ? intern(w, &w->files, s->file) : BLANK;
}

static int64_t func_line(struct writer *w, size_t i)
{
    return func(w, i)->line ? func(w, i)->line : BLANK;
}

static void put_funcs(struct writer *w)
{
    begin_object(w, "funcTable");
    put_column(w, "name", w->n_funcs, func_name);
    put_falses(w, "isJS", w->n_funcs);
    put_falses(w, "relevantForJS", w->n_funcs);
    put_column(w, "resource", w->n_funcs, func_resource);
    put_column(w, "source", w->n_funcs, func_source);
    put_column(w, "lineNumber", w->n_funcs, func_line);
    put_column(w, "columnNumber", w->n_funcs, blank);
    end_table(w, w->n_funcs);
}

static int64_t frame_category(struct writer *w, size_t i)
{
    const struct sd_site *s = &w->p->sites[w->frames.items[i].site.at];

    return s->is_native ? NATIVE : s->file ? PYTHON : OTHER;
}

static int64_t frame_func(struct writer *w, size_t i)
{
    return w->func_of[w->frames.items[i].site.at];
}

static int64_t frame_line(struct writer *w, size_t i)
{
    return w->frames.items[i].line ? w->frames.items[i].line : BLANK;
}

static void put_frames(struct writer *w)
{
    size_t n = w->frames.n;

    begin_object(w, "frameTable");
    put_column(w, "address", n, minus_one);
    put_column(w, "inlineDepth", n, zero);
    put_column(w, "category", n, frame_category);
    put_column(w, "subcategory", n, zero);
    put_column(w, "func", n, frame_func);
    put_column(w, "nativeSymbol", n, blank);
    put_column(w, "innerWindowID", n, zero);
    put_column(w, "line", n, frame_line);
    put_column(w, "column", n, blank);
    end_table(w, n);
}

static int64_t stack_frame(struct writer *w, size_t i) { return w->frames.of_stack[i]; }

static int64_t stack_prefix(struct writer *w, size_t i)
{
    uint32_t parent = w->p->stacks[i].parent.at;

    return parent == NONE ? BLANK : parent;
}

static void put_stacks(struct writer *w)
{
    begin_object(w, "stackTable");
    put_column(w, "frame", w->p->n_stacks, stack_frame);
    put_column(w, "prefix", w->p->n_stacks, stack_prefix);
    end_table(w, w->p->n_stacks);
}

static int64_t file_name(struct writer *w, size_t i)
{
    return string(w, w->files.items[i].p);
}

static int64_t library_name(struct writer *w, size_t i)
{
    const char *whole = w->libraries.items[i].p, *last = strrchr(whole, '/');

    return string(w, last && last[1] ? last + 1 : whole);
}

static int64_t library_type(struct writer *w, size_t i)
{
    (void)w;
    (void)i;
    return RESOURCE_LIBRARY;
}

static void put_files(struct writer *w)
{
    begin_object(w, "sources");
    put_column(w, "id", w->files.n, blank);
    put_column(w, "filename", w->files.n, file_name);
    end_table(w, w->files.n);
    begin_object(w, "resourceTable");
    put_column(w, "lib", w->libraries.n, blank);
    put_column(w, "name", w->libraries.n, library_name);
    put_column(w, "host", w->libraries.n, blank);
    put_column(w, "type", w->libraries.n, library_type);
    end_table(w, w->libraries.n);
    begin_object(w, "nativeSymbols");
    put_column(w, "libIndex", 0, zero);
    put_column(w, "address", 0, zero);
    put_column(w, "name", 0, zero);
    put_column(w, "functionSize", 0, zero);
    end_table(w, 0);
}

/* Files and texts are known once the functions are written, and the texts last. */
static void put_shared(struct writer *w)
{
    begin_object(w, "shared");
    put_stacks(w);
    put_frames(w);
    put_funcs(w);
    put_files(w);
    begin_array(w, "stringArray");
    for (size_t i = 0; i < w->strings.n; i++)
        sd_json_text(&w->j, w->strings.items[i].p, w->strings.items[i].n);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}

/* --- Threads */

/* One record may stand for many samples, which are written one by one: the viewer's
 * graph takes a sample for the time around it. */
static void put_sample_stacks(struct writer *w, const struct sd_sampled_thread *t)
{
    begin_array(w, "stack");
    for (size_t i = 0; t && i < t->n; i++)
        for (uint32_t k = 0; k < t->taken[i].n && w->j.out->err == 0; k++)
            sd_json_uint(&w->j, t->taken[i].stack);
    sd_json_end(&w->j);
}

static double ms_of(const struct sd_taken *t, int64_t ns)
{
    return (double)ns / 1e6 / (double)t->n;
}

static void put_sample_times(struct writer *w, const struct sd_sampled_thread *t)
{
    begin_array(w, "time");
    for (size_t i = 0; t && i < t->n; i++)
        for (uint32_t k = t->taken[i].n; k-- > 0 && w->j.out->err == 0;) {
            double at = (double)t->taken[i].time_ns / 1e6 -
                        k * ms_of(&t->taken[i], t->taken[i].wall_ns);

            sd_json_real(&w->j, at > 0 ? at : 0);
        }
    sd_json_end(&w->j);
}

static void put_amounts(struct writer *w, const char *key,
                        const struct sd_sampled_thread *t, bool is_cpu)
{
    begin_array(w, key);
    for (size_t i = 0; t && i < t->n; i++) {
        const struct sd_taken *one = &t->taken[i];
        double each = is_cpu ? ms_of(one, one->cpu_ns) * 1e3 : ms_of(one, one->wall_ns);

        for (uint32_t k = 0; k < one->n && w->j.out->err == 0; k++)
            sd_json_real(&w->j, each);
    }
    sd_json_end(&w->j);
}

static void put_samples(struct writer *w, const struct sd_sampled_thread *t)
{
    size_t n = 0;

    for (size_t i = 0; t && i < t->n; i++)
        n += t->taken[i].n;
    begin_object(w, "samples");
    put_sample_stacks(w, t);
    put_sample_times(w, t);
    if (w->has_wall)
        put_amounts(w, "weight", t, false);
    else
        key_null(w, "weight");
    key_text(w, "weightType", w->has_wall ? "tracing-ms" : "samples");
    if (w->has_cpu)
        put_amounts(w, "threadCPUDelta", t, true);
    end_table(w, n);
}

static void put_mark_data(struct writer *w, const struct mark *m)
{
    const struct sd_track *track = &w->p->tracks[m->track];

    sd_json_object(&w->j);
    key_text(w, "type", "Section");
    key_text(w, "path", w->p->sites[m->site].path);
    if (m->track != m->thread && track->name)
        key_text(w, "task", track->name);
    if (m->flags & SD_SPAN_UNFINISHED)
        key_text(w, "end", "unfinished");
    else if (m->flags & SD_SPAN_RAISED)
        key_text(w, "end", "raised");
    sd_json_end(&w->j);
}

static void put_mark_times(struct writer *w, const struct mark *marks, size_t n)
{
    begin_array(w, "startTime");
    for (size_t i = 0; i < n; i++)
        sd_json_real(&w->j, (double)marks[i].from_ns / 1e6);
    sd_json_end(&w->j);
    begin_array(w, "endTime");
    for (size_t i = 0; i < n; i++)
        sd_json_real(&w->j, (double)marks[i].to_ns / 1e6);
    sd_json_end(&w->j);
}

static void put_marks(struct writer *w, const struct mark *marks, size_t n)
{
    begin_object(w, "markers");
    begin_array(w, "data");
    for (size_t i = 0; i < n && w->j.out->err == 0; i++)
        put_mark_data(w, &marks[i]);
    sd_json_end(&w->j);
    begin_array(w, "name");
    for (size_t i = 0; i < n; i++)
        sd_json_int(&w->j, string(w, w->p->sites[marks[i].site].name));
    sd_json_end(&w->j);
    put_mark_times(w, marks, n);
    begin_array(w, "phase");
    for (size_t i = 0; i < n; i++)
        sd_json_uint(&w->j, MARKER_INTERVAL);
    sd_json_end(&w->j);
    begin_array(w, "category");
    for (size_t i = 0; i < n; i++)
        sd_json_uint(&w->j, OTHER);
    sd_json_end(&w->j);
    end_table(w, n);
}

static void key_pid(struct writer *w, sd_track_id process)
{
    uint64_t pid = process.at == NONE ? 0 : w->p->tracks[process.at].number;
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, pid); /* the form wants a text */
    key_text(w, "pid", text);
}

static void put_thread(struct writer *w, const struct thread *t)
{
    const struct sd_track *track = &w->p->tracks[t->track.at];
    sd_track_id process = sd_profile_process_of(w->p, t->track);
    const char *name = process.at == NONE ? NULL : w->p->tracks[process.at].name;
    bool is_main =
        process.at == NONE || track->number == w->p->tracks[process.at].number;

    sd_json_object(&w->j);
    key_text(w, "name", track->name ? track->name : "");
    key_bool(w, "isMainThread", is_main);
    key_text(w, "processType", "default");
    key_text(w, "processName", name ? name : "");
    key_int(w, "processStartupTime", 0);
    key_null(w, "processShutdownTime");
    key_ms(w, "registerTime", track->first_ns <= track->last_ns ? track->first_ns : 0);
    key_null(w, "unregisterTime");
    begin_array(w, "pausedRanges");
    sd_json_end(&w->j);
    key_pid(w, process);
    key_int(w, "tid", (int64_t)track->number);
    put_samples(w, t->sampled);
    put_marks(w, t->n_marks > 0 ? &w->marks[t->first_mark] : NULL, t->n_marks);
    sd_json_end(&w->j);
}

/* --- Memory */

static const struct sd_series *memory_of(const struct writer *w, sd_track_id process)
{
    return process.at == NONE ? NULL : sd_profile_series(w->p, process, "rss");
}

/* The viewer adds the counts up. */
static void put_memory_samples(struct writer *w, const struct sd_series *s)
{
    int64_t last = 0;

    begin_object(w, "samples");
    begin_array(w, "time");
    for (uint32_t i = 0; i < s->n_buckets; i++)
        sd_json_real(&w->j, (double)s->buckets[i].to_ns / 1e6);
    sd_json_end(&w->j);
    begin_array(w, "count");
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        sd_json_real(&w->j, (double)s->buckets[i].max - (double)last);
        last = s->buckets[i].max;
    }
    sd_json_end(&w->j);
    end_table(w, s->n_buckets);
}

static void put_memory(struct writer *w, size_t thread, sd_track_id process)
{
    sd_json_object(&w->j);
    key_text(w, "name", "rss");
    key_text(w, "category", "Memory");
    key_text(w, "description", "resident memory of the process");
    key_pid(w, process);
    key_int(w, "mainThreadIndex", (int64_t)thread);
    put_memory_samples(w, memory_of(w, process));
    sd_json_end(&w->j);
}

/* Once for each process, beside its first thread. */
static void put_memories(struct writer *w)
{
    begin_array(w, "counters");
    for (size_t i = 0; i < w->n_threads; i++) {
        sd_track_id process = sd_profile_process_of(w->p, w->threads[i].track);

        if (!memory_of(w, process) || !w->is_shown[process.at])
            continue;
        w->is_shown[process.at] = false;
        put_memory(w, i, process);
    }
    sd_json_end(&w->j);
}

/* --- Meta */

static double interval_ms(const struct writer *w)
{
    double ns = 0, n = 0;

    for (size_t i = 0; i < w->sampled.n; i++)
        for (size_t k = 0; k < w->sampled.threads[i].n; k++) {
            ns += (double)w->sampled.threads[i].taken[k].wall_ns;
            n += w->sampled.threads[i].taken[k].n;
        }
    return ns > 0 ? ns / n / 1e6 : 1;
}

static void put_categories(struct writer *w)
{
    static const char *const names[][2] = {
        [PYTHON] = { "Python", "yellow" },
        [NATIVE] = { "Native", "blue" },
        [OTHER] = { "Other", "grey" },
    };

    begin_array(w, "categories");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sd_json_object(&w->j);
        key_text(w, "name", names[i][0]);
        key_text(w, "color", names[i][1]);
        begin_array(w, "subcategories");
        sd_json_string(&w->j, "Other");
        sd_json_end(&w->j);
        sd_json_end(&w->j);
    }
    sd_json_end(&w->j);
}

static void put_field(struct writer *w, const char *key, const char *label)
{
    sd_json_object(&w->j);
    key_text(w, "key", key);
    key_text(w, "label", label);
    key_text(w, "format", "string");
    sd_json_end(&w->j);
}

static void put_marker_schema(struct writer *w)
{
    begin_array(w, "markerSchema");
    sd_json_object(&w->j);
    key_text(w, "name", "Section");
    key_text(w, "tooltipLabel", "{marker.name}");
    key_text(w, "tableLabel", "{marker.data.path}");
    key_text(w, "chartLabel", "{marker.name}");
    begin_array(w, "display");
    sd_json_string(&w->j, "marker-chart");
    sd_json_string(&w->j, "marker-table");
    sd_json_string(&w->j, "timeline-overview");
    sd_json_end(&w->j);
    begin_array(w, "fields");
    put_field(w, "path", "Path");
    put_field(w, "task", "Task");
    put_field(w, "end", "End");
    sd_json_end(&w->j);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}

static void put_units(struct writer *w)
{
    begin_object(w, "sampleUnits");
    key_text(w, "time", "ms");
    key_text(w, "eventDelay", "ms");
    key_text(w, "threadCPUDelta", "\xc2\xb5s");
    sd_json_end(&w->j);
}

static void put_meta(struct writer *w)
{
    const char *command = sd_profile_meta(w->p, "command");

    begin_object(w, "meta");
    sd_json_key(&w->j, "interval");
    sd_json_real(&w->j, interval_ms(w));
    key_ms(w, "startTime", w->p->real_zero_ns);
    key_int(w, "profilingStartTime",
            0); /* else a capture without events has no range */
    sd_json_key(&w->j, "profilingEndTime"); /* a sample at the end itself is outside */
    sd_json_real(&w->j, (double)w->p->run_end_ns / 1e6 + interval_ms(w));
    key_int(w, "processType", 0);
    put_categories(w);
    key_text(w, "product", command ? command : "Python");
    key_int(w, "stackwalk", 1);
    key_int(w, "version", 30);
    key_int(w, "preprocessedProfileVersion", FORM);
    key_bool(w, "symbolicated", true);
    key_bool(w, "symbolicationNotSupported", true);
    key_bool(w, "usesOnlyOneStackType", true);
    key_bool(w, "sourceCodeIsNotOnSearchfox", true);
    key_bool(w, "keepProfileThreadOrder", true);
    key_text(w, "importedFrom", "Sonde");
    key_text(w, "platform", "Linux");
    put_units(w);
    put_marker_schema(w);
    sd_json_end(&w->j);
}

/* --- Collecting */

static int by_thread_and_time(const void *pa, const void *pb)
{
    const struct mark *a = pa, *b = pb;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->to_ns > b->to_ns ? -1 : a->to_ns < b->to_ns; /* the outer one first */
}

static int add_mark(struct writer *w, const struct sd_event *e)
{
    struct mark *marks =
        sd_grow_array(w->marks, &w->cap_marks, w->n_marks + 1, sizeof *marks);

    if (!marks)
        return sd_no_memory();
    w->marks = marks;
    marks[w->n_marks++] =
        (struct mark){ .from_ns = e->from_ns,
                       .to_ns = e->to_ns,
                       .thread = sd_profile_thread_of(w->p, e->track).at,
                       .track = e->track.at,
                       .site = e->site.at,
                       .flags = e->flags };
    return 0;
}

static int collect_marks(struct writer *w, const char *path,
                         const struct sd_filter *filter)
{
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(w->p, path, filter, &events);

    while (rc == 0 && (rc = sd_events_next(events, &e)) == 1)
        rc = e.kind == SD_EVENT_SPAN ? add_mark(w, &e) : 0;
    if (w->n_marks > 0)
        qsort(w->marks, w->n_marks, sizeof *w->marks, by_thread_and_time);
    sd_events_free(events);
    return rc;
}

static void claim_marks(const struct writer *w, struct thread *t, size_t *next)
{
    t->first_mark = *next;
    while (*next < w->n_marks && w->marks[*next].thread == t->track.at)
        (*next)++;
    t->n_marks = *next - t->first_mark;
}

static void add_thread(struct writer *w, const struct thread *t)
{
    sd_track_id process = sd_profile_process_of(w->p, t->track);

    w->threads[w->n_threads++] = *t;
    if (process.at != NONE)
        w->is_shown[process.at] = true;
}

/* Memory hangs on a thread; and the viewer cannot open a profile without any. */
static void add_bare_processes(struct writer *w)
{
    for (uint32_t i = 0; i < w->p->n_tracks; i++)
        if (!w->is_shown[i] && memory_of(w, (sd_track_id){ i }))
            add_thread(w, &(struct thread){ .track = { i } });
    if (w->n_threads == 0 && w->p->n_tracks > 0)
        add_thread(w, &(struct thread){ .track = { 0 } });
}

/* Every track with samples or sections, in their order. */
static int find_threads(struct writer *w)
{
    size_t next = 0, n_tracks = w->p->n_tracks;
    const struct sd_sampled_thread **sampled =
        sd_zalloc((n_tracks + 1) * sizeof *sampled);

    w->threads = sd_alloc((n_tracks + 1) * sizeof *w->threads);
    w->is_shown = sd_zalloc(n_tracks + 1);
    if (!sampled || !w->threads || !w->is_shown) {
        sd_free(sampled);
        return sd_no_memory();
    }
    for (size_t i = 0; i < w->sampled.n; i++)
        sampled[w->sampled.threads[i].track.at] = &w->sampled.threads[i];
    for (uint32_t i = 0; i < n_tracks; i++) {
        struct thread t = { .track = { i }, .sampled = sampled[i] };

        claim_marks(w, &t, &next);
        if (t.sampled || t.n_marks > 0)
            add_thread(w, &t);
    }
    add_bare_processes(w);
    sd_free(sampled);
    return 0;
}

static int find_funcs(struct writer *w)
{
    size_t n = w->p->n_sites + 1;

    w->func_of = sd_alloc(n * sizeof *w->func_of);
    w->funcs = sd_alloc(n * sizeof *w->funcs);
    if (!w->func_of || !w->funcs)
        return sd_no_memory();
    memset(w->func_of, 0xff, n * sizeof *w->func_of);
    for (size_t i = 0; i < w->frames.n; i++) {
        uint32_t site = w->frames.items[i].site.at;

        if (w->func_of[site] != NONE)
            continue;
        w->func_of[site] = (uint32_t)w->n_funcs;
        w->funcs[w->n_funcs++] = site;
    }
    return 0;
}

/* --- The whole */

static int put_all(struct writer *w)
{
    sd_json_init(&w->j, w->j.out, false);
    sd_json_object(&w->j);
    put_meta(w);
    begin_array(w, "libs");
    sd_json_end(&w->j);
    begin_array(w, "pages");
    sd_json_end(&w->j);
    begin_array(w, "threads");
    for (size_t i = 0; i < w->n_threads; i++)
        put_thread(w, &w->threads[i]);
    sd_json_end(&w->j);
    put_memories(w);
    put_shared(w);
    sd_json_end(&w->j);
    sd_out_text(w->j.out, "\n");
    return w->is_bad ? sd_no_memory() : 0;
}

static void release(struct writer *w)
{
    sd_frames_release(&w->frames);
    sd_sampled_release(&w->sampled);
    sd_intern_release(&w->strings);
    sd_intern_release(&w->files);
    sd_intern_release(&w->libraries);
    sd_arena_release(&w->arena);
    sd_free(w->marks);
    sd_free(w->threads);
    sd_free(w->is_shown);
    sd_free(w->func_of);
    sd_free(w->funcs);
}

static int write_stacks(const struct sd_profile *p, const char *path,
                        const struct sd_filter *filter,
                        const struct sd_stack_style *style, struct sd_out *out)
{
    struct sd_stack_style in_full = *style;
    struct writer w = { .p = p, .j = { .out = out } };
    int rc;

    in_full.has_full_files = true; /* the viewer shortens them itself */
    w.strings.arena = w.files.arena = w.libraries.arena = &w.arena;
    rc = sd_frames_make(p, &in_full, &w.frames);
    if (rc == 0)
        rc = sd_sampled_collect(p, path, filter, style, &w.sampled);
    w.has_wall = w.sampled.has_wall;
    w.has_cpu = w.sampled.has_cpu;
    if (rc == 0)
        rc = collect_marks(&w, path, filter);
    if (rc == 0)
        rc = find_threads(&w);
    if (rc == 0)
        rc = find_funcs(&w);
    if (rc == 0)
        rc = put_all(&w);
    release(&w);
    return rc;
}

const struct sd_format sd_format_firefox = {
    .name = "firefox",
    .suffix = ".firefox.json",
    .summary = "samples, sections and memory over time, for profiler.firefox.com",
    .loses = "what sections measured beside their time, readings other than rss, idle "
             "samples unless asked for",
    .write_stacks = write_stacks,
};
