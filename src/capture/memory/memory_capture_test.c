/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/call_cell.h"
#include "capture/reader.h"
#include "capture/memory/memory_capture.h"

/* A table with a definition and more cells than one segment holds. */
static struct sd_cells *make_table(uint32_t n)
{
    struct sd_call_cell cell = { .calls = 1 };
    struct sd_cells *t;

    CHECK(sd_cells_new(NULL, SD_CELLS_CALLS, sizeof cell, &t) == 0);
    CHECK(sd_cells_define_string(t, "f", 1) == 1);
    CHECK(sd_cells_put_clock(t, SD_CLOCK_TSC, 1000, 2000));
    for (uint32_t i = 0; i < n; i++)
        CHECK(sd_cells_add(t, &cell) == i);
    return t;
}

TEST(a_whole_capture_has_every_cell_of_its_tables)
{
    enum { N = 5000 };
    struct sd_cells *tables[] = { make_table(N), make_table(3) };
    const struct sd_whole_how how = { "work.py", 2.5 };
    struct sd_buf bytes = { 0 };
    struct sd_reader *r;
    struct sd_chunk_view view;
    struct sd_cells_view cells;
    size_t n = 0, n_defs = 0;

    CHECK(sd_whole_capture(tables, 2, &how, &bytes) == 0);
    CHECK(sd_reader_open_bytes(bytes.p, bytes.n, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        n_defs += view.type == SD_CHUNK_DEFS;
        if (view.type == SD_CHUNK_CELLS && sd_cells_of_chunk(&view, &cells))
            n += cells.n;
    }
    CHECK(n == N + 3 && n_defs == 4);
    CHECK(sd_reader_health(r)->is_ended && !sd_reader_complaint(r));
    sd_reader_free(r);
    sd_buf_release(&bytes);
    sd_cells_free(tables[0]);
    sd_cells_free(tables[1]);
}

TEST(a_whole_capture_survives_every_allocation_that_fails)
{
    struct sd_cells *table = make_table(2);
    const struct sd_whole_how how = { "work.py", 1 };

    EACH_FAILURE(nth)
    {
        struct sd_buf bytes = { 0 };
        int rc = sd_whole_capture(&table, 1, &how, &bytes);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&bytes);
    }
    sd_cells_free(table);
}
