/* SPDX-License-Identifier: MIT */
#include "formats/thread_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "formats/format_frames.h"

enum { NONE = UINT32_MAX };

static int64_t value_of(const struct sd_profile *p, const struct sd_event *e,
                        const char *metric)
{
    for (uint32_t i = 0; i < e->n_values; i++)
        if (e->values[i] >= 0 && strcmp(p->metrics[e->metrics[i].at].name, metric) == 0)
            return e->values[i];
    return 0;
}

static int find_thread(struct sd_thread_samples *s, struct sd_table *places,
                       sd_track_id track, struct sd_samples_of_thread **out)
{
    struct sd_samples_of_thread *threads;
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
    **out = (struct sd_samples_of_thread){ .track = track };
    return 0;
}

static int add(struct sd_thread_samples *s, struct sd_table *places, sd_track_id track,
               const struct sd_timed_sample *one)
{
    struct sd_samples_of_thread *t = NULL;
    struct sd_timed_sample *taken;
    int rc = find_thread(s, places, track, &t);

    if (rc < 0)
        return rc;
    taken = sd_grow_array(t->taken, &t->cap, t->n + 1, sizeof *taken);
    if (!taken)
        return sd_no_memory();
    t->taken = taken;
    taken[t->n++] = *one;
    return 0;
}

static int take(struct sd_thread_samples *s, struct sd_table *places,
                const struct sd_profile *p, const struct sd_event *e)
{
    int64_t n = value_of(p, e, "samples");
    struct sd_timed_sample one = {
        .time_ns = e->to_ns,
        .wall_ns = value_of(p, e, "wall"),
        .cpu_ns = value_of(p, e, "cpu"),
        .stack = e->stack.at,
        .n = n < 1               ? 1
             : n < SD_TAKEN_MOST ? (uint32_t)n
                                 : SD_TAKEN_MOST,
    };

    return add(s, places, e->track, &one);
}

static int by_time(const void *pa, const void *pb)
{
    const struct sd_timed_sample *a = pa, *b = pb;

    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* They are in order already, unless two samplers wrote of one thread. */
static void put_in_order(struct sd_samples_of_thread *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (t->taken[i].time_ns < t->taken[i - 1].time_ns) {
            qsort(t->taken, t->n, sizeof *t->taken, by_time);
            return;
        }
}

static int take_samples(const struct sd_profile *p, const char *path,
                        const struct sd_filter *filter,
                        const struct sd_stack_style *style,
                        struct sd_thread_samples *out, struct sd_table *places)
{
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(p, path, filter, &events);

    out->has_wall = sd_profile_sample_metric(p, "wall") != NONE;
    out->has_cpu = sd_profile_sample_metric(p, "cpu") != NONE;
    while (rc == 0 && (rc = sd_events_next(events, &e)) == 1) {
        rc = 0;
        if (e.kind == SD_EVENT_SAMPLE && e.stack.at != NONE &&
            sd_format_frames_wants(style, e.flags))
            rc = take(out, places, p, &e);
    }
    sd_events_free(events);
    return rc;
}

/* --- Totals of stacks, as of traced calls */

/* By stack, its number in a walk depth first.  A parent has a smaller id than its
 * children, so sizes run up in one pass and numbers down in another. */
uint64_t *sd_thread_samples_number_stacks(const struct sd_profile *p)
{
    uint64_t *sizes = sd_zalloc((p->n_stacks + 1) * sizeof *sizes);
    uint64_t *numbers = sd_alloc((p->n_stacks + 1) * sizeof *numbers);
    bool has_memory = sizes && numbers;
    uint64_t next = 0;

    for (size_t i = p->n_stacks; has_memory && i-- > 0;) {
        sizes[i]++;
        if (p->stacks[i].parent.at != NONE)
            sizes[p->stacks[i].parent.at] += sizes[i];
    }
    for (size_t i = 0; has_memory && i < p->n_stacks; i++) {
        uint32_t parent = p->stacks[i].parent.at;
        uint64_t *free_one = parent == NONE ? &next : &sizes[parent];
        uint64_t size = sizes[i];

        numbers[i] = *free_one; /* a parent's size is by now the next number below it */
        *free_one += size;
        sizes[i] = numbers[i] + 1;
    }
    sd_free(sizes);
    if (has_memory)
        return numbers;
    sd_free(numbers);
    return NULL;
}

static int64_t amount(const struct sd_stack_totals *t, uint32_t column, size_t i)
{
    return column == NONE ? 0 : t->values[column][i];
}

static int take_totals(const struct sd_profile *p, enum sd_evidence evidence,
                       struct sd_thread_samples *out, struct sd_table *places)
{
    const struct sd_stack_totals *all = &p->evidence[evidence].stacks;
    uint32_t time = sd_totals_metric(p, all, sd_evidence_metric(p, evidence));
    uint32_t cpu = sd_totals_metric(p, all, "cpu_time");
    bool is_of_bytes =
        time != NONE && p->metrics[all->metrics[time].at].unit == SD_UNIT_BYTES;
    uint64_t *numbers = sd_thread_samples_number_stacks(p);
    int rc = numbers ? 0 : sd_no_memory();

    out->has_bytes = is_of_bytes;
    if (is_of_bytes && !out->takes_bytes)
        time = NONE;
    out->has_wall = time != NONE;
    out->has_cpu = cpu != NONE;
    for (size_t i = 0; i < all->n && rc == 0; i++) {
        const struct sd_sample_total *t = &all->items[i];
        struct sd_timed_sample one = { .wall_ns = amount(all, time, i),
                                       .cpu_ns = amount(all, cpu, i),
                                       .stack = t->stack.at,
                                       .n = 1 };

        if (one.stack == NONE || one.wall_ns == 0)
            continue;
        one.time_ns = numbers[one.stack]; /* until they are in order */
        rc = add(out, places, t->track, &one);
    }
    sd_free(numbers);
    return rc;
}

static void follow_each_other(struct sd_samples_of_thread *t)
{
    int64_t now = 0;

    for (size_t i = 0; i < t->n; i++) {
        now = sd_sum_i64(now, t->taken[i].wall_ns);
        t->taken[i].time_ns = (uint64_t)now;
    }
}

int sd_thread_samples_collect(const struct sd_profile *p, const char *path,
                              const struct sd_filter *filter,
                              const struct sd_stack_style *style,
                              struct sd_thread_samples *out)
{
    enum sd_evidence evidence = sd_profile_evidence(p, style->metric);
    bool has_totals = evidence != SD_SAMPLES; /* and no times */
    struct sd_table places = { 0 };
    int rc;

    *out = (struct sd_thread_samples){ .takes_bytes = out->takes_bytes };
    rc = has_totals ? take_totals(p, evidence, out, &places)
                    : take_samples(p, path, filter, style, out, &places);
    for (size_t i = 0; i < out->n; i++) {
        put_in_order(&out->threads[i]);
        if (has_totals)
            follow_each_other(&out->threads[i]);
    }
    sd_table_release(&places);
    if (rc < 0)
        sd_thread_samples_release(out);
    return rc;
}

void sd_thread_samples_release(struct sd_thread_samples *s)
{
    for (size_t i = 0; i < s->n; i++)
        sd_free(s->threads[i].taken);
    sd_free(s->threads);
    *s = (struct sd_thread_samples){ 0 };
}
