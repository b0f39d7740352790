/* SPDX-License-Identifier: MIT */
#include "base/encoding/json_in.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

/* Each token as one letter: what a text is made of, at a glance. */
static void check_tokens(const char *text, const char *letters)
{
    static const char of[] = "!.{[<ksirtfn";
    struct sd_json_in j;
    char seen[64];
    size_t n = 0;

    sd_json_in_init(&j, text, strlen(text));
    do {
        CHECK(n < sizeof seen - 1);
        seen[n++] = of[sd_json_in_next(&j)];
    } while (j.kind != SD_JSON_BAD && j.kind != SD_JSON_STOP);
    seen[n] = 0;
    CHECK(strcmp(seen, letters) == 0);
    CHECK(sd_json_in_next(&j) == j.kind);
    sd_json_in_release(&j);
}

TEST(json_is_read_token_by_token)
{
    check_tokens("{}", "{<.");
    check_tokens(" [1, -2.5e3, \"x\", true,false,null] ", "[irstfn<.");
    check_tokens("{\"a\": {\"b\": [[]]}, \"c\": 1}", "{k{k[[<<<ki<.");
    check_tokens("7", "i.");
    check_tokens("-0", "i.");
    check_tokens("9223372036854775807", "i.");
    check_tokens("9223372036854775808", "r.");
}

TEST(json_that_is_none_goes_bad_and_stays_so)
{
    check_tokens("", "!");
    check_tokens("{", "{!");
    check_tokens("[1,]", "[i!");
    check_tokens("[1 2]", "[i!");
    check_tokens("{\"a\"}", "{!");
    check_tokens("{\"a\":}", "{k!");
    check_tokens("{\"a\":1,}", "{ki!");
    check_tokens("{1:2}", "{!");
    check_tokens("[01]", "[!");
    check_tokens("[1.]", "[!");
    check_tokens("[1e]", "[!");
    check_tokens("[-]", "[!");
    check_tokens("[tru]", "[!");
    check_tokens("[\"a", "[!");
    check_tokens("[\"\n\"]", "[!");
    check_tokens("[\"\\x\"]", "[!");
    check_tokens("[\"\\u12\"]", "[!");
    check_tokens("[}", "[!");
    check_tokens("1 1", "i!");
}

static void check_text(const char *json, const char *text)
{
    struct sd_json_in j;

    sd_json_in_init(&j, json, strlen(json));
    CHECK(sd_json_in_next(&j) == SD_JSON_TEXT);
    CHECK(sd_json_in_is(&j, text));
    CHECK(sd_json_in_next(&j) == SD_JSON_STOP);
    sd_json_in_release(&j);
}

TEST(json_texts_are_unescaped)
{
    check_text("\"plain\"", "plain");
    check_text("\"\"", "");
    check_text("\"a\\n\\\"b\\/c\"", "a\n\"b/c");
    check_text("\"\\u00e9\\u20ac\"", "\xc3\xa9\xe2\x82\xac");
    check_text("\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!");
    check_text("\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                                     "A");
    check_text("\"\\ude00\"", "\xef\xbf\xbd");
}

static double real_of(const char *json)
{
    struct sd_json_in j;
    double real;

    sd_json_in_init(&j, json, strlen(json));
    CHECK(sd_json_in_next(&j) == SD_JSON_REAL);
    real = j.real;
    sd_json_in_release(&j);
    return real;
}

TEST(json_numbers_with_a_point_are_read)
{
    CHECK(real_of("0.5") == 0.5);
    CHECK(real_of("-2.5e3") == -2500);
    CHECK(real_of("1e-05") == 1e-05);
    CHECK(real_of("100000000000000000000000") == 1e23);
    CHECK(real_of("1e-99999999999") == 0);
    CHECK(real_of("1e99999999999") > 1e308);
}

TEST(json_values_can_be_skipped)
{
    const char *text = "{\"a\": {\"x\": [1, {\"y\": 2}]}, \"b\": 3}";
    struct sd_json_in j;

    sd_json_in_init(&j, text, strlen(text));
    sd_json_in_next(&j);
    CHECK(sd_json_in_next(&j) == SD_JSON_KEY && sd_json_in_is(&j, "a"));
    sd_json_in_next(&j);
    sd_json_in_skip(&j);
    CHECK(sd_json_in_next(&j) == SD_JSON_KEY && sd_json_in_is(&j, "b"));
    CHECK(sd_json_in_next(&j) == SD_JSON_WHOLE && j.whole == 3);
    sd_json_in_skip(&j);
    CHECK(sd_json_in_next(&j) == SD_JSON_CLOSE);
    sd_json_in_release(&j);
}

TEST(json_deeper_than_any_reader_needs_is_refused)
{
    char deep[2 * SD_JSON_DEPTH];
    struct sd_json_in j;

    memset(deep, '[', sizeof deep);
    sd_json_in_init(&j, deep, sizeof deep);
    while (sd_json_in_next(&j) != SD_JSON_BAD)
        CHECK(j.depth <= SD_JSON_DEPTH);
    CHECK(sd_json_in_wrong(&j, "it") == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "it is not valid JSON at byte 64"));
    sd_json_in_release(&j);
}

TEST(json_without_memory_says_so)
{
    EACH_FAILURE(nth)
    {
        struct sd_json_in j;

        sd_json_in_init(&j, "\"\\n\"", 4);
        if (sd_json_in_next(&j) == SD_JSON_BAD)
            CHECK(sd_json_in_wrong(&j, "it") == SD_ENOMEM);
        else
            CHECK(sd_json_in_is(&j, "\n"));
        sd_json_in_release(&j);
    }
}
