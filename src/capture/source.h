/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_SOURCE_H
#define SD_CAPTURE_SOURCE_H
/* source: reads the bytes of a capture, from memory or from a file.
 *
 * A file is read and never mapped: its owner cuts it back after a failed write, and a
 * mapping would then raise SIGBUS in the reader. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/chunk.h"

struct sd_source {
    const uint8_t *p; /* bytes in memory, borrowed; or NULL */
    int fd;           /* owned; -1 without */
    uint64_t base;    /* of the file: where the bytes begin */
    uint64_t n;       /* bytes in all, as of opening */
    int error;        /* errno of a read or an allocation that failed, or 0 */
    size_t fill;      /* bytes that are read at a time; 0: many */
    uint8_t *window;  /* what was read last; owned */
    uint64_t window_at;
    size_t window_n;
};

void sd_source_of_bytes(struct sd_source *s, const void *p, size_t n);
/* n bytes of a file from `base` on.  `take_fd` becomes the source's. */
void sd_source_of_fd(struct sd_source *s, int take_fd, uint64_t base, uint64_t n);
/* n bytes at `at`, borrowed until the next call; NULL when they are not there, or
 * cannot be had: then `error` says why, and nothing may be concluded about the bytes.
 */
const uint8_t *sd_source_at(struct sd_source *s, uint64_t at, size_t n);
void sd_source_release(struct sd_source *s);

/* scan: finds the chunks in a source, one after the other, over any damage. */
struct sd_scan {
    struct sd_source *source; /* borrowed */
    bool is_quick; /* only heads are read: a chunk is whole where another stands behind
                      it, or the end; its sum is not checked and `payload` is NULL */
    uint64_t salt; /* 0: that of the first whole chunk */
    uint64_t at;   /* behind the last whole chunk */
    uint64_t bad_chunks, bad_bytes;
    uint64_t spent; /* bytes summed in vain: bounds the work over hostile files */
    bool is_cut;    /* it ends inside a chunk */
};

struct sd_source_chunk {
    struct sd_chunk_head head;
    const uint8_t *payload; /* borrowed until the source is asked again */
    uint64_t at;            /* of the header */
};

void sd_scan_init(struct sd_scan *s, struct sd_source *source, uint64_t salt,
                  uint64_t at);
/* True with the next whole chunk; false at the end, with the damage counted, or when
 * the source has an error. */
bool sd_scan_next(struct sd_scan *s, struct sd_source_chunk *found);
/* True when a whole chunk stands at s->at; passes it.  Looks no further. */
bool sd_scan_here(struct sd_scan *s, struct sd_source_chunk *found);
#endif
