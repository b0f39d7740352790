/* SPDX-License-Identifier: MIT */
#include "profile/alloc/alloc_replay.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { NONE = UINT32_MAX };
enum {
    PAGE_BITS = 6,
    PAGE = 1 << PAGE_BITS
};                               /* places of a thread that stand together */
#define BEGAN_INSIDE 0x80000000u /* a bit beside the place of a block or mapping */

/* A drawn block stands for parts of blocks, too, and what all stand for is rounded
 * once: amounts of a sample have their blocks in these parts until the end. */
enum { PARTS = 1024 };

/* What a block counts for: itself, or all that were not drawn, too. */
struct weight {
    struct sd_alloc_amount amount;
    double variance;
};

/* 1 - exp(-x), without the C library's: that of a small part of x, as a series, and
 * then doubled as often.  Exact to the last digits, however small x is. */
static double chance(double x)
{
    unsigned doubled = 0;
    double p;

    for (; x > 1.0 / 64; doubled++)
        x /= 2;
    p = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
    while (doubled-- > 0)
        p *= 2 - p;
    return p;
}

static struct weight weigh_sample(double mean, uint64_t size)
{
    double bytes = (double)size, p = chance((size ? bytes : 1) / mean);

    return (struct weight){
        { (uint64_t)(bytes / p + 0.5), (uint64_t)(PARTS / p + 0.5) },
        bytes * bytes * (1 - p) / (p * p),
    };
}

static inline struct weight weigh(const struct sd_alloc_replay *r, uint64_t size)
{
    if (__builtin_expect(r->how.sample_bytes > 0, 0))
        return weigh_sample(r->how.sample_bytes, size);
    return (struct weight){ { size, 1 }, 0 };
}

static inline void add(struct sd_alloc_amount *a, const struct weight *w)
{
    a->bytes += w->amount.bytes;
    a->blocks += w->amount.blocks;
}

static inline void subtract(struct sd_alloc_amount *a, const struct weight *w)
{
    a->bytes -= w->amount.bytes;
    a->blocks -= w->amount.blocks;
}

/* --- Places */

static size_t n_cells(const struct sd_alloc_replay *r)
{
    return r->how.table ? r->how.table->n_stacks : 0;
}

static int grow_places(struct sd_alloc_replay *r)
{
    size_t n = r->n_places + 1;
    struct sd_alloc_place *places =
        sd_grow_array(r->places, &r->cap_places, n, sizeof *places);

    if (!places)
        return sd_no_memory();
    r->places = places;
    if (r->how.sample_bytes > 0) {
        struct sd_alloc_variance *v =
            sd_grow_array(r->variances, &r->cap_variances, n, sizeof *v);

        if (!v)
            return sd_no_memory();
        r->variances = v;
        v[r->n_places] = (struct sd_alloc_variance){ 0 };
    }
    return 0;
}

static int grow_moments(struct sd_alloc_replay *r)
{
    size_t at = r->n_places * SD_ALLOC_MOMENTS;
    int64_t *moments;

    if (!r->how.choice.has_growth)
        return 0;
    moments = sd_grow_array(r->moments, &r->cap_moments, at + SD_ALLOC_MOMENTS,
                            sizeof *moments);
    if (!moments)
        return sd_no_memory();
    r->moments = moments;
    memset(moments + at, 0, SD_ALLOC_MOMENTS * sizeof *moments);
    return 0;
}

static uint32_t flags_of(const struct sd_alloc_replay *r, uint32_t by, unsigned class)
{
    bool is_apart = by == SD_BY_FILE || by == SD_BY_RESERVED;
    uint32_t flags = by | (is_apart ? SD_ALLOCS_APART : 0);

    return r->how.choice.has_sizes ? flags | (class + 1) * SD_ALLOCS_CLASS : flags;
}

