/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static bool is_cleared(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i])
            return false;
    }
    return true;
}

TEST(pieces_are_cleared_aligned_and_apart)
{
    struct sd_arena a = { 0 };
    uint8_t *pieces[300];

    for (size_t i = 0; i < 300; i++) {
        pieces[i] = sd_arena_alloc(&a, i);
        CHECK(pieces[i] && (uintptr_t)pieces[i] % _Alignof(max_align_t) == 0);
        CHECK(is_cleared(pieces[i], i));
        memset(pieces[i], (int)i, i);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t j = 0; j < i; j++)
            CHECK(pieces[i][j] == (uint8_t)i);
    }
    CHECK(a.used_bytes == 299 * 300 / 2);
    sd_arena_release(&a);
    CHECK(!a.blocks && a.used_bytes == 0);
}

TEST(a_large_piece_does_not_end_the_block_of_the_small_ones)
{
    struct sd_arena a = { 0 };
    char *before = sd_arena_string(&a, "a", 1);
    uint8_t *large = sd_arena_alloc(&a, 3 << 20);
    char *after = sd_arena_string(&a, "b", 1);

    CHECK(before && large && after == before + 2);
    large[(3 << 20) - 1] = 1;
    sd_arena_release(&a);
}

TEST(a_first_piece_may_be_large)
{
    struct sd_arena a = { 0 };

    uint8_t *small;

    CHECK(sd_arena_alloc(&a, (1 << 20) + 5)); /* its block ends unaligned */
    small = sd_arena_alloc(&a, 8);
    CHECK(small && is_cleared(small, 8));
    memset(small, 1, 8);
    CHECK(a.used_bytes == (1 << 20) + 13);
    sd_arena_release(&a);
}

TEST(a_piece_larger_than_memory_is_refused)
{
    struct sd_arena a = { 0 };

    CHECK(!sd_arena_alloc(&a, SIZE_MAX));
    CHECK(!sd_arena_alloc(&a, SIZE_MAX - 8));
    CHECK(!sd_arena_string(&a, "", SIZE_MAX));
    CHECK(a.used_bytes == 0);
    sd_arena_release(&a);
}

TEST(copies_strings_and_formats_are_whole)
{
    struct sd_arena a = { 0 };
    uint32_t number = 77;
    uint32_t *copy = sd_arena_copy(&a, &number, sizeof number);
    char *part = sd_arena_string(&a, "sonde", 3);
    char *empty = sd_arena_string(&a, NULL, 0);
    char *said = sd_arena_printf(&a, "%0100d|%s", 5, part);

    CHECK(*copy == 77 && strcmp(part, "son") == 0 && *empty == 0);
    CHECK(strlen(said) == 104 && strcmp(said + 99, "5|son") == 0);
    CHECK(sd_arena_copy(&a, NULL, 0));
    sd_arena_release(&a);
}

TEST(an_arena_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_arena a = { 0 };
        size_t expected = 0;

        for (size_t i = 0; i < 200; i++) {
            char *s = sd_arena_string(&a, "0123456789", i % 10);

            if (s)
                expected += i % 10 + 1;
        }
        if (sd_arena_alloc(&a, 10000))
            expected += 10000;
        CHECK(a.used_bytes == expected);
        sd_arena_release(&a);
    }
}
