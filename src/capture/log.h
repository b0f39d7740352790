/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_LOG_H
#define SD_CAPTURE_LOG_H
/* log: writes the events of one thread into the capture.
 *
 * A slot of the process's live file: two halves in a shared mapping, so what is
 * committed outlives any death.  Only this thread stores `committed`.  A full half
 * is handed to the parent and the thread goes on in the other; when the parent still
 * has that one (it is slow, dead, or there is none), the full half is appended raw to
 * the process's .chunks file and used again; only when that fails too are its events
 * dropped and counted.  No lock and no system call but that one write.
 *
 * A collector writes one event so:
 *
 *     if (!sd_log_room(log, bytes for the event and any definitions it may need))
 *         return;                                   // counted as lost
 *     site = sd_log_known(log, key);
 *     if (!site)
 *         site = sd_log_define_site(log, key, ...);
 *     e = sd_log_put(log, SD_REC_OPEN, sizeof *e);
 *     e->site = site; ...
 *     sd_log_commit(log, 1, now);
 *
 * Room is asked for once, so definitions and event land in the same chunk. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "capture/live.h"
#include "capture/record.h"

struct sd_writer;
struct sd_pool;
struct sd_live_out;

enum {
    SD_LOG_KEYS = 2048,      /* a power of two */
    SD_LOG_KEYS_FULL = 1536, /* definitions in one chunk; then the next begins */
};

struct sd_log {
    uint8_t *base;                 /* the half in use */
    uint32_t at;                   /* next byte; ahead of committed during an event */
    uint32_t end;                  /* bytes in a half, or less to be asked sooner */
    const _Atomic uint32_t *owner; /* 0 when this process may not write: after fork, or
                                      when it has left the capture */
    struct sd_half *half;          /* header of the half in use */
    uint32_t epoch_bits; /* the epoch where it stands in a record's first word; a word
                            of its own, since a load over the byte just stored beside
                            it would wait for the store (5 ns) */
    _Atomic bool is_nested; /* between room and commit: re-entry gives no room */
    bool is_written;        /* no shared mapping: flushed by write(2) */
    uint32_t seq;
    uint32_t n_chunks; /* begun so far, dropped ones too: see sd_log_chunk */
    uint32_t next_id;  /* of definitions in this chunk; one count for all kinds */
    uint32_t n_keys;   /* remembered in this chunk */
    uint64_t
        next_span; /* file and slot << 40 | running number: unique in the process */
    struct sd_slot *slot;
    uint8_t *halves[2];
    uint32_t half_bytes;
    uint32_t ready[2];    /* bytes of each half that are reserved on disk and there */
    uint64_t retry_ns;    /* not before this is more place asked for; or 0 */
    uint64_t slot_offset; /* in the file */
    struct sd_live_out *out; /* the file this slot is in */
    struct sd_pool *pool;
    struct sd_writer *writer; /* whose thread has it now, or NULL */
    uint64_t flushed_ns;      /* of a written log: when it last was */
    uint64_t timeline;        /* for who takes one: whose events were the last in it */
    bool is_numbered;    /* who has it numbers the events, so that readers see what is
                            lost of them: it is not counted here */
    uint32_t n_numbered; /* such events in this chunk */
    uint16_t chunk_type; /* enum sd_chunk_type of what it writes */
    struct sd_log *next, *next_idle; /* the pool's lists */
    struct {
        uint64_t key;
        uint32_t id;
        uint32_t seq; /* of the chunk it is known in; others are as good as empty */
    } keys[SD_LOG_KEYS];
};

/* hot: true when n bytes can follow in one chunk; may hand over the half.  Each true
 * answer is followed by one sd_log_commit.  False: the event is lost, and counted
 * unless the log is numbered.  n is at most SD_RECORD_MAX + 4096 (a slot of the small
 * kind has room for 16 KiB only). */
static inline bool sd_log_room(struct sd_log *l, size_t n);

/* hot: inside room only.  Header filled, the rest not cleared; len is rounded up to 8.
 */
static inline void *sd_log_put(struct sd_log *l, enum sd_record_type type, size_t len);

/* hot: makes all that was put visible; n_events of them are events, `time` the last
 * one's. */