static int new_place(struct sd_alloc_replay *r, uint32_t thread, uint32_t cell,
                     unsigned class, uint32_t *place)
{
    struct sd_alloc_place one = { .thread = thread,
                                  .stack = r->how.lost_stack,
                                  .epoch = r->epoch };
    uint32_t by = SD_BY_NONE;
    int rc = r->n_places < BEGAN_INSIDE ? grow_places(r) : sd_no_memory();

    if (rc == 0)
        rc = grow_moments(r);
    if (rc < 0)
        return rc;
    if (cell < n_cells(r)) {
        one.stack = r->how.table->stacks[cell].stack;
        by = r->how.table->stacks[cell].by;
    }
    one.flags = flags_of(r, by, class);
    one.is_heap = !(one.flags & SD_ALLOCS_APART) && r->threads[thread].is_chosen;
    *place = (uint32_t)r->n_places;
    r->places[r->n_places++] = one;
    return 0;
}

/* The place of a stack of this thread; with sizes apart each stack has a page for
 * itself. */
static int find_place(struct sd_alloc_replay *r, uint32_t thread, uint32_t cell,
                      uint64_t size, uint32_t *place)
{
    struct sd_alloc_thread_state *t = &r->threads[thread];
    unsigned class = 0;
    size_t page, at;

    if (cell > n_cells(r))
        cell = (uint32_t)n_cells(r);
    page = cell >> PAGE_BITS;
    at = cell & (PAGE - 1);
    if (r->how.choice.has_sizes) {
        class = sd_alloc_class(size & INT64_MAX);
        page = cell;
        at = class;
    }
    if (!t->pages[page] && !(t->pages[page] = sd_zalloc(PAGE * sizeof **t->pages)))
        return sd_no_memory();
    if (t->pages[page][at] == 0) {
        int rc = new_place(r, thread, cell, class, place);

        if (rc < 0)
            return rc;
        t->pages[page][at] = *place + 1;
    }
    *place = t->pages[page][at] - 1;
    return 0;
}

static inline int place_of(struct sd_alloc_replay *r, uint32_t thread,
                           const struct sd_alloc_event *e, uint32_t *place)
{
    struct sd_alloc_thread_state *t = &r->threads[thread];
    int rc;

    if (e->stack == t->last_cell) {
        *place = t->last_place;
        return 0;
    }
    rc = find_place(r, thread, e->stack, e->size, place);
    t->last_cell = r->how.choice.has_sizes ? NONE : e->stack;
    t->last_place = *place;
    return rc;
}

int sd_alloc_replay_thread(struct sd_alloc_replay *r, uint32_t track, bool is_chosen,
                           uint32_t *thread)
{
    size_t n_pages =
        r->how.choice.has_sizes ? n_cells(r) + 1 : (n_cells(r) >> PAGE_BITS) + 1;
    struct sd_alloc_thread_state *all,
        one = { .track = track, .is_chosen = is_chosen, .last_cell = NONE };

    uint64_t at;

    if (sd_table_get(&r->thread_of, track, &at)) {
        *thread = (uint32_t)at;
        return 0;
    }
    all = sd_grow_array(r->threads, &r->cap_threads, r->n_threads + 1, sizeof *all);
    if (!all)
        return sd_no_memory();
    r->threads = all;
    one.pages = sd_zalloc(n_pages * sizeof *one.pages);
    if (!one.pages)
        return sd_no_memory();
    *thread = (uint32_t)r->n_threads;
    all[r->n_threads++] = one;
    return sd_table_put(&r->thread_of, track, *thread);
}

/* --- What is live */

/* Before its first change since a peak a place notes what it had then. */
static inline void note_peak(struct sd_alloc_replay *r, uint32_t place)
{
    struct sd_alloc_place *p = &r->places[place];

    if (p->epoch == r->epoch)
        return;
    p->peak = p->live;
    p->epoch = r->epoch;
    if (r->variances)
        r->variances[place].peak = r->variances[place].live;
}

