/* SPDX-License-Identifier: MIT */
#include "formats/sampled.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/frames.h"

enum { NONE = UINT32_MAX };

static int64_t value_of(const struct sd_profile *p, const struct sd_event *e,
                        const char *metric)
{
    for (uint32_t i = 0; i < e->n_values; i++)
        if (e->values[i] >= 0 && strcmp(p->metrics[e->metrics[i].at].name, metric) == 0)
            return e->values[i];
    return 0;
}

static int find_thread(struct sd_sampled *s, struct sd_table *places, sd_track_id track,
                       struct sd_sampled_thread **out)
{
    struct sd_sampled_thread *threads;
    uint64_t at;
    int rc;

    if (sd_table_get(places, track.at, &at)) {
        *out = &s->threads[at];
        return 0;
    }
    threads = sd_grow_array(s->threads, &s->cap, s->n + 1, sizeof *threads);
    if (!threads)
        return sd_no_memory();
    s->threads = threads;
    rc = sd_table_put(places, track.at, s->n);
    if (rc < 0)
        return rc;
    *out = &threads[s->n++];
    **out = (struct sd_sampled_thread){ .track = track };
    return 0;
}

static int take(struct sd_sampled *s, struct sd_table *places,
                const struct sd_profile *p, const struct sd_event *e)
{
    int64_t n = value_of(p, e, "samples");
    struct sd_taken one = {
        .time_ns = e->to_ns,
        .wall_ns = value_of(p, e, "wall"),
        .cpu_ns = value_of(p, e, "cpu"),
        .stack = e->stack.at,
        .n = n < 1               ? 1
             : n < SD_TAKEN_MOST ? (uint32_t)n
                                 : SD_TAKEN_MOST,
    };
    struct sd_sampled_thread *t = NULL;
    struct sd_taken *taken;
    int rc = find_thread(s, places, e->track, &t);

    if (rc < 0)
        return rc;
    taken = sd_grow_array(t->taken, &t->cap, t->n + 1, sizeof *taken);
    if (!taken)
        return sd_no_memory();
    t->taken = taken;
    taken[t->n++] = one;
    return 0;
}

static int by_time(const void *pa, const void *pb)
{
    const struct sd_taken *a = pa, *b = pb;

    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* They are in order already, unless two samplers wrote of one thread. */
static void put_in_order(struct sd_sampled_thread *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (t->taken[i].time_ns < t->taken[i - 1].time_ns) {
            qsort(t->taken, t->n, sizeof *t->taken, by_time);
            return;
        }
}

int sd_sampled_collect(const struct sd_profile *p, const char *path,
                       const struct sd_filter *filter,
                       const struct sd_stack_style *style, struct sd_sampled *out)
{
    struct sd_table places = { 0 };
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(p, path, filter, &events);

    *out = (struct sd_sampled){ 0 };
    while (rc == 0 && (rc = sd_events_next(events, &e)) == 1) {
        rc = 0;
        if (e.kind == SD_EVENT_SAMPLE && e.stack.at != NONE &&
            sd_style_wants(style, e.flags))
            rc = take(out, &places, p, &e);
    }
    for (size_t i = 0; i < out->n; i++)
        put_in_order(&out->threads[i]);
    sd_events_free(events);
    sd_table_release(&places);
    if (rc < 0)
        sd_sampled_release(out);
    return rc;
}

void sd_sampled_release(struct sd_sampled *s)
{
    for (size_t i = 0; i < s->n; i++)
        sd_free(s->threads[i].taken);
    sd_free(s->threads);
    *s = (struct sd_sampled){ 0 };
}
