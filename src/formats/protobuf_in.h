/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_PROTOBUF_IN_H
#define SD_FORMATS_PROTOBUF_IN_H
/* protobuf_in: reads protobuf messages from untrusted bytes.
 *
 * A message is a run of fields, each a number and a value; a message in a message is a
 * run of bytes, over which another cursor walks.  Nothing is copied, so a file of
 * gigabytes whose weights nobody asks for costs the pages that are looked at. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cursor.h"

enum sd_pb_wire {
    SD_PB_VARINT = 0,
    SD_PB_FIXED64 = 1,
    SD_PB_BYTES = 2, /* texts, messages, packed numbers */
    SD_PB_FIXED32 = 5,
};

struct sd_pb_field {
    uint32_t number;
    enum sd_pb_wire wire;
    uint64_t v;              /* of a number, as it stands */
    struct sd_cursor inside; /* of BYTES */
};

/* Seven bits a byte, the lowest first; no more than ten of them. */
static inline uint64_t sd_pb_read_varint(struct sd_cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = sd_cursor_u8(c);

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = true;
    return 0;
}

/* The next field; false at the end of the message, and when it is none (c->bad). */
static inline bool sd_pb_next(struct sd_cursor *c, struct sd_pb_field *f)
{
    uint64_t key, n;
    const uint8_t *p;

    if (sd_cursor_left(c) == 0)
        return false;
    key = sd_pb_read_varint(c);
    f->number = (uint32_t)(key >> 3);
    f->wire = (enum sd_pb_wire)(key & 7);
    f->inside = (struct sd_cursor){ 0 };
    f->v = 0;
    switch (f->wire) {
    case SD_PB_VARINT:
        f->v = sd_pb_read_varint(c);
        break;
    case SD_PB_FIXED64:
        f->v = sd_cursor_u64(c);
        break;
    case SD_PB_FIXED32:
        f->v = sd_cursor_u32(c);
        break;
    case SD_PB_BYTES:
        n = sd_pb_read_varint(c);
        p = n <= sd_cursor_left(c) ? sd_cursor_take(c, (size_t)n) : NULL;
        if (p)
            f->inside = sd_cursor_over(p, (size_t)n);
        else
            c->bad = true;
        break;
    default: /* groups, which nobody writes any more, or damage */
        c->bad = true;
    }
    return !c->bad && key >> 3 != 0 && key >> 3 <= UINT32_MAX;
}

static inline float sd_pb_float(uint64_t bits)
{
    uint32_t half = (uint32_t)bits;
    float f;

    memcpy(&f, &half, sizeof f);
    return f;
}

static inline double sd_pb_double(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}
#endif
