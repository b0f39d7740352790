/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_LOG_H
#define SD_CAPTURE_LOG_H
/* log: one thread's way into the capture.
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

#include "capture/record.h"

struct sd_writer;
struct sd_half;

enum {
    SD_LOG_KEYS = 2048
}; /* definitions in one chunk; a full table starts the next chunk */

struct sd_log {
    uint8_t *base; /* the half in use */
    uint32_t at;   /* next byte; ahead of committed while an event is written */
    uint32_t end;  /* bytes in a half */
    uint8_t epoch;
    bool is_nested;     /* inside one of its own functions: re-entry gives no room */
    uint32_t next_id;   /* of definitions in this chunk */
    uint64_t next_span; /* slot << 40 | running number: unique in the process */
    uint32_t n_keys;
    struct sd_half *half; /* header of the half in use */
    struct sd_writer *writer;
    struct sd_slot *slot;
    struct {
        uint64_t key;
        uint32_t id;
        uint32_t seq;
    } keys[SD_LOG_KEYS];
};

/* True when n bytes can follow in one chunk; may hand over the half.  False: the
 * event is lost and counted.  n is at most SD_RECORD_MAX + 4096. */
bool sd_log_room(struct sd_log *l, size_t n);

/* hot: inside room only.  Header filled, the rest not cleared; len is rounded up to 8.
 */
void *sd_log_put(struct sd_log *l, enum sd_record_type type, size_t len);

/* hot: makes all that was put visible; n_events of them are events, `time` the last
 * one's. */
void sd_log_commit(struct sd_log *l, uint32_t n_events, uint64_t time);

/* The id under which `key` is defined in this chunk, or 0.  Keys are the caller's: an
 * address or a hash, mixed so that strings, sites, tracks and shapes do not meet. */
uint32_t sd_log_known(const struct sd_log *l, uint64_t key);

/* Each puts one definition under `key` and returns its id.  Inside room only; the
 * bytes they take are the SD_ROOM_ figures below. */
uint32_t sd_log_define_string(struct sd_log *l, uint64_t key, const char *s, size_t n);
uint32_t sd_log_define_site(struct sd_log *l, uint64_t key, enum sd_site_kind kind,
                            uint32_t name, uint32_t file, uint32_t line,
                            uint32_t parent);
uint32_t sd_log_define_track(struct sd_log *l, uint64_t key, enum sd_track_kind kind,
                             uint32_t parent, uint64_t number, uint64_t start,
                             uint32_t name);

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
enum { SD_ROOM_SHAPE = 4096 };

/* Whole events of the rare kinds: room, definitions and commit in one call. */
void sd_log_note(struct sd_log *l, enum sd_note_kind kind, const char *text);
void sd_log_meta(struct sd_log *l, const char *key, const char *value);
#endif
