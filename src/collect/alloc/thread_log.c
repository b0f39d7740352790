/* SPDX-License-Identifier: MIT */
#include "collect/alloc/thread_log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "capture/alloc/alloc_events.h"
#include "capture/log.h"
#include "capture/writer.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/stacks.h"
#include "collect/peak.h"
#include "collect/session.h"
#include "process/usage.h"

enum {
    EAGER_BYTES = 512,       /* of events: so long each asks for the thread's name */
    RECORD_BYTES = 4 * 1024, /* of events: a log is made ready in steps of 8 and 32 */
    RETRY_NS = 100 * 1000 * 1000,   /* after there was no room */
    RSS_NS = 10 * 1000 * 1000,      /* memory is read this often where nothing ticks */
    MARKS = 2 * SD_ALLOC_EVENT_MAX, /* a run and a time stand before an event */
};

_Static_assert(sizeof(struct sd_rec_alloc) + RECORD_BYTES <= SD_RECORD_MAX,
               "events are one record");
_Static_assert(sizeof(struct sd_rec_alloc) + RECORD_BYTES + SD_ROOM_THREAD + 8 <=
                   SD_SMALL_HALF,
               "a slot of the small kind has room for a record");

/* --- Records --------------------------------------------------------------------- */

static void end_record(struct sd_alloc_thread *t)
{
    struct sd_rec_alloc *r = t->record;

    if (!r)
        return;
    t->record = NULL;
    if (sd_log_may_write(t->log)) {
        size_t bytes = (size_t)(t->at - r->events);

        sd_assert(bytes <= RECORD_BYTES);
        r->n = t->n;
        sd_log_end_run(t->log, r, sizeof *r, bytes, t->n, t->time_ns);
    }
    t->at = t->end = t->last = NULL;
}

void sd_thread_log_give(struct sd_alloc_thread *t)
{
    int saved = errno;

    end_record(t);
    if (t->log && t->n_lost)
        sd_log_lose(t->log, t->n_lost);
    t->n_lost = 0;
    if (t->log)
        sd_writer_give_log(t->log->writer, t->log);
    t->log = NULL;
    errno = saved;
}

static bool take_log(struct sd_alloc_thread *t)
{
    if (t->log && !sd_log_may_write(t->log))
        sd_thread_log_give(t);
    if (t->log)
        return true;
    t->log = sd_writer_take_log(sd_alloc_recorder.writer, SD_LOSSES_COUNTED);
    if (t->log)
        sd_log_set_type(t->log, SD_CHUNK_ALLOC);
    return t->log != NULL;
}

static uint32_t track_of(struct sd_alloc_thread *t)
{
    const struct sd_thread *self = sd_thread_self();
    uint32_t id;

    if (t->name_n)
        return sd_session_define_named_thread(t->log, self, t->name, t->name_n);
    id = sd_log_known(t->log, self->key);
    return id ? id : sd_session_define_thread(t->log, self);
}

/* The file has the size that was allowed: whatever comes now is not recorded. */
static bool is_too_large(struct sd_alloc_thread *t)
{
    struct sd_alloc_recorder *r = &sd_alloc_recorder;
    struct sd_log *l;
    char text[200];

    if (!r->max_file || sd_log_chunk(t->log) == t->chunk)
        return false;
    t->chunk = sd_log_chunk(t->log);
    if (sd_writer_file_bytes(r->writer) < r->max_file)
        return false;
    sd_alloc_recorder_stop();
    l = sd_session_log();
    snprintf(text, sizeof text,
             "the recording of allocations in process %d stopped here: the capture has "
             "the size that --max-file allows",
             (int)getpid());
    if (l)
        sd_log_note(l, SD_NOTE_LOSS, text);
    return true;
}

/* The run is read before the record is begun: whatever is done later by another thread
 * has a larger number. */
static bool begin_record(struct sd_alloc_thread *t, uint64_t now_ns)
{
    struct sd_rec_alloc *r;
    uint32_t track;

    if (!take_log(t) || is_too_large(t) || !sd_log_has_spare(t->log, now_ns) ||
        !sd_log_room(t->log, sizeof *r + RECORD_BYTES + SD_ROOM_THREAD))
        return false;
    track = track_of(t);
    r = sd_log_begin_run(t->log, SD_REC_ALLOC, sizeof *r, RECORD_BYTES, now_ns);
    r->track = track;
    r->table = sd_alloc_stacks_table();
    r->order = t->order;
    r->time_ns = now_ns;
    r->n = r->pad = 0;
    sd_log_commit(t->log, 0, now_ns);
    t->record = r;
    t->at = r->events;
    t->last = r->events + RECORD_BYTES;
    t->end = t->name_n || !sd_alloc_language_now() ? t->last : t->at;
    t->address = 0;
    t->stack = 0;
    t->n = 0;
    t->written = t->order;
    t->time_ns = now_ns;
    return true;
}

