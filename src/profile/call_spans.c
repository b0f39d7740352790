/* SPDX-License-Identifier: MIT */
#include "profile/call_spans.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/profile_define.h"
#include "profile/local_ids.h"
#include "profile/samples.h"
#include "profile/series.h"

/* Names that were lost leave gaps in the ids.  A file that lies must not make much of
 * that: so many times as many ids as there are definitions. */
enum { GAPS = 64, FIRST_IDS = 1 << 16, MOST_IDS = 1 << 24, NONE = UINT32_MAX };
/* A stretch between two pairs that is shorter than this says little of the rate. */
#define SHORT_NS (UINT64_C(10) * 1000 * 1000)

/* --- The table at hand */

static void leave_table(struct sd_call_spans *s)
{
    sd_assert(s->n_named <= s->n_names);
    s->table = 0;
    s->is_begun = s->is_closing = s->is_leaving = false;
    s->n_open = s->n_kept = 0;
    s->n_below = s->number = s->names_bytes = 0;
    s->n_missing = s->n_calls = s->n_undone = 0;
    s->last_ns = 0;
    s->at = s->end = NULL;
    s->line.until = s->line.ticks = 0;
    if (s->n_named)
        memset(s->names, 0, s->n_named * sizeof *s->names);
    s->n_named = 0;
}

static int add_to(struct sd_table *t, uint64_t key, uint64_t n)
{
    uint64_t before = 0;

    sd_table_get(t, key, &before);
    return sd_table_put(t, key, before + n);
}

static int keep_counts(struct sd_call_spans *s)
{
    int rc =
        s->request == SD_SPANS_COUNTED ? add_to(&s->counted, s->table, s->n_calls) : 0;

    return rc < 0 || s->n_missing == 0 ? rc
                                       : add_to(&s->missing, s->table, s->n_missing);
}

int sd_call_spans_expect(struct sd_call_spans *s, uint64_t table)
{
    return s->request == SD_SPANS_COUNTED ? add_to(&s->counted, table, 0) : 0;
}

uint64_t sd_call_spans_lost(const struct sd_call_spans *s,
                            const struct sd_table *in_trees)
{
    uint64_t table, n, of_tree, missing, lost = 0;
    size_t at = 0;

    while (sd_table_next(&s->counted, &at, &table, &n)) {
        if (sd_table_get(in_trees, table, &of_tree))
            lost += of_tree > n ? of_tree - n : 0;
        else if (sd_table_get(&s->missing, table, &missing))
            lost += missing / 2;
    }
    return lost;
}

static void close_above(struct sd_call_spans *s, size_t n_kept, bool is_leaving)
{
    sd_assert(n_kept <= s->n_open);
    s->n_kept = n_kept;
    s->is_leaving = is_leaving;
    s->is_closing = true;
}

void sd_call_spans_leave(struct sd_call_spans *s)
{
    if (s->table)
        close_above(s, 0, true);
}

/* 1: another one has to be left before. */
static int choose_table(struct sd_decoder *d, uint64_t table)
{
    struct sd_call_spans *s = &d->spans;

    if (s->table == table)
        return 0;
    if (s->table) {
        sd_call_spans_leave(s);
        return 1;
    }
    s->table = table;
    s->track = NONE;
    return 0;
}

void sd_call_spans_release(struct sd_call_spans *s)
{
    sd_free(s->names);
    sd_free(s->open);
    sd_table_release(&s->counted);
    sd_table_release(&s->missing);
    *s = (struct sd_call_spans){ .request = s->request, /* which are not of the walk */
                                 .has_stacks = s->has_stacks };
}

/* --- Names */

