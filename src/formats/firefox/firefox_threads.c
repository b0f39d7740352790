/* SPDX-License-Identifier: MIT */
/* firefox_threads: writes the threads of a Firefox profile with their samples and
 * sections. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/firefox/firefox_parts.h"

enum { MARKER_INTERVAL = 1 };

/* --- Collecting */

static int by_thread_and_time(const void *pa, const void *pb)
{
    const struct sd_firefox_mark *a = pa, *b = pb;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->to_ns > b->to_ns ? -1 : a->to_ns < b->to_ns; /* the outer one first */
}

static int add_mark(struct sd_firefox *w, const struct sd_event *e)
{
    struct sd_firefox_mark *marks =
        sd_grow_array(w->marks, &w->cap_marks, w->n_marks + 1, sizeof *marks);

    if (!marks)
        return sd_no_memory();
    w->marks = marks;
    marks[w->n_marks++] =
        (struct sd_firefox_mark){ .from_ns = e->from_ns,
                                  .to_ns = e->to_ns,
                                  .thread = sd_profile_thread_of(w->p, e->track).at,
                                  .track = e->track.at,
                                  .site = e->site.at,
                                  .flags = e->flags };
    return 0;
}

int sd_firefox_collect_marks(struct sd_firefox *w, const char *path,
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

static void claim_marks(const struct sd_firefox *w, struct sd_firefox_thread *t,
                        size_t *next)
{
    t->first_mark = *next;
    while (*next < w->n_marks && w->marks[*next].thread == t->track.at)
        (*next)++;
    t->n_marks = *next - t->first_mark;
}

static void add_thread(struct sd_firefox *w, const struct sd_firefox_thread *t)
{
    sd_track_id process = sd_profile_process_of(w->p, t->track);

    w->threads[w->n_threads++] = *t;
    if (process.at != SD_FIREFOX_NONE)
        w->is_shown[process.at] = true;
}

/* Memory hangs on a thread; and the viewer cannot open a profile without any. */
static void add_bare_processes(struct sd_firefox *w)
{
    for (uint32_t i = 0; i < w->p->n_tracks; i++)
        if (!w->is_shown[i] && sd_firefox_memory_of(w, (sd_track_id){ i }))
            add_thread(w, &(struct sd_firefox_thread){ .track = { i } });
    if (w->n_threads == 0 && w->p->n_tracks > 0)
        add_thread(w, &(struct sd_firefox_thread){ .track = { 0 } });
}

/* Every track with samples or sections, in their order. */
int sd_firefox_find_threads(struct sd_firefox *w)
{
    size_t next = 0, n_tracks = w->p->n_tracks;
    const struct sd_samples_of_thread **sampled =
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
        struct sd_firefox_thread t = { .track = { i }, .sampled = sampled[i] };

        claim_marks(w, &t, &next);
        if (t.sampled || t.n_marks > 0)
            add_thread(w, &t);
    }
    add_bare_processes(w);
    sd_free(sampled);
    return 0;
}

/* --- Writing */

/* One record may stand for many samples, which are written one by one: the viewer's
 * graph takes a sample for the time around it. */
static void put_sample_stacks(struct sd_firefox *w,
                              const struct sd_samples_of_thread *t)
{
    sd_firefox_array(w, "stack");
    for (size_t i = 0; t && i < t->n; i++)
        for (uint32_t k = 0; k < t->taken[i].n && w->j.out->err == 0; k++)
            sd_json_uint(&w->j, t->taken[i].stack);
    sd_json_end(&w->j);
}

static double ms_of(const struct sd_timed_sample *t, int64_t ns)
{
    return (double)ns / 1e6 / (double)t->n;
}

static void put_sample_times(struct sd_firefox *w, const struct sd_samples_of_thread *t)
{
    sd_firefox_array(w, "time");
    for (size_t i = 0; t && i < t->n; i++)
        for (uint32_t k = t->taken[i].n; k-- > 0 && w->j.out->err == 0;) {
            double at = (double)t->taken[i].time_ns / 1e6 -
                        k * ms_of(&t->taken[i], t->taken[i].wall_ns);

            sd_json_real(&w->j, at > 0 ? at : 0);
        }
    sd_json_end(&w->j);
}

static void put_amounts(struct sd_firefox *w, const char *key,
                        const struct sd_samples_of_thread *t, bool is_cpu)
{
    sd_firefox_array(w, key);
    for (size_t i = 0; t && i < t->n; i++) {
        const struct sd_timed_sample *one = &t->taken[i];
        double each = is_cpu ? ms_of(one, one->cpu_ns) * 1e3 : ms_of(one, one->wall_ns);

        for (uint32_t k = 0; k < one->n && w->j.out->err == 0; k++)
            sd_json_real(&w->j, each);
    }
    sd_json_end(&w->j);
}

