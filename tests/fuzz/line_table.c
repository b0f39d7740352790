/* SPDX-License-Identifier: MIT */
/* Line tables of all three encodings: whatever the bytes say, reading ends, runs follow
 * one another, and a question for a line gives the line of the run that holds it. */
#include <stdint.h>
#include <stdlib.h>

#include "cpython/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum sd_lines_style style, const uint8_t *table, size_t n,
                  int32_t first)
{
    uint32_t n_code = (uint32_t)n * 4, at = 0, n_runs = 0;
    struct sd_line_run run;
    struct sd_line_table it;

    sd_line_table_init(&it, style, table, n, first, n_code);
    while (sd_line_table_next(&it, &run)) {
        if (run.from != at || run.to <= run.from || ++n_runs > n + 1)
            abort();
        if (n < 256 &&
            sd_line_table_find(style, table, n, first, n_code, run.to - 1) != run.line)
            abort();
        at = run.to;
    }
    if (sd_line_table_find(style, table, n, first, n_code, -1) != first ||
        sd_line_table_find(style, table, n, first, n_code, at) != SD_NO_LINE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    check((enum sd_lines_style)(data[0] % 3), data + 2, size - 2,
          data[1] & 1 ? INT32_MAX : data[1]);
    return 0;
}
