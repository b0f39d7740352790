/* SPDX-License-Identifier: MIT */
#include "profile/lines/line_totals.h"

#include "base/test.h"
#include "profile/lines/line_tables.h"

static struct sd_line_total made(uint32_t line, int64_t hits, int64_t time, int64_t min,
                                 int64_t memory)
{
    struct sd_line_total t = { .site = 3, .line = line };

    for (int i = 0; i < SD_LINE_VALUES; i++)
        t.values[i] = SD_LINE_NONE;
    t.values[SD_LINE_HITS] = hits;
    t.values[SD_LINE_TIME] = time;
    t.values[SD_LINE_MIN] = min;
    t.values[SD_LINE_MAX] = time;
    t.values[SD_LINE_MEMORY] = memory;
    return t;
}

TEST(line_totals_add_up_by_function_and_line)
{
    struct sd_line_totals t = { 0 };
    struct sd_line_total a = made(10, 2, 100, 40, SD_LINE_NONE);
    struct sd_line_total b = made(10, 3, 50, 5, 4096);
    struct sd_line_total c = made(11, 1, INT64_MAX, SD_LINE_NONE, SD_LINE_NONE);

    CHECK(sd_line_totals_add(&t, &a) == 0);
    CHECK(sd_line_totals_add(&t, &b) == 0);
    CHECK(sd_line_totals_add(&t, &c) == 0);
    CHECK(sd_line_totals_add(&t, &c) == 0);
    CHECK(t.n == 2);
    CHECK(t.items[0].values[SD_LINE_HITS] == 5);
    CHECK(t.items[0].values[SD_LINE_TIME] == 150);
    CHECK(t.items[0].values[SD_LINE_MIN] == 5);
    CHECK(t.items[0].values[SD_LINE_MAX] == 100);
    CHECK(t.items[0].values[SD_LINE_MEMORY] == 4096);
    CHECK(t.items[0].values[SD_LINE_CPU_TIME] == SD_LINE_NONE);
    CHECK(t.items[1].values[SD_LINE_TIME] == INT64_MAX); /* and not beyond */
    CHECK(t.items[1].values[SD_LINE_MIN] == SD_LINE_NONE);
    sd_line_totals_release(&t);
    CHECK(t.n == 0 && !t.items);
}

TEST(cells_of_another_kind_or_size_are_no_lines)
{
    struct sd_line_cell cells[2] = { { .site = 0 },
                                     { .site = 1, .line = 7, .hits = 3 } };
    struct sd_cells_view view = { .kind = SD_CELLS_LINES,
                                  .cell_bytes = sizeof cells[0],
                                  .n = 2,
                                  .cells = (const uint8_t *)cells };
    struct sd_line_tables t = { 0 };

    view.kind = 1;
    CHECK(sd_line_tables_add(&t, &view) == 0 && t.n == 0);
    view.kind = SD_CELLS_LINES;
    view.cell_bytes = 64;
    CHECK(sd_line_tables_add(&t, &view) == 0 && t.n == 0);
    view.cell_bytes = sizeof cells[0];
    CHECK(sd_line_tables_add(&t, &view) == 0);
    CHECK(t.n == 1 && t.cells[0].line == 7 && t.cells[0].hits == 3); /* not the root */
    sd_line_tables_release(&t);
}
