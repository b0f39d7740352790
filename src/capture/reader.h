/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_READER_H
#define SD_CAPTURE_READER_H
/* reader: opens a capture in any state (whole, cut, damaged, still being
 * written, its owner killed) and hands out its chunks, each stream in order.
 *
 * It trusts nothing: every length is checked against the bytes really there,
 * every sealed chunk against its CRC, every live record against its half's epoch.
 * What is missing is counted and said, never guessed over.  After it, records
 * are known to lie inside their chunk with the sizes they need; ids in them may still
 * dangle. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/record.h"

struct sd_reader;
struct sd_chunk_head;

struct sd_health {
    bool is_ended;   /* an END chunk is there */
    bool has_live;   /* a live folder was read too */
    bool is_running; /* a process of it is still alive, or may be ... */
    bool is_orphan;  /* ... and whoever recorded it is not */
    bool is_alive;   /* one surely is: here, and in this boot */
    int32_t status;  /* the program's, from END; SD_STATUS_UNKNOWN without it */
    uint64_t chunks, events;
    uint64_t live_events; /* of them, from live regions */
    uint64_t lost_events; /* dropped by producers, as they counted */
    uint64_t lost_tables; /* threads that found no room for a table of their own */
    int lost_tables_why;  /* errno of the last of them, or of cells in one; 0: not known
                           */
    uint64_t bad_chunks;  /* failed their checks: left out */
    uint64_t bad_bytes;   /* bytes no chunk could be made of */
    uint64_t
        missing_chunks; /* gaps in the numbers of a stream, or fewer than END says */
    bool is_cut;        /* the file ends inside a chunk */
    uint64_t created_real_ns, created_mono_ns;
    uint16_t major, minor; /* of the format */
    uint64_t file_bytes, raw_bytes;
    uint64_t stored_bytes; /* of all chunks as they lie in the file and the folder */
};

/* One chunk, opened.  Borrowed until the next call. */
struct sd_chunk_view {
    uint64_t stream;
    uint32_t seq;
    uint16_t type; /* enum sd_chunk_type */
    bool is_live;  /* from a live region: may be repeated longer later */
    bool is_first_of_stream, is_last_of_stream, is_after_gap;
    uint32_t count, lost_before;
    uint64_t t0, t1;
    const uint8_t *p; /* records */
    uint32_t n;
};

/* SD_EFORMAT with a sentence when it is no capture at all, or of a newer major version.
 */
int sd_reader_open(const char *path, struct sd_reader **out);
/* The same over bytes in memory (pipes, tests, fuzzing); borrowed while open. */
int sd_reader_open_bytes(const void *p, size_t n, struct sd_reader **out);
/* A file may hold several captures, one behind the other (capture_merge.h).  These open
 * the first; the next begins at this offset (of the bytes, where those were given), 0:
 * there is none. */
uint64_t sd_reader_next_at(const struct sd_reader *r);
int sd_reader_open_at(const char *path, uint64_t at, struct sd_reader **out);
const struct sd_health *sd_reader_health(const struct sd_reader *r);
/* Streams one after the other, each by seq.  1: *view is filled; 0: the end; < 0:
 * failure.  EVENTS, META and DEFS chunks are records; CELLS are cells
 * (sd_cells_of_chunk). Ids hold within their chunk, those of DEFS within their stream.
 * A chunk whose compressed bytes turn out bad is counted and skipped. */
int sd_reader_next(struct sd_reader *r, struct sd_chunk_view *view);
/* From now on sd_reader_next passes chunks of this type without opening them; 0: none.
 */
void sd_reader_leave_out(struct sd_reader *r, enum sd_chunk_type type);
/* The same chunks by their number, in the order of sd_reader_next, for who walks
 * several streams at a time.  The head of one that turned out bad has the type 0.  What
 * is loaded takes the place of the view before; SD_ENOMEM, or SD_EFORMAT, bare, of a
 * bad one, which is counted.  Only types that sd_reader_next hands out are loaded. */
size_t sd_reader_n_chunks(const struct sd_reader *r);
const struct sd_chunk_head *sd_reader_head(const struct sd_reader *r, size_t i);
int sd_reader_load(struct sd_reader *r, size_t i, struct sd_chunk_view *view);
/* Chunks passed so far, of health.chunks; may be asked from another thread. */
uint64_t sd_reader_n_read(const struct sd_reader *r);
void sd_reader_rewind(struct sd_reader *r);
/* From now on only those chunks are handed out for which there is a 1, by place in the
 * order of reading; as many as health.chunks.  NULL: all of them.  Borrowed. */
void sd_reader_choose(struct sd_reader *r, const uint8_t *chosen);
/* The place of the chunk that was handed out last. */
size_t sd_reader_place(const struct sd_reader *r);
/* One sentence on what is missing, or NULL when the capture is whole.  Borrowed. */
const char *sd_reader_complaint(const struct sd_reader *r);
/* The same without events that were dropped while recording: what the file lacks. */
const char *sd_reader_damage(const struct sd_reader *r);
void sd_reader_free(struct sd_reader *r);

/* Walks the records of a chunk: start with *at = 0; NULL at the end.  Every record
 * handed out has at least the size of its struct; unknown types come too. */
const struct sd_record *sd_chunk_view_next(const struct sd_chunk_view *view,
                                           uint32_t *at);
#endif
