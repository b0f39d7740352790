/* SPDX-License-Identifier: MIT */
#include "report/text/line_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

enum { N_ROWS = 3 };

/* Three lines of one function, of which the first was never hit; 10 and 30 ms, of these
 * 25 in another function; 1 and 3 MiB. */
struct some {
    struct sd_line_list_row rows[N_ROWS];
    struct sd_line_list_function f;
    struct sd_line_list l;
};

static void fill(struct some *s, const char *file, bool has_memory)
{
    memset(s, 0, sizeof *s);
    s->f = (struct sd_line_list_function){ "work",   file, 1,    s->rows, N_ROWS,
                                           40000000, 0,    NULL, NULL,    NULL };
    s->l =
        (struct sd_line_list){ .functions = &s->f, .n = 1, .has_memory = has_memory };
    for (uint32_t i = 0; i < N_ROWS; i++) {
        int64_t *v = s->rows[i].values;

        v[SD_LINE_TRACING] = 0;
        for (int k = SD_LINE_MIN; k < SD_LINE_VALUES; k++)
            v[k] = SD_LINE_NONE;
        s->rows[i].line = i + 1;
        v[SD_LINE_HITS] = 2 * i;
        v[SD_LINE_TIME] = i == 0 ? 0 : i == 1 ? 10000000 : 30000000;
        v[SD_LINE_CHILD_TIME] = i == 2 ? 25000000 : 0;
        if (!has_memory)
            continue;
        v[SD_LINE_READ] = 2;
        v[SD_LINE_MEMORY] = (int64_t)(10 + i) << 20;
        v[SD_LINE_INCREMENT] = i == 0 ? 0 : (int64_t)(2 * i - 1) << 20;
        v[SD_LINE_PEAK] = i == 2 ? (int64_t)100 << 20 : SD_LINE_NONE;
    }
}

static char *source_file(const char *text)
{
    char *path = strdup("/tmp/sonde-line-view-XXXXXX");
    int fd = path ? mkstemp(path) : -1;

    CHECK(fd >= 0);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static char *combined(struct some *s, bool colour)
{
    struct sd_text_style style = { .colour = colour };
    struct sd_out out;
    char *text;

    sd_out_to_memory(&out);
    CHECK(sd_report_lines_combined(&s->l, &style, &out) == 0);
    text = strdup(sd_buf_string(&out.pending));
    sd_out_release(&out);
    return text;
}

TEST(line_view_shows_time_and_memory_beside_the_source)
{
    char *path = source_file("def work():\n\tx = 1\n\ty = 2\n\tz = 3\n\nother = 1\n");
    struct some s;
    char *text, *table;

    fill(&s, path, true);
    text = combined(&s, false);
    CHECK(strncmp(text, "work  /tmp/", 11) == 0);
    CHECK(strstr(text, ":1  40.0 ms\n"));
    table = strchr(text, '\n') + 1;
    CHECK(strcmp(table,
                 "line  hits     time  per hit  time%    memory  increment       peak  "
                 "source\n"
                 "   1                                 10.0 MiB                        "
                 "def work():\n"
                 "   2     2  10.0 ms   5.0 ms   25.0  11.0 MiB    1.0 MiB             "
                 "        x = 1\n"
                 "   3     4  30.0 ms   7.5 ms   75.0  12.0 MiB    3.0 MiB  100.0 MiB  "
                 "        y = 2\n"
                 "   4                                                                 "
                 "        z = 3\n") == 0);
    unlink(path);
    free(text);
    free(path);
}

TEST(line_view_has_colours_for_what_is_hot_and_for_what_never_ran)
{
    char *path = source_file("def work():\n    x = 1\n    y = 2\n    z = 3\n");
    struct some s;
    char *text;

    fill(&s, path, false);
    text = combined(&s, true);
    CHECK(strstr(text, "\033[1m\033[31m    y = 2\033[0m")); /* three quarters */
    CHECK(strstr(text, "\033[31m    x = 1\033[0m"));        /* a quarter */
    CHECK(strstr(text, "\033[2m    z = 3\033[0m"));
    CHECK(!strstr(text, "memory"));
    unlink(path);
    free(text);
    free(path);
}

TEST(line_view_without_a_source_shows_the_lines_that_ran)
{
    struct some s;
    char *text;

    fill(&s, "no such file", false);
    s.rows[2].line = UINT32_MAX; /* nothing is shown between */
    text = combined(&s, false);
    CHECK(strstr(text, "\n         1\n         2     2  10.0 ms"));
    CHECK(strstr(text, "\n4294967295     4  30.0 ms"));
    free(text);
}

TEST(line_view_lists_the_hottest_by_their_own_time)
{
    struct sd_view v = { 0 };
    struct some s;
    const struct sd_view_table *t;

    fill(&s, "folder/no such file", true);
    CHECK(sd_line_view_hottest(&s.l, 1, &v) == 0);
    t = &v.tables[0];
    CHECK(t->n_rows == 1 && strcmp(t->note, "1 more line") == 0);
    CHECK(sd_view_cell(t, 0, 0)->real > 66.6 && sd_view_cell(t, 0, 0)->real < 66.7);
    CHECK(sd_view_cell(t, 0, 1)->number == 10000000);
    CHECK(strcmp(sd_view_cell(t, 0, 8)->text, "no such file:2") == 0);
    CHECK(strcmp(sd_view_cell(t, 0, 9)->text, "folder/no such file") == 0);
    CHECK(strcmp(sd_view_cell(t, 0, t->n_columns - 1)->text, "") == 0);
    sd_view_release(&v);
    s.l.n = 0;
    CHECK(sd_line_view_hottest(&s.l, 0, &v) == 0 && v.tables[0].n_rows == 0);
    sd_view_release(&v);
}
