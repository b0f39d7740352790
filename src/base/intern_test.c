/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

TEST(the_same_bytes_get_the_same_number_and_numbers_follow_arrival)
{
    struct sd_arena a = { 0 };
    struct sd_intern t = { .arena = &a };
    uint32_t id = 9;

    CHECK(sd_intern(&t, "one", 3, &id) == 0 && id == 0);
    CHECK(sd_intern(&t, "two", 3, &id) == 0 && id == 1);
    CHECK(sd_intern(&t, "one", 3, &id) == 0 && id == 0);
    CHECK(t.n == 2);
    CHECK(strcmp(t.items[1].p, "two") == 0 && t.items[1].n == 3);
    sd_intern_release(&t);
    CHECK(t.arena == &a && t.n == 0 && !t.items);
    sd_arena_release(&a);
}

TEST(bytes_with_zeros_and_no_bytes_at_all_are_told_apart)
{
    struct sd_arena a = { 0 };
    struct sd_intern t = { .arena = &a };
    uint32_t id[4];

    CHECK(sd_intern(&t, "a\0b", 3, &id[0]) == 0);
    CHECK(sd_intern(&t, "a\0c", 3, &id[1]) == 0);
    CHECK(sd_intern(&t, NULL, 0, &id[2]) == 0);
    CHECK(sd_intern(&t, "\0", 1, &id[3]) == 0);
    CHECK(t.n == 4);
    CHECK(sd_intern_find(&t, "", 0) == id[2]);
    sd_intern_release(&t);
    sd_arena_release(&a);
}

TEST(finding_adds_nothing)
{
    struct sd_arena a = { 0 };
    struct sd_intern t = { .arena = &a };
    uint32_t id;

    CHECK(sd_intern_find(&t, "x", 1) == UINT32_MAX);
    CHECK(sd_intern(&t, "x", 1, &id) == 0);
    CHECK(sd_intern_find(&t, "x", 1) == id);
    CHECK(sd_intern_find(&t, "y", 1) == UINT32_MAX && t.n == 1);
    sd_intern_release(&t);
    sd_arena_release(&a);
}

/* The model: number i is the text "name-i", asked for in a mixed order. */
TEST(thousands_of_names_keep_their_numbers)
{
    struct sd_arena a = { 0 };
    struct sd_intern t = { .arena = &a };
    char name[32];
    uint32_t id;

    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            uint32_t wanted = round == 0 ? i : (i * 7919) % 3000;
            int n = snprintf(name, sizeof name, "name-%u", wanted);

            CHECK(sd_intern(&t, name, (size_t)n, &id) == 0 && id == wanted);
        }
    }
    CHECK(t.n == 3000);
    CHECK(strcmp(t.items[2999].p, "name-2999") == 0);
    sd_intern_release(&t);
    sd_arena_release(&a);
}

TEST(a_name_that_could_not_be_kept_is_not_known)
{
    EACH_FAILURE(nth)
    {
        struct sd_arena a = { 0 };
        struct sd_intern t = { .arena = &a };
        uint32_t known = 0;

        for (uint32_t i = 0; i < 100; i++) {
            uint32_t id = 77777;
            int rc = sd_intern(&t, &i, sizeof i, &id);

            CHECK(rc == 0 ? id == known : rc == SD_ENOMEM && id == 77777);
            CHECK((sd_intern_find(&t, &i, sizeof i) == UINT32_MAX) == (rc < 0));
            known += rc == 0;
        }
        CHECK(t.n == known);
        sd_intern_release(&t);
        sd_arena_release(&a);
    }
}