static inline void look_for_peak(struct sd_alloc_replay *r)
{
    if (!r->is_inside || r->live_bytes < r->facts.peak_bytes + r->least_rise)
        return;
    r->facts.peak_bytes = r->live_bytes;
    r->facts.peak_ns = r->now_ns;
    r->epoch++;
}

static inline void add_live(struct sd_alloc_replay *r, uint32_t place,
                            const struct weight *w)
{
    struct sd_alloc_place *p = &r->places[place];

    note_peak(r, place);
    add(&p->live, w);
    if (r->variances)
        r->variances[place].live += w->variance;
    if (!p->is_heap)
        return;
    r->live_bytes += w->amount.bytes;
    if (r->live_bytes > r->high_bytes)
        r->high_bytes = r->live_bytes;
    look_for_peak(r);
}

static inline void subtract_live(struct sd_alloc_replay *r, uint32_t place,
                                 const struct weight *w)
{
    struct sd_alloc_place *p = &r->places[place];

    note_peak(r, place);
    subtract(&p->live, w);
    if (r->variances)
        r->variances[place].live -= w->variance;
    if (p->is_heap)
        r->live_bytes -= w->amount.bytes;
}

/* What began in a window and is live, until that has ended. */
static inline void add_kept(struct sd_alloc_replay *r, uint32_t where,
                            const struct weight *w, int sign)
{
    uint32_t place = where & ~BEGAN_INSIDE;

    if (!r->has_window || r->is_past || !(where & BEGAN_INSIDE))
        return;
    if (sign > 0)
        add(&r->places[place].kept, w);
    else
        subtract(&r->places[place].kept, w);
    if (r->variances)
        r->variances[place].kept += sign * w->variance;
}

/* --- Blocks */

static inline uint32_t begin_at(struct sd_alloc_replay *r, uint32_t place,
                                const struct weight *w)
{
    uint32_t where = place | (r->is_inside ? BEGAN_INSIDE : 0);

    add_live(r, place, w);
    if (r->is_inside) {
        add(&r->places[place].all, w);
        if (r->variances)
            r->variances[place].all += w->variance;
    }
    add_kept(r, where, w, 1);
    return where;
}

/* How many others its thread has allocated since. */
static inline bool is_temporary(const struct sd_alloc_replay *r, uint32_t where,
                                uint32_t index)
{
    const struct sd_alloc_place *p = &r->places[where & ~BEGAN_INSIDE];
    uint32_t between = r->threads[p->thread].n_begun - index;

    return where & BEGAN_INSIDE && between <= r->how.choice.n_between;
}

/* It was freed, and perhaps soon. */
static inline void end_at(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t,
                          uint32_t where, uint32_t index, const struct weight *w)
{
    uint32_t place = where & ~BEGAN_INSIDE;
    struct sd_alloc_place *p = &r->places[place];

    subtract_live(r, place, w);
    add_kept(r, where, w, -1);
    t->was_inside = r->is_inside;
    t->was_temporary = is_temporary(r, where, index);
    if (p->is_heap && r->is_inside)
        r->facts.frees += w->amount.blocks;
    if (!t->was_temporary)
        return;
    add(&p->temporary, w);
    if (r->variances)
        r->variances[place].temporary += w->variance;
}

static void undo_at(struct sd_alloc_replay *r, const struct sd_alloc_thread_state *t,
                    uint32_t where, const struct weight *w)
{
    uint32_t place = where & ~BEGAN_INSIDE;
    struct sd_alloc_place *p = &r->places[place];

    add_live(r, place, w);
    add_kept(r, where, w, 1);
    if (p->is_heap && t->was_inside)
        r->facts.frees -= w->amount.blocks;
    if (t->was_temporary)
        subtract(&p->temporary, w);
}

