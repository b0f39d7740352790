/* SPDX-License-Identifier: MIT */
#include "profile/by_time/section_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/filter.h"

void sd_section_sets_init(struct sd_section_sets *s)
{
    *s = (struct sd_section_sets){ 0 };
    s->paths.arena = s->sets.arena = &s->arena;
}

/* --- Collecting spans */

static int times_of(struct sd_section_sets *s, uint32_t capture, uint32_t section,
                    struct sd_section_times **out)
{
    uint64_t key = (uint64_t)capture << 32 | section, at;
    struct sd_section_times *times;
    int rc;

    if (sd_table_get(&s->places, key, &at)) {
        *out = &s->times[at];
        return 0;
    }
    times = sd_grow_array(s->times, &s->cap_times, s->n_times + 1, sizeof *times);
    if (!times)
        return sd_no_memory();
    s->times = times;
    rc = sd_table_put(&s->places, key, s->n_times);
    if (rc < 0)
        return rc;
    *out = &times[s->n_times++];
    **out = (struct sd_section_times){ .capture = capture, .section = section };
    return 0;
}

int sd_section_sets_note(struct sd_section_sets *s, const struct sd_profile *p,
                         uint32_t capture, const struct sd_event *e)
{
    struct sd_section_times *times = NULL;
    const char *path;
    uint32_t section;
    int rc;

    if (e->kind != SD_EVENT_SPAN)
        return 0;
    path = p->sites[e->site.at].path;
    rc = sd_intern(&s->paths, path, strlen(path), &section);
    if (rc == 0)
        rc = times_of(s, capture, section, &times);
    if (rc == 0)
        rc = sd_intervals_add(&times->when, SD_SCREEN_INTERVALS,
                              (struct sd_interval){ e->from_ns, e->to_ns, 1 });
    return rc;
}

/* --- From intervals to moments */

/* A section begins or ends.  The last moment of an interval is part of it. */
struct change {
    uint64_t time_ns;
    uint32_t capture, section;
    bool is_end;
};

static int by_capture_and_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    if (a->capture != b->capture)
        return a->capture < b->capture ? -1 : 1;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static struct change *list_changes(const struct sd_section_sets *s, size_t *n)
{
    struct change *changes;

    *n = 0;
    for (size_t i = 0; i < s->n_times; i++)
        *n += 2 * (size_t)s->times[i].when.n;
    changes = sd_alloc((*n ? *n : 1) * sizeof *changes);
    if (!changes)
        return NULL;
    *n = 0;
    for (size_t i = 0; i < s->n_times; i++)
        for (uint32_t k = 0; k < s->times[i].when.n; k++) {
            const struct sd_section_times *t = &s->times[i];
            const struct sd_interval *span = &t->when.items[k];

            changes[(*n)++] =
                (struct change){ span->from_ns, t->capture, t->section, false };
            changes[(*n)++] =
                (struct change){ span->to_ns + 1, t->capture, t->section, true };
        }
    qsort(changes, *n, sizeof *changes, by_capture_and_time);
    return changes;
}

/* What is open now: numbers of sections, ascending.  Intervals of one section do not
 * touch, so one is in it once; where one ends as the next begins, both come at the same
 * moment, in any order. */
struct open {
    uint32_t *sections; /* owned; as many as there are */
    int32_t *counts;    /* owned; by section */
    size_t n;
};

