/* SPDX-License-Identifier: MIT */
#include "capture/log.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/chunk.h"
#include "capture/define.h"
#include "capture/pool.h"

enum {
    FLUSH_NS = 100 * 1000 * 1000,
    FIRST_BYTES = 8 * 1024, /* of a half: enough for a thread with a few events */
    STEP_BYTES = 32 * 1024,
    RETRY_NS = 100 * 1000 * 1000, /* after place on disk was refused */
};

_Static_assert((int)FIRST_BYTES <= (int)SD_SMALL_HALF && FIRST_BYTES % SD_PAGE == 0 &&
                   STEP_BYTES % SD_PAGE == 0,
               "a half becomes ready by pages");
_Static_assert((int)SD_BIG_HALF <= (int)SD_CHUNK_RAW_MAX, "a half is one chunk");

/* --- Halves */

/* `committed` falls to 0 before the new seq appears: whoever looks in between sees an
 * empty half, never old records under a new number. */
void sd_log_begin(struct sd_log *l, int half, uint32_t seq)
{
    struct sd_half *h = &l->slot->halves[half];

    sd_assert((half == 0 || half == 1) && seq > 0);
    atomic_store_explicit(&h->committed, 0, memory_order_release);
    h->count = 0;
    h->t0 = h->t1 = 0;
    h->lost_before = 0;
    h->type = l->chunk_type;
    atomic_store_explicit(&h->seq, seq, memory_order_release);
    atomic_store_explicit(&h->state, SD_HALF_FILLING, memory_order_release);
    l->half = h;
    l->base = l->halves[half];
    l->at = 0;
    l->end = l->ready[half];
    l->seq = seq;
    l->epoch_bits = seq << 24;
    l->n_chunks++;
    l->n_numbered = 0;
    l->next_id = 1;
    l->n_keys = 0;
}

static void count_lost(struct sd_log *l, uint32_t n)
{
    atomic_fetch_add_explicit(&l->slot->lost, n, memory_order_relaxed);
}

static void lose_event(struct sd_log *l)
{
    if (!l->is_numbered)
        count_lost(l, 1);
}

void sd_log_lose(struct sd_log *l, uint32_t n)
{
    if (sd_log_may_write(l))
        count_lost(l, n);
}

static int spill(struct sd_log *l)
{
    struct sd_half *h = l->half;
    struct sd_chunk_head head = { .magic = SD_CHUNK_MAGIC,
                                  .type = l->chunk_type,
                                  .flags = SD_CHUNK_RAW,
                                  .salt = l->pool->salt,
                                  .stream = l->slot->stream,
                                  .seq = l->seq,
                                  .raw_len = l->at,
                                  .stored_len = l->at,
                                  .count = h->count,
                                  .t0 = h->t0,
                                  .t1 = h->t1,
                                  .lost_before = h->lost_before };

    sd_assert(l->at <= l->half_bytes);
    return sd_spill_write(&l->out->spill, &head, l->base);
}

/* Nobody fetches: the half goes to the .chunks file, or its events are lost.  Then they
 * are wiped, so that none of them can be taken for one of the chunk that follows under
 * the same number. */
static void spill_or_drop(struct sd_log *l)
{
    struct sd_half *h = l->half;
    int half = (int)(h - l->slot->halves);
    uint32_t lost = h->lost_before + h->count - l->n_numbered;

    sd_assert(h->count >= l->n_numbered);
    if (spill(l) == 0) {
        sd_log_begin(l, half, l->seq + 1);
        sd_bell_ring(l->pool->bell);
        return;
    }
    sd_log_begin(l, half, l->seq);
    memset(l->base, 0, l->ready[half]);
    /* The keys of the dropped chunk carry this number too. */
    memset(l->keys, 0, sizeof l->keys);
    count_lost(l, lost);
}

/* Takes the count of lost events into the half that is about to leave. */
static void settle_lost(struct sd_log *l)
{
    l->half->lost_before =
        atomic_exchange_explicit(&l->slot->lost, 0, memory_order_relaxed);
}

/* Makes a half ready for its first `want` bytes: their place on disk, then their pages.
 * Not all at once at its beginning: a thread or a forked child with a handful of events
 * is ready in a tenth of the time, and takes a hundredth of the place. */
