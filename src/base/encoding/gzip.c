/* SPDX-License-Identifier: MIT */
#include "base/encoding/gzip.h"

#include <stdbool.h>
#include <string.h>

enum { MATCH_MIN = 3, MATCH_MAX = 258, FAR_MAX = 32768, END_OF_BLOCK = 256 };

static void make_crc_table(uint32_t *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
        table[i] = c;
    }
}

void sd_gzip_begin(struct sd_gzip *g, struct sd_out *out)
{
    /* No name, no time: the same input gives the same file. */
    static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };

    g->out = out;
    g->crc = 0xffffffffu;
    g->n_bytes = 0;
    g->bits = 0;
    g->n_bits = 0;
    g->n = 0;
    make_crc_table(g->crc_table);
    sd_out_write(out, head, sizeof head);
}

/* --- Bits */

static void put_bits(struct sd_gzip *g, uint32_t value, unsigned n)
{
    g->bits |= (uint64_t)value << g->n_bits;
    g->n_bits += n;
    while (g->n_bits >= 8) {
        uint8_t byte = (uint8_t)g->bits;

        sd_out_write(g->out, &byte, 1);
        g->bits >>= 8;
        g->n_bits -= 8;
    }
}

/* Huffman codes go in with their highest bit first, all else with the lowest. */
static void put_code(struct sd_gzip *g, uint32_t code, unsigned n)
{
    uint32_t turned = 0;

    for (unsigned i = 0; i < n; i++)
        turned |= (code >> i & 1) << (n - 1 - i);
    put_bits(g, turned, n);
}

static void put_symbol(struct sd_gzip *g, uint32_t symbol)
{
    if (symbol < 144)
        put_code(g, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(g, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(g, symbol - 256, 7);
    else
        put_code(g, 0xC0 + symbol - 280, 8);
}

/* Lengths and distances are classes that double in width, and which one in the class:
 * each width has `per_width` classes. */
struct class
{
    uint32_t symbol, extra;
    unsigned n_extra;
};

static struct class class_of(uint32_t value, unsigned per_width_bits)
{
    unsigned width = 0;
    struct class c;

    while (value >> (width + per_width_bits + 1))
        width++;
    c.n_extra = width;
    c.extra = value & ((1u << width) - 1);
    c.symbol = (width << per_width_bits) + (value >> width);
    return c;
}

static void put_match(struct sd_gzip *g, uint32_t length, uint32_t distance)
{
    struct class l = class_of(length - MATCH_MIN, 2);
    struct class d = class_of(distance - 1, 1);

    if (length == MATCH_MAX) /* has a symbol of its own */
        l = (struct class){ 28, 0, 0 };
    put_symbol(g, 257 + l.symbol);
    put_bits(g, l.extra, l.n_extra);
    put_code(g, d.symbol, 5);
    put_bits(g, d.extra, d.n_extra);
}

/* --- Blocks */

static uint32_t hash(const uint8_t *p)
{
    uint32_t v = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

    return (v * 2654435761u) >> 18;
}
_Static_assert(SD_GZIP_HASH == 1 << 14, "hash gives 14 bits");

static size_t match_length(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t n = 0;

    if (most > MATCH_MAX)
        most = MATCH_MAX;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

static void put_block(struct sd_gzip *g, bool is_last)
{
    size_t at = 0;

    put_bits(g, is_last, 1);
    put_bits(g, 1, 2); /* fixed codes */
    memset(g->seen, 0, sizeof g->seen);
    while (at < g->n) {
        size_t n = 0, from = 0;

        if (g->n - at >= MATCH_MIN) {
            uint32_t *seen = &g->seen[hash(g->block + at)];

            from = *seen;
            *seen = (uint32_t)at + 1;
            if (from && at - (from - 1) <= FAR_MAX)
                n = match_length(g->block + from - 1, g->block + at, g->n - at);
        }
        if (n < MATCH_MIN) {
            put_symbol(g, g->block[at++]);
            continue;
        }
        put_match(g, (uint32_t)n, (uint32_t)(at - (from - 1)));
        at += n;
    }
    put_symbol(g, END_OF_BLOCK);
    g->n = 0;
}

void sd_gzip_write(struct sd_gzip *g, const void *p, size_t n)
{
    const uint8_t *bytes = p;

    g->n_bytes += (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        g->crc = g->crc >> 8 ^ g->crc_table[(g->crc ^ bytes[i]) & 0xff];
        g->block[g->n++] = bytes[i];
        if (g->n == SD_GZIP_BLOCK)
            put_block(g, false);
    }
}

void sd_gzip_end(struct sd_gzip *g)
{
    uint32_t tail[2];

    put_block(g, true);
    if (g->n_bits > 0)
        put_bits(g, 0, 8 - g->n_bits);
    tail[0] = g->crc ^ 0xffffffffu;
    tail[1] = g->n_bytes;
    sd_out_write(g->out, tail, sizeof tail);
}
