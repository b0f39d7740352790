/* SPDX-License-Identifier: MIT */
#include "base/encoding/inflate.h"

#include <string.h>

#include "base/assert.h"

enum { LENGTH_MAX = 15, LITERALS = 288, DISTANCES = 32, ORDERS = 19 };
enum { END_OF_BLOCK = 256, FIRST_LENGTH = 257, N_LENGTHS = 29, N_DISTANCES = 30 };

struct inflating {
    const uint8_t *at, *end;
    uint32_t bits; /* taken from `at` and not used yet, the next one lowest */
    unsigned n_bits;
    uint8_t *to;
    size_t n, n_to; /* bytes made, and wanted */
    bool bad;       /* once true, all that is read is 0 */
};

static uint32_t take(struct inflating *z, unsigned n)
{
    uint32_t v;

    sd_assert(n <= 16 && z->n_bits < 24); /* one byte more must fit */
    while (z->n_bits < n && z->at < z->end) {
        z->bits |= (uint32_t)*z->at++ << z->n_bits;
        z->n_bits += 8;
    }
    z->bad |= z->n_bits < n;
    if (z->bad)
        return 0;
    v = z->bits & ((1u << n) - 1);
    z->bits >>= n;
    z->n_bits -= n;
    return v;
}

/* --- Codes: a symbol's is known by its length alone */

struct code {
    uint16_t n_of[LENGTH_MAX + 1]; /* symbols of each length */
    uint16_t symbols[LITERALS];    /* by length, then by value */
};

/* False: there are more symbols than codes of their lengths. */
static bool make_code(struct code *c, const uint8_t *lengths, unsigned n)
{
    uint16_t next[LENGTH_MAX + 1];
    int left = 1;

    sd_assert(n <= LITERALS);
    memset(c->n_of, 0, sizeof c->n_of);
    for (unsigned i = 0; i < n; i++)
        c->n_of[lengths[i]]++;
    c->n_of[0] = 0;
    next[0] = next[1] = 0;
    for (unsigned i = 1; i <= LENGTH_MAX; i++) {
        left = 2 * left - c->n_of[i];
        if (left < 0)
            return false;
        if (i < LENGTH_MAX)
            next[i + 1] = (uint16_t)(next[i] + c->n_of[i]);
    }
    for (unsigned i = 0; i < n; i++)
        if (lengths[i])
            c->symbols[next[lengths[i]]++] = (uint16_t)i;
    return true;
}

/* Codes of one length are numbers that follow each other, and behind them begin, with
 * one bit more, those of the next. */
static unsigned take_symbol(struct inflating *z, const struct code *c)
{
    uint32_t code = 0, first = 0, at = 0;

    for (unsigned i = 1; i <= LENGTH_MAX && !z->bad; i++) {
        code = code << 1 | take(z, 1);
        if (code - first < c->n_of[i])
            return c->symbols[at + code - first];
        at += c->n_of[i];
        first = (first + c->n_of[i]) << 1;
    }
    sd_assert(at <= LITERALS);
    z->bad = true;
    return END_OF_BLOCK;
}

/* --- Blocks */

static void put_stored(struct inflating *z)
{
    uint32_t n, not_n;

    take(z, z->n_bits % 8); /* it begins with a whole byte */
    n = take(z, 16);
    not_n = take(z, 16);
    z->bad |= n != (~not_n & 0xFFFF) || n > (size_t)(z->end - z->at) ||
              n > z->n_to - z->n || z->n_bits != 0;
    if (z->bad)
        return;
    memcpy(z->to + z->n, z->at, n);
    z->at += n;
    z->n += n;
}

static unsigned take_length(struct inflating *z, unsigned symbol)
{
    static const uint16_t least[N_LENGTHS] = { 3,   4,   5,   6,   7,  8,  9,  10,
                                               11,  13,  15,  17,  19, 23, 27, 31,
                                               35,  43,  51,  59,  67, 83, 99, 115,
                                               131, 163, 195, 227, 258 };
    unsigned i = symbol - FIRST_LENGTH;

    z->bad |= i >= N_LENGTHS;
    if (z->bad)
        return 0;
    return least[i] + take(z, i < 8 || i == N_LENGTHS - 1 ? 0 : (i - 4) / 4);
}

