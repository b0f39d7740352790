/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <stdio.h>
#include <stdlib.h>
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

/* The model: the texts in order of arrival, searched from end to end. */
struct model {
    char texts[200][8];
    size_t lengths[200];
    uint32_t n;
};

static uint32_t model_intern(struct model *m, const char *p, size_t n)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->lengths[i] == n && memcmp(m->texts[i], p, n) == 0)
            return i;
    }
    memcpy(m->texts[m->n], p, n);
    m->lengths[m->n] = n;
    return m->n++;
}

/* Of two letters, so that most are met again: 127 texts of up to six of them. */
TEST(random_texts_get_the_numbers_a_plain_list_would_give)
{
    struct sd_arena a = { 0 };
    struct sd_intern t = { .arena = &a };
    struct model m = { .n = 0 };

    srand(7);
    for (int step = 0; step < 2000; step++) {
        char text[6];
        size_t n = (size_t)rand() % 7;
        uint32_t id;

        for (size_t i = 0; i < n; i++)
            text[i] = (char)(rand() % 2); /* the letters 0 and 1: no byte is special */
        CHECK(sd_intern(&t, text, n, &id) == 0);
        CHECK(id == model_intern(&m, text, n) && t.n == m.n);
    }
    for (uint32_t i = 0; i < m.n; i++) {
        CHECK(t.items[i].n == m.lengths[i] && t.items[i].p[t.items[i].n] == 0);
        CHECK(memcmp(t.items[i].p, m.texts[i], m.lengths[i]) == 0);
    }
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