/* A block that begins over a live one: nobody saw that one end. */
static void overlap(struct sd_alloc_replay *r, uint32_t where, const struct weight *w)
{
    r->facts.overlaps += r->is_inside;
    subtract_live(r, where & ~BEGAN_INSIDE, w);
    add_kept(r, where, w, -1);
}

/* --- Mappings */

static struct weight weight_of(const struct sd_alloc_map_weight *w)
{
    return (struct weight){ { w->bytes, w->blocks }, w->variance };
}

/* Each part of a mapping that lies in the range.  It is one free, where the whole goes.
 */
static int unmap(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t,
                 uint64_t from, uint64_t to)
{
    struct sd_alloc_map part;
    int rc = 0;

    while (rc == 0 && sd_alloc_maps_in(&r->maps, from, to, &part)) {
        struct sd_alloc_map_weight share;
        struct weight w;
        bool is_ended;

        rc = sd_alloc_maps_cut(&r->maps, part.from, part.to, &is_ended, &share);
        w = weight_of(&share);
        if (is_ended && t) {
            end_at(r, t, part.place, part.index, &w);
            continue;
        }
        subtract_live(r, part.place & ~BEGAN_INSIDE, &w);
        add_kept(r, part.place, &w, -1);
    }
    return rc;
}

static uint64_t end_of(uint64_t from, uint64_t size)
{
    return size < UINT64_MAX - from ? from + size : UINT64_MAX;
}

static int begin_map(struct sd_alloc_replay *r, uint32_t thread,
                     const struct sd_alloc_event *e, uint32_t place)
{
    struct sd_alloc_map one = { .from = e->address,
                                .to = end_of(e->address, e->size),
                                .index = r->threads[thread].n_begun },
                        other;
    struct weight w = weigh(r, one.to - one.from);
    int rc = 0;

    if (one.from == one.to)
        return 0;
    if (sd_alloc_maps_in(&r->maps, one.from, one.to, &other)) {
        r->facts.overlaps += r->is_inside;
        rc = unmap(r, NULL, one.from, one.to);
    }
    one.weight =
        (struct sd_alloc_map_weight){ w.amount.bytes, w.amount.blocks, w.variance };
    one.place = begin_at(r, place, &w);
    return rc < 0 ? rc : sd_alloc_maps_add(&r->maps, &one);
}

static int end_map(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t,
                   const struct sd_alloc_map *map)
{
    t->freed_map = *map;
    t->freed = SD_FREED_MAP;
    t->was_inside = t->was_temporary = false; /* so that of a rest no more is undone */
    return unmap(r, t, t->freed_map.from, t->freed_map.to);
}

/* --- Events */

/* A block without an address cannot be; sizes beyond any memory would only overflow. */
enum { SIZE_BITS = 56 };

static inline int begin(struct sd_alloc_replay *r, uint32_t thread,
                        struct sd_alloc_event *e)
{
    struct sd_alloc_block *b;
    struct weight w;
    uint32_t place = 0;
    int rc;

    e->size &= (UINT64_C(1) << SIZE_BITS) - 1;
    rc = place_of(r, thread, e, &place);
    if (rc < 0 || e->address == 0)
        return rc;
    r->threads[thread].n_begun++;
    if (__builtin_expect(sd_allocator_maps(r->places[place].flags & SD_ALLOCS_BY), 0))
        return begin_map(r, thread, e, place);
    b = sd_alloc_blocks_room(&r->blocks, e->address);
    if (!b)
        return SD_ENOMEM;
    w = weigh(r, e->size);
    if (b->address) {
        struct weight old = weigh(r, b->size);

        overlap(r, b->place, &old);
    }
    r->blocks.n += b->address == 0;
    *b = (struct sd_alloc_block){ e->address, e->size, begin_at(r, place, &w),
                                  r->threads[thread].n_begun };
    return 0;
}

static int end_other(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t,
                     uint64_t address)
{
    const struct sd_alloc_map *map = sd_alloc_maps_at(&r->maps, address);

    if (map)
        return end_map(r, t, map);
    t->freed = SD_FREED_UNKNOWN;
    t->was_inside = r->is_inside;
    r->facts.unknown_frees += r->is_inside && t->is_chosen;
    return 0;
}

