/* SPDX-License-Identifier: MIT */
#include "collect/with.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

enum { FLAG, OTHER, NUMBER, DURATION, SIZE, TEXT, CHOICE, OPTIONAL, WORDS, N };

static const struct sd_option options[] = {
    [FLAG] = { .name = "flag", .kind = SD_FLAG, .fallback = "1" },
    [OTHER] = { .name = "other", .kind = SD_FLAG, .fallback = "0" },
    [NUMBER] = { .name = "number", .kind = SD_NUMBER, .fallback = "7" },
    [DURATION] = { .name = "every", .kind = SD_DURATION },
    [SIZE] = { .name = "size", .kind = SD_SIZE },
    [TEXT] = { .name = "text", .kind = SD_TEXT, .fallback = "all" },
    [CHOICE] = { .name = "way", .kind = SD_CHOICE, .argument = "auto|on|off" },
    [OPTIONAL] = { .name = "detail", .kind = SD_OPTIONAL },
    [WORDS] = { .name = "word", .kind = SD_WORDS },
    { .name = NULL },
};

static const struct sd_option none[] = { { .name = NULL } };

static const struct sd_collector_about full = { .name = "full", .options = options };
static const struct sd_collector_about bare = { .name = "bare", .options = none };

/* Fallbacks, then each "name", "value" as typed; ended by NULL. */
static void type(struct sd_option_value v[N], const char *const *words)
{
    sd_options_fall_back(options, v);
    for (; *words; words += 2)
        for (int i = 0; i < N; i++)
            if (strcmp(options[i].name, words[0]) == 0)
                CHECK(sd_option_read(&options[i], words[1], &v[i]) == 0);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_same(const struct sd_option_value *a, const struct sd_option_value *b)
{
    for (int i = 0; i < N; i++) {
        CHECK(a[i].number == b[i].number && a[i].is_given == b[i].is_given);
        CHECK(options[i].kind == SD_FLAG || same_text(a[i].text, b[i].text));
        for (int k = 0; options[i].kind == SD_WORDS && a[i].words[k]; k++)
            CHECK(same_text(a[i].words[k], b[i].words[k]));
    }
}

/* Written between two others and read back. */
static void check_round_trip(const char *const *words)
{
    struct sd_option_value v[N], *back;
    struct sd_arena keep = { 0 };
    struct sd_buf with = { 0 };

    type(v, words);
    sd_with_put(&with, &bare, NULL);
    sd_with_put(&with, &full, v);
    sd_with_put(&with, &bare, NULL);
    CHECK(sd_with_read(sd_buf_string(&with), &full, &keep, &back) == 1);
    check_same(v, back);
    CHECK(sd_with_read(sd_buf_string(&with), &bare, &keep, &back) == 1);
    sd_buf_release(&with);
    sd_arena_release(&keep);
}

TEST(with_brings_every_kind_of_option_through_the_environment)
{
    check_round_trip((const char *const[]){ NULL });
    check_round_trip((const char *const[]){
        "flag", "no", "other", "yes", "number", "500", "every", "100ms", "size",
        "64MiB", "way", "off", "detail", "", "word", "a", "word", "b,c", NULL });
}

TEST(with_brings_text_through_the_environment_as_it_was_typed)
{
    static const char *const texts[] = {
        "",      "f,c++/a;b.py", "100%",        "%2C%", "%3B",
        "\xff+", "a=b:c",        "full:flag=0", ",;",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_round_trip((const char *const[]){ "text", texts[i], "flag", "0", NULL });
}

TEST(with_is_short_and_readable)
{
    struct sd_option_value v[N];
    struct sd_buf with = { 0 };

    type(v, (const char *const[]){ "text", "time,peak", "flag", "0", NULL });
    sd_with_put(&with, &bare, NULL);
    sd_with_put(&with, &full, v);
    CHECK(strcmp(sd_buf_string(&with), "bare,full:flag=0;text=time+peak") == 0);
    sd_buf_release(&with);
}

TEST(with_finds_a_collector_by_its_whole_name)
{
    CHECK(sd_with_has("full", "full") && sd_with_has("bare,full:flag=1", "full"));
    CHECK(!sd_with_has(NULL, "full") && !sd_with_has("", "full"));
    CHECK(!sd_with_has("fuller,bare:full=1", "full") && !sd_with_has("ful", "full"));
}

TEST(with_leaves_fallbacks_where_nothing_was_given)
{
    struct sd_arena keep = { 0 };
    struct sd_option_value *v;

    CHECK(sd_with_read("bare", &full, &keep, &v) == 0 && !v);
    CHECK(sd_with_read("bare,full", &full, &keep, &v) == 1);
    CHECK(v[FLAG].number == 1 && v[NUMBER].number == 7 && !v[NUMBER].is_given);
    CHECK(same_text(v[TEXT].text, "all") && !v[OPTIONAL].text);
    sd_arena_release(&keep);
}

TEST(with_skips_options_of_other_versions_and_refuses_bad_values)
{
    struct sd_arena keep = { 0 };
    struct sd_option_value *v;

    CHECK(sd_with_read("full:newer=1;numbers=8;number=9;x", &full, &keep, &v) == 1);
    CHECK(v[NUMBER].number == 9);
    CHECK(sd_with_read("full:number=many,bare", &full, &keep, &v) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "many") != NULL);
    sd_arena_release(&keep);
}