/* --- Marks ----------------------------------------------------------------------- */

static void put_mark(struct sd_alloc_thread *t, enum sd_alloc_other what, uint64_t a,
                     const uint64_t *b)
{
    uint8_t *to = sd_alloc_put(t->at + 1, a);

    sd_assert(t->last - t->at >= SD_ALLOC_EVENT_MAX);
    if (b)
        to = sd_alloc_put(to, *b);
    __atomic_store_n(t->at,
                     (uint8_t)(SD_ALLOC_OTHER | (unsigned)what << SD_ALLOC_TAG_BITS),
                     __ATOMIC_RELEASE);
    t->at = to;
}

static void put_run(struct sd_alloc_thread *t)
{
    put_mark(t, SD_ALLOC_RUN, t->order - t->written, NULL);
    t->written = t->order;
}

static void put_time(struct sd_alloc_thread *t, uint64_t now_ns)
{
    struct sd_usage usage;
    uint64_t pages = 0; /* not read */

    t->rss_ns = now_ns;
    if (sd_usage_read(sd_peak_usage_reader(), SD_USAGE_MEMORY, &usage) >= 0 &&
        usage.rss_bytes > 0)
        pages = (uint64_t)usage.rss_bytes / 4096;
    put_mark(t, SD_ALLOC_TIME, now_ns > t->time_ns ? now_ns - t->time_ns : 0, &pages);
    t->time_ns = now_ns > t->time_ns ? now_ns : t->time_ns;
}

/* --- The way --------------------------------------------------------------------- */

/* This event is lost, and so are those that follow, until it is tried again: to be
 * refused each time would take longer than to be written. */
static bool give_up(struct sd_alloc_thread *t, uint64_t now_ns)
{
    t->n_lost++;
    t->retry_ns = now_ns + RETRY_NS;
    return false;
}

/* Another thread was in between: what comes now is a run of its own. */
static bool renew_run(struct sd_alloc_thread *t)
{
    _Atomic uint64_t *order = &sd_alloc_recorder.order;

    if (atomic_load_explicit(order, memory_order_relaxed) == t->order)
        return false;
    t->order = atomic_fetch_add(order, 1) + 1;
    return true;
}

/* A thread gets its name in Python some allocations after its start, and may do little
 * under it.  So until it has one the end of the record is where it stands, and the name
 * is asked for there: at each event at first, then less and less. */
static void lengthen(struct sd_alloc_thread *t)
{
    ptrdiff_t used = t->at - t->record->events;
    ptrdiff_t more = used < EAGER_BYTES ? SD_ALLOC_EVENT_MAX : used;

    if (t->end - t->at >= SD_ALLOC_EVENT_MAX)
        return;
    t->end = t->last - t->at > more ? t->at + more : t->last;
    if (!t->name_n)
        t->wants |= SD_WANTS_NAME;
}

static bool make_way(struct sd_alloc_thread *t)
{
    uint32_t tick = atomic_load_explicit(sd_alloc_recorder.tick, memory_order_relaxed);
    bool is_new_run = renew_run(t), is_time = tick != t->tick;
    uint64_t now_ns = 0;

    if (!sd_alloc_is_on(&sd_alloc_here))
        return false;
    if (t->log && !sd_log_may_write(t->log)) {
        sd_thread_log_give(t); /* of a recording that has ended */
        t->retry_ns = 0;
    }
    if (t->record && t->last - t->at < SD_ALLOC_EVENT_MAX + MARKS)
        end_record(t);
    if (is_time || !t->record)
        now_ns = sd_clock_ns();
    t->tick = tick;
    if (!t->record) {
        if (t->retry_ns && now_ns < t->retry_ns) {
            t->n_lost++;
            return false;
        }
        t->retry_ns = 0;
        /* Meanwhile a recording may have ended, and another be about to begin. */
        if (take_log(t) && !sd_alloc_is_on(&sd_alloc_here))
            return false;
        if (!begin_record(t, now_ns))
            return give_up(t, now_ns);
        is_new_run = false;
    }
    if (is_new_run)
        put_run(t);
    if (is_time || (now_ns && now_ns - t->rss_ns >= RSS_NS)) {
        put_time(t, now_ns);
        t->wants |= SD_WANTS_LOOK;
    }
    lengthen(t);
    sd_assert(t->end - t->at >= SD_ALLOC_EVENT_MAX);
    return true;
}

bool sd_thread_log_make_way(struct sd_alloc_thread *t)
{
    int saved = errno;
    bool has = make_way(t);

    errno = saved;
    return has;
}