static size_t place_in(const struct open *o, uint32_t section)
{
    size_t low = 0, high = o->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (o->sections[mid] < section)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void apply(struct open *o, const struct change *c)
{
    int32_t before = o->counts[c->section];
    int32_t after = before + (c->is_end ? -1 : 1);
    size_t at = place_in(o, c->section);

    o->counts[c->section] = after;
    if (before <= 0 && after > 0) {
        memmove(o->sections + at + 1, o->sections + at,
                (o->n - at) * sizeof *o->sections);
        o->sections[at] = c->section;
        o->n++;
    } else if (before > 0 && after <= 0) {
        sd_assert(at < o->n && o->sections[at] == c->section);
        o->n--;
        memmove(o->sections + at, o->sections + at + 1,
                (o->n - at) * sizeof *o->sections);
    }
}

/* Interned bytes lie where they fall; numbers need their alignment. */
static int new_set(struct sd_section_sets *s, const uint32_t *sections, size_t bytes,
                   uint32_t *set)
{
    const uint32_t **members =
        sd_grow_array(s->members, &s->cap_members, s->sets.n + 1, sizeof *members);
    const uint32_t *copy = sd_arena_copy(&s->arena, sections, bytes);

    if (members)
        s->members = members;
    if (!members || !copy)
        return sd_no_memory();
    members[s->sets.n] = copy;
    return sd_intern(&s->sets, sections, bytes, set);
}

static int number_of_set(struct sd_section_sets *s, const struct open *o, uint32_t *set)
{
    size_t bytes = o->n * sizeof *o->sections;

    *set = sd_intern_find(&s->sets, o->sections, bytes);
    if (*set != UINT32_MAX)
        return 0;
    if (s->arena.used_bytes + 2 * bytes > SD_SECTION_SETS_BYTES) {
        s->is_cut = true;
        *set = SD_NO_SECTIONS;
        return 0;
    }
    return new_set(s, o->sections, bytes, set);
}

static int add_moment(struct sd_section_sets *s, const struct open *o,
                      const struct change *c)
{
    struct sd_section_moment *moments =
        sd_grow_array(s->moments, &s->cap_moments, s->n_moments + 1, sizeof *moments);
    uint32_t set;
    int rc;

    if (!moments)
        return sd_no_memory();
    s->moments = moments;
    rc = number_of_set(s, o, &set);
    if (rc == 0)
        moments[s->n_moments++] =
            (struct sd_section_moment){ c->time_ns, c->capture, set };
    return rc;
}

static int walk(struct sd_section_sets *s, const struct change *changes, size_t n,
                struct open *o)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        apply(o, &changes[i]);
        if (i + 1 == n || changes[i + 1].time_ns != changes[i].time_ns ||
            changes[i + 1].capture != changes[i].capture)
            rc = add_moment(s, o, &changes[i]);
    }
    sd_assert(rc < 0 || o->n == 0); /* whatever begins ends */
    return rc;
}

static void release_times(struct sd_section_sets *s)
{
    for (size_t i = 0; i < s->n_times; i++)
        sd_intervals_release(&s->times[i].when);
    sd_free(s->times);
    sd_table_release(&s->places);
    s->times = NULL;
    s->n_times = s->cap_times = 0;
}

int sd_section_sets_settle(struct sd_section_sets *s)
{
    size_t n, room = s->paths.n ? s->paths.n : 1;
    struct change *changes = list_changes(s, &n);
    struct open o = { .sections = sd_alloc(room * sizeof *o.sections),
                      .counts = sd_zalloc(room * sizeof *o.counts) };
    uint32_t empty;
    int rc = changes && o.sections && o.counts ? 0 : sd_no_memory();

    if (rc == 0)
        rc = new_set(s, o.sections, 0, &empty);
    sd_assert(rc < 0 || empty == SD_NO_SECTIONS);
    if (rc == 0)
        rc = walk(s, changes, n, &o);
    sd_free(o.sections);
    sd_free(o.counts);
    sd_free(changes);
    release_times(s);
    return rc;
}

/* --- Asking */

/* The first moment behind it. */
static size_t first_behind(const struct sd_section_sets *s, uint32_t capture,
                           uint64_t time_ns)
{
    size_t low = 0, high = s->n_moments;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct sd_section_moment *m = &s->moments[mid];

        if (m->capture < capture || (m->capture == capture && m->from_ns <= time_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t sd_section_sets_until(const struct sd_section_sets *s, uint32_t capture,
                               uint64_t time_ns, uint64_t *until_ns)
{
    size_t behind = first_behind(s, capture, time_ns);
    bool has_next = behind < s->n_moments && s->moments[behind].capture == capture;

    *until_ns = has_next ? s->moments[behind].from_ns : UINT64_MAX;
    if (behind == 0 || s->moments[behind - 1].capture != capture)
        return SD_NO_SECTIONS;
    return s->moments[behind - 1].set;
}

uint32_t sd_section_sets_at(const struct sd_section_sets *s, uint32_t capture,
                            uint64_t time_ns)
{
    uint64_t until;

    return sd_section_sets_until(s, capture, time_ns, &until);
}

const uint32_t *sd_section_set(const struct sd_section_sets *s, uint32_t set, size_t *n)
{
    sd_assert(set < s->sets.n);
    *n = s->sets.items[set].n / sizeof(uint32_t);
    return s->members[set];
}

bool sd_section_set_has(const struct sd_section_sets *s, uint32_t set, uint32_t section)
{
    size_t n;
    const uint32_t *sections = sd_section_set(s, set, &n);

    for (size_t i = 0; i < n; i++)
        if (sections[i] == section)
            return true;
    return false;
}

void sd_section_sets_release(struct sd_section_sets *s)
{
    release_times(s);
    sd_free(s->moments);
    sd_free(s->members);
    sd_intern_release(&s->paths);
    sd_intern_release(&s->sets);
    sd_arena_release(&s->arena);
    sd_section_sets_init(s);
}
