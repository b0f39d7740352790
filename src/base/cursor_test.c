/* SPDX-License-Identifier: MIT */
#include "base/cursor.h"

#include "base/test.h"

TEST(a_cursor_reads_little_endian_numbers_in_order)
{
    static const uint8_t bytes[] = { 1,    2,    1,    4,    3,    2,    1,   8,
                                     7,    6,    5,    4,    3,    2,    1,   0xFF,
                                     0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    struct sd_cursor c = sd_cursor_over(bytes, sizeof bytes);

    CHECK(sd_cursor_u8(&c) == 1);
    CHECK(sd_cursor_u16(&c) == 0x0102);
    CHECK(sd_cursor_u32(&c) == 0x01020304);
    CHECK(sd_cursor_u64(&c) == 0x0102030405060708);
    CHECK(sd_cursor_i64(&c) == -1);
    CHECK(!c.bad && sd_cursor_left(&c) == 0);
}

TEST(a_short_read_makes_a_cursor_bad_for_good)
{
    struct sd_cursor c = sd_cursor_over("abc", 3);

    CHECK(sd_cursor_u32(&c) == 0 && c.bad);
    CHECK(sd_cursor_u8(&c) == 0 && sd_cursor_left(&c) == 0);
    CHECK(!sd_cursor_take(&c, 0));
}

TEST(a_length_from_a_stranger_cannot_overflow_a_cursor)
{
    struct sd_cursor c = sd_cursor_over("abc", 3);

    CHECK(sd_cursor_take(&c, 1));
    CHECK(!sd_cursor_take(&c, SIZE_MAX) && c.bad);
}

TEST(a_cursor_lends_the_bytes_it_reads)
{
    static const char text[] = "abc";
    struct sd_cursor c = sd_cursor_over(text, 3);

    CHECK(sd_cursor_take(&c, 2) == (const uint8_t *)text);
    CHECK(sd_cursor_left(&c) == 1);
    CHECK(sd_cursor_take(&c, 1) == (const uint8_t *)text + 2 && !c.bad);
}
