/* SPDX-License-Identifier: MIT */
#include "cpython/line_table.h"

#include "base/test.h"

/* One function, compiled by three versions of CPython:
 *
 *     def f(a):
 *         x = (a +
 *              1)
 *         for i in a:
 *             x += i
 *
 *
 *         with a:
 *             return x
 *
 * and what PyCode_Addr2Line says of it.  tests/truth/test_line_tables.py does the same
 * for large parts of the standard library. */
static const uint8_t lnotab[] = { 0x00, 0x01, 0x02, 0x01, 0x02, 0xff, 0x04,
                                  0x02, 0x08, 0x01, 0x0a, 0x03, 0x06, 0x01 };
static const uint8_t ranges[] = { 0x02, 0x01, 0x02, 0x01, 0x04, 0xff, 0x08, 0x02,
                                  0x0a, 0x01, 0x06, 0x03, 0x02, 0x01, 0x24, 0xff };
static const uint8_t locations[] = {
    0x80, 0x00, 0xd8, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a, 0x0b,
    0x80, 0x41, 0xe3, 0x0d, 0x0e, 0x88, 0x01, 0xd8, 0x08, 0x09, 0x89, 0x06, 0x8a,
    0x01, 0xf1, 0x03, 0x00, 0x0e, 0x0f, 0xf2, 0x08, 0x00, 0x0a, 0x0b, 0xd8, 0x0f,
    0x10, 0xf7, 0x03, 0x00, 0x0a, 0x0b, 0x8f, 0x11, 0x8f, 0x11, 0xfa
};

struct expected {
    uint32_t from;
    int32_t line;
};

static const struct expected of_lnotab[] = { { 0, 2 },  { 2, 3 },  { 4, 2 }, { 8, 4 },
                                             { 16, 5 }, { 26, 8 }, { 32, 9 } };
static const struct expected of_ranges[] = {
    { 0, 2 }, { 2, 3 }, { 4, 2 }, { 8, 4 }, { 16, 5 }, { 26, 8 }, { 32, 9 }, { 34, 8 }
};
static const struct expected of_locations[] = { { 0, 1 },  { 2, 2 },          { 4, 3 },
                                                { 6, 2 },  { 12, 4 },         { 22, 5 },
                                                { 34, 4 }, { 38, 8 },         { 44, 9 },
                                                { 46, 8 }, { 94, SD_NO_LINE } };

static void check_lines(enum sd_lines_style style, const uint8_t *table, size_t n,
                        uint32_t n_code, const struct expected *want, size_t n_want)
{
    uint32_t offset;
    size_t i = 0;

    CHECK(sd_line_table_find(style, table, n, 1, n_code, -1) == 1);
    for (offset = 0; offset < n_code; offset += 2) {
        while (i + 1 < n_want && want[i + 1].from <= offset)
            i++;
        CHECK(sd_line_table_find(style, table, n, 1, n_code, offset) == want[i].line);
    }
}

#define CHECK_LINES(style, table, n_code, want)                                        \
    check_lines(style, table, sizeof(table), n_code, want,                             \
                sizeof(want) / sizeof *(want))

TEST(lines_of_all_three_encodings_are_those_of_cpython)
{
    CHECK_LINES(SD_LINES_LNOTAB, lnotab, 70, of_lnotab);
    CHECK_LINES(SD_LINES_RANGES, ranges, 70, of_ranges);
    CHECK_LINES(SD_LINES_LOCATIONS, locations, 100, of_locations);
}

TEST(lines_come_as_runs_without_gaps)
{
    struct sd_line_table it;
    struct sd_line_run run;
    uint32_t at = 0;

    sd_line_table_init(&it, SD_LINES_LOCATIONS, locations, sizeof locations, 1, 100);
    while (sd_line_table_next(&it, &run)) {
        CHECK(run.from == at && run.to > at);
        at = run.to;
    }
    CHECK(at == 100);
}

TEST(lines_without_a_line_in_the_table_of_ranges)
{
    static const uint8_t table[] = { 4, 1, 4, 0x80, 4, 1 };

    CHECK(sd_line_table_find(SD_LINES_RANGES, table, sizeof table, 10, 12, 0) == 11);
    CHECK(sd_line_table_find(SD_LINES_RANGES, table, sizeof table, 10, 12, 4) ==
          SD_NO_LINE);
    CHECK(sd_line_table_find(SD_LINES_RANGES, table, sizeof table, 10, 12, 8) == 12);
}

/* A table can be cut by a torn read anywhere, and then holds fewer runs, none of them
 * other than before. */
TEST(lines_of_a_cut_table_end_early)
{
    struct sd_line_table whole, cut;
    struct sd_line_run a, b;
    size_t n;

    for (n = 0; n < sizeof locations; n++) {
        bool has;

        sd_line_table_init(&whole, SD_LINES_LOCATIONS, locations, sizeof locations, 1,
                           100);
        sd_line_table_init(&cut, SD_LINES_LOCATIONS, locations, n, 1, 100);
        for (has = sd_line_table_next(&cut, &b); has;
             has = sd_line_table_next(&cut, &b)) {
            CHECK(sd_line_table_next(&whole, &a));
            CHECK(a.from == b.from && a.to == b.to);
        }
    }
}

TEST(lines_of_nothing_but_garbage_end)
{
    uint8_t table[256];
    struct sd_line_run run;
    struct sd_line_table it;
    unsigned style, i;

    for (i = 0; i < sizeof table; i++)
        table[i] = (uint8_t)(i * 37);
    for (style = SD_LINES_LNOTAB; style <= SD_LINES_LOCATIONS; style++) {
        sd_line_table_init(&it, (enum sd_lines_style)style, table, sizeof table,
                           INT32_MAX, 10);
        for (i = 0; sd_line_table_next(&it, &run); i++)
            CHECK(i < 2 * sizeof table);
    }
}

TEST(lines_tell_their_encoding_by_what_they_cover)
{
    CHECK(sd_line_table_fits(SD_LINES_LNOTAB, lnotab, sizeof lnotab, 70));
    CHECK(!sd_line_table_fits(SD_LINES_RANGES, lnotab, sizeof lnotab, 70));
    CHECK(sd_line_table_fits(SD_LINES_RANGES, ranges, sizeof ranges, 70));
    CHECK(!sd_line_table_fits(SD_LINES_LNOTAB, ranges, sizeof ranges, 70));
    CHECK(sd_line_table_fits(SD_LINES_LOCATIONS, locations, sizeof locations, 100));
    CHECK(!sd_line_table_fits(SD_LINES_LOCATIONS, locations, sizeof locations, 102));
}