static inline int end(struct sd_alloc_replay *r, uint32_t thread, uint64_t address)
{
    struct sd_alloc_thread_state *t = &r->threads[thread];
    struct sd_alloc_block *b = sd_alloc_blocks_find(&r->blocks, address);
    struct weight w;

    if (!b)
        return end_other(r, t, address);
    t->freed = SD_FREED_BLOCK;
    t->freed_block = *b;
    sd_alloc_blocks_remove(&r->blocks, b);
    w = weigh(r, t->freed_block.size);
    end_at(r, t, t->freed_block.place, t->freed_block.index, &w);
    return 0;
}

static int undo_block(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t)
{
    struct sd_alloc_block *b = sd_alloc_blocks_room(&r->blocks, t->freed_block.address);
    struct weight w = weigh(r, t->freed_block.size);

    if (!b)
        return SD_ENOMEM;
    if (b->address)
        return 0; /* another one is there meanwhile: it was freed after all */
    *b = t->freed_block;
    r->blocks.n++;
    undo_at(r, t, b->place, &w);
    return 0;
}

static int undo_map(struct sd_alloc_replay *r, struct sd_alloc_thread_state *t)
{
    const struct sd_alloc_map *m = &t->freed_map;
    struct weight w = weight_of(&m->weight);
    struct sd_alloc_map other;

    if (sd_alloc_maps_in(&r->maps, m->from, m->to, &other))
        return 0;
    undo_at(r, t, m->place, &w);
    return sd_alloc_maps_add(&r->maps, m);
}

static int undo(struct sd_alloc_replay *r, uint32_t thread, uint64_t address)
{
    struct sd_alloc_thread_state *t = &r->threads[thread];
    enum sd_alloc_freed what = t->freed;

    t->freed = SD_FREED_NOTHING;
    switch (what) {
    case SD_FREED_BLOCK:
        return t->freed_block.address == address ? undo_block(r, t) : 0;
    case SD_FREED_MAP:
        return t->freed_map.from == address ? undo_map(r, t) : 0;
    case SD_FREED_UNKNOWN:
        r->facts.unknown_frees -= t->was_inside && t->is_chosen;
        return 0;
    case SD_FREED_NOTHING:
        break;
    }
    return 0;
}

/* Freed within a realloc, it may be: what that has ended is still to be undone. */
static int drop(struct sd_alloc_replay *r, uint32_t thread, uint64_t address)
{
    struct sd_alloc_thread_state *t = &r->threads[thread], was = *t;
    int rc = 0;

    if (sd_alloc_blocks_find(&r->blocks, address))
        rc = end(r, thread, address);
    *t = was;
    return rc;
}

static int take_other(struct sd_alloc_replay *r, uint32_t thread,
                      const struct sd_alloc_event *e)
{
    struct sd_alloc_thread_state *t = &r->threads[thread];

    switch (e->other) {
    case SD_ALLOC_TIME:
        return sd_alloc_replay_time(r, e->number, e->rss);
    case SD_ALLOC_UNDO:
        return undo(r, thread, e->address);
    case SD_ALLOC_DROP:
        return drop(r, thread, e->address);
    case SD_ALLOC_UNMAP:
        t->freed = SD_FREED_NOTHING;
        return unmap(r, t, e->address, end_of(e->address, e->size));
    case SD_ALLOC_RUN:
        break;
    }
    return 0;
}

static inline int take(struct sd_alloc_replay *r, uint32_t thread,
                       struct sd_alloc_event *e)
{
    if (e->tag == SD_ALLOC_BEGAN)
        return begin(r, thread, e);
    return e->tag == SD_ALLOC_ENDS ? end(r, thread, e->address)
                                   : take_other(r, thread, e);
}

