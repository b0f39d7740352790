/* SPDX-License-Identifier: MIT */
#include "profile/slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile_define.h"
#include "profile/by_time/slice_gathering.h"

/* --- Walks */

/* The recordings of all files, each numbered from 0 where it comes first. */
struct recordings {
    struct sd_recording_time *items; /* owned */
    size_t n, cap;
    uint32_t file, capture; /* whose is asked for */
    uint32_t number;        /* of that; UINT32_MAX: one before is the same */
};

/* Those without a time may be the same or not: they count. */
static bool is_known(const struct recordings *r, struct sd_recording_time t)
{
    for (size_t i = 0; i < r->n && t.real_ns != 0; i++)
        if (r->items[i].real_ns == t.real_ns && r->items[i].mono_ns == t.mono_ns)
            return true;
    return false;
}

static int next_recording(struct recordings *r, struct sd_recording_time t)
{
    struct sd_recording_time *items;

    r->number = UINT32_MAX;
    if (is_known(r, t))
        return 0;
    items = sd_grow_array(r->items, &r->cap, r->n + 1, sizeof *items);
    if (!items)
        return sd_no_memory();
    r->items = items;
    r->number = (uint32_t)r->n;
    items[r->n++] = t;
    return 0;
}

static int find_number(struct recordings *r, uint32_t file, const struct sd_events *e)
{
    uint32_t capture = sd_events_capture(e);

    if (r->n > 0 && r->file == file && r->capture == capture)
        return 0;
    r->file = file;
    r->capture = capture;
    return next_recording(r, sd_events_recording(e));
}

static int walk_file(const struct sd_slice_walk *w, const char *path,
                     struct recordings *r, uint32_t file)
{
    struct sd_events *events = NULL;
    struct sd_event e;
    int rc = sd_events_open(w->p, path, w->filter, &events);

    if (rc == 0 && w->has_calls)
        sd_events_want_call_stacks(events);
    while (rc == 0 && (rc = sd_events_next(events, &e)) == 1) {
        rc = find_number(r, file, events);
        if (rc < 0 || r->number == UINT32_MAX)
            continue;
        e.from_ns -= sd_events_later_ns(events);
        e.to_ns -= sd_events_later_ns(events);
        rc = w->take(w->of, r->number, &e);
    }
    sd_events_free(events);
    return rc;
}

int sd_slice_walk(const struct sd_slice_walk *w, const char *const *paths, size_t n)
{
    struct recordings r = { .number = UINT32_MAX };
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = walk_file(w, paths[i], &r, (uint32_t)i);
    sd_free(r.items);
    return rc;
}

/* First sections, then samples. */
struct walker {
    struct sd_slices *s;
    struct sd_slice_gathering *g;
};

static int take_section(void *of, uint32_t recording, const struct sd_event *e)
{
    struct walker *w = of;

    return sd_section_sets_note(&w->s->sets, w->g->p, recording, e);
}

static int take_sample(void *of, uint32_t recording, const struct sd_event *e)
{
    struct walker *w = of;

    return e->kind == SD_EVENT_SAMPLE
               ? sd_slice_gathering_add_sample(
                     w->g, e, sd_section_sets_at(&w->s->sets, recording, e->to_ns))
               : 0;
}

int sd_slices_add_sections(struct sd_slices *s, struct sd_slice_gathering *g,
                           const char *const *paths, size_t n,
                           const struct sd_filter *filter)
{
    struct walker of = { s, g };
    const struct sd_slice_walk w = {
        .p = g->p, .filter = filter, .take = take_section, .of = &of
    };
    int rc;

    *s = (struct sd_slices){ 0 };
    sd_section_sets_init(&s->sets);
    rc = g->p->n_span_events || g->p->is_part ? sd_slice_walk(&w, paths, n) : 0;
    return rc < 0 ? rc : sd_section_sets_settle(&s->sets);
}

/* --- In order */

static int by_slice(const void *pa, const void *pb, void *items)
{
    const struct sd_triple *a = (const struct sd_triple *)items + *(const uint32_t *)pa;
    const struct sd_triple *b = (const struct sd_triple *)items + *(const uint32_t *)pb;

    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return a->c < b->c ? -1 : a->c > b->c;
}

