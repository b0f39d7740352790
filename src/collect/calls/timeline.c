/* SPDX-License-Identifier: MIT */
#include "collect/calls/timeline.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/log.h"
#include "capture/writer.h"
#include "collect/calls/call_tree.h"
#include "collect/session.h"

enum {
    RUN_UNITS = 512,              /* 2 KiB: a log is made ready in steps of 8 and 32 */
    MOST_OPEN = 256,              /* that are told at the beginning of a chunk */
    NAMES_BYTES = 4 * 1024,       /* copied at once, where one name is not longer */
    RETRY_NS = 100 * 1000 * 1000, /* after there was no room */
};
/* Where nothing is shared events must not wait for longer than the log's 100 ms until
 * they are written: ticks of a part of that.  Only the long form looks at the clock,
 * and a run of short ones takes no more than this. */
#define WRITTEN_REACH ((uint64_t)RUN_UNITS << SD_CALL_SHORT_BITS)
#define PAIR_NS (UINT64_C(1000) * 1000 * 1000)

_Static_assert(sizeof(struct sd_rec_calls) + RUN_UNITS * sizeof(uint32_t) <=
                   SD_RECORD_MAX,
               "a run is one record");
_Static_assert(sizeof(struct sd_rec_calls_from) +
                       MOST_OPEN * sizeof(struct sd_open_call) +
                       sizeof(struct sd_rec_calls) + RUN_UNITS * sizeof(uint32_t) + 8 <=
                   SD_SMALL_HALF,
               "a slot of the small kind has room for where it stands and a run");

int sd_timeline_init(struct sd_timeline *l, bool is_trial)
{
    *l = (struct sd_timeline){ 0 };
    l->is_trial = is_trial;
    l->scratch = sd_alloc(RUN_UNITS * sizeof *l->scratch);
    return l->scratch ? 0 : sd_no_memory();
}

/* --- What stands in front of events ----------------------------------------------- */

static void *put(struct sd_log *log, enum sd_record_type type, size_t n)
{
    struct sd_record *r = sd_log_put(log, type, n);

    memset(r + 1, 0, r->len - sizeof *r);
    return r;
}

/* Copies what the table has defined since the last time.  A name that no chunk has room
 * for shows as lost. */
static void copy_names(struct sd_call_tree *t)
{
    struct sd_timeline *l = &t->timeline;
    const void *records;
    uint64_t mark = l->names;
    size_t n;

    while ((records = sd_cells_definitions(t->table, &mark, NAMES_BYTES, &n))) {
        struct sd_rec_names *r;
        size_t bytes = sizeof *r + n;

        if (bytes <= SD_RECORD_MAX && bytes <= l->log->half_bytes) {
            if (!sd_log_room(l->log, bytes))
                return; /* once more, before the next run */
            r = put(l->log, SD_REC_NAMES, bytes);
            r->table = l->table;
            memcpy(r->records, records, n);
            sd_log_commit(l->log, 0, 0);
        }
        l->names = mark;
    }
}

static void read_pair(struct sd_call_tree *t, uint64_t now_ns)
{
    struct sd_timeline *l = &t->timeline;
    struct sd_ticks_pair pair;

    if (l->pair.ticks && now_ns - l->pair.mono_ns < PAIR_NS)
        return;
    pair = sd_ticks_pair(t->clock);
    l->pair.ticks = pair.ticks;
    l->pair.mono_ns = pair.mono_ns;
}

/* What is open: of the entries up to `last` those that are told. */
static uint32_t n_told(const struct sd_call_tree *t, const struct sd_call_entry *last)
{
    size_t depth = (size_t)(last - t->stack);

    return depth < MOST_OPEN ? (uint32_t)depth : MOST_OPEN;
}

static size_t from_bytes(uint32_t n)
{
    return sizeof(struct sd_rec_calls_from) + n * sizeof(struct sd_open_call);
}

static void put_from(struct sd_call_tree *t, const struct sd_call_entry *last)
{
    struct sd_timeline *l = &t->timeline;
    uint32_t n = n_told(t, last);
    struct sd_rec_calls_from *r = put(l->log, SD_REC_CALLS_FROM, from_bytes(n));

    sd_assert(last >= t->stack && n <= MOST_OPEN);
    r->track = sd_call_tree_root(t)->track;
    r->table = l->table;
    r->number = l->number;
    r->ticks = l->pair.ticks;
    r->mono_ns = l->pair.mono_ns;
    r->clock = (uint32_t)t->clock;
    r->depth = (uint32_t)(last - t->stack);
    r->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct sd_call_entry *e = last - (n - 1 - i);

        r->open[i] = (struct sd_open_call){ e->start, e->cell->site, 0 };
    }
}

/* --- Runs ------------------------------------------------------------------------- */

/* Every table of a capture has a stream to be known by; one in memory has none. */
static void name_table(struct sd_call_tree *t)
{
    struct sd_timeline *l = &t->timeline;

    l->table = sd_cells_stream(t->table);
    if (!l->table)
        l->table =
            l->log->slot->stream ^ sd_log_next_span(l->log) * 0x9E3779B97F4A7C15u;
}