static void put_samples(struct sd_firefox *w, const struct sd_samples_of_thread *t)
{
    size_t n = 0;

    for (size_t i = 0; t && i < t->n; i++)
        n += t->taken[i].n;
    sd_firefox_object(w, "samples");
    put_sample_stacks(w, t);
    put_sample_times(w, t);
    if (w->has_wall)
        put_amounts(w, "weight", t, false);
    else
        sd_firefox_null(w, "weight");
    sd_firefox_text(w, "weightType", w->has_wall ? "tracing-ms" : "samples");
    if (w->has_cpu)
        put_amounts(w, "threadCPUDelta", t, true);
    sd_firefox_end(w, n);
}

static void put_mark_data(struct sd_firefox *w, const struct sd_firefox_mark *m)
{
    const struct sd_track *track = &w->p->tracks[m->track];

    sd_json_object(&w->j);
    sd_firefox_text(w, "type", "Section");
    sd_firefox_text(w, "path", w->p->sites[m->site].path);
    if (m->track != m->thread && track->name)
        sd_firefox_text(w, "task", track->name);
    if (m->flags & SD_SPAN_UNFINISHED)
        sd_firefox_text(w, "end", "unfinished");
    else if (m->flags & SD_SPAN_RAISED)
        sd_firefox_text(w, "end", "raised");
    sd_json_end(&w->j);
}

static void put_mark_times(struct sd_firefox *w, const struct sd_firefox_mark *marks,
                           size_t n)
{
    sd_firefox_array(w, "startTime");
    for (size_t i = 0; i < n; i++)
        sd_json_real(&w->j, (double)marks[i].from_ns / 1e6);
    sd_json_end(&w->j);
    sd_firefox_array(w, "endTime");
    for (size_t i = 0; i < n; i++)
        sd_json_real(&w->j, (double)marks[i].to_ns / 1e6);
    sd_json_end(&w->j);
}

static void put_marks(struct sd_firefox *w, const struct sd_firefox_mark *marks,
                      size_t n)
{
    sd_firefox_object(w, "markers");
    sd_firefox_array(w, "data");
    for (size_t i = 0; i < n && w->j.out->err == 0; i++)
        put_mark_data(w, &marks[i]);
    sd_json_end(&w->j);
    sd_firefox_array(w, "name");
    for (size_t i = 0; i < n; i++)
        sd_json_int(&w->j, sd_firefox_string(w, w->p->sites[marks[i].site].name));
    sd_json_end(&w->j);
    put_mark_times(w, marks, n);
    sd_firefox_array(w, "phase");
    for (size_t i = 0; i < n; i++)
        sd_json_uint(&w->j, MARKER_INTERVAL);
    sd_json_end(&w->j);
    sd_firefox_array(w, "category");
    for (size_t i = 0; i < n; i++)
        sd_json_uint(&w->j, SD_FIREFOX_OTHER);
    sd_json_end(&w->j);
    sd_firefox_end(w, n);
}

void sd_firefox_pid(struct sd_firefox *w, sd_track_id process)
{
    uint64_t pid = process.at == SD_FIREFOX_NONE ? 0 : w->p->tracks[process.at].number;
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, pid); /* the form wants a text */
    sd_firefox_text(w, "pid", text);
}

void sd_firefox_put_thread(struct sd_firefox *w, const struct sd_firefox_thread *t)
{
    const struct sd_track *track = &w->p->tracks[t->track.at];
    sd_track_id process = sd_profile_process_of(w->p, t->track);
    const char *name =
        process.at == SD_FIREFOX_NONE ? NULL : w->p->tracks[process.at].name;
    bool is_main = process.at == SD_FIREFOX_NONE ||
                   track->number == w->p->tracks[process.at].number;

    sd_json_object(&w->j);
    sd_firefox_text(w, "name", track->name ? track->name : "");
    sd_firefox_bool(w, "isMainThread", is_main);
    sd_firefox_text(w, "processType", "default");
    sd_firefox_text(w, "processName", name ? name : "");
    sd_firefox_int(w, "processStartupTime", 0);
    sd_firefox_null(w, "processShutdownTime");
    sd_firefox_ms(w, "registerTime",
                  track->first_ns <= track->last_ns ? track->first_ns : 0);
    sd_firefox_null(w, "unregisterTime");
    sd_firefox_array(w, "pausedRanges");
    sd_json_end(&w->j);
    sd_firefox_pid(w, process);
    sd_firefox_int(w, "tid", (int64_t)track->number);
    put_samples(w, t->sampled);
    put_marks(w, t->n_marks > 0 ? &w->marks[t->first_mark] : NULL, t->n_marks);
    sd_json_end(&w->j);
}
