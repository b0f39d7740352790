/* SPDX-License-Identifier: MIT */
#include "profile/by_time/call_slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile_define.h"
#include "profile/by_time/slice_gathering.h"

enum weight { NS, BEGUN, N_WEIGHTS };

/* --- The timeline */

struct taker {
    struct sd_slices *s;
    struct sd_slice_gathering g; /* columns: weights */
    enum sd_calls_part part;
    const struct sd_filter *filter; /* or NULL */
    bool *has_section;              /* owned; by set: the filter's section is in it */
};

/* The sections of all files are known: which of their sets have the filter's? */
static int find_sets(struct taker *t)
{
    const struct sd_section_sets *sets = &t->s->sets;
    const char *path = t->filter ? t->filter->section : NULL;
    uint32_t section = path ? sd_intern_find(&sets->paths, path, strlen(path)) : 0;

    t->has_section = sd_alloc(sets->sets.n * sizeof *t->has_section);
    for (uint32_t i = 0; t->has_section && i < sets->sets.n; i++)
        t->has_section[i] = !path || sd_section_set_has(sets, i, section);
    return t->has_section ? 0 : sd_no_memory();
}

/* As events of a moment pass a filter: its end is part of it. */
static bool is_in(const struct taker *t, uint64_t time_ns, uint32_t set)
{
    const struct sd_filter *f = t->filter;

    return t->has_section[set] &&
           (!f || (time_ns >= f->from_ns && (f->to_ns == 0 || time_ns <= f->to_ns)));
}

static uint32_t total_of(const struct sd_profile *p, uint32_t stack, sd_track_id track)
{
    const struct sd_triple which = { stack, track.at, 0 };

    return stack == UINT32_MAX ? UINT32_MAX
                               : sd_triples_find(&p->index->places[SD_CALLS], which);
}

static int add(struct taker *t, uint64_t time_ns, uint32_t total, uint32_t set,
               enum weight w, int64_t amount)
{
    bool is_inside = is_in(t, time_ns, set);
    uint32_t key = t->part == SD_CALLS_MARKED ? set << 1 | is_inside : set, at;
    int rc;

