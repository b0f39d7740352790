/* SPDX-License-Identifier: MIT */
/* capture_reader: any bytes as a capture.  Opens them, walks all chunks and records the
 * way the rest of Sonde does, and touches every byte that a record says it has.
 * Checksums are not compared in this build, so that mutations reach what is behind. */
#include <stddef.h>
#include <stdint.h>

#include "capture/cells.h"
#include "capture/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* keeps the reads */

static uint64_t touch(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

/* The parts that a record's own counts describe. */
static uint64_t touch_record(const struct sd_record *r)
{
    const void *p = r;

    switch (r->type) {
    case SD_REC_STRING: {
        const struct sd_rec_string *x = p;
        return touch(x->text, x->n);
    }
    case SD_REC_SHAPE: {
        const struct sd_rec_shape *x = p;
        return touch(x->metrics, (size_t)x->n * 4);
    }
    case SD_REC_META: {
        const struct sd_rec_meta *x = p;
        return touch(x->text, (size_t)x->key_n + x->value_n);
    }
    case SD_REC_NOTE: {
        const struct sd_rec_note *x = p;
        return touch(x->text, x->n);
    }
    case SD_REC_SPAN: {
        const struct sd_rec_span *x = p;
        return x->from + x->to;
    }
    }
    return touch(r, r->len);
}

static void walk(struct sd_reader *r)
{
    struct sd_chunk_view view;
    struct sd_cells_view cells;
    const struct sd_record *record;

    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        sink += touch(view.p, view.n);
        while ((record = sd_chunk_view_next(&view, &at)))
            sink += touch_record(record);
        if (sd_cells_of_chunk(&view, &cells))
            sink += touch(cells.cells, (size_t)cells.n * cells.cell_bytes);
    }
}

/* One capture of the bytes; where the next begins, or 0. */
static size_t walk_one(const uint8_t *data, size_t size)
{
    struct sd_reader *r;
    size_t next;

    if (sd_reader_open_bytes(data, size, &r) < 0)
        return 0;
    walk(r);
    sd_reader_rewind(r);
    walk(r);
    if (sd_reader_complaint(r))
        sink += (uint64_t)sd_reader_complaint(r)[0];
    sink += sd_reader_health(r)->events;
    next = (size_t)sd_reader_next_at(r);
    sd_reader_free(r);
    return next;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0, next;

    while ((next = walk_one(data + at, size - at)) != 0)
        at += next; /* always a whole preamble further, and inside of the bytes */
    return 0;
}
