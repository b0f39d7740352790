/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_MEMORY_MEMORY_CHUNKS_H
#define SD_CAPTURE_MEMORY_MEMORY_CHUNKS_H
/* memory_chunks: begins a capture in a buffer, adds its chunks and ends it. */
#include "base/buf.h"
#include "capture/chunk.h"

struct sd_making {
    struct sd_buf *to;
    uint64_t n_chunks, n_events;
    uint32_t seq;       /* of what is nobody's table */
    uint64_t n_streams; /* so far: tables, spans, readings */
};

void sd_making_begin(struct sd_making *m, uint64_t real_ns, uint64_t mono_ns);
/* A chunk as it stands: *head has what is known of it besides its lengths and sum. */
void sd_making_add_as(struct sd_making *m, struct sd_chunk_head head, const void *p,
                      uint32_t n);
/* One without events. */
void sd_making_add(struct sd_making *m, enum sd_chunk_type type, uint64_t stream,
                   uint32_t seq, const void *p, uint32_t n);
/* A fact; what is longer than a record takes is cut. */
int sd_making_add_fact(struct sd_making *m, const char *key, const char *value);
/* The fact "command". */
int sd_making_add_command(struct sd_making *m, const char *command);
/* Any fact; what is longer than 32,000 bytes is cut. */
int sd_making_add_fact(struct sd_making *m, const char *key, const char *value);
/* `rc`, or SD_ENOMEM when something did not find room. */
int sd_making_end(struct sd_making *m, uint64_t real_ns, uint64_t mono_ns, int rc);
#endif
