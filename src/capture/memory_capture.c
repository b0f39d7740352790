/* SPDX-License-Identifier: MIT */
#include "capture/memory_capture.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/chunk.h"

/* No second capture is in the same file, so any number will do. */
enum { SALT = 1 };

struct making {
    struct sd_buf *to;
    uint64_t n_chunks;
    uint32_t seq; /* of what is nobody's table */
};

static void add_chunk(struct making *m, enum sd_chunk_type type, uint64_t stream,
                      uint32_t seq, const void *p, uint32_t n)
{
    struct sd_chunk_head head = { .magic = SD_CHUNK_MAGIC,
                                  .type = (uint16_t)type,
                                  .salt = SALT,
                                  .stream = stream,
                                  .seq = seq,
                                  .raw_len = n,
                                  .stored_len = n };

    sd_assert(n <= SD_CHUNK_RAW_MAX);
    head.crc = sd_chunk_sum(&head, p);
    sd_buf_add(m->to, &head, sizeof head);
    sd_buf_add(m->to, p, n);
    m->n_chunks++;
}

/* Definitions, where the clock that they speak of is not the one of the cells: its
 * moments are all made the first. */
static int add_without_clock(struct making *m, uint64_t stream, uint32_t seq,
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
    add_chunk(m, SD_CHUNK_DEFS, stream, seq, copy, n);
    sd_free(copy);
    return 0;
}

static int add_table(struct making *m, const struct sd_cells *t, uint64_t stream,
                     bool has_clock)
{
    int rc = 0;

    for (uint32_t i = 0; i < sd_cells_n_segments(t) && rc == 0; i++) {
        const struct sd_segment *s = sd_cells_segment(t, i);
        const uint8_t *p = (const uint8_t *)s;
        uint32_t n = atomic_load_explicit(&s->used, memory_order_relaxed);

        if (s->type == SD_CHUNK_CELLS)
            add_chunk(m, SD_CHUNK_CELLS, stream, i + 1, p, n + SD_SEGMENT_HEAD);
        else if (has_clock)
            add_chunk(m, SD_CHUNK_DEFS, stream, i + 1, p + SD_SEGMENT_HEAD, n);
        else
            rc = add_without_clock(m, stream, i + 1, p + SD_SEGMENT_HEAD, n);
    }
    return rc;
}

/* Two moments on both clocks, which give the rate. */
static void add_rate(struct making *m, uint64_t stream, uint32_t seq,
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
    add_chunk(m, SD_CHUNK_DEFS, stream, seq, pairs, sizeof pairs);
}

static int add_command(struct making *m, const char *command)
{
    static const char key[] = "command";
    size_t n = strnlen(command, 32000);
    size_t len = sizeof(struct sd_rec_meta) + sizeof key - 1 + n;
    struct sd_rec_meta *r = sd_zalloc(sd_align8((uint32_t)len));

    if (!r)
        return sd_no_memory();
    r->head = (struct sd_record){ (uint16_t)sd_align8((uint32_t)len), SD_REC_META, 1 };
    r->key_n = sizeof key - 1;
    r->value_n = (uint16_t)n;
    memcpy(r->text, key, sizeof key - 1);
    memcpy(r->text + sizeof key - 1, command, n);
    add_chunk(m, SD_CHUNK_META, 0, ++m->seq, r, r->head.len);
    sd_free(r);
    return 0;
}

static void begin(struct making *m)
{
    struct sd_preamble preamble;

    sd_preamble_fill(&preamble, SALT, sd_clock_real_ns(), sd_clock_ns());
    sd_buf_add(m->to, &preamble, sizeof preamble);
}

static int end(struct making *m, int rc)
{
    struct sd_end last = { .chunks = m->n_chunks,
                           .mono_ns = sd_clock_ns(),
                           .real_ns = sd_clock_real_ns() };

    add_chunk(m, SD_CHUNK_END, 0, ++m->seq, &last, sizeof last);
    return rc == 0 && m->to->bad ? sd_no_memory() : rc;
}

int sd_whole_capture(struct sd_cells *const *tables, size_t n,
                     const struct sd_whole_how *how, struct sd_buf *to)
{
    struct making m = { .to = to };
    int rc = 0;

    begin(&m);
    if (how->command)
        rc = add_command(&m, how->command);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = add_table(&m, tables[i], i + 1, how->ns_per_tick == 0);
        if (how->ns_per_tick > 0 && rc == 0)
            add_rate(&m, i + 1, sd_cells_n_segments(tables[i]) + 1, how->ns_per_tick);
    }
    return end(&m, rc);
}

enum { MODEL_PIECE = 65528 - sizeof(struct sd_rec_model) };
_Static_assert(sizeof(struct sd_rec_model) + MODEL_PIECE == SD_RECORD_MAX,
               "a piece is a record");

static int add_model(struct making *m, const uint8_t *p, uint32_t n)
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
        add_chunk(m, SD_CHUNK_META, 0, ++m->seq, r, len);
        at += part;
    }
    sd_free(r);
    return 0;
}

int sd_whole_model(const void *model, size_t n, const struct sd_whole_how *how,
                   struct sd_buf *to)
{
    struct making m = { .to = to };
    int rc = 0;

    if (n > UINT32_MAX - MODEL_PIECE)
        return sd_fail(SD_EFULL, "a model of %zu bytes is too large for a capture", n);
    begin(&m);
    if (how->command)
        rc = add_command(&m, how->command);
    if (rc == 0)
        rc = add_model(&m, model, (uint32_t)n);
    return end(&m, rc);
}
