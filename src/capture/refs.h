/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_REFS_H
#define SD_CAPTURE_REFS_H
/* refs: remembers where every chunk of a capture is, in the order of reading.
 *
 * About a hundred bytes a chunk and so a few bytes a thousand events: it is all that a
 * reader keeps in memory, besides the one chunk it has open. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/chunk.h"

/* Where it lies.  Of two under one name the first of these is complete. */
enum sd_place { SD_IN_FILE, SD_IN_CHUNKS, SD_IN_LIVE };

struct sd_ref {
    struct sd_chunk_head head;
    enum sd_place place;
    bool is_after_gap;      /* chunks of its stream before it are missing */
    bool is_first, is_last; /* of its stream */
    uint32_t file;          /* in the folder: which one of the reader's */
    uint32_t rank;          /* of its stream in the order of reading */
    uint64_t at;   /* of a chunk: its offset; of a half: slot * 2 + half; of a segment
                      of cells: its number */
    uint8_t *copy; /* of a half whose process was alive when read; owned */
};

struct sd_refs { /* all zero is a fresh one */
    struct sd_ref *at;
    size_t n, cap;
    uint64_t missing; /* chunks, by the numbers of their streams; after ordering */
};

/* A copy in *ref becomes ours only on success. */
int sd_refs_add(struct sd_refs *r, const struct sd_ref *ref);
/* Sorts by stream and seq, drops what is there twice, finds the gaps. */
int sd_refs_order(struct sd_refs *r);
void sd_refs_release(struct sd_refs *r);
#endif
