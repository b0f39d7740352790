/* SPDX-License-Identifier: MIT */
#include "profile/open_pairs.h"

#include "base/test.h"

/* A stack of three calls beyond the tree: each had 10 ticks in callees that ended. */
static struct sd_open_cell cell(unsigned flags, uint32_t below)
{
    return (struct sd_open_cell){ .flags = SD_BEYOND_OPEN | flags,
                                  .below = below,
                                  .callee_ticks = 10,
                                  .callee_cpu_ns = 3,
                                  .direct = { 5, 1 },
                                  .deeper = { 20, 0 } };
}

static void add(struct sd_open_pairs *o, const struct sd_open_cell *cells, uint32_t n,
                uint64_t first)
{
    struct sd_cells_view view = { .kind = SD_CELLS_OPEN,
                                  .cell_bytes = sizeof *cells,
                                  .n = n,
                                  .first = first,
                                  .cells = (const void *)cells };

    CHECK(sd_open_pairs_add(o, &view) == 1);
}

static bool calls_are(struct sd_call_counts_calls calls, uint64_t python, uint64_t c)
{
    return calls.python == python && calls.c == c;
}

TEST(open_pairs_have_what_ended_in_them_and_above)
{
    /* In any order: cells are used again.  The one in the midst is free. */
    struct sd_open_cell cells[] = { cell(SD_BEYOND_C, 3),
                                    { .callee_ticks = 99 },
                                    cell(SD_BEYOND_FIRST, 1),
                                    cell(0, 2) };
    struct sd_open_pairs o = { 0 };

    add(&o, cells, 4, 0);
    CHECK(o.n == 3 && sd_open_pairs_settle(&o) == 0);
    CHECK(o.items[0].ticks == 10 && o.items[2].ticks == 20 && o.items[1].ticks == 30);
    CHECK(o.items[1].cpu_ns == 9 && o.items[1].cell.number == 2);
    CHECK(calls_are(o.items[1].calls, 75, 3));
    CHECK(calls_are(o.items[1].inside, 74, 2)); /* two are open, one of them of C */
    CHECK(calls_are(o.items[1].around, 60, 0)); /* not those that open calls made */
    sd_open_pairs_release(&o);
}

TEST(open_pairs_that_were_cut_off_are_not_their_callers)
{
    struct sd_open_cell cells[] = { cell(SD_BEYOND_FIRST, 0), cell(SD_BEYOND_CUT, 0),
                                    cell(SD_BEYOND_LOST, 0) };
    struct sd_open_pairs o = { 0 };

    add(&o, cells, 3, 0);
    CHECK(sd_open_pairs_settle(&o) == 0);
    CHECK(o.items[0].ticks == 20 && o.items[1].ticks == 10);
    CHECK(calls_are(o.items[0].inside, 50, 2)); /* a lost call is none of these */
    sd_open_pairs_release(&o);
}

/* Cells are foreign. */
TEST(open_pairs_in_a_ring_or_without_a_caller_do_no_harm)
{
    struct sd_open_cell cells[] = { cell(0, 1), cell(0, 0), cell(0, 2), cell(0, 77),
                                    cell(0, 0) };
    struct sd_open_pairs o = { 0 };
    struct sd_cells_view again = { .cell_bytes = sizeof *cells, .n = 1, .first = 4 };

    add(&o, cells, 5, 0);
    CHECK(sd_open_pairs_add(&o, &again) == 0); /* which was there */
    CHECK(sd_open_pairs_settle(&o) == 0);
    CHECK(o.items[0].cell.flags == 0 && o.items[1].cell.flags == 0);
    CHECK(o.items[2].cell.flags == 0);
    CHECK(o.items[3].cell.flags != 0 && o.items[3].ticks == 10);
    sd_open_pairs_clear(&o);
    CHECK(o.n == 0 && o.end == 0);
    sd_open_pairs_release(&o);
}
