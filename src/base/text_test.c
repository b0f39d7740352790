/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static bool escapes_to(const char *s, size_t n, const char *expected)
{
    struct sd_buf b = { 0 };
    bool same;

    sd_text_escape(&b, s, n);
    same = strcmp(sd_buf_string(&b), expected) == 0;
    sd_buf_release(&b);
    return same;
}

#define ESCAPES(text, expected) CHECK(escapes_to(text, sizeof(text) - 1, expected))

TEST(an_end_is_at_the_end_and_not_longer_than_the_text)
{
    CHECK(sd_text_ends("x.onnx", ".onnx") && sd_text_ends("x", "x"));
    CHECK(sd_text_ends("x", "") && !sd_text_ends("", "x"));
    CHECK(!sd_text_ends("x.onnx.part", ".onnx") && !sd_text_ends("nnx", ".onnx"));
}

TEST(readable_text_passes_unchanged)
{
    ESCAPES("", "");
    ESCAPES("train.py:31 a\\b", "train.py:31 a\\b");
    ESCAPES("h\xC3\xA9llo \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x90\x8D",
            "h\xC3\xA9llo \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x90\x8D");
}

TEST(control_bytes_are_shown_and_not_sent)
{
    ESCAPES("\x1b[31mred", "\\x1b[31mred");
    ESCAPES("a\0b\nc\td\re\x07\x7f", "a\\x00b\\nc\\td\\re\\x07\\x7f");
    ESCAPES("\xC2\x9B\xC2\x85", "\\u009b\\u0085"); /* C1: CSI and NEL */
}

TEST(what_turns_the_direction_of_text_is_shown_and_not_sent)
{
    ESCAPES("a\xE2\x80\xAEz", "a\\u202ez");
    ESCAPES("\xE2\x81\xA6\xE2\x81\xA9", "\\u2066\\u2069");
    ESCAPES("\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C", "\\u200e\\u200f\\u061c");
    ESCAPES("\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029");
    ESCAPES("\xE2\x80\x8B", "\xE2\x80\x8B"); /* a neighbour that does no harm */
}

TEST(bad_utf8_is_shown_byte_by_byte)
{
    ESCAPES("\xff\xfe", "\\xff\\xfe");
    ESCAPES("a\xE4\xB8", "a\\xe4\\xb8");                 /* cut off */
    ESCAPES("\xC0\xAF", "\\xc0\\xaf");                   /* '/' in too many bytes */
    ESCAPES("\xE0\x80\xAF", "\\xe0\\x80\\xaf");          /* the same in three */
    ESCAPES("\xED\xA0\x80", "\\xed\\xa0\\x80");          /* a surrogate */
    ESCAPES("\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last code */
    ESCAPES("\x80z", "\\x80z");
}

/* Every code there is, encoded here by the book, comes back as itself. */
TEST(every_character_is_decoded)
{
    for (uint32_t code = 0; code <= 0x110000; code++) {
        char s[4];
        uint32_t got = 0;
        size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const int marks[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
        bool is_real = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);

        for (size_t i = n - 1; i > 0; i--)
            s[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3F));
        s[0] = (char)(marks[n] | (int)(code >> 6 * (n - 1)));
        CHECK(sd_text_decode(s, n, &got) == (is_real ? n : 0));
        CHECK(!is_real || got == code);
        CHECK(n == 1 || sd_text_decode(s, n - 1, &got) == 0);
    }
}

#define WIDTH(text) sd_text_width(text, sizeof(text) - 1)

TEST(width_counts_columns_not_bytes)
{
    CHECK(WIDTH("") == 0);
    CHECK(WIDTH("abc") == 3);
    CHECK(WIDTH("h\xC3\xA9") == 2);
    CHECK(WIDTH("\xE4\xB8\xAD\xE6\x96\x87") == 4); /* two ideographs */
    CHECK(WIDTH("\xF0\x9F\x90\x8D") == 2);         /* an emoji */
    CHECK(WIDTH("\xEF\xBC\xA1") == 2);             /* a fullwidth A */
    CHECK(WIDTH("\xEF\xBD\xB1") == 1);             /* a halfwidth katakana */
    CHECK(WIDTH("e\xCC\x81") == 1);                /* a combining accent */
    CHECK(WIDTH("a\xE2\x80\x8Bz") == 2);           /* a zero-width space */
    CHECK(WIDTH("\xED\x95\x9C") == 2);             /* a Hangul syllable */
    CHECK(WIDTH("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB") == 2); /* the same in parts */
    CHECK(WIDTH("\xC2\xAD") == 1);                             /* a soft hyphen */
    CHECK(WIDTH("\xE2\x94\x80\xE2\x96\x88") ==
          2); /* what tables and bars are drawn of */
    CHECK(WIDTH("\xff\xfe") == 2);
}

