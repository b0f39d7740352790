/* SPDX-License-Identifier: MIT */
#include "base/ranges.h"

#include <string.h>

#include "base/test.h"

static void add_up(void *of, const struct sd_range *was, uint64_t bytes)
{
    (void)was;
    *(uint64_t *)of += bytes;
}

TEST(ranges_lose_what_is_cut_out)
{
    struct sd_ranges r = { 0 };
    uint64_t cut = 0;

    CHECK(sd_ranges_add(&r, 100, 100, 1) == 0);
    CHECK(sd_ranges_add(&r, 300, 100, 2) == 0);
    CHECK(sd_ranges_add(&r, 200, 50, 3) == 0);
    CHECK(r.n == 3 && r.at[1].value == 3);
    CHECK(sd_ranges_cut(&r, 120, 10, add_up, &cut) == 0);
    CHECK(cut == 10 && r.n == 4 && r.at[0].to == 120 && r.at[1].from == 130);
    CHECK(sd_ranges_cut(&r, 150, 200, add_up, &cut) == 0);
    CHECK(cut == 10 + 50 + 50 + 50 && r.n == 3);
    CHECK(r.at[1].to == 150 && r.at[2].from == 350 && r.at[2].value == 2);
    CHECK(sd_ranges_find(&r, 350) && !sd_ranges_find(&r, 300));
    CHECK(sd_ranges_cut(&r, 0, UINT64_MAX, add_up, &cut) == 0);
    CHECK(cut == 250 && r.n == 0);
    sd_ranges_release(&r);
}

/* Bytes of a small space, each of which says whose it is. */
TEST(ranges_agree_with_a_map_of_bytes)
{
    enum { SPACE = 64 };
    uint8_t owner[SPACE] = { 0 };
    struct sd_ranges r = { 0 };
    uint64_t random = 1;

    for (unsigned turn = 1; turn < 2000; turn++) {
        uint64_t from, n, cut = 0, was = 0, is = 0;

        random = random * 6364136223846793005u + 1442695040888963407u;
        from = random >> 33 & (SPACE - 1);
        n = 1 + (random >> 40) % (SPACE - from);
        for (uint64_t i = from; i < from + n; i++)
            was += owner[i] != 0;
        CHECK(sd_ranges_cut(&r, from, n, add_up, &cut) == 0);
        CHECK(cut == was);
        memset(owner + from, 0, n);
        if (turn % 3) {
            CHECK(sd_ranges_add(&r, from, n, turn) == 0);
            memset(owner + from, 1, n);
        }
        for (size_t i = 0; i < r.n; i++) {
            CHECK(i == 0 || r.at[i - 1].to <= r.at[i].from);
            is += r.at[i].to - r.at[i].from;
        }
        was = 0;
        for (unsigned i = 0; i < SPACE; i++)
            was += owner[i] != 0;
        CHECK(is == was);
    }
    sd_ranges_release(&r);
}
