/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALLS_TESTING_H
#define SD_PROFILE_CALLS_TESTING_H
/* calls_testing: trees of traced calls in captures made by hand. */
#include <string.h>

#include "capture/call_cell.h"
#include "capture/pair_cell.h"
#include "capture/cells.h"
#include "capture/define.h"
#include "profile/profile_testing.h"

/* Definitions of a table of this stream, in its chunk `seq`; ids go on from the chunk
 * before. */
static inline void sd_maker_defs(struct sd_maker *m, uint64_t stream, uint32_t seq)
{
    uint32_t next_id = m->next_id;

    sd_maker_chunk(m, stream, seq);
    m->head.type = SD_CHUNK_DEFS;
    m->next_id = seq == 1 ? 1 : next_id;
}

static inline void sd_maker_clock(struct sd_maker *m, uint64_t ticks, uint64_t mono_ns)
{
    struct sd_rec_clock *r = sd_maker_record(m, SD_REC_CLOCK, sizeof *r);

    r->kind = SD_CLOCK_TSC;
    r->ticks = ticks;
    r->mono_ns = mono_ns;
}

static inline void sd_maker_cells(struct sd_maker *m, uint64_t stream, uint32_t seq,
                                  uint64_t first, const struct sd_call_cell *cells,
                                  uint32_t n)
{
    struct {
        struct sd_segment head;
        struct sd_call_cell cells[16];
    } chunk = { .head = { .magic = SD_SEGMENT_MAGIC,
                          .type = SD_CHUNK_CELLS,
                          .kind = SD_CELLS_CALLS,
                          .cell_bytes = sizeof *cells,
                          .used = n * (uint32_t)sizeof *cells,
                          .first = first } };

    CHECK(n <= 16);
    memcpy(chunk.cells, cells, n * sizeof *cells);
    sd_maker_end_chunk(m);
    m->head =
        (struct sd_chunk_head){ .type = SD_CHUNK_CELLS, .stream = stream, .seq = seq };
    sd_maker_put_chunk(m, &chunk, sizeof chunk.head + n * sizeof *cells);
    m->head = (struct sd_chunk_head){ 0 };
}

/* Pairs of calls beyond a tree; the first of them has no site. */
static inline void sd_maker_pairs(struct sd_maker *m, uint64_t stream, uint32_t seq,
                                  uint64_t first, const struct sd_pair_cell *pairs,
                                  uint32_t n)
{
    struct {
        struct sd_segment head;
        struct sd_pair_cell pairs[16];
    } chunk = { .head = { .magic = SD_SEGMENT_MAGIC,
                          .type = SD_CHUNK_CELLS,
                          .kind = SD_CELLS_PAIRS,
                          .cell_bytes = sizeof *pairs,
                          .used = n * (uint32_t)sizeof *pairs,
                          .first = first } };

    CHECK(n <= 16);
    memcpy(chunk.pairs, pairs, n * sizeof *pairs);
    sd_maker_end_chunk(m);
    m->head =
        (struct sd_chunk_head){ .type = SD_CHUNK_CELLS, .stream = stream, .seq = seq };
    sd_maker_put_chunk(m, &chunk, sizeof chunk.head + n * sizeof *pairs);
    m->head = (struct sd_chunk_head){ 0 };
}

/* A signature of the function of these, whose argument `parameter` (number 0) has this
 * length. */
static inline uint32_t sd_maker_signature(struct sd_maker *m, uint32_t function,
                                          const char *name, const char *file,
                                          uint32_t line, const char *label,
                                          const char *parameter, int64_t n)
{
    uint32_t text = sd_maker_string(m, label), argument = sd_maker_string(m, parameter);
    uint32_t name_id = sd_maker_string(m, name), file_id = sd_maker_string(m, file);
    struct sd_rec_site *r = sd_maker_record(m, SD_REC_SITE, sizeof *r);
    struct sd_rec_size *size;
    uint32_t id = m->next_id++;

    sd_fill_signature(r, id, name_id, text, file_id, line, function);
    size = sd_maker_record(m, SD_REC_SIZE, sizeof *size + sizeof n);
    size->site = id;
    size->name = argument;
    size->kind = SD_SIZE_LENGTH;
    size->n_dims = 1;
    size->dims[0] = n;
    return id;
}

/* The root of a tree, whose tracing costs so many ticks a call. */
static inline struct sd_call_cell sd_maker_root(uint32_t track, uint32_t inside,
                                                uint32_t outside)
{
    struct sd_call_root root = { .track = track,
                                 .folded = 3,
                                 .python_inside = inside * 1024,
                                 .python_outside = outside * 1024 };
    struct sd_call_cell cell;

    memcpy(&cell, &root, sizeof cell);
    return cell;
}
#endif
