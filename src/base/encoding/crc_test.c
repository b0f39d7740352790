/* SPDX-License-Identifier: MIT */
#include "base/encoding/crc.h"

#include <string.h>

#include "base/test.h"

static uint32_t both(const void *p, size_t n)
{
    uint32_t crc = sd_crc32c(0, p, n);

    CHECK(crc == sd_crc32c_plain(0, p, n));
    return crc;
}

/* "123456789" is the check value of the CRC catalogue, the others are those of
 * RFC 3720, B.4. */
TEST(crc32c_gives_the_published_values)
{
    uint8_t bytes[32];

    CHECK(both("123456789", 9) == 0xE3069283);
    CHECK(both("", 0) == 0);
    memset(bytes, 0, sizeof bytes);
    CHECK(both(bytes, 32) == 0x8A9136AA);
    memset(bytes, 0xFF, sizeof bytes);
    CHECK(both(bytes, 32) == 0x62A8AB43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    CHECK(both(bytes, 32) == 0x46DD794E);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    CHECK(both(bytes, 32) == 0x113FDB5C);
}

TEST(instruction_and_table_agree_at_every_length_and_alignment)
{
    uint8_t bytes[300];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 131 + 7);
    for (size_t start = 0; start < 16; start++) {
        for (size_t n = 0; n < 200; n++)
            both(bytes + start, n);
    }
}

TEST(a_crc_fed_in_pieces_is_that_of_the_whole)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    size_t n = strlen(text);

    for (size_t cut = 0; cut <= n; cut++) {
        uint32_t first = sd_crc32c(0, text, cut), plain = sd_crc32c_plain(0, text, cut);

        CHECK(sd_crc32c(first, text + cut, n - cut) == both(text, n));
        CHECK(sd_crc32c_plain(plain, text + cut, n - cut) == both(text, n));
    }
}

TEST(one_flipped_bit_changes_the_crc)
{
    uint8_t bytes[64] = { 0 };
    uint32_t whole = both(bytes, sizeof bytes);

    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(both(bytes, sizeof bytes) != whole);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
