/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_TIME_TIME_PARCEL_H
#define SD_COLLECT_TIME_TIME_PARCEL_H
/* time_parcel: what `sonde time` and a measuring process hand each other, as bytes in a
 * file without a name: what is to be measured, and what came of it. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "capture/time_batch.h"

/* The turns (time_turns.h) stand at the start of the request's file; it follows. */
enum { SD_TIME_PARCEL_AT = 4096 };

struct sd_time_parcel_side {
    const char *statement, *setup;
    const char *size; /* of --vary, as it was typed; "": none */
    uint64_t loops;   /* turns of a batch; 0: to be found */
};

struct sd_time_request {
    struct sd_time_parcel_side *sides; /* in the arena */
    uint32_t n_sides;
    const char *size_name; /* what sizes are called; "" */
    bool is_cpu_time, collects_garbage, is_as_timeit, wants_memory;
    uint64_t budget_ns, loops, repeat, seed; /* seed: not 0 */
};

/* A failure of the measuring process that it has told the user about. */
enum sd_time_refusal {
    SD_TIME_REFUSED_SYNTAX = 1, /* status 2 */
    SD_TIME_REFUSED_RAISED,     /* status 1 */
};

struct sd_time_result {
    uint32_t refusal; /* enum sd_time_refusal; 0: none */
    uint64_t pid, start_ticks;
    uint64_t *loops; /* of each side; in the arena */
    uint32_t n_sides;
    struct sd_time_batch *batches; /* in the arena */
    size_t n_batches;
    int64_t allocated_bytes, peak_bytes; /* of wants_memory; SD_TIME_UNKNOWN */
};

void sd_time_parcel_put_request(struct sd_buf *to, const struct sd_time_request *r);
/* SD_EFORMAT without a sentence: it is none, or of another Sonde. */
int sd_time_parcel_request(const void *p, size_t n, struct sd_arena *a,
                           struct sd_time_request *out);
void sd_time_parcel_put_result(struct sd_buf *to, const struct sd_time_result *r);
int sd_time_parcel_result(const void *p, size_t n, struct sd_arena *a,
                          struct sd_time_result *out);
#endif