static size_t take_distance(struct inflating *z, const struct code *c)
{
    unsigned i = take_symbol(z, c), more = i < 4 ? 0 : (i - 2) / 2;

    z->bad |= i >= N_DISTANCES;
    if (z->bad)
        return 0;
    return i < 4 ? i + 1u : ((2u + i % 2) << more) + take(z, more) + 1u;
}

/* What comes again may reach into itself: byte by byte. */
static void repeat(struct inflating *z, size_t distance, unsigned n)
{
    sd_assert(z->bad || distance > 0);
    z->bad |= distance > z->n || n > z->n_to - z->n;
    for (; n > 0 && !z->bad; n--, z->n++)
        z->to[z->n] = z->to[z->n - distance];
}

static void put_coded(struct inflating *z, const struct code *literals,
                      const struct code *distances)
{
    unsigned symbol = take_symbol(z, literals);

    for (; symbol != END_OF_BLOCK && !z->bad; symbol = take_symbol(z, literals)) {
        if (symbol > END_OF_BLOCK) {
            unsigned n = take_length(z, symbol);

            repeat(z, take_distance(z, distances), n);
        } else if (z->n < z->n_to) {
            z->to[z->n++] = (uint8_t)symbol;
        } else {
            z->bad = true;
        }
    }
}

static void put_fixed(struct inflating *z)
{
    uint8_t lengths[LITERALS];
    struct code literals, distances;

    for (unsigned i = 0; i < LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_code(&distances, lengths, DISTANCES);
    put_coded(z, &literals, &distances);
}

/* Lengths of codes are symbols themselves; some say how often one comes again. */
static void take_lengths(struct inflating *z, const struct code *c, uint8_t *lengths,
                         unsigned n)
{
    unsigned at = 0;

    while (at < n && !z->bad) {
        unsigned symbol = take_symbol(z, c), times = 1;
        uint8_t length = symbol < 16 ? (uint8_t)symbol : 0;

        if (symbol == 16) {
            length = at ? lengths[at - 1] : 0;
            z->bad |= at == 0;
            times = 3 + take(z, 2);
        } else if (symbol > 16) {
            times = symbol == 17 ? 3 + take(z, 3) : 11 + take(z, 7);
        }
        z->bad |= times > n - at;
        for (; times > 0 && !z->bad; times--)
            lengths[at++] = length;
    }
}

static void put_dynamic(struct inflating *z)
{
    static const uint8_t order[ORDERS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15 };
    unsigned n_literals = 257 + take(z, 5), n_distances = 1 + take(z, 5);
    unsigned n_orders = 4 + take(z, 4);
    uint8_t lengths[LITERALS + DISTANCES + 1] = { 0 };
    struct code literals, distances;

    _Static_assert(257 + 31 <= LITERALS && 1 + 31 <= DISTANCES,
                   "what five bits can say");
    for (unsigned i = 0; i < n_orders; i++)
        lengths[order[i]] = (uint8_t)take(z, 3);
    z->bad |= n_literals > LITERALS || !make_code(&literals, lengths, ORDERS);
    memset(lengths, 0, sizeof lengths);
    if (!z->bad)
        take_lengths(z, &literals, lengths, n_literals + n_distances);
    z->bad |= z->bad || !make_code(&literals, lengths, n_literals) ||
              !make_code(&distances, lengths + n_literals, n_distances);
    if (!z->bad)
        put_coded(z, &literals, &distances);
}

bool sd_inflate(const uint8_t *p, size_t n, uint8_t *to, size_t n_to)
{
    struct inflating z = { .at = p, .end = p + n, .to = to, .n_to = n_to };
    bool is_last = false;

    while (!is_last && !z.bad) {
        is_last = take(&z, 1);
        switch (take(&z, 2)) {
        case 0:
            put_stored(&z);
            break;
        case 1:
            put_fixed(&z);
            break;
        case 2:
            put_dynamic(&z);
            break;
        default:
            z.bad = true;
        }
    }
    sd_assert(z.n <= n_to && z.at <= z.end);
    return !z.bad && z.n == n_to;
}
