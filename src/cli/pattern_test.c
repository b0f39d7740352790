/* SPDX-License-Identifier: MIT */
#include "cli/pattern.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static int find(const char *pattern, const char *text)
{
    struct sd_pattern *p;
    int rc = sd_pattern_new(pattern, &p);

    CHECK(rc == 0);
    rc = sd_pattern_find(p, text, strlen(text));
    sd_pattern_free(p);
    return rc;
}

TEST(pattern_is_what_python_would_search_for)
{
    CHECK(find("fib", "a.py:1(fib)") == 1 && find("^fib", "a.py:1(fib)") == 0);
    CHECK(find("\\d+\\(<", "a.py:12(<module>)") == 1);
    CHECK(find("(?i)FIB\\b", "a.py:1(fib)") == 1);
    CHECK(find("a(?!b)", "ab") == 0 && find("(?P<x>a)b(?P=x)", "aba") == 1);
    CHECK(find("^\\w+$", "\xC3\xA4") == 1 && find("^.$", "\xC3\xA4") == 1);
    CHECK(find("x", "\xED\xB3\xBFx") == 1); /* behind bytes that are no UTF-8 */
    CHECK(find("", "") == 1);
}

TEST(pattern_that_is_none_is_told_in_a_sentence)
{
    struct sd_pattern *p;

    CHECK(sd_pattern_new("a(", &p) == SD_EUSAGE && !p);
    CHECK(strstr(sd_fail_text(), "\"a(\" is not a valid regular expression: "));
    CHECK(find("(a*)*b\\1\\1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac") <= 0);
}

TEST(pattern_survives_every_failed_allocation)
{
    EACH_FAILURE(nth)
    {
        struct sd_pattern *p;
        int rc = sd_pattern_new("(a|b)+c", &p);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            CHECK(sd_pattern_find(p, "xabc", 4) == 1 || nth > 0);
        sd_pattern_free(p);
    }
}