static int make_room_for(struct sd_call_spans *s, uint32_t id)
{
    uint64_t most = FIRST_IDS + GAPS * (s->names_bytes / 16);
    struct sd_local_id *names;
    size_t cap = s->n_names;

    if (id >= most || id >= MOST_IDS)
        return 0; /* what has no room shows as lost */
    if (id >= s->n_named)
        s->n_named = (size_t)id + 1;
    if (id < s->n_names)
        return 0;
    names = sd_grow_array(s->names, &cap, (size_t)id + 1, sizeof *names);
    if (!names) {
        s->n_named = s->n_names;
        return sd_no_memory();
    }
    memset(names + s->n_names, 0, (cap - s->n_names) * sizeof *names);
    s->names = names;
    s->n_names = cap;
    sd_assert(id < s->n_names && s->n_named <= s->n_names);
    return 0;
}

/* The records inside, one after the other: start with *at = 0. */
static const struct sd_record *next_inside(const struct sd_rec_names *r, uint32_t *at)
{
    const struct sd_chunk_view inside = {
        .type = SD_CHUNK_DEFS,
        .p = r->records,
        .n = (uint32_t)(r->head.len - sizeof *r),
    };

    return sd_chunk_view_next(&inside, at);
}

/* Every definition that has an id has it behind its header. */
static uint32_t id_of(const struct sd_record *r)
{
    uint32_t id;

    memcpy(&id, r + 1, sizeof id);
    return r->type == SD_REC_STRING || r->type == SD_REC_SITE || r->type == SD_REC_TRACK
               ? id
               : 0;
}

int sd_call_spans_names(struct sd_decoder *d, const struct sd_rec_names *r)
{
    struct sd_call_spans *s = &d->spans;
    const struct sd_record *inside;
    int rc = choose_table(d, r->table);

    s->names_bytes += rc == 0 ? r->head.len : 0;
    for (uint32_t at = 0; rc == 0 && (inside = next_inside(r, &at));) {
        rc = make_room_for(s, id_of(inside));
        if (rc == 0 && id_of(inside) != 0)
            rc = sd_decoder_take_name(d, inside, s->names, s->n_names);
    }
    return rc;
}

/* --- Times */

int sd_call_spans_pairs(struct sd_decoder *d, const struct sd_record *r)
{
    const struct sd_rec_calls_from *from = (const void *)r;
    const struct sd_rec_names *names = (const void *)r;
    const struct sd_record *inside;
    int rc = 0;

    if (r->type == SD_REC_CALLS_FROM)
        return from->clock == SD_CLOCK_MONOTONIC
                   ? 0
                   : sd_clocks_add(&d->clocks, from->table, from->ticks, from->mono_ns);
    for (uint32_t at = 0; rc == 0 && (inside = next_inside(names, &at));) {
        const struct sd_rec_clock *c = (const void *)inside;

        if (inside->type == SD_REC_CLOCK && c->kind != SD_CLOCK_MONOTONIC)
            rc = sd_clocks_add(&d->clocks, names->table, c->ticks, c->mono_ns);
    }
    return rc;
}

/* The stretch of the table's line that these ticks lie on.  Outside of all pairs, and
 * between two that are too close, the rate is that of the whole capture. */
static void find_line(struct sd_decoder *d, uint64_t ticks)
{
    struct sd_call_spans *s = &d->spans;
    const struct sd_clock_line *line = sd_clocks_line(&d->clocks, s->table);
    double rate = sd_clocks_ns_per_tick(&d->clocks);
    const struct sd_clock_pair *a, *b;

    s->line.ticks = s->line.ns = 0;
    s->line.until = s->line.most_ns = UINT64_MAX;
    s->line.slope = 1; /* nanoseconds, or a counter that nothing compares with them */
    if (!line || line->n == 0)
        return;
    if (rate > 0)
        s->line.slope = rate;
    sd_clock_line_around(line, ticks, &a, &b);
    sd_assert(a || b);
    sd_assert(!a || !b || (a->ticks < b->ticks && a->mono_ns < b->mono_ns));
    s->line.until = b ? b->ticks : UINT64_MAX;
    s->line.most_ns = a && b ? b->mono_ns : UINT64_MAX;
    if (a && b && b->mono_ns - a->mono_ns >= SHORT_NS)
        s->line.slope =
            (double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks);
    if (a) {
        s->line.ticks = a->ticks;
        s->line.ns = a->mono_ns;
    } else { /* before the first pair */
        double back = (double)(b->ticks - ticks) * s->line.slope;

        s->line.ticks = ticks;
        s->line.ns = back < (double)b->mono_ns ? b->mono_ns - (uint64_t)back : 0;
    }
}

