/* SPDX-License-Identifier: MIT */
#include "collect/peak.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/assert.h"
#include "capture/writer.h"
#include "collect/session.h"
#include "process/usage.h"

#define NO_FD                                                                          \
    {                                                                                  \
        .fd = -1                                                                       \
    }

static struct {
    pthread_mutex_t lock;        /* over the list and over each read-fold-reset */
    struct sd_peak_region *open; /* every open region of this process */
    int64_t process_bytes;       /* largest mark ever folded */
    /* Of the process when the mark was last set back: */
    int64_t reset_bytes;   /* what was resident; -1: not known */
    uint64_t reset_faults; /* pages touched so far */
    struct sd_usage_reader usage;
} peak = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .reset_bytes = -1,
    .usage = { .statm = NO_FD,
               .io = NO_FD,
               .net = NO_FD,
               .stat = NO_FD,
               .status = NO_FD,
               .clear_refs = NO_FD,
               .rusage_floor = INT64_MAX },
};

struct sd_usage_reader *sd_peak_usage_reader(void) { return &peak.usage; }

static int64_t read_mark_and_faults(uint64_t *n_faults)
{
    struct sd_usage u;

    sd_usage_read(&peak.usage, SD_USAGE_PEAK, &u);
    *n_faults = u.n_faults;
    return u.peak_bytes;
}

static int64_t read_mark(void)
{
    uint64_t n_faults;

    return read_mark_and_faults(&n_faults);
}

/* Sets the mark back.  `seen_bytes`: resident just now, or -1. */
static bool reset(int64_t seen_bytes, uint64_t n_faults)
{
    /* Nothing has become resident since the last time, and nothing was given back: the
     * mark is where it would be set.  (What another thread touched between the reading
     * of `seen_bytes` and that of the faults, and gave back since, is in it.) */
    if (seen_bytes >= 0 && seen_bytes == peak.reset_bytes &&
        n_faults == peak.reset_faults)
        return true;
    peak.reset_bytes = seen_bytes;
    peak.reset_faults = n_faults;
    if (sd_usage_reset_peak(&peak.usage) == 0)
        return true;
    peak.reset_bytes = -1;
    return false;
}

static void raise_to(int64_t *bytes, int64_t mark)
{
    if (mark > *bytes)
        *bytes = mark;
}

/* Puts the process's peak where `rss`, outside, reads it. */
static void publish(void)
{
    _Atomic uint64_t *word = sd_session_peak_word();

    if (word && peak.process_bytes > 0)
        atomic_store_explicit(word, (uint64_t)peak.process_bytes, memory_order_relaxed);
}

static void fold(int64_t mark)
{
    struct sd_peak_region *r;

    raise_to(&peak.process_bytes, mark);
    for (r = peak.open; r; r = r->next)
        if (r->peak_bytes >= 0)
            raise_to(&r->peak_bytes, mark);
    publish();
}

/* What rises and falls between the read and the reset is seen by nobody: two system
 * calls, under a microsecond. */
static bool start_again(int64_t seen_bytes)
{
    uint64_t n_faults;
    int64_t mark = read_mark_and_faults(&n_faults);

    if (mark < 0)
        return false;
    fold(mark);
    return reset(seen_bytes, n_faults);
}

static void link_in(struct sd_peak_region *r)
{
    r->prev = NULL;
    r->next = peak.open;
    if (r->next)
        r->next->prev = r;
    peak.open = r;
}

static void unlink_from(struct sd_peak_region *r)
{
    sd_assert(r->prev ? r->prev->next == r : peak.open == r);
    if (r->prev)
        r->prev->next = r->next;
    else
        peak.open = r->next;
    if (r->next)
        r->next->prev = r->prev;
    r->prev = r->next = NULL;
}

/* Reading and writing are places where a thread may be cancelled; a thread that
 * vanished with the lock would stop all others. */
static int lock(void)
{
    int cancel_state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&peak.lock);
    return cancel_state;
}

static void unlock(int cancel_state)
{
    pthread_mutex_unlock(&peak.lock);
    pthread_setcancelstate(cancel_state, NULL);
}

void sd_peak_open(struct sd_peak_region *r) { sd_peak_open_at(r, -1); }

void sd_peak_open_at(struct sd_peak_region *r, int64_t seen_bytes)
{
    int cancel_state;

    sd_session_watch_forks();
    cancel_state = lock();
    r->forks = sd_session_forks();
    r->peak_bytes = start_again(seen_bytes) ? 0 : -1;
    link_in(r);
    unlock(cancel_state);
}

int64_t sd_peak_close(struct sd_peak_region *r)
{
    return sd_peak_close_at_least(r, -1);
}

int64_t sd_peak_close_at_least(struct sd_peak_region *r, int64_t seen_bytes)
{
    int cancel_state;

    if (r->forks != sd_session_forks())
        return r->peak_bytes = -1;
    cancel_state = lock();
    if (r->peak_bytes >= 0) {
        raise_to(&r->peak_bytes, read_mark());
        if (seen_bytes > r->peak_bytes)
            fold(seen_bytes); /* for those around it too: an outer peak is no less */
    }
    unlink_from(r);
    unlock(cancel_state);
    return r->peak_bytes;
}

int64_t sd_peak_next(struct sd_peak_region *r, int64_t seen_bytes)
{
    int64_t mark, found = -1;
    uint64_t n_faults = 0;
    int cancel_state;

    if (r->forks != sd_session_forks()) {
        sd_peak_open(r);
        return -1;
    }
    cancel_state = lock();
    mark = r->peak_bytes >= 0 ? read_mark_and_faults(&n_faults) : -1;
    if (mark >= 0) {
        fold(seen_bytes > mark ? seen_bytes : mark);
        found = r->peak_bytes;
        r->peak_bytes = reset(seen_bytes, n_faults) ? 0 : -1;
    }
    unlock(cancel_state);
    return found;
}

int64_t sd_peak_of_process(void)
{
    int cancel_state = lock();
    int64_t bytes;

    raise_to(&peak.process_bytes, read_mark());
    bytes = peak.process_bytes;
    unlock(cancel_state);
    return bytes > 0 ? bytes : -1;
}

void sd_peak_pause(void) { pthread_mutex_lock(&peak.lock); }

/* The child's list starts empty: the regions in it lie on stacks of threads that it
 * does not have.  Its own mark starts at what it inherited. */
void sd_peak_resume(bool is_child)
{
    if (is_child) {
        peak.open = NULL;
        peak.process_bytes = 0;
        peak.reset_bytes = -1;
    }
    pthread_mutex_unlock(&peak.lock);
}
