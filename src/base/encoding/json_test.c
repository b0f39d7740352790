/* SPDX-License-Identifier: MIT */
#include "base/encoding/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

struct fixture {
    struct sd_out out;
    struct sd_json j;
};

static void begin(struct fixture *f, bool pretty)
{
    sd_out_to_memory(&f->out);
    sd_json_init(&f->j, &f->out, pretty);
}

static bool end_is(struct fixture *f, const char *expected)
{
    bool same = strcmp(sd_buf_string(&f->out.pending), expected) == 0;

    if (!same)
        print_error("wrote %s\n", sd_buf_string(&f->out.pending));
    sd_out_release(&f->out);
    return same;
}

static void write_sample(struct sd_json *j)
{
    sd_json_object(j);
    sd_json_key(j, "none");
    sd_json_null(j);
    sd_json_key_array(j, "list");
    sd_json_int(j, -1);
    sd_json_uint(j, UINT64_MAX);
    sd_json_real(j, 0.5);
    sd_json_bool(j, true);
    sd_json_object(j);
    sd_json_end(j);
    sd_json_array(j);
    sd_json_end(j);
    sd_json_end(j);
    sd_json_key_string(j, "text", "x");
    sd_json_end(j);
}

TEST(commas_and_brackets_are_put_where_they_belong)
{
    struct fixture f;

    begin(&f, false);
    write_sample(&f.j);
    CHECK(end_is(&f, "{\"none\":null,\"list\":[-1,18446744073709551615,0.5,true,{},[]],"
                     "\"text\":\"x\"}"));
}

TEST(pretty_indents_two_spaces_per_level)
{
    struct fixture f;

    begin(&f, true);
    write_sample(&f.j);
    CHECK(end_is(&f, "{\n  \"none\": null,\n  \"list\": [\n    -1,\n"
                     "    18446744073709551615,\n    0.5,\n    true,\n    {},\n    []\n"
                     "  ],\n  \"text\": \"x\"\n}"));
}

TEST(values_at_the_top_are_one_per_line)
{
    struct fixture f;

    begin(&f, false);
    sd_json_int(&f.j, 1);
    sd_json_array(&f.j);
    sd_json_end(&f.j);
    sd_json_string(&f.j, NULL);
    CHECK(end_is(&f, "1\n[]\nnull"));
}

TEST(numbers_json_does_not_have_are_null)
{
    struct fixture f;

    begin(&f, false);
    sd_json_array(&f.j);
    sd_json_real(&f.j, __builtin_nan(""));
    sd_json_real(&f.j, __builtin_inf());
    sd_json_real(&f.j, -0.0);
    sd_json_int(&f.j, INT64_MIN);
    sd_json_end(&f.j);
    CHECK(end_is(&f, "[null,null,-0,-9223372036854775808]"));
}

TEST(strings_are_escaped_for_json_for_script_and_for_terminals)
{
    static const char text[] =
        "\"\\/\b\f\n\r\t\x01\x1b\x7f</script>\xE2\x80\xAE\xC2\x9B"
        "\xC3\xA9\xF0\x9F\x90\x8D\xff";
    struct fixture f;

    begin(&f, false);
    sd_json_text(&f.j, text, sizeof text - 1);
    CHECK(end_is(&f, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001b\\u007f\\u003c/script>"
                     "\\u202e\\u009b\xC3\xA9\xF0\x9F\x90\x8D\xEF\xBF\xBD\""));
}

TEST(a_key_is_escaped_as_a_string_is)
{
    struct fixture f;

    begin(&f, false);
    sd_json_object(&f.j);
    sd_json_key(&f.j, "a\"\n");
    sd_json_text(&f.j, "\0", 1);
    sd_json_end(&f.j);
    CHECK(end_is(&f, "{\"a\\\"\\n\":\"\\u0000\"}"));
}

static int n_broken;

static void count_broken(const char *file, int line, const char *claim)
{
    (void)file;
    (void)line;
    (void)claim;
    n_broken++;
}

/* In a guest the assert returns; what follows must then stay inside its arrays. */
TEST(wrong_nesting_is_asserted_and_does_no_harm)
{
    struct fixture f;

    n_broken = 0;
    sd_assert_set_handler(count_broken);
    begin(&f, false);
    sd_json_end(&f.j);
    CHECK(n_broken == 1);
    sd_json_key(&f.j, "a key outside an object");
    CHECK(n_broken == 2);
    sd_out_release(&f.out);

    begin(&f, false);
    sd_json_object(&f.j);
    sd_json_int(&f.j, 1); /* without a key */
    CHECK(n_broken == 3);
    sd_out_release(&f.out);

    begin(&f, false);
    for (int i = 0; i < 2 * SD_JSON_DEPTH; i++)
        sd_json_array(&f.j);
    CHECK(n_broken > 3 && f.j.depth == SD_JSON_DEPTH - 1);
    sd_out_release(&f.out);
}

TEST(json_that_lost_something_for_lack_of_memory_says_so)
{
    EACH_FAILURE(nth)
    {
        struct fixture f;
        int rc;

        begin(&f, true);
        write_sample(&f.j);
        rc = sd_out_flush(&f.out);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_out_release(&f.out);
    }
}

/* ---- against another program's reader ----------------------------------------- */

/* Reads lines "hex of the bytes, a blank, our JSON" and compares with what Python
 * makes of the bytes when every bad one is a U+FFFD. */
static const char python_reader[] =
    "python3 -c '"
    "import json, re, sys\n"
    "n = 0\n"
    "for line in sys.stdin.buffer:\n"
    "    bytes_, _, text = line.rstrip(b\"\\n\").partition(b\" \")\n"
    "    bytes_ = bytes.fromhex(bytes_.decode())\n"
    "    want = bytes_.decode(\"utf-8\", \"surrogateescape\")\n"
    "    want = re.sub(\"[\\ud800-\\udfff]\", chr(0xfffd), want)\n"
    "    assert json.loads(text.decode(\"utf-8\")) == want, line\n"
    "    assert b\"<\" not in text, line\n"
    "    n += 1\n"
    "sys.exit(0 if n == 20000 else 3)'";

/* Random bytes, most of them such that parts of UTF-8 meet by chance. */
static size_t random_bytes(char *to, size_t max)
{
    static const char likely[] =
        "\xE2\x80\xAE\xED\xA0\x80\xF4\x8F\xBF\xBF\xC3\xA9\"\\<\n";
    size_t n = (size_t)rand() % max;

    for (size_t i = 0; i < n; i++)
        to[i] =
            rand() % 3 ? likely[(size_t)rand() % (sizeof likely - 1)] : (char)rand();
    return n;
}

TEST(python_reads_back_every_string_of_bytes)
{
    FILE *python;
    char bytes[24];

    if (system("python3 -c '' 2>/dev/null") != 0)
        skip(); /* without python3 nobody is there to read */
    python = popen(python_reader, "w");
    CHECK(python);
    srand(20);
    for (int i = 0; i < 20000; i++) {
        size_t n = random_bytes(bytes, sizeof bytes);
        struct fixture f;

        begin(&f, false);
        sd_json_text(&f.j, bytes, n);
        for (size_t at = 0; at < n; at++)
            fprintf(python, "%02x", (unsigned char)bytes[at]);
        fprintf(python, " %s\n", sd_buf_string(&f.out.pending));
        sd_out_release(&f.out);
    }
    CHECK(pclose(python) == 0);
}
