/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"

TEST(a_buffer_holds_what_was_added_in_order)
{
    static const uint8_t expected[] = { 1,    0x03, 0x02, 7,    6,    5,
                                        4,    0x88, 0x77, 0x66, 0x55, 0x44,
                                        0x33, 0x22, 0x11, 'h',  'i' };
    struct sd_buf b = { 0 };

    sd_buf_u8(&b, 1);
    sd_buf_u16(&b, 0x0203);
    sd_buf_u32(&b, 0x04050607);
    sd_buf_u64(&b, 0x1122334455667788);
    sd_buf_text(&b, "hi");
    CHECK(!b.bad && b.n == sizeof expected);
    CHECK(memcmp(b.p, expected, b.n) == 0);
    sd_buf_release(&b);
    CHECK(!b.p && !b.n && !b.cap);
}

TEST(adding_nothing_changes_nothing)
{
    struct sd_buf b = { 0 };

    sd_buf_add(&b, NULL, 0);
    sd_buf_text(&b, "");
    CHECK(!b.bad && b.n == 0);
    CHECK(strcmp(sd_buf_string(&b), "") == 0);
    sd_buf_release(&b);
}

TEST(formatted_text_of_every_length_comes_whole)
{
    struct sd_buf b = { 0 };

    for (int width = 0; width < 300; width++) { /* crosses every growth */
        sd_buf_clear(&b);
        sd_buf_text(&b, "<");
        sd_buf_printf(&b, "%*s>", width, "x");
        CHECK(b.n == (size_t)(width > 1 ? width : 1) + 2);
        CHECK(b.p[0] == '<' && b.p[b.n - 1] == '>');
    }
    sd_buf_release(&b);
}

TEST(a_buffer_reads_as_a_string_without_counting_its_end)
{
    struct sd_buf b = { 0 };

    sd_buf_text(&b, "ab");
    CHECK(strcmp(sd_buf_string(&b), "ab") == 0 && b.n == 2);
    sd_buf_text(&b, "cd");
    CHECK(strcmp(sd_buf_string(&b), "abcd") == 0);
    sd_buf_release(&b);
}

TEST(a_whole_buffer_is_a_string_without_more_memory)
{
    for (size_t n = 0; n < 300; n++) {
        struct sd_buf b = { 0 };

        for (size_t i = 0; i < n; i++)
            sd_buf_u8(&b, 'x');
        CHECK(!b.bad);
        sd_mem_fail_at(1, true);
        CHECK(strlen(sd_buf_string(&b)) == n && !b.bad);
        sd_mem_fail_at(0, false);
        sd_buf_release(&b);
    }
}

TEST(a_bad_buffer_ignores_additions_until_it_is_cleared)
{
    struct sd_buf b = { 0 };

    sd_mem_fail_at(1, false);
    sd_buf_text(&b, "lost");
    sd_buf_text(&b, "ignored");
    sd_buf_printf(&b, "%d", 1);
    CHECK(b.bad && b.n == 0 && !sd_buf_room(&b, 1));
    CHECK(strcmp(sd_buf_string(&b), "") == 0);
    sd_buf_clear(&b);
    sd_buf_text(&b, "kept");
    CHECK(strcmp(sd_buf_string(&b), "kept") == 0);
    sd_buf_release(&b);
}

TEST(more_room_than_there_is_makes_a_buffer_bad)
{
    struct sd_buf b = { 0 };

    sd_buf_u8(&b, 1);
    CHECK(!sd_buf_room(&b, SIZE_MAX) && b.bad);
    sd_buf_release(&b);
}

TEST(a_buffer_is_whole_or_bad_whichever_allocation_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_buf b = { 0 };

        for (uint32_t i = 0; i < 100; i++)
            sd_buf_u32(&b, i);
        sd_buf_printf(&b, "%0500d", 1);
        CHECK(b.bad || b.n == 900);
        CHECK(strlen(sd_buf_string(&b)) == 0); /* the first byte is 0, or it is bad */
        sd_buf_release(&b);
    }
}
