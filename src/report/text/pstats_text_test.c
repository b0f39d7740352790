/* SPDX-License-Identifier: MIT */
#include "report/text/pstats_text.h"

#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

static sd_function_id add(struct sd_call_stats *s, const char *file, int64_t line,
                          const char *name, int64_t calls, int64_t primitive,
                          double own, double total)
{
    struct sd_call_numbers n = { calls, primitive, own, total, 0 };
    sd_function_id id = { 0 };

    CHECK(sd_call_stats_function(s, file, strlen(file), line, name, strlen(name),
                                 &id) == 0);
    CHECK(sd_call_stats_count(s, id, &n) == 0);
    return id;
}

static void fill(struct sd_call_stats *s)
{
    struct sd_call_numbers three = { 3, 3, 0.0015, 0.0015, 0 },
                           four = { 4, 1, 0.25, 1.5, 0 };
    sd_function_id len, fib;

    sd_call_stats_init(s);
    len = add(s, "~", 0, "<built-in method builtins.len>", 3, 3, 0.0015, 0.0015);
    fib = add(s, "/a/f\xC3\xA9.py", 7, "fib", 5, 2, 0.5, 2.0);
    add(s, "/a/m.py", 1, "<module>", 0, 0, 12.0, 1234567.25);
    CHECK(sd_call_stats_count_calls(s, fib, len, &three) == 0);
    CHECK(sd_call_stats_count_calls(s, fib, fib, &four) == 0);
    CHECK(sd_call_stats_count_calls(s, s->listed[2], fib, &three) == 0);
    CHECK(sd_call_stats_add_origin(s, "somewhere", 9) == 0);
    CHECK(sd_call_stats_sum(s) == 0);
}

static void check_text(const struct sd_call_stats *s, const struct sd_pstats_view *view,
                       const char *expected)
{
    struct sd_out out;

    sd_out_to_memory(&out);
    CHECK(sd_report_pstats(s, view, &out) == 0);
    if (strcmp(sd_buf_string(&out.pending), expected) != 0)
        print_message("%s", sd_buf_string(&out.pending));
    CHECK(strcmp(sd_buf_string(&out.pending), expected) == 0);
    sd_out_release(&out);
}

static const char table[] =
    "somewhere\n"
    "\n"
    "         8 function calls (5 primitive calls) in 12.502 seconds\n"
    "\n"
    "   Random listing order was used\n"
    "\n"
    "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
    "        3    0.002    0.001    0.002    0.001 {built-in method builtins.len}\n"
    "      5/2    0.500    0.100    2.000    1.000 /a/f\xC3\xA9.py:7(fib)\n"
    "        0   12.000          1234567.250          /a/m.py:1(<module>)\n"
    "\n"
    "\n";

TEST(pstats_table_has_pstats_columns)
{
    struct sd_call_stats s;

    fill(&s);
    check_text(&s, &(struct sd_pstats_view){ .table = SD_PSTATS_STATS }, table);
    sd_call_stats_release(&s);
}

TEST(pstats_table_of_samples_has_the_headings_and_words_of_sampled_stats)
{
    struct sd_pstats_order order;
    struct sd_pstats_limit one = { .kind = SD_LIMIT_COUNT, .count = 1, .shown = "1" };
    struct sd_call_stats s;
    const char *word = "samples";

    fill(&s);
    CHECK(sd_pstats_sort(&s, &word, 1, &order, NULL) == SD_EUSAGE);
    s.is_sampled = true;
    CHECK(sd_pstats_sort(&s, &word, 1, &order, NULL) == 0);
    one.n_shown = 1;
    check_text(
        &s,
        &(struct sd_pstats_view){
            .table = SD_PSTATS_STATS, .order = &order, .limits = &one, .n_limits = 1 },
        "somewhere\n\n"
        "         8 function calls (5 primitive calls) in 12.502 seconds\n\n"
        "   Ordered by: sample count\n"
        "   List reduced from 3 to 1 due to restriction <1>\n\n"
        " nsamples  tottime persample cumtime persample "
        "filename:lineno(function)\n"
        "      5/2    0.500    0.100    2.000    1.000 /a/f\xC3\xA9.py:7(fib)\n"
        "\n\n");
    sd_pstats_order_release(&order);
    sd_call_stats_release(&s);
}