#define FIT(text, columns) sd_text_fit(text, sizeof(text) - 1, columns)

TEST(what_fits_is_cut_between_characters)
{
    CHECK(FIT("abc", 0) == 0);
    CHECK(FIT("abc", 2) == 2);
    CHECK(FIT("abc", 9) == 3);
    CHECK(FIT("\xE4\xB8\xAD\xE6\x96\x87", 3) == 3); /* half an ideograph is none */
    CHECK(FIT("\xE4\xB8\xAD\xE6\x96\x87", 4) == 6);
    CHECK(FIT("e\xCC\x81z", 1) == 3); /* the accent belongs to the e */
    CHECK(FIT("\xC3\xA9z", 1) == 2);
}

#define FIT_END(text, columns) sd_text_fit_end(text, sizeof(text) - 1, columns)

TEST(the_end_that_fits_is_cut_between_characters)
{
    CHECK(FIT_END("abc", 0) == 0);
    CHECK(FIT_END("abc", 2) == 2);
    CHECK(FIT_END("abc", 9) == 3);
    CHECK(FIT_END("\xE4\xB8\xAD\xE6\x96\x87", 3) == 3);
    CHECK(FIT_END("a\xC3\xA9", 1) == 2);
    CHECK(FIT_END("a\xff", 1) == 1);
}

TEST(the_end_of_a_very_long_text_is_found_in_one_walk)
{
    enum { LONG = 4 << 20 };
    char *text = malloc(LONG);

    CHECK(text);
    memset(text, 'a', LONG);
    CHECK(sd_text_fit_end(text, LONG, 80) == 80);
    free(text);
}

static size_t random_bytes(char *to, size_t max)
{
    static const char likely[] = "\xE2\x80\xAE\xED\xA0\xF4\x8F\xBF\xC3\xA9\xCC\x81 a";
    size_t n = (size_t)rand() % max;

    for (size_t i = 0; i < n; i++)
        to[i] =
            rand() % 3 ? likely[(size_t)rand() % (sizeof likely - 1)] : (char)rand();
    return n;
}

TEST(any_bytes_escape_to_characters_that_are_no_control)
{
    struct sd_buf b = { 0 };
    char bytes[40];

    srand(3);
    for (int i = 0; i < 20000; i++) {
        uint32_t code = 0;

        sd_buf_clear(&b);
        sd_text_escape(&b, bytes, random_bytes(bytes, sizeof bytes));
        for (size_t at = 0, len; at < b.n; at += len) {
            len = sd_text_decode((char *)b.p + at, b.n - at, &code);
            CHECK(len > 0 && !sd_text_is_control(code));
        }
    }
    sd_buf_release(&b);
}

TEST(of_any_bytes_the_longest_part_that_fits_is_taken)
{
    char bytes[40];

    srand(4);
    for (int i = 0; i < 20000; i++) {
        size_t n = random_bytes(bytes, sizeof bytes), columns = (size_t)rand() % 30;
        size_t fits = sd_text_fit(bytes, n, columns);
        uint32_t code;
        size_t next = fits < n ? sd_text_decode(bytes + fits, n - fits, &code) : 0;

        CHECK(fits <= n && sd_text_width(bytes, fits) <= columns);
        CHECK(fits == n || sd_text_width(bytes, fits + (next ? next : 1)) > columns);
    }
}

#define SAYS(call, expected) CHECK(strcmp(call, expected) == 0)