/* Events are read some ahead of being taken, so that the processor fetches the slots of
 * their blocks meanwhile: those of a large heap are in no cache. */
enum { AHEAD = 16 };

static inline size_t read_ahead(const struct sd_alloc_replay *r,
                                struct sd_alloc_cursor *c,
                                struct sd_alloc_event events[AHEAD])
{
    const struct sd_alloc_blocks *b = &r->blocks;
    size_t n = 0;

    while (n < AHEAD && sd_alloc_next(c, &events[n])) {
        struct sd_alloc_event *e = &events[n++];

        if (e->tag != SD_ALLOC_OTHER && b->n_slots > 0)
            __builtin_prefetch(&b->slots[sd_alloc_blocks_slot(b, e->address)], 1);
        else if (e->tag == SD_ALLOC_OTHER && e->other == SD_ALLOC_RUN)
            break;
    }
    return n;
}

int sd_alloc_replay_run(struct sd_alloc_replay *r, uint32_t thread,
                        struct sd_alloc_cursor *cursor, uint64_t *order)
{
    struct sd_alloc_cursor c = *cursor;
    struct sd_alloc_event events[AHEAD], *last = events;
    int rc = 0;

    sd_assert(thread < r->n_threads);
    last->tag = SD_ALLOC_NONE;
    for (size_t n; rc == 0 && (n = read_ahead(r, &c, events)) > 0;) {
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = take(r, thread, &events[i]);
        last = &events[n - 1];
        if (last->tag == SD_ALLOC_OTHER && last->other == SD_ALLOC_RUN)
            break;
    }
    *cursor = c;
    if (rc < 0 || last->tag != SD_ALLOC_OTHER || last->other != SD_ALLOC_RUN)
        return rc;
    *order = last->number;
    return 1;
}

/* --- Time */

static bool is_open(const struct sd_alloc_setting *how, uint64_t ns)
{
    if (ns < how->from_ns || (how->to_ns && ns >= how->to_ns))
        return false;
    /* The moment at which it is closed is not in it. */
    return !how->section || (sd_intervals_touch(how->section, ns, ns) &&
                             sd_intervals_touch(how->section, ns + 1, ns + 1));
}

static bool is_over(const struct sd_alloc_setting *how, uint64_t ns)
{
    const struct sd_intervals *s = how->section;

    return (how->to_ns && ns >= how->to_ns) ||
           (s && (s->n == 0 || ns >= s->items[s->n - 1].to_ns));
}

static void look_at_window(struct sd_alloc_replay *r)
{
    bool was_inside = r->is_inside;

    r->is_inside = is_open(&r->how, r->now_ns);
    r->is_past = is_over(&r->how, r->now_ns);
    if (!was_inside)
        look_for_peak(r);
}

static void take_moment(struct sd_alloc_replay *r)
{
    for (size_t i = 0; i < r->n_places; i++)
        r->moments[i * SD_ALLOC_MOMENTS + r->n_moments] =
            (int64_t)(r->places[i].live.bytes & INT64_MAX);
    r->n_moments++;
}

/* The end of the part of the run that is at hand. */
static uint64_t next_moment(const struct sd_alloc_replay *r)
{
    uint64_t span = r->how.moments_to_ns - r->how.moments_from_ns;

    return r->how.moments_from_ns + span / SD_ALLOC_MOMENTS * (r->n_moments + 1);
}

static void note_live(struct sd_alloc_replay *r)
{
    for (size_t i = 0; i < r->n_places; i++) {
        r->places[i].at = r->places[i].live;
        if (r->variances)
            r->variances[i].at = r->variances[i].live;
    }
    r->is_at_past = true;
}

/* What was live up to now, before the time goes on. */
static void look_back(struct sd_alloc_replay *r, uint64_t ns)
{
    const struct sd_alloc_choice *choice = &r->how.choice;

    if (choice->has_at && !r->is_at_past && ns > choice->at_ns)
        note_live(r);
    while (choice->has_growth && r->n_moments < SD_ALLOC_MOMENTS && ns > next_moment(r))
        take_moment(r);
}