/* Inside somebody's program the locale is theirs. */
TEST(pstats_table_has_a_point_whatever_the_locale)
{
    static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };
    struct sd_call_stats s;

    for (size_t i = 0; i < sizeof commas / sizeof *commas; i++)
        if (setlocale(LC_NUMERIC, commas[i]))
            break;
    fill(&s);
    check_text(&s, &(struct sd_pstats_view){ .table = SD_PSTATS_STATS }, table);
    setlocale(LC_NUMERIC, "C");
    sd_call_stats_release(&s);
}

TEST(pstats_callers_and_callees_are_sorted_and_aligned)
{
    struct sd_call_stats s;

    fill(&s);
    check_text(&s, &(struct sd_pstats_view){ .table = SD_PSTATS_CALLERS },
               "   Random listing order was used\n"
               "\n"
               "Function                        was called by...\n"
               "                                    ncalls  tottime  cumtime\n"
               "{built-in method builtins.len}  <-       3    0.002    0.002  "
               "/a/f\xC3\xA9.py:7(fib)\n"
               "/a/f\xC3\xA9.py:7(fib)                 <-     4/1    0.250    1.500  "
               "/a/f\xC3\xA9.py:7(fib)\n"
               "                                         3    0.002    0.002  "
               "/a/m.py:1(<module>)\n"
               "/a/m.py:1(<module>)             <- \n"
               "\n"
               "\n");
    check_text(&s, &(struct sd_pstats_view){ .table = SD_PSTATS_CALLEES, .digits = 6 },
               "   Random listing order was used\n"
               "\n"
               "Function                        called...\n"
               "                                    ncalls     tottime     cumtime\n"
               "{built-in method builtins.len}  -> \n"
               "/a/f\xC3\xA9.py:7(fib)                 ->     4/1    0.250000    "
               "1.500000  /a/f\xC3\xA9.py:7(fib)\n"
               "                                         3    0.001500    0.001500  "
               "{built-in method builtins.len}\n"
               "/a/m.py:1(<module>)             ->       3    0.001500    0.001500  "
               "/a/f\xC3\xA9.py:7(fib)\n"
               "\n"
               "\n");
    sd_call_stats_release(&s);
}

static int has_fib(void *context, const char *label, size_t n)
{
    return memmem(label, n, context, strlen(context)) != NULL;
}

TEST(pstats_restrictions_work_one_after_the_other_and_are_told)
{
    struct sd_pstats_limit limits[] = {
        { .kind = SD_LIMIT_FRACTION, .fraction = 0.6, .shown = "0.6", .n_shown = 3 },
        { .kind = SD_LIMIT_INVALID, .shown = "'('", .n_shown = 3 },
        { .kind = SD_LIMIT_MATCH,
          .shown = "'fib'",
          .n_shown = 5,
          .matches = has_fib,
          .context = "fib" },
        { .kind = SD_LIMIT_COUNT, .count = 7, .shown = "7", .n_shown = 1 },
    };
    struct sd_pstats_view view = { .limits = limits, .n_limits = 4 };
    struct sd_call_stats s;

    fill(&s);
    check_text(
        &s, &view,
        "somewhere\n"
        "\n"
        "         8 function calls (5 primitive calls) in 12.502 seconds\n"
        "\n"
        "   Random listing order was used\n"
        "   List reduced from 3 to 2 due to restriction <0.6>\n"
        "   <Invalid regular expression '('>\n"
        "   List reduced from 2 to 1 due to restriction <'fib'>\n"
        "\n"
        "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
        "      5/2    0.500    0.100    2.000    1.000 /a/f\xC3\xA9.py:7(fib)\n"
        "\n"
        "\n");
    limits[3].count = 0;
    view.table = SD_PSTATS_CALLERS;
    check_text(&s, &view, ""); /* nothing is left: nothing is said */
    sd_call_stats_release(&s);
}