/* hot: nanoseconds from the capture's zero. */
static uint64_t moment_of(struct sd_decoder *d, uint64_t ticks)
{
    struct sd_call_spans *s = &d->spans;
    uint64_t ns;
    double scaled;

    if (ticks < s->line.ticks || ticks >= s->line.until)
        find_line(d, ticks);
    scaled = (double)(ticks - s->line.ticks) * s->line.slope;
    if (s->line.slope == 1)
        ns = ticks - s->line.ticks;
    else /* which may be more than there are nanoseconds */
        ns = scaled < (double)SD_TIME_MAX ? (uint64_t)scaled : SD_TIME_MAX;
    ns = ns < SD_TIME_MAX ? ns + s->line.ns : SD_TIME_MAX;
    if (ns > s->line.most_ns)
        ns = s->line.most_ns;
    ns = ns > d->zero_ns ? ns - d->zero_ns : 0;
    return ns < SD_TIME_MAX ? ns : SD_TIME_MAX;
}

/* hot: the same, never before what was before. */
static uint64_t next_moment(struct sd_decoder *d, uint64_t ticks)
{
    struct sd_call_spans *s = &d->spans;
    uint64_t ns = moment_of(d, ticks);

    if (ns > s->last_ns)
        s->last_ns = ns;
    return s->last_ns;
}

/* --- Where it stands */

static bool has_name(const struct sd_call_spans *s, uint32_t site)
{
    return site < s->n_names && s->names[site].kind == SD_REC_SITE;
}

/* That of a call on top of what is open; NONE where something below is not known. */
static uint32_t stack_of(const struct sd_decoder *d, uint32_t site)
{
    const struct sd_call_spans *s = &d->spans;
    struct sd_stack key = { .parent = SD_NO_STACK };

    if (s->n_open > 0)
        key.parent.at = s->open[s->n_open - 1].stack;
    if ((s->n_open > 0 ? key.parent.at == NONE : s->n_below > 0) || !has_name(s, site))
        return NONE;
    key.site.at = s->names[site].id;
    return sd_find_stack(d->p, &key);
}

static int push(struct sd_decoder *d, struct sd_call_open open)
{
    struct sd_call_spans *s = &d->spans;

    open.stack = s->has_stacks ? stack_of(d, open.site) : NONE;
    if (s->n_open == s->cap_open) {
        struct sd_call_open *grown =
            sd_grow_array(s->open, &s->cap_open, s->n_open + 1, sizeof *grown);

        if (!grown)
            return sd_no_memory();
        s->open = grown;
    }
    sd_assert_slow(s->n_open < s->cap_open);
    s->open[s->n_open++] = open;
    return 0;
}

/* How many of the calls that we have open are open there, too: whatever is below one
 * that is the same is the same.  None, when none of those that are told is. */
static size_t n_same(struct sd_decoder *d, const struct sd_rec_calls_from *r)
{
    struct sd_call_spans *s = &d->spans;

    for (uint32_t i = r->n; i-- > 0;) {
        uint64_t at = (uint64_t)r->depth - r->n + i;

        if (at < s->n_below || at - s->n_below >= s->n_open)
            continue;
        at -= s->n_below;
        if (s->open[at].site == r->open[i].site &&
            s->open[at].from_ns == moment_of(d, r->open[i].ticks))
            return (size_t)at + 1;
    }
    return 0;
}

