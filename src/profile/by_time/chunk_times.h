/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CHUNK_TIMES_H
#define SD_PROFILE_CHUNK_TIMES_H
/* chunk_times: remembers of which time the events in each chunk of a capture are, so
 * that a narrow window of a capture that was read once reads only its own chunks.
 *
 * The head of a chunk does not tell: a span is written when it ends, however long ago
 * it began.  Chunks that mean something for other times are read for any window: tables
 * and their definitions, facts and notes, clocks, traced calls, and those in which a
 * track or metric turned up first.  It takes 24 bytes a chunk. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/events.h"

struct sd_chunk_time {
    uint64_t from_ns, to_ns; /* of its events; from > to: it has none */
    bool is_lasting;         /* read for any window */
};

struct sd_chunk_times {          /* all zero is a fresh one */
    struct sd_chunk_time *items; /* owned; by place in the order of reading */
    size_t n, cap;
    bool is_unusable; /* what a window leaves cannot be told from its own chunks */
};

/* An event of the chunk at this place.  0 or SD_ENOMEM. */
int sd_chunk_times_note(struct sd_chunk_times *t, size_t place,
                        const struct sd_event *e);
/* The chunk at this place is read for any window.  0 or SD_ENOMEM. */
int sd_chunk_times_keep(struct sd_chunk_times *t, size_t place);
/* Sets for each of n chunks whether a window needs it, 1 or 0; returns how many are. */
size_t sd_chunk_times_choose(const struct sd_chunk_times *t, uint64_t from_ns,
                             uint64_t to_ns, uint8_t *chosen, size_t n);
void sd_chunk_times_release(struct sd_chunk_times *t);
#endif
