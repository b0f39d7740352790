/* SPDX-License-Identifier: MIT */
#include "collect/heap/object_marks.h"

#include <stdlib.h>

#include "base/test.h"

enum { N = 3000 };

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

TEST(marks_count_what_is_below_an_address)
{
    struct sd_marks m = { .n_pieces = 0 };
    uint64_t address[N], random = 7;
    uint32_t n = 0;

    for (int i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        /* near each other, and anywhere */
        address[i] =
            (i % 2 ? random >> 17 : 0x7f0000000000 + (random >> 40)) & ~(uint64_t)7;
        n += sd_marks_mark(&m, address[i]) == 1;
    }
    CHECK(n > N / 2 && n <= N);
    for (int i = 0; i < N; i++)
        CHECK(sd_marks_mark(&m, address[i]) == 0);
    sd_marks_count(&m);
    qsort(address, N, sizeof *address, by_size);
    for (uint32_t i = 0, rank = 0; i < N; i++) {
        CHECK(sd_marks_has(&m, address[i]));
        CHECK(sd_marks_rank(&m, address[i]) == rank);
        rank += i + 1 == N || address[i + 1] != address[i];
    }
    CHECK(!sd_marks_has(&m, address[0] + 4));
    CHECK(!sd_marks_has(&m, 8));
    CHECK(sd_marks_mark(&m, (uint64_t)1 << 50) == -1); /* no address of a program */
    sd_marks_release(&m);
}

TEST(marks_say_when_there_is_no_memory)
{
    EACH_FAILURE(nth)
    {
        struct sd_marks m = { .n_pieces = 0 };
        int first = sd_marks_mark(&m, 0x1000);

        CHECK(first == 1 || first == -1);
        sd_marks_release(&m);
    }
}