static inline void sd_log_commit(struct sd_log *l, uint32_t n_events, uint64_t time);

/* hot: the id under which `key` is defined in this chunk, or 0.  Keys are the caller's:
 * an address or a hash, mixed so that strings, sites, tracks and shapes do not meet. */
static inline uint32_t sd_log_known(const struct sd_log *l, uint64_t key);

/* False after fork, and when the process has left the capture: nothing of the log may
 * be touched then, and giving it back is all that is left. */
static inline bool sd_log_may_write(const struct sd_log *l)
{
    return atomic_load_explicit(l->owner, memory_order_relaxed) != 0;
}

/* A number for a span, unique in the process. */
static inline uint64_t sd_log_next_span(struct sd_log *l) { return l->next_span++; }

/* Each puts one definition under `key` and returns its id.  Inside room only; the
 * bytes they take are the SD_ROOM_ figures below. */
uint32_t sd_log_define_string(struct sd_log *l, uint64_t key, const char *s, size_t n);
uint32_t sd_log_define_site(struct sd_log *l, uint64_t key, enum sd_site_kind kind,
                            uint32_t name, uint32_t file, uint32_t line,
                            uint32_t parent);
uint32_t sd_log_define_track(struct sd_log *l, uint64_t key, enum sd_track_kind kind,
                             uint32_t parent, uint64_t number, uint64_t start,
                             uint32_t name);
/* A process, with the command that it was started by (a string, or 0). */
uint32_t sd_log_define_process(struct sd_log *l, uint64_t key, uint32_t parent,
                               uint64_t pid, uint64_t start, uint32_t name,
                               uint32_t command);

uint32_t sd_log_define_function(struct sd_log *l, uint64_t key,
                                enum sd_site_flags flags, uint32_t name, uint32_t label,
                                uint32_t file, uint32_t line);

/* Stacks are too many for the log's table of keys: who has a tree of them keeps each
 * one's id beside it, with the chunk that it is good in.  Only the leaf's path is ever
 * looked at: a node whose id is of this chunk has all its parents in it too.
 *
 *     if (node->chunk != sd_log_chunk(log)) {
 *         node->id = sd_log_define_stack(log, parent's id, site, line);
 *         node->chunk = sd_log_chunk(log);
 *     }
 *
 * Ask after sd_log_room, which may begin a chunk. */
static inline uint32_t sd_log_chunk(const struct sd_log *l) { return l->n_chunks; }
uint32_t sd_log_define_stack(struct sd_log *l, uint32_t parent, uint32_t site,
                             uint32_t line);

struct sd_metric_about {
    const char *name; /* "rss", "wall"; NULL ends a list */
    enum sd_unit unit;
    enum sd_adds adds;
    const char *meaning; /* one sentence, shown to the user */
};
/* Defines the metrics of a NULL-ended list, chosen by `mask` (bit i: the ith), and
 * their shape. */
uint32_t sd_log_define_shape(struct sd_log *l, uint64_t key,
                             const struct sd_metric_about *metrics, uint64_t mask);

#define SD_ROOM_STRING(n) (sizeof(struct sd_rec_string) + (n) + 8)
#define SD_ROOM_SITE (sizeof(struct sd_rec_site) + 8)
#define SD_ROOM_TRACK (sizeof(struct sd_rec_track) + 8)
#define SD_ROOM_STACK (sizeof(struct sd_rec_stack))
enum { SD_ROOM_SHAPE = 4096 };

/* A run: a record whose last part is filled in place, event by event.  It is committed
 * whole when it begins, with zeros in the place of its events; who has the log for
 * himself (sd_writer_take_log) stores them, in order and each so that it is told from
 * zeros, until he ends the run, and so pays for an event with one store.  A run ends
 * before anything else is done with the log. */
void *sd_log_begin_run(struct sd_log *l, enum sd_record_type type, size_t head,
                       size_t bytes, uint64_t time); /* inside room */
/* `n_events` were stored, in this many bytes, the last one at `time`.  May hand over,
 * as a commit does. */
void sd_log_end_run(struct sd_log *l, void *run, size_t head, size_t bytes,
                    uint32_t n_events, uint64_t time);