static void go_to(struct sd_call_spans *s, uint64_t number)
{
    if (number > s->number)
        s->n_missing += number - s->number;
    s->number = number;
    s->is_begun = true;
}

/* After a gap, or at the beginning. */
static int stand_there(struct sd_decoder *d, const struct sd_rec_calls_from *r)
{
    struct sd_call_spans *s = &d->spans;
    size_t kept = n_same(d, r);
    uint64_t told = (uint64_t)r->depth - r->n, at;
    int rc = 0;

    sd_assert(r->n <= r->depth);
    if (s->n_open > kept) {
        close_above(s, kept, false);
        return 1;
    }
    if (kept == 0)
        s->n_below = told;
    at = s->n_below + s->n_open;
    for (uint64_t i = at > told ? at - told : 0; i < r->n && rc == 0; i++)
        rc = push(d, (struct sd_call_open){ moment_of(d, r->open[i].ticks),
                                            r->open[i].site, 0, NONE });
    go_to(s, r->number);
    return rc;
}

int sd_call_spans_from(struct sd_decoder *d, const struct sd_rec_calls_from *r)
{
    struct sd_call_spans *s = &d->spans;
    int rc = choose_table(d, r->table);

    /* The walk for the clocks fills the chunk's memory anew, and a file that changes
     * may give another chunk: the record is looked at again before it is used. */
    if (rc == 0 && r->clock != SD_CLOCK_MONOTONIC)
        rc = sd_decoder_need_clocks(d);
    if (rc != 0 || r->n > r->depth)
        return rc;
    if (r->track < s->n_names && s->names[r->track].kind == SD_REC_TRACK)
        s->track = s->names[r->track].id;
    if (s->is_begun && r->number == s->number)
        return 0;
    if (s->request == SD_SPANS_EACH)
        return stand_there(d, r);
    go_to(s, r->number);
    return 0;
}

/* --- Runs */

int sd_call_spans_run(struct sd_decoder *d, const struct sd_rec_calls *r)
{
    struct sd_call_spans *s = &d->spans;
    struct sd_call_long_event told;
    int rc = choose_table(d, r->table);

    if (rc != 0)
        return rc;
    if (!s->is_begun)
        s->number = r->number;
    s->is_begun = true;
    s->end = sd_record_calls_end(r);
    s->at = sd_record_call_read(r->units, s->end, &told) ? r->units : s->end;
    s->ticks = r->base;
    return 0;
}

/* hot: the next event of the run at hand; false: there is none. */
static bool next_told(struct sd_call_spans *s, struct sd_call_long_event *told)
{
    const uint32_t *next = sd_record_call_read(s->at, s->end, told);

    s->at = next ? next : s->end;
    if (!next)
        return false;
    sd_assert_slow(next <= s->end);
    s->ticks += told->since;
    s->number++;
    return true;
}

/* A timeline whose names are lost is of a lost track. */
static int fill(struct sd_decoder *d, struct sd_event *e, enum sd_event_kind kind)
{
    struct sd_call_spans *s = &d->spans;
    int rc = s->track == NONE ? sd_local_lost_track(d, &s->track) : 0;

    *e = (struct sd_event){
        .kind = kind, .track = { s->track }, .site = SD_NO_SITE, .stack = SD_NO_STACK
    };
    return rc;
}

/* The call on top ends.  1: *e is it; 0: it is one that nothing is known of. */
static int pop(struct sd_decoder *d, uint64_t to_ns, uint32_t flags, struct sd_event *e)
{
    struct sd_call_spans *s = &d->spans;
    const struct sd_call_open *open;
    int rc;

    if (s->n_open == 0) {
        s->n_below -= s->n_below > 0;
        return 0;
    }
    open = &s->open[--s->n_open];
    rc = fill(d, e, SD_EVENT_CALL);
    if (has_name(s, open->site))
        e->site.at = s->names[open->site].id;
    else if (rc == 0)
        rc = sd_local_lost_site(d, &e->site.at);
    e->stack.at = open->stack;
    e->from_ns = open->from_ns < to_ns ? open->from_ns : to_ns;
    e->to_ns = to_ns;
    e->flags = open->flags | flags;
    if (rc < 0)
        return rc;
    return e->site.at != NONE && e->track.at != NONE;
}