static int tell_moment(struct sd_alloc_replay *r, uint64_t rss)
{
    const struct sd_alloc_moment now = { r->now_ns, r->live_bytes, r->high_bytes, rss };

    r->high_bytes = r->live_bytes;
    return r->is_inside && r->how.at_time ? r->how.at_time(r->how.of, &now) : 0;
}

int sd_alloc_replay_time(struct sd_alloc_replay *r, uint64_t mono_ns, uint64_t rss)
{
    uint64_t ns = mono_ns > r->how.zero_ns ? mono_ns - r->how.zero_ns : 0;

    ns = ns < INT64_MAX ? ns : INT64_MAX;
    if (ns > r->now_ns) {
        look_back(r, ns);
        r->now_ns = ns;
        if (r->has_window)
            look_at_window(r);
    }
    if (rss > r->facts.peak_rss && r->is_inside) {
        r->facts.peak_rss = rss;
        r->facts.rss_live_bytes = r->live_bytes;
    }
    return rss ? tell_moment(r, rss) : 0;
}

/* --- All of it */

int sd_alloc_replay_init(struct sd_alloc_replay *r, const struct sd_alloc_setting *how)
{
    *r = (struct sd_alloc_replay){ .how = *how };
    if (!how->choice.has_between)
        r->how.choice.n_between = 1;
    r->least_rise = !how->choice.has_last_peak;
    r->has_window = how->from_ns || how->to_ns || how->section;
    r->is_inside = is_open(how, 0);
    return 0;
}

static uint64_t whole(uint64_t parts) { return (parts + PARTS / 2) / PARTS; }

static void round_blocks(struct sd_alloc_replay *r)
{
    for (size_t i = 0; i < r->n_places; i++) {
        struct sd_alloc_place *p = &r->places[i];

        p->live.blocks = whole(p->live.blocks);
        p->peak.blocks = whole(p->peak.blocks);
        p->all.blocks = whole(p->all.blocks);
        p->temporary.blocks = whole(p->temporary.blocks);
        p->kept.blocks = whole(p->kept.blocks);
        p->at.blocks = whole(p->at.blocks);
    }
    r->facts.frees = whole(r->facts.frees);
}

int sd_alloc_replay_end(struct sd_alloc_replay *r)
{
    if (r->how.choice.has_at && !r->is_at_past)
        note_live(r);
    while (r->how.choice.has_growth && r->n_moments < SD_ALLOC_MOMENTS)
        take_moment(r);
    for (uint32_t i = 0; i < r->n_places; i++) {
        note_peak(r, i);
        if (!r->has_window) {
            r->places[i].kept = r->places[i].live;
            if (r->variances)
                r->variances[i].kept = r->variances[i].live;
        }
    }
    if (r->how.sample_bytes > 0)
        round_blocks(r);
    return tell_moment(r, 0);
}

static void release_threads(struct sd_alloc_replay *r)
{
    size_t n_pages =
        r->how.choice.has_sizes ? n_cells(r) + 1 : (n_cells(r) >> PAGE_BITS) + 1;

    for (size_t i = 0; i < r->n_threads; i++) {
        for (size_t k = 0; k < n_pages; k++)
            sd_free(r->threads[i].pages[k]);
        sd_free(r->threads[i].pages);
    }
    sd_free(r->threads);
    sd_table_release(&r->thread_of);
}

void sd_alloc_replay_release(struct sd_alloc_replay *r)
{
    release_threads(r);
    sd_alloc_blocks_release(&r->blocks);
    sd_alloc_maps_release(&r->maps);
    sd_free(r->places);
    sd_free(r->variances);
    sd_free(r->moments);
    *r = (struct sd_alloc_replay){ 0 };
}