static bool make_ready(struct sd_log *l, int half, size_t want)
{
    uint32_t *ready = &l->ready[half];

    sd_assert(want <= l->half_bytes);
    if (want <= *ready)
        return true;
    if (l->retry_ns && sd_clock_ns() < l->retry_ns)
        return false;
    if (want > FIRST_BYTES)
        want = (want + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    else
        want = FIRST_BYTES;
    if (want > l->half_bytes)
        want = l->half_bytes;
    if (!sd_pool_reserve(l, half, *ready, (uint32_t)want)) {
        l->retry_ns = sd_clock_ns() + RETRY_NS;
        return false;
    }
    l->retry_ns = 0;
    *ready = (uint32_t)want;
    return true;
}

/* The next event takes n bytes. */
static void hand_over(struct sd_log *l, size_t n)
{
    struct sd_half *h = l->half;
    int other = h == &l->slot->halves[0];
    uint32_t state =
        atomic_load_explicit(&l->slot->halves[other].state, memory_order_acquire);

    if (l->at == 0)
        return; /* nothing in it: there is no place for this event, here or there */
    settle_lost(l);
    /* On a full disk the half at hand may be the only one that ever becomes ready. */
    if (state != SD_HALF_FREE || !make_ready(l, other, n)) {
        spill_or_drop(l);
        return;
    }
    atomic_store_explicit(&h->state, SD_HALF_FULL, memory_order_release);
    sd_log_begin(l, other, l->seq + 1);
    sd_bell_ring(l->pool->bell);
}

/* What a chunk holds is one type, so that one with events ends here, as what it was. */
void sd_log_set_type(struct sd_log *l, enum sd_chunk_type type)
{
    if (l->chunk_type == type)
        return;
    hand_over(l, 0);
    l->chunk_type = (uint16_t)type;
    l->half->type = type;
}

static bool extend(struct sd_log *l, size_t n)
{
    int half = (int)(l->half - l->slot->halves);
    size_t want = l->at + n;

    if (l->n_keys >= SD_LOG_KEYS_FULL || want > l->half_bytes ||
        !make_ready(l, half, want))
        return false;
    l->end = l->ready[half];
    return true;
}

bool sd_log_room_slowly(struct sd_log *l, size_t n, bool was_nested)
{
    /* First of all: in the child of a fork the slot is the parent's, and not even a
     * loss may be counted there. */
    if (!atomic_load_explicit(l->owner, memory_order_relaxed)) {
        atomic_store_explicit(&l->is_nested, was_nested, memory_order_release);
        return false;
    }
    if (was_nested || n > l->half_bytes) {
        lose_event(l);
        atomic_store_explicit(&l->is_nested, was_nested, memory_order_release);
        return false;
    }
    if (extend(l, n))
        return true;
    hand_over(l, n);
    if (l->at + n <= l->end || extend(l, n))
        return true;
    lose_event(l);
    atomic_store_explicit(&l->is_nested, false, memory_order_release);
    return false;
}

void sd_log_flush(struct sd_log *l)
{
    if (l->at == 0)
        return;
    settle_lost(l);
    spill_or_drop(l);
}

void sd_log_flush_if_due(struct sd_log *l, uint64_t time)
{
    (void)time; /* may be ticks of another clock */
    if (sd_clock_ns() - l->flushed_ns < FLUSH_NS)
        return;
    atomic_store_explicit(&l->is_nested, true, memory_order_relaxed);
    sd_log_flush(l);
    l->flushed_ns = sd_clock_ns();
    atomic_store_explicit(&l->is_nested, false, memory_order_release);
}

/* --- Definitions */

static uint32_t remember(struct sd_log *l, uint64_t key)
{
    uint32_t id = l->next_id++, at = sd_log_key_home(key);

    if (l->n_keys >= SD_LOG_KEYS_FULL) {
        l->end = l->at; /* the next event begins a chunk with an empty table */
        if (l->n_keys >= SD_LOG_KEYS - 1)
            return id; /* defined, but not found again */
    }
    sd_assert(l->n_keys < SD_LOG_KEYS - 1); /* or the search would not end */
    while (l->keys[at].seq == l->seq)
        at = (at + 1) % SD_LOG_KEYS;
    l->keys[at].key = key;
    l->keys[at].id = id;
    l->keys[at].seq = l->seq;
    l->n_keys++;
    return id;
}

uint32_t sd_log_define_string(struct sd_log *l, uint64_t key, const char *s, size_t n)
{
    struct sd_rec_string *r;
    uint32_t id = remember(l, key);

    if (n > SD_STRING_MAX)
        n = SD_STRING_MAX;
    r = sd_log_put(l, SD_REC_STRING, sizeof *r + n);
    sd_fill_string(r, id, s, n);
    return id;
}

uint32_t sd_log_define_site(struct sd_log *l, uint64_t key, enum sd_site_kind kind,
                            uint32_t name, uint32_t file, uint32_t line,
                            uint32_t parent)
{
    uint32_t id = remember(l, key);
    struct sd_rec_site *r = sd_log_put(l, SD_REC_SITE, sizeof *r);

    sd_fill_site(r, id, kind, name, file, line, parent);
    return id;
}

uint32_t sd_log_define_track(struct sd_log *l, uint64_t key, enum sd_track_kind kind,
                             uint32_t parent, uint64_t number, uint64_t start,
                             uint32_t name)
{
    uint32_t id = remember(l, key);
    struct sd_rec_track *r = sd_log_put(l, SD_REC_TRACK, sizeof *r);

    sd_fill_track(r, id, kind, parent, number, start, name);
    return id;
}

uint32_t sd_log_define_process(struct sd_log *l, uint64_t key, uint32_t parent,
                               uint64_t pid, uint64_t start, uint32_t name,
                               uint32_t command)
{
    uint32_t id = remember(l, key);
    struct sd_rec_track *r = sd_log_put(l, SD_REC_TRACK, sizeof *r);

    sd_fill_track(r, id, SD_TRACK_PROCESS, parent, pid, start, name);
    r->command = command;
    return id;
}

uint32_t sd_log_define_function(struct sd_log *l, uint64_t key,
                                enum sd_site_flags flags, uint32_t name, uint32_t label,
                                uint32_t file, uint32_t line)
{
    uint32_t id = remember(l, key);
    struct sd_rec_site *r = sd_log_put(l, SD_REC_SITE, sizeof *r);

    sd_fill_function(r, id, flags, name, label, file, line);
    return id;
}

uint32_t sd_log_define_stack(struct sd_log *l, uint32_t parent, uint32_t site,
                             uint32_t line)
{
    uint32_t id = l->next_id++;
    struct sd_rec_stack *r = sd_log_put(l, SD_REC_STACK, sizeof *r);

    *r = (struct sd_rec_stack){ r->head, id, parent, site, line, 0 };
    return id;
}

/* A word of our own tables: defined afresh each time, as shapes are rare. */
static uint32_t define_word(struct sd_log *l, const char *word, size_t *room)
{
    size_t n = word ? strlen(word) : 0;

    if (n == 0 || SD_ROOM_STRING(n) > *room)
        return 0;
    *room -= SD_ROOM_STRING(n);
    return sd_log_define_string(l, (uint64_t)(uintptr_t)word ^ 0x5A5A5A5A, word, n);
}

static uint32_t define_metric(struct sd_log *l, const struct sd_metric_about *m,
                              size_t *room)
{
    uint64_t key = (uint64_t)(uintptr_t)m ^ 0xA5A5A5A5;
    uint32_t id = sd_log_known(l, key), name, meaning;
    struct sd_rec_metric *r;

    if (id)
        return id;
    name = define_word(l, m->name, room);
    meaning = define_word(l, m->meaning, room);
    id = remember(l, key);
    r = sd_log_put(l, SD_REC_METRIC, sizeof *r);
    *r =
        (struct sd_rec_metric){ r->head, id, (uint16_t)m->unit, (uint16_t)m->adds, name,
                                meaning, 0 };
    return id;
}

uint32_t sd_log_define_shape(struct sd_log *l, uint64_t key,
                             const struct sd_metric_about *metrics, uint64_t mask)
{
    enum { MOST = 32 };
    /* What is left for words when all the rest has its place. */
    size_t room = SD_ROOM_SHAPE - MOST * (sizeof(struct sd_rec_metric) + 4) -
                  sizeof(struct sd_rec_shape) - 8;
    uint32_t ids[MOST], n = 0, id;
    struct sd_rec_shape *r;

    _Static_assert(SD_ROOM_SHAPE >
                       MOST * (sizeof(struct sd_rec_metric) + 4) + sizeof *r + 8,
                   "something is left for words");
    for (unsigned i = 0; i < 64 && metrics[i].name && n < MOST; i++)
        if (mask >> i & 1)
            ids[n++] = define_metric(l, &metrics[i], &room);
    id = remember(l, key);
    r = sd_log_put(l, SD_REC_SHAPE, sizeof *r + n * sizeof ids[0]);
    sd_fill_tail(&r->head, sizeof *r + n * sizeof ids[0]);
    r->id = id;
    r->n = n;
    r->pad = 0;
    memcpy(r->metrics, ids, n * sizeof ids[0]);
    return id;
}

/* --- Runs */

void *sd_log_begin_run(struct sd_log *l, enum sd_record_type type, size_t head,
                       size_t bytes, uint64_t time)
{
    uint8_t *run = sd_log_put(l, type, head + bytes);

    memset(run + head, 0, bytes);
    if (l->half->count == 0)
        l->half->t0 = l->half->t1 = time;
    return run;
}

/* What was not used of it is given back. */
void sd_log_end_run(struct sd_log *l, void *run, size_t head, size_t bytes,
                    uint32_t n_events, uint64_t time)
{
    struct sd_record *r = run;
    uint32_t unused = r->len - sd_align8((uint32_t)(head + bytes));

    sd_assert(head + bytes <= r->len && unused <= l->at);
    r->len = (uint16_t)(r->len - unused);
    l->at -= unused;
    l->half->count += n_events;
    l->n_numbered += l->is_numbered ? n_events : 0;
    l->half->t1 = time;
    sd_log_commit(l, 0, time);
}

/* --- Rare events */

void sd_log_note(struct sd_log *l, enum sd_note_kind kind, const char *text)
{
    size_t n = strnlen(text, 4000);
    struct sd_rec_note *r;

    if (!sd_log_room(l, sizeof *r + n + 8))
        return;
    r = sd_log_put(l, SD_REC_NOTE, offsetof(struct sd_rec_note, text) + n);
    sd_fill_tail(&r->head, offsetof(struct sd_rec_note, text) + n);
    r->kind = (uint16_t)kind;
    r->n = (uint16_t)n;
    r->time = sd_clock_ns();
    r->track = 0;
    memcpy(r->text, text, n);
    sd_log_commit(l, 0, r->time);
}

void sd_log_meta(struct sd_log *l, const char *key, const char *value)
{
    size_t n = strnlen(key, 1000), m = strnlen(value, 32000);
    struct sd_rec_meta *r;

    _Static_assert(sizeof *r + 1000 + 32000 + 8 <= SD_RECORD_MAX, "both fit");
    if (!sd_log_room(l, sizeof *r + n + m + 8))
        return;
    r = sd_log_put(l, SD_REC_META, sizeof *r + n + m);
    sd_fill_tail(&r->head, sizeof *r + n + m);
    r->key_n = (uint16_t)n;
    r->value_n = (uint16_t)m;
    memcpy(r->text, key, n);
    memcpy(r->text + n, value, m);
    sd_log_commit(l, 0, 0);
}

enum { MODEL_PIECE = 4096 - sizeof(struct sd_rec_model) };
_Static_assert(MODEL_PIECE > 0 &&
                   sizeof(struct sd_rec_model) + MODEL_PIECE + 8 <= SD_SMALL_HALF,
               "a slot of the small kind has room for a piece");

int sd_log_model(struct sd_log *l, uint64_t number, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    struct sd_rec_model *r;

    if (n > UINT32_MAX)
        return SD_EFULL;
    for (size_t at = 0; at < n; at += MODEL_PIECE) {
        uint32_t part = n - at < MODEL_PIECE ? (uint32_t)(n - at) : MODEL_PIECE;

        if (!sd_log_room(l, sizeof *r + part + 8))
            return SD_EFULL;
        r = sd_log_put(l, SD_REC_MODEL, sizeof *r + part);
        sd_fill_tail(&r->head, sizeof *r + part);
        r->n = part;
        r->number = number;
        r->total = (uint32_t)n;
        r->at = (uint32_t)at;
        memcpy(r->bytes, bytes + at, part);
        sd_log_commit(l, 0, 0);
    }
    return 0;
}
