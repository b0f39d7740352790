/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

TEST(allocating_nothing_is_not_out_of_memory)
{
    void *a = sd_alloc(0), *b = sd_zalloc(0);

    CHECK(a && b);
    sd_free(a);
    sd_free(b);
    sd_free(NULL);
}

TEST(zalloc_clears)
{
    unsigned char *p = sd_zalloc(1000);

    CHECK(p);
    for (size_t i = 0; i < 1000; i++)
        CHECK(p[i] == 0);
    sd_free(p);
}

TEST(strings_are_copied_up_to_their_end_or_the_limit)
{
    char *whole = sd_strdup("sonde"), *part = sd_strndup("sonde", 3);
    char *all = sd_strndup("sonde", 99);

    CHECK(strcmp(whole, "sonde") == 0);
    CHECK(strcmp(part, "son") == 0);
    CHECK(strcmp(all, "sonde") == 0);
    sd_free(whole);
    sd_free(part);
    sd_free(all);
}

TEST(only_the_chosen_allocation_fails)
{
    void *a, *b, *c;

    sd_mem_fail_at(2, false);
    a = sd_alloc(1);
    b = sd_zalloc(1);
    c = sd_alloc(1);
    CHECK(sd_mem_fail_at(0, false) == 3);
    CHECK(a && !b && c);
    sd_free(a);
    sd_free(c);
}

TEST(with_and_after_all_later_ones_fail_too)
{
    void *a, *b, *c;

    sd_mem_fail_at(2, true);
    a = sd_alloc(1);
    b = sd_alloc(1);
    c = sd_strdup("x");
    sd_mem_fail_at(0, false);
    CHECK(a && !b && !c);
    sd_free(a);
}

TEST(a_failed_regrow_leaves_the_old_block)
{
    char *p = sd_strdup("kept");

    sd_mem_fail_at(1, false);
    CHECK(!sd_regrow(p, 100));
    CHECK(strcmp(p, "kept") == 0);
    p = sd_regrow(p, 100); /* the second one does not fail */
    CHECK(strcmp(p, "kept") == 0);
    sd_free(p);
}

TEST(switched_off_nothing_is_counted)
{
    sd_mem_fail_at(0, false);
    sd_free(sd_alloc(1));
    CHECK(sd_mem_fail_at(0, false) == 0);
}

TEST(an_array_grows_by_doubling_and_keeps_what_it_holds)
{
    uint32_t *p = NULL;
    size_t cap = 0, n_moves = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = cap;
        uint32_t *bigger = sd_grow_array(p, &cap, i + 1, sizeof *p);

        CHECK(bigger && cap >= i + 1);
        p = bigger;
        p[i] = i;
        n_moves += cap != before;
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(p[i] == i);
    CHECK(n_moves <= 11);
    sd_free(p);
}

TEST(an_array_larger_than_memory_is_refused_and_the_old_one_stays)
{
    size_t cap = 0;
    char *p = sd_grow_array(NULL, &cap, 4, 1);
    size_t before = cap;

    memcpy(p, "old", 4);
    CHECK(!sd_grow_array(p, &cap, SIZE_MAX, 1));
    CHECK(!sd_grow_array(p, &cap, SIZE_MAX / 2, 16));
    sd_mem_fail_at(1, false);
    CHECK(!sd_grow_array(p, &cap, before + 1, 1));
    CHECK(cap == before && strcmp(p, "old") == 0);
    sd_free(p);
}

TEST(growing_to_hold_nothing_still_gives_an_array)
{
    size_t cap = 0;
    void *p = sd_grow_array(NULL, &cap, 0, 8);

    CHECK(p && cap >= 1);
    CHECK(sd_grow_array(p, &cap, 0, 8) == p);
    sd_free(p);
}

static void *allocate_often(void *n_failed)
{
    for (int i = 0; i < 1000; i++) {
        void *p = sd_alloc(1);

        *(int *)n_failed += !p;
        sd_free(p);
    }
    return NULL;
}

TEST(among_many_threads_exactly_one_allocation_fails)
{
    pthread_t threads[4];
    int failed[4] = { 0 };

    sd_mem_fail_at(1500, false);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, allocate_often, &failed[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(sd_mem_fail_at(0, false) == 4000);
    CHECK(failed[0] + failed[1] + failed[2] + failed[3] == 1);
}

TEST(out_of_memory_has_its_code_and_sentence)
{
    CHECK(sd_no_memory() == SD_ENOMEM);
    CHECK(strcmp(sd_fail_text(), "out of memory") == 0);
}

TEST(each_failure_visits_every_allocation_once_and_then_a_whole_run)
{
    size_t runs = 0, whole = 0;

    EACH_FAILURE(nth)
    {
        void *a = sd_alloc(1), *b = sd_alloc(1);

        CHECK(!a == (nth == 1) && !b == (nth == 2));
        runs++;
        whole += a && b;
        sd_free(a);
        sd_free(b);
    }
    CHECK(runs == 3 && whole == 1);
}