/* From now on its chunks are of this type (EVENTS, as of a log that is taken, or ALLOC,
 * for who puts no other events); outside of room. */
void sd_log_set_type(struct sd_log *l, enum sd_chunk_type type);
/* So many more events found no place. */
void sd_log_lose(struct sd_log *l, uint32_t n);

/* Has the disk more room than the tables of the process (cells.h) may still need?  A
 * log of many events asks first and leaves that room to the tables: what a table loses
 * is nowhere else.  Looks at the disk every few milliseconds. */
bool sd_log_has_spare(const struct sd_log *l, uint64_t now_ns);

/* Whole events of the rare kinds: room, definitions and commit in one call. */
void sd_log_note(struct sd_log *l, enum sd_note_kind kind, const char *text);
void sd_log_meta(struct sd_log *l, const char *key, const char *value);
/* The bytes of a model, in pieces; `number` tells it from others of the log.  0, or
 * SD_EFULL, bare, when not all of it found room: the rest is then left out. */
int sd_log_model(struct sd_log *l, uint64_t number, const void *p, size_t n);

/* --- What follows is the inside of the hot functions above. */

/* For the pool: begins a chunk in one of the halves; writes what is pending. */
void sd_log_begin(struct sd_log *l, int half, uint32_t seq);
void sd_log_flush(struct sd_log *l);
bool sd_log_room_slowly(struct sd_log *l, size_t n, bool was_nested);
void sd_log_flush_if_due(struct sd_log *l, uint64_t time);

static inline bool sd_log_room(struct sd_log *l, size_t n)
{
    bool was_nested = atomic_load_explicit(&l->is_nested, memory_order_relaxed);

    /* The mark is set before the owner is asked: whoever takes the right to write away
     * first clears `owner`, then waits for this mark (sd_writer_leave). */
    atomic_store_explicit(&l->is_nested, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!was_nested && l->at + n <= l->end &&
                             atomic_load_explicit(l->owner, memory_order_relaxed),
                         1))
        return true;
    return sd_log_room_slowly(l, n, was_nested);
}

static inline void *sd_log_put(struct sd_log *l, enum sd_record_type type, size_t len)
{
    uint32_t at = l->at, head; /* struct sd_record in one store */
    uint8_t *p = l->base + at;

    len = (len + 7) & ~(size_t)7;
    sd_assert_slow(len >= sizeof head && len <= SD_RECORD_MAX);
    sd_assert_slow(at + len <= l->half_bytes);
    head = (uint32_t)len | (uint32_t)type << 16 | l->epoch_bits;
    memcpy(p, &head, sizeof head);
    l->at = at + (uint32_t)len;
    return p;
}

static inline void sd_log_commit(struct sd_log *l, uint32_t n_events, uint64_t time)
{
    struct sd_half *h = l->half;

    sd_assert_slow(l->at % 8 == 0 && l->at <= l->half_bytes);
    if (n_events) {
        if (h->count == 0)
            h->t0 = time;
        h->t1 = time;
        h->count += n_events;
    }
    atomic_store_explicit(&h->committed, l->at, memory_order_release);
    atomic_store_explicit(&l->is_nested, false, memory_order_release);
    if (__builtin_expect(l->is_written, 0))
        sd_log_flush_if_due(l, time);
}

/* Where to begin to look for a key: its top bits once mixed, as keys may be addresses,
 * whose lowest bits are all alike. */
static inline uint32_t sd_log_key_home(uint64_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> (64 - 11));
}
_Static_assert(SD_LOG_KEYS == 1 << 11, "sd_log_key_home gives 11 bits");
_Static_assert(SD_LOG_KEYS_FULL < SD_LOG_KEYS, "a search ends at an empty key");

static inline uint32_t sd_log_known(const struct sd_log *l, uint64_t key)
{
    uint32_t at = sd_log_key_home(key);

    for (uint32_t n = 0; n < SD_LOG_KEYS; n++, at = (at + 1) % SD_LOG_KEYS) {
        if (l->keys[at].seq != l->seq)
            return 0;
        if (l->keys[at].key == key)
            return l->keys[at].id;
    }
    return 0;
}
#endif
