/* SPDX-License-Identifier: MIT */
#include "analyse/findings/stats_findings.h"

#include <string.h>

#include "analyse/model/model_costs_testing.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static int add(struct sd_call_stats *s, const char *file, const char *name, double own)
{
    const struct sd_call_numbers n = {
        .calls = 1, .primitive = 1, .own = own, .total = own
    };
    sd_function_id id;
    int rc = sd_call_stats_function(s, file, strlen(file), 3, name, strlen(name), &id);

    return rc < 0 ? rc : sd_call_stats_count(s, id, &n);
}

/* Half in a library, a third in C, and the rest in two functions of the program. */
static void fill_calls(struct sd_call_stats *s)
{
    sd_call_stats_init(s);
    CHECK(add(s, "/usr/lib/python3.11/json/encoder.py", "encode", 6) == 0);
    CHECK(add(s, "~", "<built-in method len>", 4) == 0);
    CHECK(add(s, "/x/app.py", "cold", 0.5) == 0);
    CHECK(add(s, "/x/app.py", "hot", 1.5) == 0);
    CHECK(sd_call_stats_sum(s) == 0);
}

TEST(findings_of_calls_tell_the_hottest_function_and_libraries)
{
    struct sd_arena arena = { 0 };
    struct sd_profile_findings f;
    struct sd_call_stats s;

    fill_calls(&s);
    CHECK(sd_stats_findings_of_calls(&s, &arena, &f) == 0 && f.n == 2);
    CHECK(strcmp(f.items[0].rule, "hottest_function") == 0);
    CHECK(strcmp(f.items[0].text, "12.5 % of the time is in hot (app.py:3)") == 0);
    CHECK(strcmp(f.items[0].selection.search, "^hot$") == 0);
    CHECK(strcmp(f.items[1].rule, "libraries") == 0 && f.items[1].value.real == 50 &&
          strstr(f.items[1].text, "encode (json/"));
    sd_call_stats_release(&s);
    sd_arena_release(&arena);
}

TEST(findings_of_nothing_are_none)
{
    struct sd_arena arena = { 0 };
    struct sd_profile_findings f;
    struct sd_call_stats calls;
    struct sd_line_stats lines;

    sd_call_stats_init(&calls);
    sd_line_stats_init(&lines);
    CHECK(sd_call_stats_sum(&calls) == 0);
    CHECK(sd_stats_findings_of_calls(&calls, &arena, &f) == 0 && f.n == 0);
    CHECK(sd_stats_findings_of_lines(&lines, &arena, &f) == 0 && f.n == 0);
    sd_call_stats_release(&calls);
    sd_line_stats_release(&lines);
    sd_arena_release(&arena);
}

TEST(findings_of_lines_tell_the_hottest_line)
{
    struct sd_arena arena = { 0 };
    struct sd_profile_findings f;
    struct sd_line_stats s;
    size_t at;

    sd_line_stats_init(&s);
    CHECK(sd_line_stats_function(&s, "/x/app.py", 9, 1, "f", 1, &at) == 0);
    CHECK(sd_line_stats_add_line(&s, at, (struct sd_line_entry){ 2, 1, 30 }) == 0);
    CHECK(sd_line_stats_add_line(&s, at, (struct sd_line_entry){ 3, 9, 70 }) == 0);
    CHECK(sd_stats_findings_of_lines(&s, &arena, &f) == 0 && f.n == 1);
    CHECK(strcmp(f.items[0].text,
                 "70.0 % of the time of counted lines is in app.py:3") == 0);
    CHECK(strcmp(f.items[0].view, "source") == 0 && f.items[0].value.real == 70);
    sd_line_stats_release(&s);
    sd_arena_release(&arena);
}

TEST(findings_of_a_model_tell_its_heaviest_operator_and_layer)
{
    struct sd_arena arena = { 0 };
    struct sd_profile_findings f;
    struct sd_model_costs costs;
    struct sd_net n;

    sd_net_vgg16(&n);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    CHECK(sd_stats_findings_of_model(&costs, &arena, &f) == 0 && f.n == 2);
    CHECK(strcmp(f.items[0].rule, "heaviest_operator") == 0 &&
          strstr(f.items[0].text, "conv") && f.items[0].value.real > 99);
    CHECK(strcmp(f.items[1].rule, "largest_layer") == 0 &&
          strcmp(f.items[1].text, "74.3 % of the parameters are in classifier.0") == 0);
    sd_model_costs_release(&costs);
    sd_net_end(&n);
    sd_arena_release(&arena);
}

TEST(findings_of_calls_survive_every_failed_allocation)
{
    struct sd_call_stats s;

    fill_calls(&s);
    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { 0 };
        struct sd_profile_findings f;
        int rc = sd_stats_findings_of_calls(&s, &arena, &f);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    sd_call_stats_release(&s);
}