static void forget_log(struct sd_timeline *l)
{
    l->log = NULL;
    l->run = NULL;
    l->at = l->end = NULL;
}

/* What was put into the scratch is lost, and counted. */
static void leave_scratch(struct sd_timeline *l)
{
    if (!l->is_given_up)
        return;
    sd_assert(l->at >= l->scratch && l->at <= l->scratch + RUN_UNITS);
    l->number += (uint64_t)(l->at - l->scratch) - l->n_long;
    l->at = l->end = NULL;
    l->is_given_up = false;
}

static void give_log(struct sd_timeline *l)
{
    leave_scratch(l);
    if (!l->log)
        return;
    l->was = l->log;
    l->given = l->number;
    sd_writer_give_log(l->log->writer, l->log);
    forget_log(l);
}

/* In a log that was another's, or is another one, this is a timeline that begins.  What
 * was dropped while there was none is part of it. */
static void begin_in_log(struct sd_call_tree *t)
{
    struct sd_timeline *l = &t->timeline;

    sd_assert(l->number >= l->given);
    l->number -= l->given;
    l->names = 0;
    l->chunk = sd_log_chunk(l->log) - 1;
    l->seq = l->log->seq - 1;
    name_table(t);
    l->log->timeline = l->table;
}

/* The tree counts every call, so that readers know what the timeline lacks; not where
 * the tree is in no capture. */
static enum sd_log_losses losses_of(const struct sd_call_tree *t)
{
    return sd_cells_stream(t->table) ? SD_LOSSES_NUMBERED : SD_LOSSES_COUNTED;
}

static bool take_log(struct sd_call_tree *t)
{
    struct sd_timeline *l = &t->timeline;
    struct sd_writer *w;

    if (l->log)
        return true;
    w = sd_session_writer();
    l->log = w ? sd_writer_take_log(w, losses_of(t)) : NULL;
    if (!l->log)
        return false;
    /* Who goes on and off all the time mostly gets the log that he had, and is the last
     * who wrote there: then he goes on, and all names are there. */
    if (l->log != l->was || l->log->timeline != l->table)
        begin_in_log(t);
    return true;
}

static void end_run(struct sd_timeline *l, uint64_t now_ns)
{
    struct sd_rec_calls *run = l->run;
    uint32_t units, n;

    if (!run)
        return;
    units = (uint32_t)(l->at - run->units);
    sd_assert(units <= RUN_UNITS && 2 * l->n_long <= units);
    n = units - l->n_long;
    l->number += n;
    l->run = NULL;
    l->at = l->end = NULL;
    sd_log_end_run(l->log, run, sizeof *run, units * sizeof run->units[0], n, now_ns);
}

/* Chunks that were begun since are more than those that were finished. */
static bool has_dropped(const struct sd_timeline *l)
{
    return sd_log_chunk(l->log) - l->chunk != l->log->seq - l->seq;
}

/* What comes next says where it stands.  A chunk that was dropped took its names with
 * it: they are copied again. */
static void stand_anew(struct sd_timeline *l)
{
    if (has_dropped(l))
        l->names = 0;
    l->chunk = sd_log_chunk(l->log) - 1;
    l->seq = l->log->seq - 1;
}

static void fill_from(struct sd_timeline *l, uint32_t *units, uint64_t now)
{
    l->at = units;
    l->end = units + RUN_UNITS;
    l->n_long = 0;
    l->last = now;
    l->due = UINT64_MAX;
}

/* Begins a run for the next event, before which the entries up to `last` are open.
 * False: there is no place, and the event is lost. */
static bool try_run(struct sd_call_tree *t, const struct sd_call_entry *last,
                    uint64_t now, uint64_t now_ns)
{
    struct sd_timeline *l = &t->timeline;
    struct sd_rec_calls *run;
    size_t room =
        from_bytes(n_told(t, last)) + sizeof *run + RUN_UNITS * sizeof(uint32_t) + 8;

    if (!sd_log_has_spare(l->log, now_ns))
        return false;
    copy_names(t);
    if (!sd_log_room(l->log, room))
        return false;
    if (has_dropped(l)) { /* the room was that of what had the names */
        sd_log_commit(l->log, 0, now_ns);
        stand_anew(l);
        copy_names(t);
        if (!sd_log_room(l->log, room))
            return false;
    }
    if (sd_log_chunk(l->log) != l->chunk) {
        read_pair(t, now_ns);
        put_from(t, last);
        l->chunk = sd_log_chunk(l->log);
        l->seq = l->log->seq;
    }
    run = sd_log_begin_run(l->log, SD_REC_CALLS, sizeof *run,
                           RUN_UNITS * sizeof run->units[0], now_ns);
    run->pad = 0;
    run->table = l->table;
    run->base = now;
    run->number = l->number;
    sd_log_commit(l->log, 0, now_ns);
    if (sd_log_chunk(l->log) != l->chunk)
        return false; /* it was due to be written, and the run went with it */
    l->run = run;
    l->has_begun = true;
    fill_from(l, run->units, now);
    if (l->log->is_written)
        l->due = now + WRITTEN_REACH;
    return true;
}

