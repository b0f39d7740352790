/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CHUNK_H
#define SD_CAPTURE_CHUNK_H
/* chunk: the unit of a capture file: it is complete, by its checksum, or does not
 * count.
 *
 * A 64-byte header and a payload, compressed or not, under one CRC-32C.  The salt of
 * the capture stands in each, so that a scan finds the next chunk after damage and a
 * stray chunk of another capture is not taken for one of this.  (stream, seq) is its
 * name: the same half may be met twice after a death, in the file and in the live
 * folder. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record.h"

enum {
    SD_CHUNK_MAGIC = 0x4B435344, /* "DSCK" */
    SD_CHUNK_HEAD = 64,
    SD_CHUNK_RAW_MAX = 256 * 1024,
    SD_FORMAT_MAJOR = 1,
    SD_FORMAT_MINOR = 0,
};

enum sd_chunk_flags {
    SD_CHUNK_ZSTD = 1, /* the payload is one zstd frame */
    SD_CHUNK_RAW = 2,  /* appended by the producer itself */
};

struct sd_chunk_head {
    uint32_t magic;
    uint16_t type;  /* enum sd_chunk_type */
    uint16_t flags; /* enum sd_chunk_flags */
    uint64_t salt;
    uint64_t stream;
    uint32_t seq;         /* from 1 in each stream */
    uint32_t raw_len;     /* bytes of records, at most SD_CHUNK_RAW_MAX */
    uint32_t stored_len;  /* bytes that follow this header */
    uint32_t count;       /* events among the records */
    uint64_t t0, t1;      /* times of the first and last event; 0 without one */
    uint32_t lost_before; /* events of the stream lost since the chunk before */
    uint32_t crc;         /* of the 60 bytes above, then of the payload as stored */
};
_Static_assert(sizeof(struct sd_chunk_head) == SD_CHUNK_HEAD, "on disk");
_Static_assert(offsetof(struct sd_chunk_head, crc) == 60,
               "on disk: the sum comes last");

struct sd_preamble {
    char magic[8]; /* SD_PREAMBLE_MAGIC */
    uint16_t major, minor;
    uint32_t bytes; /* of this preamble: 64 */
    uint64_t salt;
    uint64_t created_real_ns, created_mono_ns;
    uint64_t
        part_bytes;   /* of a merged file (capture_merge.h): this capture's; else 0 */
    uint32_t n_after; /* captures behind it in that file */
    uint8_t zero[8];
    uint32_t crc; /* of the 60 bytes above */
};
_Static_assert(sizeof(struct sd_preamble) == 64, "on disk");
_Static_assert(offsetof(struct sd_preamble, crc) == 60, "on disk: the sum comes last");
/* As PNG's: a text-mode copy or a seven-bit line breaks it visibly. */
#define SD_PREAMBLE_MAGIC "\x89SONDE\r\n"

struct sd_end { /* payload of an END chunk */
    int32_t status;
    uint32_t zero;
    uint64_t chunks; /* in the file, this one not counted */
    uint64_t events, lost;
    uint64_t mono_ns, real_ns; /* one moment on both clocks */
};
_Static_assert(sizeof(struct sd_end) == 48, "on disk");

void sd_preamble_fill(struct sd_preamble *p, uint64_t salt, uint64_t real_ns,
                      uint64_t mono_ns);
void sd_preamble_sum(struct sd_preamble *p); /* fills its checksum */
bool sd_preamble_is_sound(const struct sd_preamble *p);

/* The checksum that belongs into h->crc, with this payload of h->stored_len bytes. */
uint32_t sd_chunk_sum(const struct sd_chunk_head *h, const void *payload);

/* Does this look like the header of a chunk of the capture?  Its lengths then fit each
 * other, but nothing is known of the payload.  Any salt will do when *salt is 0. */
bool sd_chunk_head_is_sound(const struct sd_chunk_head *h, uint64_t salt);
/* Does the checksum hold?  Fuzzers turn this check off to reach what is behind. */
bool sd_chunk_sum_holds(const struct sd_chunk_head *h, const void *payload);

/* A squeezer compresses and expands with memory taken once. */
struct sd_squeezer { /* all zero is a fresh one */
    void *compress;  /* zstd's contexts; owned */
    void *expand;
    uint8_t *out; /* a compressed payload; owned */
    size_t cap;
};

/* Compresses `n` bytes when that makes them smaller.  Returns the payload to store,
 * borrowed until the next call: either its own or `raw`; sets h's flags and lengths. */
const void *sd_squeeze(struct sd_squeezer *s, int level, const void *raw, uint32_t n,
                       struct sd_chunk_head *h);
/* Expands a checked payload into `to`, which holds SD_CHUNK_RAW_MAX bytes.  SD_EFORMAT,
 * without a sentence, when it is not h->raw_len bytes; SD_ENOMEM. */
int sd_expand(struct sd_squeezer *s, const struct sd_chunk_head *h, const void *payload,
              uint8_t *to);
void sd_squeezer_release(struct sd_squeezer *s);
#endif