int sd_slices_settle(struct sd_slices *s, const struct sd_slice_gathering *g)
{
    size_t n = g->keys.n, room = n ? n : 1;
    uint32_t *order = sd_alloc(room * sizeof *order);
    int rc = order ? 0 : sd_no_memory();

    s->slice_ns = g->slice_ns;
    s->n_metrics = g->n_columns;
    s->entries = sd_alloc(room * sizeof *s->entries);
    for (uint32_t k = 0; k < s->n_metrics; k++) {
        s->values[k] = sd_alloc(room * sizeof *s->values[k]);
        if (!s->values[k])
            rc = sd_no_memory();
    }
    if (!s->entries)
        rc = sd_no_memory();
    if (rc == 0) {
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        qsort_r(order, n, sizeof *order, by_slice, g->keys.items);
        for (size_t i = 0; i < n; i++) {
            struct sd_triple key = g->keys.items[order[i]];

            s->entries[i] = (struct sd_slice_entry){ key.a, key.b, key.c };
            for (uint32_t k = 0; k < s->n_metrics; k++)
                s->values[k][i] = g->values[k][order[i]];
        }
        s->n = n;
    }
    sd_free(order);
    return rc;
}

/* What was gathered while the profile was loaded; false: nothing was. */
static bool take_gathered(struct sd_slices *s, const struct sd_profile *p)
{
    struct sd_slices *gathered = p->index->slices;

    if (!gathered)
        return false;
    *s = *gathered;
    sd_free(gathered);
    p->index->slices = NULL;
    return true;
}

int sd_slices_of_gathering(struct sd_slices *s, const struct sd_slice_gathering *g)
{
    int rc;

    *s = (struct sd_slices){ 0 };
    sd_section_sets_init(&s->sets);
    rc = sd_section_sets_settle(&s->sets);
    if (rc == 0)
        rc = sd_slices_settle(s, g);
    if (rc < 0)
        sd_slices_release(s);
    return rc;
}

int sd_slices_load(struct sd_slices *s, const struct sd_profile *p,
                   const char *const *paths, size_t n, const struct sd_filter *filter)
{
    struct sd_slice_gathering g;
    struct walker of = { s, &g };
    const struct sd_slice_walk w = {
        .p = p, .filter = filter, .take = take_sample, .of = &of
    };
    int rc;

    if (take_gathered(s, p))
        return 0;
    sd_slice_gathering_init(&g, p, SD_SAMPLES);
    rc = sd_slices_add_sections(s, &g, paths, n, filter);
    if (rc == 0)
        rc = sd_slice_walk(&w, paths, n);
    if (rc == 0)
        rc = sd_slices_settle(s, &g);
    sd_slice_gathering_release(&g);
    if (rc < 0)
        sd_slices_release(s);
    return rc;
}

/* --- Sums */

/* The first entry of this slice or a later one. */
static size_t first_of(const struct sd_slices *s, uint64_t slice)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->entries[mid].slice < slice)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void sd_slices_sum(const struct sd_slices *s, const struct sd_slice_choice *choice,
                   uint32_t column, int64_t *totals)
{
    size_t end = first_of(s, (uint64_t)choice->to + 1);

    sd_assert(column < s->n_metrics);
    for (size_t i = first_of(s, choice->from); i < end; i++) {
        const struct sd_slice_entry *e = &s->entries[i];

        if (choice->section == UINT32_MAX ||
            sd_section_set_has(&s->sets, e->sections, choice->section))
            totals[e->total] = sd_sum_i64(totals[e->total], s->values[column][i]);
    }
}

void sd_slices_release(struct sd_slices *s)
{
    sd_free(s->entries);
    for (uint32_t i = 0; i < SD_SAMPLE_METRICS; i++)
        sd_free(s->values[i]);
    sd_section_sets_release(&s->sets);
    *s = (struct sd_slices){ 0 };
}

void sd_slices_free(struct sd_slices *s)
{
    if (!s)
        return;
    sd_slices_release(s);
    sd_free(s);
}
