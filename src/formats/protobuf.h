/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_PROTOBUF_H
#define SD_FORMATS_PROTOBUF_H
/* protobuf: writes protobuf messages: as much of the wire format as we need.  A message
 * is made in a buffer and then put into its parent's; zeros are left out, as proto3 has
 * it. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline void sd_pb_varint(struct sd_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        sd_buf_u8(b, (uint8_t)(v | 0x80));
    sd_buf_u8(b, (uint8_t)v);
}

static inline void sd_pb_number(struct sd_buf *b, uint32_t field, uint64_t v)
{
    if (v == 0)
        return;
    sd_pb_varint(b, (uint64_t)field << 3);
    sd_pb_varint(b, v);
}

static inline void sd_pb_bytes(struct sd_buf *b, uint32_t field, const void *p,
                               size_t n)
{
    sd_pb_varint(b, (uint64_t)field << 3 | 2);
    sd_pb_varint(b, n);
    sd_buf_add(b, p, n);
}

/* `inner` is empty afterwards; its memory stays. */
static inline void sd_pb_message(struct sd_buf *b, uint32_t field, struct sd_buf *inner)
{
    sd_pb_bytes(b, field, inner->p, inner->n);
    b->bad |= inner->bad;
    sd_buf_clear(inner);
}
#endif
