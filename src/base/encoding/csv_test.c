/* SPDX-License-Identifier: MIT */
#include "base/encoding/csv.h"

#include <string.h>

#include "base/test.h"

static bool gives(const char *text, const char *wanted)
{
    struct sd_out out;
    bool is_same;

    sd_out_to_memory(&out);
    sd_csv_text(&out, text, strlen(text));
    is_same = strcmp(sd_buf_string(&out.pending), wanted) == 0;
    sd_out_release(&out);
    return is_same;
}

TEST(csv_quotes_only_what_needs_it)
{
    CHECK(gives("plain name", "plain name"));
    CHECK(gives("a,b", "\"a,b\""));
    CHECK(gives("say \"hi\"", "\"say \"\"hi\"\"\""));
    CHECK(gives("", ""));
}

TEST(csv_never_starts_a_formula)
{
    CHECK(gives("=1+1", "'=1+1"));
    CHECK(gives("+x", "'+x"));
    CHECK(gives("-x", "'-x"));
    CHECK(gives("@SUM(A1,A2)", "\"'@SUM(A1,A2)\""));
}

TEST(csv_escapes_what_a_terminal_would_obey)
{
    CHECK(gives("a\033[2Jb", "a\\x1b[2Jb"));
    CHECK(gives("a\nb", "a\\x0ab") || gives("a\nb", "a\\nb"));
    CHECK(gives("\xff", "\\xff"));
}