static void check_order(const struct sd_call_stats *s, const char *word,
                        const char *names)
{
    struct sd_pstats_order order;
    char found[8] = "";

    CHECK(sd_pstats_sort(s, &word, 1, &order, NULL) == 0);
    for (size_t i = 0; i < order.n; i++)
        found[i] = sd_call_stats_at(s, order.ids[i])->name.p[0];
    CHECK(strcmp(found, names) == 0);
    sd_pstats_order_reverse(&order);
    for (size_t i = 0; i < order.n; i++)
        CHECK(sd_call_stats_at(s, order.ids[i])->name.p[0] == names[order.n - 1 - i]);
    sd_pstats_order_release(&order);
}

TEST(pstats_orders_by_its_words)
{
    struct sd_call_stats s;

    sd_call_stats_init(&s);
    add(&s, "b", 10, "a", 1, 1, 0.5, 2);
    add(&s, "a", 9, "c", 3, 1, 0.5, 3);
    add(&s, "~", 0, "b", 2, 2, 0.25, 1);
    check_order(&s, "calls", "cba");
    check_order(&s, "pcalls", "bac"); /* equal ones stay as they came */
    check_order(&s, "time", "acb");
    check_order(&s, "cumulative", "cab");
    check_order(&s, "filename", "cab");
    check_order(&s, "line", "bca");
    check_order(&s, "name", "abc");
    check_order(&s, "stdname", "cba"); /* "a:9(c)", "b", "b:10(a)" */
    check_order(&s, "nfl", "abc");
    sd_call_stats_release(&s);
}

/* What pstats takes, it takes; where it knows no word, a person may still mean one. */
TEST(pstats_words_may_be_cut_as_pstats_cuts_them)
{
    static const char *const known[] = { "ca", "cu", "cumt", "nc",  "na", "nf", "p",
                                         "s",  "ti", "to",   "tot", "f",  "l",  "m" };
    static const char *const unknown[] = { "c", "cum", "n", "t", "", "timex", "x" };
    struct sd_pstats_order order;
    struct sd_call_stats s;
    size_t at = 9;

    sd_call_stats_init(&s);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(sd_pstats_sort(&s, &known[i], 1, &order, NULL) == 0);
        sd_pstats_order_release(&order);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK(sd_pstats_sort(&s, &unknown[i], 1, &order, &at) == SD_EUSAGE);
        CHECK(at == 0);
    }
    CHECK(strcmp(sd_pstats_word_like("cum"), "cumulative") == 0);
    CHECK(strcmp(sd_pstats_word_like("self"), "time") == 0);
    CHECK(!sd_pstats_word_like("n") && !sd_pstats_word_like(""));
    CHECK(strcmp(sd_pstats_word_of(-1), "stdname") == 0 && !sd_pstats_word_of(3));
}

TEST(pstats_text_survives_every_failed_allocation)
{
    static const char *const words[] = { "stdname" };
    struct sd_call_stats s;

    fill(&s);
    EACH_FAILURE(nth)
    {
        struct sd_pstats_order order = { 0 };
        struct sd_pstats_view view = { .table = SD_PSTATS_CALLEES, .order = &order };
        struct sd_out out;
        int rc = sd_pstats_sort(&s, words, 1, &order, NULL);

        sd_out_to_memory(&out);
        if (rc == 0)
            rc = sd_report_pstats(&s, &view, &out);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_out_release(&out);
        sd_pstats_order_release(&order);
    }
    sd_call_stats_release(&s);
}