    if (total == UINT32_MAX || (t->part == SD_CALLS_INSIDE && !is_inside))
        return 0;
    rc = sd_slice_gathering_place(&t->g, time_ns, total, key, &at);
    if (rc == 0)
        t->g.values[w][at] = sd_sum_i64(t->g.values[w][at], amount);
    return rc;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The next moment at which a slice, the set of sections or the window changes. */
static uint64_t next_change(const struct taker *t, uint64_t at, uint64_t sections_until)
{
    const struct sd_filter *f = t->filter;
    uint64_t next = (at / t->g.slice_ns + 1) * t->g.slice_ns;

    next = smaller(next, sections_until);
    if (f && at < f->from_ns)
        next = smaller(next, f->from_ns);
    if (f && f->to_ns && at <= f->to_ns)
        next = smaller(next, f->to_ns + 1);
    return next;
}

/* Piece by piece.  Slices may become longer meanwhile. */
static int add_pieces(struct taker *t, uint32_t recording, const struct sd_event *e,
                      uint32_t own, uint32_t around)
{
    uint64_t from = e->from_ns, to = e->to_ns;
    int rc = 0;

    if (own == UINT32_MAX && around == UINT32_MAX)
        return 0;
    if (t->part == SD_CALLS_INSIDE && t->filter) {
        from = from > t->filter->from_ns ? from : t->filter->from_ns;
        to = t->filter->to_ns ? smaller(to, t->filter->to_ns + 1) : to;
    }
    for (uint64_t at = from, until; at < to && rc == 0; at = until) {
        uint32_t set = sd_section_sets_until(&t->s->sets, recording, at, &until);

        if (t->part == SD_CALLS_INSIDE && !is_in(t, at, set)) {
            sd_assert(until > at);
            continue; /* nothing is added until the sections change */
        }
        until = smaller(next_change(t, at, until), to);
        sd_assert(until > at);
        rc = add(t, at, own, set, NS, (int64_t)(until - at));
        if (rc == 0)
            rc = add(t, at, around, set, NS, -(int64_t)(until - at));
    }
    return rc;
}

static int take(void *of, uint32_t recording, const struct sd_event *e)
{
    struct taker *t = of;
    const struct sd_profile *p = t->g.p;
    uint32_t own, around, set;
    int rc = 0;

    if (e->kind != SD_EVENT_CALL || e->stack.at == UINT32_MAX)
        return 0;
    own = total_of(p, e->stack.at, e->track);
    around = total_of(p, p->stacks[e->stack.at].parent.at, e->track);
    set = sd_section_sets_at(&t->s->sets, recording, e->from_ns);
    if (!(e->flags & SD_SPAN_RESUMED))
        rc = add(t, e->from_ns, own, set, BEGUN, 1);
    return rc < 0 ? rc : add_pieces(t, recording, e, own, around);
}

/* --- Totals over slices */

/* Entries of the timeline, by total; what has no weight at all is one entry more. */
struct spreading {
    const struct sd_slice_gathering *from;
    struct sd_slice_gathering to;
    uint32_t *order; /* owned */
    uint32_t calls;  /* column of how many; UINT32_MAX: not among the metrics */
};

static int by_total(const void *pa, const void *pb, void *items)
{
    const struct sd_triple *a = (const struct sd_triple *)items + *(const uint32_t *)pa;
    const struct sd_triple *b = (const struct sd_triple *)items + *(const uint32_t *)pb;

    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->c < b->c ? -1 : a->c > b->c;
}

/* Below 0 is what calls that nobody knows the end of leave. */
static int64_t weight_of(const struct sd_slice_gathering *g, enum weight w, uint32_t at)
{
    return g->values[w][at] > 0 ? g->values[w][at] : 0;
}

static bool is_count(const struct sd_slice_gathering *g, uint32_t metric)
{
    return g->p->metrics[g->totals->metrics[metric].at].unit == SD_UNIT_COUNT;
}

/* Spreads one metric of a total over entries order[from..to). */
static void spread_metric(struct spreading *s, uint32_t total, uint32_t metric,
                          size_t from, size_t to, const int64_t sums[N_WEIGHTS])
{
    enum weight w = is_count(s->from, metric) ? BEGUN : NS;
    int64_t value = s->from->totals->values[metric][total], seen = 0, given = 0;

    if (sums[w] == 0)
        w = w == NS ? BEGUN : NS;
    for (size_t i = from; i < to && sums[w] > 0; i++) {
        int64_t until;

        seen += weight_of(s->from, w, s->order[i]);
        until = (int64_t)((__int128)value * seen / sums[w]);
        s->to.values[metric][s->order[i]] = until - given;
        given = until;
    }
    sd_assert(sums[w] == 0 || given == value);
}

/* All entries of a total.  False: it has no weight. */
static bool spread(struct spreading *s, uint32_t total, size_t from, size_t to,
                   uint64_t *n_uncertain)
{
    int64_t sums[N_WEIGHTS] = { 0 };
    uint32_t calls = s->calls;

    for (size_t i = from; i < to; i++)
        for (enum weight w = 0; w < N_WEIGHTS; w++)
            sums[w] = sd_sum_i64(sums[w], weight_of(s->from, w, s->order[i]));
    for (uint32_t k = 0; k < s->to.n_columns; k++)
        spread_metric(s, total, k, from, to, sums);
    *n_uncertain +=
        calls != UINT32_MAX && s->from->totals->values[calls][total] != sums[BEGUN];
    return sums[NS] > 0 || sums[BEGUN] > 0;
}

static bool is_nothing(const struct spreading *s, uint32_t total)
{
    for (uint32_t k = 0; k < s->to.n_columns; k++)
        if (s->from->totals->values[k][total] != 0)
            return false;
    return true;
}

static int add_untimed(struct spreading *s, uint32_t total, uint64_t *n)
{
    uint32_t at;
    int rc;

    if (is_nothing(s, total))
        return 0;
    rc = sd_slice_gathering_place(&s->to, 0, total, SD_NO_SECTIONS, &at);
    for (uint32_t k = 0; k < s->to.n_columns && rc == 0; k++)
        s->to.values[k][at] = s->from->totals->values[k][total];
    *n += rc == 0;
    return rc;
}

/* The same entries with other columns. */
static int copy_keys(struct spreading *s)
{
    int rc = 0;

    s->to.slice_ns = s->from->slice_ns;
    s->to.limit = SIZE_MAX; /* untimed ones are as many as totals at most */
    for (size_t i = 0; i < s->from->keys.n && rc == 0; i++) {
        const struct sd_triple *key = &s->from->keys.items[i];
        uint32_t at;

        rc = sd_slice_gathering_place(&s->to, key->a * s->from->slice_ns, key->b,
                                      key->c, &at);
        sd_assert(rc < 0 || at == i);
    }
    return rc;
}

static int spread_all(struct spreading *s, struct sd_slices *into)
{
    size_t n = s->from->keys.n, at = 0;
    int rc = copy_keys(s);

    s->order = sd_alloc((n + 1) * sizeof *s->order);
    if (rc == 0 && !s->order)
        rc = sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        s->order[i] = (uint32_t)i;
    if (rc == 0)
        qsort_r(s->order, n, sizeof *s->order, by_total, s->from->keys.items);
    for (uint32_t total = 0; total < s->from->totals->n && rc == 0; total++) {
        size_t end = at;

        while (end < n && s->from->keys.items[s->order[end]].b == total)
            end++;
        if (!spread(s, total, at, end, &into->n_uncertain))
            rc = add_untimed(s, total, &into->n_untimed);
        at = end;
    }
    return rc;
}

static int settle(struct sd_slices *s, const struct sd_slice_gathering *g)
{
    struct spreading spreading = { .from = g,
                                   .calls =
                                       sd_totals_metric(g->p, g->totals, "calls") };
    int rc;

    sd_slice_gathering_init(&spreading.to, g->p, SD_CALLS);
    rc = spread_all(&spreading, s);
    if (rc == 0)
        rc = sd_slices_settle(s, &spreading.to);
    sd_slice_gathering_release(&spreading.to);
    sd_free(spreading.order);
    return rc;
}

int sd_call_slices_load_part(struct sd_slices *s, const struct sd_profile *p,
                             const char *const *paths, size_t n,
                             const struct sd_filter *filter, enum sd_calls_part part)
{
    struct taker t = { .s = s, .part = part, .filter = filter };
    const struct sd_slice_walk w = {
        .p = p, .has_calls = true, .take = take, .of = &t
    };
    int rc;

    sd_slice_gathering_init(&t.g, p, SD_CALLS);
    t.g.n_columns = N_WEIGHTS;
    rc = sd_slices_add_sections(s, &t.g, paths, n, NULL);
    if (rc == 0)
        rc = find_sets(&t);
    if (rc == 0)
        rc = sd_slice_walk(&w, paths, n);
    if (rc == 0)
        rc = settle(s, &t.g);
    sd_slice_gathering_release(&t.g);
    sd_free(t.has_section);
    if (rc < 0)
        sd_slices_release(s);
    return rc;
}

int sd_call_slices_load(struct sd_slices *s, const struct sd_profile *p,
                        const char *const *paths, size_t n,
                        const struct sd_filter *filter)
{
    return p->has_calls_cut
               ? sd_call_slices_load_part(s, p, paths, n, filter, SD_CALLS_INSIDE)
               : sd_call_slices_load_part(s, p, paths, n, NULL, SD_CALLS_ALL);
}

bool sd_call_slices_are_whole(const struct sd_profile *p, const struct sd_slices *s)
{
    return sd_profile_knows_calls(p) && s->n_untimed == 0 && s->n_uncertain == 0;
}