TEST(bytes_are_said_in_the_unit_that_fits)
{
    char out[SD_TEXT_MAX];

    SAYS(sd_text_bytes(out, 0), "0 B");
    SAYS(sd_text_bytes(out, 1023), "1023 B");
    SAYS(sd_text_bytes(out, 1024), "1.0 KiB");
    SAYS(sd_text_bytes(out, 1536), "1.5 KiB");
    SAYS(sd_text_bytes(out, 412 << 20), "412.0 MiB");
    SAYS(sd_text_bytes(out, (1 << 20) - 1), "1.0 MiB"); /* not 1024.0 KiB */
    SAYS(sd_text_bytes(out, (1 << 20) - 100), "1023.9 KiB");
    SAYS(sd_text_bytes(out, -1536), "-1.5 KiB");
    SAYS(sd_text_bytes(out, INT64_MAX), "8.0 EiB");
    SAYS(sd_text_bytes(out, INT64_MIN), "-8.0 EiB");
}

TEST(durations_are_said_in_the_unit_that_fits)
{
    char out[SD_TEXT_MAX];

    SAYS(sd_text_duration(out, 0), "0 ns");
    SAYS(sd_text_duration(out, 999), "999 ns");
    SAYS(sd_text_duration(out, 1000), "1.0 us");
    SAYS(sd_text_duration(out, 3140000), "3.1 ms");
    SAYS(sd_text_duration(out, 999960000), "1.0 s"); /* not 1000.0 ms */
    SAYS(sd_text_duration(out, 12400000000), "12.4 s");
    SAYS(sd_text_duration(out, 59940000000), "59.9 s");
    SAYS(sd_text_duration(out, 59960000000), "1m00s"); /* not 60.0 s */
    SAYS(sd_text_duration(out, 125000000000), "2m05s");
    SAYS(sd_text_duration(out, 3720000000000), "1h02m");
    SAYS(sd_text_duration(out, 273600000000000), "3d04h");
    SAYS(sd_text_duration(out, -3140000), "-3.1 ms");
    SAYS(sd_text_duration(out, INT64_MIN), "-106751d23h");
}

