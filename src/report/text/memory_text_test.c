/* SPDX-License-Identifier: MIT */
#include "report/text/memory_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

/* What sd_report_line_memory prints of one function that has one line. */
static char *printed(const char *file, uint32_t first, uint32_t line)
{
    struct sd_line_list_row row = { .line = line };
    struct sd_line_list_function f = {
        "f", file, first, &row, 1, 0, 0, NULL, NULL, NULL
    };
    struct sd_line_list l = { .functions = &f, .n = 1, .has_memory = true };
    struct sd_out out;
    char *text;

    for (size_t i = 0; i < SD_LINE_VALUES; i++)
        row.values[i] = SD_LINE_NONE;
    row.values[SD_LINE_HITS] = 3;
    row.values[SD_LINE_MEMORY] = 5 << 20;
    row.values[SD_LINE_INCREMENT] = 1 << 20;
    sd_out_to_memory(&out);
    CHECK(sd_report_line_memory(&l, 3, &out) == 0);
    text = strdup(sd_buf_string(&out.pending));
    sd_out_release(&out);
    return text;
}

static size_t count_rows(const char *text)
{
    size_t n = 0;

    for (text = strstr(text, "==\n") + 3; (text = strchr(text, '\n')); text++)
        n++;
    return n - 2; /* the empty ones behind the table */
}

TEST(memory_of_lines_is_shown_as_memory_profiler_does)
{
    char *text = printed("none.py", 7, 8);

    CHECK(strcmp(text, "Filename: none.py\n\n"
                       "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
                       "=============================================================\n"
                       "     7                                         \n"
                       "     8    5.000 MiB    1.000 MiB           3   \n\n\n") == 0);
    free(text);
}

TEST(memory_of_lines_that_a_damaged_file_numbers_has_an_end)
{
    char *text = printed("none.py", 1, UINT32_MAX);

    CHECK(count_rows(text) == 1 << 20);
    free(text);
    text = printed("none.py", UINT32_MAX, UINT32_MAX);
    CHECK(count_rows(text) == 1 && strstr(text, "4294967295    5.000 MiB"));
    free(text);
}

TEST(memory_of_lines_escapes_the_name_of_the_file)
{
    char *text = printed("a\033[2Jb.py", 1, 1);

    CHECK(!strchr(text, '\033') && strstr(text, "[2Jb.py"));
    free(text);
}