/* This event is lost, and so are those that follow, until it is tried again: to be
 * refused each time would take longer than to be written. */
static void give_up(struct sd_timeline *l, uint64_t now, uint64_t now_ns)
{
    l->number++;
    if (l->log) /* what comes behind the gap says what is open there */
        stand_anew(l);
    fill_from(l, l->scratch, now);
    l->is_given_up = true;
    l->retry_ns = now_ns + RETRY_NS;
}

static bool begin_run(struct sd_call_tree *t, const struct sd_call_entry *last,
                      uint64_t now, uint64_t now_ns)
{
    return try_run(t, last, now, now_ns) ||
           (t->timeline.log->is_written && try_run(t, last, now, now_ns));
}

/* --- Events ----------------------------------------------------------------------- */

static bool is_new(enum sd_call_event event)
{
    return event == SD_CALL_BEGINS || event == SD_CALL_GOES_ON;
}

/* What it is in its short form, without ticks; more than that has bits for: it has
 * none. */
static uint32_t short_of(enum sd_call_event event, uint32_t site)
{
    if (event == SD_CALL_BEGINS)
        return sd_record_call_short(SD_CALL_SHORT_BEGINS, site);
    return event == SD_CALL_ENDS ? SD_CALL_SHORT_ENDS : UINT32_MAX;
}

/* Both units in one store: a death finds all of the event, or nothing. */
static bool try_long(struct sd_timeline *l, enum sd_call_event event, uint32_t site,
                     uint64_t now)
{
    uint64_t since = now - l->last, both;

    sd_assert_slow(l->at <= l->end);
    if (l->end - l->at < 2 || since > UINT32_MAX || now > l->due)
        return false;
    both = sd_record_call_long(event, site, (uint32_t)since);
    memcpy(l->at, &both, sizeof both);
    l->at += 2;
    l->n_long++;
    l->last = now;
    return true;
}

/* In the run at hand; false: it needs another one. */
static bool try_here(struct sd_timeline *l, enum sd_call_event event, uint32_t site,
                     uint64_t now)
{
    return sd_timeline_try(l, short_of(event, site), now) ||
           try_long(l, event, site, now);
}

void sd_timeline_put(struct sd_call_tree *t, enum sd_call_event event,
                     const struct sd_call_entry *e, uint64_t now)
{
    struct sd_timeline *l = &t->timeline;
    uint32_t site = is_new(event) ? e->cell->site : 0;
    uint64_t now_ns;
    int saved = errno;

    if (now < l->last)
        now = l->last; /* it was told late, or the clock went back */
    if (try_here(l, event, site, now))
        return;
    if (l->is_trial) {
        fill_from(l, l->scratch, now);
        try_here(l, event, site, now);
        return;
    }
    now_ns = sd_clock_ns();
    if (l->is_given_up && now_ns < l->retry_ns) {
        leave_scratch(l);
        l->is_given_up = true;
        fill_from(l, l->scratch, now);
        try_here(l, event, site, now);
        return;
    }
    leave_scratch(l);
    if (sd_cells_stream(t->table)) /* then the timeline has this name, too */
        sd_call_tree_root(t)->flags |= SD_CALLS_TIMED;
    if (l->log && !sd_log_may_write(l->log))
        give_log(l); /* what stands in the run is not ours to change any more */
    end_run(l, now_ns);
    if (take_log(t) && begin_run(t, is_new(event) ? e - 1 : e, now, now_ns))
        try_here(l, event, site, now);
    else
        give_up(l, now, now_ns);
    errno = saved;
}

void sd_timeline_renames(struct sd_timeline *l) { l->end = l->at; }

void sd_timeline_rest(struct sd_call_tree *t)
{
    struct sd_timeline *l = &t->timeline;

    if (l->log && sd_log_may_write(l->log)) {
        end_run(l, sd_clock_ns());
        copy_names(t);
    }
    give_log(l);
    /* Where nothing was ever written, and the tree is in no capture, nothing else tells
     * that there was a timeline. */
    if (!l->has_begun && l->number && sd_session_writer() &&
        !sd_cells_stream(t->table)) {
        sd_cells_lose(t->table, l->number);
        l->number = l->given = 0;
    }
}

void sd_timeline_after_fork(struct sd_timeline *l)
{
    forget_log(l);
    l->was = NULL;
    l->number = l->given = 0;
    l->is_given_up = l->has_begun = false;
}

void sd_timeline_release(struct sd_timeline *l)
{
    if (l->log && sd_log_may_write(l->log))
        end_run(l, sd_clock_ns());
    give_log(l);
    sd_free(l->scratch);
    *l = (struct sd_timeline){ 0 };
}