TEST(counts_are_grouped_by_thousands)
{
    char out[SD_TEXT_MAX];

    SAYS(sd_text_count(out, 0), "0");
    SAYS(sd_text_count(out, 999), "999");
    SAYS(sd_text_count(out, 1239), "1,239");
    SAYS(sd_text_count(out, 1000000), "1,000,000");
    SAYS(sd_text_count(out, -12345), "-12,345");
    SAYS(sd_text_count(out, INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(a_real_number_is_said_in_the_fewest_digits_that_read_back)
{
    char out[SD_TEXT_MAX];

    SAYS(sd_text_real(out, 0.1), "0.1");
    SAYS(sd_text_real(out, 3), "3");
    SAYS(sd_text_real(out, -2.5e-300), "-2.5e-300");
    SAYS(sd_text_real(out, 1.0 / 3), "0.3333333333333333");
    SAYS(sd_text_real(out, -1.7976931348623157e308), "-1.7976931348623157e+308");
    SAYS(sd_text_real(out, 0.1 + 0.2), "0.30000000000000004");
    SAYS(sd_text_real(out, __builtin_nan("")), "nan");
    SAYS(sd_text_real(out, -__builtin_inf()), "-inf");
}

TEST(the_programs_locale_stays_out_of_numbers_and_as_it_was)
{
    char out[SD_TEXT_MAX];
    locale_t own = newlocale(LC_NUMERIC_MASK, "de_DE.UTF-8", (locale_t)0);

    if (!own) /* not every machine has a locale with a comma */
        own = newlocale(LC_NUMERIC_MASK, "C.UTF-8", (locale_t)0);
    CHECK(own);
    uselocale(own);
    SAYS(sd_text_real(out, 1.5), "1.5");
    CHECK(uselocale(LC_GLOBAL_LOCALE) == own);
    freelocale(own);
}

static bool duration_is(const char *s, uint64_t expected)
{
    uint64_t ns = 77;

    return sd_text_parse_duration(s, &ns) && ns == expected;
}

TEST(durations_are_read_with_their_unit)
{
    CHECK(duration_is("100ms", 100000000));
    CHECK(duration_is("1.5s", 1500000000));
    CHECK(duration_is("2m", 120000000000));
    CHECK(duration_is("2 min", 120000000000));
    CHECK(duration_is("10", 10000000000)); /* seconds */
    CHECK(duration_is("0.01", 10000000));
    CHECK(duration_is(".4", 400000000));
    CHECK(duration_is("250us", 250000));
    CHECK(duration_is("250\xC2\xB5s", 250000));
    CHECK(duration_is("7ns", 7));
    CHECK(duration_is("1h", 3600000000000));
    CHECK(duration_is("1d", 86400000000000));
    CHECK(duration_is("0", 0));
    CHECK(duration_is("0.1234567899s", 123456789));
    CHECK(duration_is("0.1ms", 100000)); /* exactly: no binary fraction comes between */
}

TEST(what_is_no_duration_is_refused)
{
    static const char *const bad[] = { "",
                                       "fast",
                                       "ms",
                                       "-1s",
                                       "+1s",
                                       "1.s",
                                       ".s",
                                       "1..5",
                                       "1e3",
                                       "0x10",
                                       "1 s ",
                                       "inf",
                                       "1,5s",
                                       " 1s",
                                       "10x",
                                       "nan",
                                       "1  s",
                                       "1s2",
                                       "99999999999999999999",
                                       "300000d" };
    uint64_t ns = 77;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!sd_text_parse_duration(bad[i], &ns));
    CHECK(ns == 77);
}

static bool size_is(const char *s, uint64_t expected)
{
    uint64_t bytes = 77;

    return sd_text_parse_size(s, &bytes) && bytes == expected;
}

TEST(sizes_are_read_with_their_unit)
{
    uint64_t n;

    CHECK(size_is("100", 100));
    CHECK(size_is("64KiB", 65536));
    CHECK(size_is("64k", 65536));
    CHECK(size_is("1kB", 1000));
    CHECK(size_is("1.5GB", 1500000000));
    CHECK(size_is("0.5 MiB", 524288));
    CHECK(size_is("2T", 2ull << 40));
    CHECK(size_is("18446744073709551615", UINT64_MAX));
    CHECK(!sd_text_parse_size("18446744073709551616", &n));
    CHECK(!sd_text_parse_size("20000000T", &n));
    CHECK(!sd_text_parse_size("1s", &n));
    CHECK(!sd_text_parse_size("", &n));
}

TEST(numbers_are_whole_and_fit)
{
    uint64_t n = 0;

    CHECK(sd_text_parse_number("10", &n) && n == 10);
    CHECK(sd_text_parse_number("18446744073709551615", &n) && n == UINT64_MAX);
    CHECK(!sd_text_parse_number("18446744073709551616", &n));
    CHECK(!sd_text_parse_number("1.0", &n) && !sd_text_parse_number("1 ", &n));
    CHECK(!sd_text_parse_number("-1", &n) && !sd_text_parse_number("", &n));
}

TEST(escaping_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_buf b = { 0 };

        for (int i = 0; i < 50; i++)
            sd_text_escape(&b, "a\x1b\xff\xE2\x80\xAE", 6);
        CHECK(b.bad || b.n == 50 * 15);
        sd_buf_release(&b);
    }
}

TEST(text_cut_between_characters)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC";

    CHECK(sd_text_whole(text, 0) == 0 && sd_text_whole(text, 1) == 1);
    CHECK(sd_text_whole(text, 2) == 1 && sd_text_whole(text, 3) == 3);
    CHECK(sd_text_whole(text, 5) == 3 && sd_text_whole(text, 6) == 6);
}

TEST(text_scaled_numbers_have_two_digits_and_a_letter)
{
    char out[SD_TEXT_MAX];

    CHECK(strcmp(sd_text_scaled(out, 0), "0") == 0);
    CHECK(strcmp(sd_text_scaled(out, 999), "999") == 0);
    CHECK(strcmp(sd_text_scaled(out, 0.25), "0.25") == 0);
    CHECK(strcmp(sd_text_scaled(out, 9408), "9.41K") == 0);
    CHECK(strcmp(sd_text_scaled(out, 999994), "999.99K") == 0);
    CHECK(strcmp(sd_text_scaled(out, 999996), "1.00M") == 0);
    CHECK(strcmp(sd_text_scaled(out, 11689512), "11.69M") == 0);
    CHECK(strcmp(sd_text_scaled(out, -1814073344.0), "-1.81G") == 0);
    CHECK(strcmp(sd_text_scaled(out, 9.2e18), "9.20E") == 0);
}
