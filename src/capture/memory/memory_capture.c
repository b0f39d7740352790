/* SPDX-License-Identifier: MIT */
#include "capture/memory/memory_capture.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/memory/memory_chunks.h"

/* Definitions, where the clock that they speak of is not the one of the cells: its
 * moments are all made the first. */
static int add_without_clock(struct sd_making *m, uint64_t stream, uint32_t seq,
                             const uint8_t *p, uint32_t n)
{
    uint8_t *copy = sd_alloc(n + 1);
    struct sd_record *r;

    if (!copy)
        return sd_no_memory();
    memcpy(copy, p, n);
    for (uint32_t at = 0; at < n; at += r->len) {
        r = (void *)(copy + at);
        sd_assert(r->len >= sizeof *r && r->len <= n - at);
        if (r->type == SD_REC_CLOCK)
            ((struct sd_rec_clock *)r)->ticks = ((struct sd_rec_clock *)r)->mono_ns = 0;
    }
    sd_making_add(m, SD_CHUNK_DEFS, stream, seq, copy, n);
    sd_free(copy);
    return 0;
}

static int add_table(struct sd_making *m, const struct sd_cells *t, uint64_t stream,
                     bool has_clock)
{
    int rc = 0;

    for (uint32_t i = 0; i < sd_cells_n_segments(t) && rc == 0; i++) {
        const struct sd_segment *s = sd_cells_segment(t, i);
        const uint8_t *p = (const uint8_t *)s;
        uint32_t n = atomic_load_explicit(&s->used, memory_order_relaxed);

        if (s->type == SD_CHUNK_CELLS)
            sd_making_add(m, SD_CHUNK_CELLS, stream, i + 1, p, n + SD_SEGMENT_HEAD);
        else if (has_clock)
            sd_making_add(m, SD_CHUNK_DEFS, stream, i + 1, p + SD_SEGMENT_HEAD, n);
        else
            rc = add_without_clock(m, stream, i + 1, p + SD_SEGMENT_HEAD, n);
    }
    return rc;
}

/* Two moments on both clocks, which give the rate. */
static void add_rate(struct sd_making *m, uint64_t stream, uint32_t seq,
                     double ns_per_tick)
{
    struct sd_rec_clock pairs[2];

    for (unsigned i = 0; i < 2; i++)
        pairs[i] = (struct sd_rec_clock){
            .head = { sizeof *pairs, SD_REC_CLOCK, (uint8_t)seq },
            .kind = SD_CLOCK_TSC,
            .ticks = i ? 1000000 : 0,
            .mono_ns = i ? (uint64_t)(ns_per_tick * 1e6) : 0,
        };
    sd_making_add(m, SD_CHUNK_DEFS, stream, seq, pairs, sizeof pairs);
}

int sd_whole_add_tables(struct sd_making *m, struct sd_cells *const *tables, size_t n,
                        double ns_per_tick)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        uint64_t stream = ++m->n_streams;

        rc = add_table(m, tables[i], stream, ns_per_tick == 0);
        if (ns_per_tick > 0 && rc == 0)
            add_rate(m, stream, sd_cells_n_segments(tables[i]) + 1, ns_per_tick);
    }
    return rc;
}

int sd_whole_capture(struct sd_cells *const *tables, size_t n,
                     const struct sd_whole_how *how, struct sd_buf *to)
{
    struct sd_making m = { .to = to };
    int rc = 0;

    sd_making_begin(&m, sd_clock_real_ns(), sd_clock_ns());
    if (how->command)
        rc = sd_making_add_command(&m, how->command);
    if (rc == 0)
        rc = sd_whole_add_tables(&m, tables, n, how->ns_per_tick);
    return sd_making_end(&m, sd_clock_real_ns(), sd_clock_ns(), rc);
}

enum { MODEL_PIECE = 65528 - sizeof(struct sd_rec_model) };
_Static_assert(sizeof(struct sd_rec_model) + MODEL_PIECE == SD_RECORD_MAX,
               "a piece is a record");

static int add_model(struct sd_making *m, const uint8_t *p, uint32_t n)
{
    struct sd_rec_model *r = sd_alloc(sizeof *r + MODEL_PIECE);

    if (!r)
        return sd_no_memory();
    for (uint32_t at = 0; at < n;) {
        uint32_t part = n - at < MODEL_PIECE ? n - at : MODEL_PIECE;
        uint32_t len = sd_align8((uint32_t)sizeof *r + part);

        memset(r, 0, len);
        r->head =
            (struct sd_record){ (uint16_t)len, SD_REC_MODEL, (uint8_t)(m->seq + 1) };
        r->n = part;
        r->number = 1;
        r->total = n;
        r->at = at;
        memcpy(r->bytes, p + at, part);
        sd_making_add(m, SD_CHUNK_META, 0, ++m->seq, r, len);
        at += part;
    }
    sd_free(r);
    return 0;
}

int sd_whole_model(const void *model, size_t n, const struct sd_whole_how *how,
                   struct sd_buf *to)
{
    struct sd_making m = { .to = to };
    int rc = 0;

    if (n > UINT32_MAX - MODEL_PIECE)
        return sd_fail(SD_EFULL,
                       "the model's layers and operators take %zu bytes; a capture can "
                       "hold at most 4 GiB of them",
                       n);
    sd_making_begin(&m, sd_clock_real_ns(), sd_clock_ns());
    if (how->command)
        rc = sd_making_add_command(&m, how->command);
    if (rc == 0)
        rc = add_model(&m, model, (uint32_t)n);
    return sd_making_end(&m, sd_clock_real_ns(), sd_clock_ns(), rc);
}
