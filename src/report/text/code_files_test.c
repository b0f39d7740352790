/* SPDX-License-Identifier: MIT */
#include "report/text/code_files.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

struct reading {
    int n;  /* files that were read */
    int rc; /* of the next */
};

static int read_name(void *context, const char *file, struct sd_code_text *into)
{
    struct reading *r = context;

    r->n++;
    return r->rc <= 0                                             ? r->rc
           : sd_code_text_take_utf8(into, file, strlen(file)) < 0 ? SD_ENOMEM
                                                                  : 1;
}

static bool is(struct sd_code_files *s, const char *file)
{
    const struct sd_code_text *text;
    struct sd_code_text_line line;

    if (sd_code_files_find(s, file, &text) != 1)
        return false;
    line = sd_code_text_line(text, 1);
    return line.n == strlen(file) && memcmp(line.p, file, line.n) == 0;
}

TEST(a_file_is_read_once_for_all_its_functions)
{
    struct reading r = { .rc = 1 };
    struct sd_code_files s = { .read = read_name, .context = &r };

    for (int i = 0; i < 100; i++)
        CHECK(is(&s, "a") && is(&s, "b"));
    CHECK(r.n == 2);
    sd_code_files_release(&s);
}

TEST(the_file_that_was_asked_for_longest_ago_gives_way)
{
    struct reading r = { .rc = 1 };
    struct sd_code_files s = { .read = read_name, .context = &r };
    char name[16];

    for (int i = 0; i < SD_CODE_FILES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(is(&s, name));
    }
    CHECK(is(&s, "0") && is(&s, "new") && is(&s, "0") && r.n == SD_CODE_FILES + 1);
    CHECK(is(&s, "1") && r.n == SD_CODE_FILES + 2);
    sd_code_files_release(&s);
}

TEST(a_source_that_is_not_there_is_not_looked_for_again_and_a_failure_is)
{
    const struct sd_code_text *text;
    struct reading r = { .rc = 0 };
    struct sd_code_files s = { .read = read_name, .context = &r };

    CHECK(sd_code_files_find(&s, "a", &text) == 0 && text->n == 0);
    CHECK(sd_code_files_find(&s, "a", &text) == 0 && r.n == 1);
    r.rc = SD_EIO;
    CHECK(sd_code_files_find(&s, "b", &text) == SD_EIO);
    r.rc = 1;
    CHECK(is(&s, "b") && r.n == 3);
    sd_code_files_release(&s);
}
