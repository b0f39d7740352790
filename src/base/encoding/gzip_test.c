/* SPDX-License-Identifier: MIT */
#include "base/encoding/gzip.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"

/* A reader of what RFC 1951 calls fixed codes, enough to look at our own output. */
struct bits {
    const uint8_t *p;
    size_t n, at; /* at: in bits */
};

static uint32_t take(struct bits *b, unsigned n)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < n; i++, b->at++) {
        CHECK(b->at / 8 < b->n);
        v |= (uint32_t)(b->p[b->at / 8] >> b->at % 8 & 1) << i;
    }
    return v;
}

static uint32_t take_code(struct bits *b, unsigned n)
{
    uint32_t v = 0;

    while (n-- > 0)
        v = v << 1 | take(b, 1);
    return v;
}

static uint32_t take_symbol(struct bits *b)
{
    uint32_t v = take_code(b, 7);

    if (v < 24)
        return 256 + v;
    v = v << 1 | take(b, 1);
    if (v < 0xC0)
        return v - 0x30;
    if (v < 0xC8)
        return 280 + v - 0xC0;
    return 144 + (v << 1 | take(b, 1)) - 0x190;
}

static const uint16_t lengths[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                    15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                    67, 83, 99, 115, 131, 163, 195, 227, 258 };
static const uint16_t distances[] = { 1,    2,    3,    4,     5,     7,    9,    13,
                                      17,   25,   33,   49,    65,    97,   129,  193,
                                      257,  385,  513,  769,   1025,  1537, 2049, 3073,
                                      4097, 6145, 8193, 12289, 16385, 24577 };

static bool read_block(struct bits *b, struct sd_buf *to)
{
    bool is_last = take(b, 1);

    CHECK(take(b, 2) == 1);
    for (;;) {
        uint32_t symbol = take_symbol(b), length, distance, code;

        if (symbol == 256)
            return is_last;
        if (symbol < 256) {
            sd_buf_u8(to, (uint8_t)symbol);
            continue;
        }
        code = symbol - 257;
        length = lengths[code] + take(b, code < 8 || code == 28 ? 0 : code / 4 - 1);
        code = take_code(b, 5);
        distance = distances[code] + take(b, code < 4 ? 0 : code / 2 - 1);
        CHECK(distance <= to->n);
        while (length-- > 0)
            sd_buf_u8(to, to->p[to->n - distance]);
    }
}

static void check_round_trip(const uint8_t *p, size_t n)
{
    struct sd_gzip *g = sd_alloc(sizeof *g);
    struct sd_buf back = { 0 };
    struct sd_out out;
    struct bits bits;

    sd_out_to_memory(&out);
    sd_gzip_begin(g, &out);
    sd_gzip_write(g, p, n / 2);
    sd_gzip_write(g, p + n / 2, n - n / 2);
    sd_gzip_end(g);
    bits = (struct bits){ out.pending.p + 10, out.pending.n - 18, 0 };
    while (!read_block(&bits, &back))
        ;
    CHECK((bits.at + 7) / 8 == bits.n);
    CHECK(back.n == n && (n == 0 || memcmp(back.p, p, n) == 0));
    sd_buf_release(&back);
    sd_out_release(&out);
    sd_free(g);
}

TEST(gzip_gives_back_what_went_in)
{
    size_t n = 3 * SD_GZIP_BLOCK + 77;
    uint8_t *p = sd_alloc(n);
    uint32_t seed = 1;

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        /* Runs, near and far repetitions, and noise. */
        p[i] = i % 5000 < 1000            ? 'x'
               : i % 5000 < 3000 && i > 9 ? p[i - 9]
               : i % 5000 < 4000          ? (uint8_t)(i % 251)
                                          : (uint8_t)(seed >> 24);
    }
    check_round_trip(p, 0);
    check_round_trip(p, 1);
    check_round_trip(p, SD_GZIP_BLOCK);
    check_round_trip(p, n);
    sd_free(p);
}

TEST(gzip_ends_with_the_sum_that_everyone_knows)
{
    struct sd_gzip *g = sd_alloc(sizeof *g);
    struct sd_out out;
    uint32_t tail[2];

    sd_out_to_memory(&out);
    sd_gzip_begin(g, &out);
    sd_gzip_write(g, "123456789", 9);
    sd_gzip_end(g);
    memcpy(tail, out.pending.p + out.pending.n - 8, 8);
    CHECK(tail[0] == 0xCBF43926 && tail[1] == 9);
    CHECK(memcmp(out.pending.p, "\x1f\x8b\x08\0", 4) == 0);
    sd_out_release(&out);
    sd_free(g);
}
