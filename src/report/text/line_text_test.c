/* SPDX-License-Identifier: MIT */
#include "report/text/line_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static size_t block(const char *text, uint64_t first)
{
    struct sd_code_text s = { 0 };
    size_t n;

    CHECK(sd_code_text_take(&s, text, strlen(text)) == 0);
    n = sd_code_block(&s, first);
    sd_code_text_release(&s);
    return n;
}

/* Each number is what inspect.getblock gives for the same text. */
TEST(code_block_ends_where_python_says)
{
    CHECK(block("def f():\n    a\n    b\nc\n", 1) == 3);
    CHECK(block("def f():\n    a\n\n    # of f\n# not of f\nc\n", 1) == 4);
    CHECK(block("@d(1,\n   2)\ndef f(x,\n      y):\n    a\nc\n", 1) == 5);
    CHECK(block("class A:\n    def f(s):\n        if s:\n            a\n    b = 1\n",
                2) == 3);
    CHECK(block("def f(): a\ndef g(): b\n", 1) == 1);
    CHECK(block("def f():\n    '''\nx\n    '''\n    a = (1,\n2)\nb\n", 1) == 6);
    CHECK(block("g = lambda: (1,\n   2)\nb\n", 1) == 2);
    CHECK(block("async def f():\n    await g\nb\n", 1) == 2);
    CHECK(block("def f():\n\ta = \\\n1\n\tb\nc\n", 1) == 4);
    CHECK(block("def f():\r\n    a\r\nb\r\n", 1) == 2);
    CHECK(block("def f():\n    a = f\"{x['(']:'>3}\" f'{{'\n    b\nc", 1) == 3);
    CHECK(block("def f():\n    a = r'\\\\'\n    b = '''\\''' '''\n    c\nd", 1) == 4);
    CHECK(block("a = 1\n", 1) == 1 && block("a\n", 5) == 0 && block("", 1) == 0);
}

static char *rendered(const struct sd_line_stats *s,
                      const struct sd_line_text_request *request)
{
    struct sd_out out;
    char *text;

    sd_out_to_memory(&out);
    CHECK(sd_report_lines(s, request, &out) == 0);
    text = strdup(sd_buf_string(&out.pending));
    sd_out_release(&out);
    return text;
}

static int give(void *context, const char *file, struct sd_code_text *into)
{
    if (strcmp(file, "m.py") != 0)
        return 0;
    return sd_code_text_take(into, context, strlen(context)) < 0 ? -1 : 1;
}

static void add(struct sd_line_stats *s, const char *file, struct sd_line_entry e)
{
    size_t at;

    CHECK(sd_line_stats_function(s, file, strlen(file), 1, "f", 1, &at) == 0);
    CHECK(sd_line_stats_add_line(s, at, e) == 0);
}

TEST(line_text_is_line_profilers)
{
    char source[] = "def f():\n    a =\t1\n    return '\xff\x1b'\n";
    struct sd_line_text_request request = { .unit = 1e-6,
                                            .source = give,
                                            .context = source };
    struct sd_line_stats s;
    char *text;

    sd_line_stats_init(&s);
    add(&s, "m.py", (struct sd_line_entry){ 2, 4, 1500000 });
    add(&s, "m.py", (struct sd_line_entry){ 3, 1234567890, 500000 });
    text = rendered(&s, &request);
    CHECK(strcmp(text,
                 "Timer unit: 1e-06 s\n\n"
                 "Total time: 0.002 s\n"
                 "File: m.py\n"
                 "Function: f at line 1\n\n"
                 "Line #        Hits         Time  Per Hit   % Time  Line Contents\n"
                 "================================================================\n"
                 "     1                                             def f():\n"
                 "     2           4       1500.0    375.0     75.0      a =\t1\n"
                 "     3 1.23457e+09        500.0      0.0     25.0      return "
                 "'\\xff\\x1b'\n\n") == 0);
    free(text);
    sd_line_stats_release(&s);
}

/* Blocks of a module end long before it does. */
TEST(line_text_of_a_module_is_the_whole_file)
{
    char source[] = "import a\ndef f():\n    pass\nb = 1\nclass C:\n    pass\n";
    struct sd_line_text_request request = { .source = give, .context = source };
    struct sd_line_stats s;
    size_t at;
    char *text;

    sd_line_stats_init(&s);
    CHECK(sd_line_stats_function(&s, "m.py", 4, 1, "<module>", 8, &at) == 0);
    CHECK(sd_line_stats_add_line(&s, at, (struct sd_line_entry){ 4, 7, 1e9 }) == 0);
    text = rendered(&s, &request);
    CHECK(strstr(text, "\n     4         7 "));
    CHECK(
        strstr(text, "\n     6                                               pass\n"));
    free(text);
    sd_line_stats_release(&s);
}

/* The file is shorter now, or its functions stand elsewhere. */
TEST(line_text_shows_lines_that_ran_beyond_the_block)
{
    char source[] = "def f():\n    pass\nother = 1\n";
    struct sd_line_text_request request = { .source = give, .context = source };
    struct sd_line_stats s;
    char *text;

    sd_line_stats_init(&s);
    add(&s, "m.py", (struct sd_line_entry){ 2, 1, 1e9 });
    add(&s, "m.py", (struct sd_line_entry){ 5, 9, 1e9 });
    add(&s, "m.py", (struct sd_line_entry){ INT64_MAX, 1, 1 }); /* of a damaged file */
    text = rendered(&s, &request);
    CHECK(strstr(text, "\n     5         9 "));
    CHECK(!strstr(text, "\n     6"));
    free(text);
    sd_line_stats_release(&s);
}

TEST(line_text_without_source_keeps_the_numbers)
{
    struct sd_line_text_request request = { .source = give,
                                            .skips_zeros = true,
                                            .has_summary = true };
    struct sd_line_stats s;
    char *text;

    sd_line_stats_init(&s);
    add(&s, "gone.py", (struct sd_line_entry){ 3, 1, 2e9 });
    add(&s, "never.py", (struct sd_line_entry){ 3, 0, 0 });
    text = rendered(&s, &request);
    CHECK(strstr(text, "\nCould not find file gone.py\nAre you sure"));
    CHECK(strstr(text, "\n     3         1 2000000000.0    2e+09    100.0  \n"));
    CHECK(!strstr(text, "never.py"));
    CHECK(strstr(text, "\n  2.00 seconds - gone.py:1 - f\n"));
    free(text);
    sd_line_stats_release(&s);
}
