/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ENCODING_GZIP_H
#define SD_BASE_ENCODING_GZIP_H
/* gzip: compresses output (RFC 1952), for formats whose readers expect it.
 *
 * Blocks of 64 KiB, each compressed by itself with the fixed codes of RFC 1951 and the
 * nearest earlier match that a small table remembers.  zlib does a third better and
 * would have to come along into every program that has our library in it. */
#include <stdint.h>

#include "base/out.h"

enum { SD_GZIP_BLOCK = 1 << 16, SD_GZIP_HASH = 1 << 14 };

struct sd_gzip {
    struct sd_out *out; /* borrowed */
    uint32_t crc;
    uint32_t n_bytes; /* of all, modulo 2^32, as the format has it */
    uint64_t bits;    /* not written yet; the first in the lowest */
    unsigned n_bits;
    size_t n; /* in the block */
    uint8_t block[SD_GZIP_BLOCK];
    uint32_t seen[SD_GZIP_HASH]; /* place + 1 of the last three bytes of this hash */
    uint32_t crc_table[256];
};

void sd_gzip_begin(struct sd_gzip *g, struct sd_out *out);
void sd_gzip_write(struct sd_gzip *g, const void *p, size_t n);
void sd_gzip_end(struct sd_gzip *g);
#endif