/* One event.  As pop. */
static int take(struct sd_decoder *d, const struct sd_call_long_event *told,
                struct sd_event *e)
{
    struct sd_call_spans *s = &d->spans;
    uint64_t ns = next_moment(d, s->ticks);

    switch ((enum sd_call_event)told->event) {
    case SD_CALL_BEGINS:
        return push(d, (struct sd_call_open){ ns, told->site, 0, NONE });
    case SD_CALL_GOES_ON:
        return push(d, (struct sd_call_open){ ns, told->site, SD_SPAN_RESUMED, NONE });
    case SD_CALL_ENDS:
        return pop(d, ns, 0, e);
    case SD_CALL_PAUSES:
        return pop(d, ns, SD_SPAN_PAUSED, e);
    case SD_CALL_NEVER_WAS:
        s->n_open -= s->n_open > 0;
        return 0;
    }
    return 0;
}

/* Calls that began in the run at hand. */
static uint32_t count_begun(struct sd_call_spans *s, bool *is_lost)
{
    struct sd_call_long_event told;
    uint32_t n = 0;

    while (next_told(s, &told)) {
        s->n_undone += told.event == SD_CALL_NEVER_WAS;
        if (told.event > SD_CALL_GOES_ON)
            continue;
        n += told.event == SD_CALL_BEGINS;
        *is_lost |= !has_name(s, told.site);
    }
    return n;
}

/* A whole run as one event: how many calls began in it.  What stands for lost names is
 * made here, so that it is there when each call is asked for. */
static int count_run(struct sd_decoder *d, struct sd_event *e)
{
    struct sd_call_spans *s = &d->spans;
    struct sd_call_long_event first = { 0 };
    bool is_lost = false;
    uint32_t n, undone, site;
    int rc = fill(d, e, SD_EVENT_CALLS_RUN);

    sd_record_call_read(s->at, s->end, &first);
    e->from_ns = next_moment(d, s->ticks + first.since);
    n = count_begun(s, &is_lost);
    e->to_ns = next_moment(d, s->ticks);
    /* One that began in the run before, and turns out never to have been in this one,
     * is taken from those of the next that has any. */
    undone = s->n_undone < n ? (uint32_t)s->n_undone : n;
    s->n_undone -= undone;
    n -= undone;
    s->n_calls += n;
    if (rc == 0 && is_lost)
        rc = sd_local_lost_site(d, &site);
    e->flags = n;
    return rc < 0 ? rc : e->track.at != NONE;
}

/* 1: *e is one of those that have to end; 0: they are all closed. */
static int close_next(struct sd_decoder *d, struct sd_event *e)
{
    struct sd_call_spans *s = &d->spans;
    int rc = 0;

    while (rc == 0 && s->n_open > s->n_kept)
        rc = pop(d, s->last_ns, SD_SPAN_UNFINISHED, e);
    if (rc != 0)
        return rc;
    s->is_closing = false;
    if (s->is_leaving) {
        rc = keep_counts(s);
        leave_table(s);
    }
    return rc;
}

int sd_call_spans_next(struct sd_decoder *d, struct sd_event *e)
{
    struct sd_call_spans *s = &d->spans;
    struct sd_call_long_event told;
    int rc = 0;

    if (s->is_closing && s->at == s->end)
        rc = close_next(d, e);
    if (s->at != s->end && s->request == SD_SPANS_COUNTED)
        return count_run(d, e);
    while (rc == 0 && s->at != s->end && next_told(s, &told))
        rc = take(d, &told, e);
    return rc;
}
