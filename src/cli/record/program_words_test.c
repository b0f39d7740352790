/* SPDX-License-Identifier: MIT */
#include "cli/record/program_words.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static const struct sd_option options[] = {
    { "with", SD_TEXT, NULL, "names", 0, "NAME" },
    { "output", SD_TEXT, NULL, "file", 'o', "FILE" },
    { "force", SD_FLAG, NULL, "over", 0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};
static const struct sd_option_table table = { options, NULL, false };

/* Where the program begins in `argv`, or a negative code. */
static int begins(char **argv, struct sd_option_value *values)
{
    char **words;
    int argc = 0, n_words, rc;

    while (argv[argc])
        argc++;
    rc = sd_program_words_parse(&table, 1, argc, argv, values, &words, &n_words);
    if (rc < 0)
        return rc;
    CHECK(words == argv + argc - n_words);
    return argc - n_words;
}

TEST(program_begins_at_the_first_word_that_is_no_argument)
{
    char *argv[] = { "run", "--with", "rss", "-o", "x", "a.py", "--force", NULL };
    struct sd_option_value values[3];

    CHECK(begins(argv, values) == 5);
    CHECK(strcmp(values[0].text, "rss") == 0 && strcmp(values[1].text, "x") == 0);
    CHECK(!values[2].number); /* that one is the program's */
}

TEST(program_begins_at_m_and_c_as_in_python)
{
    char *module[] = { "run", "--force", "-m", "pkg", "-o", "y", NULL };
    char *joined[] = { "run", "-mpkg", NULL };
    char *code[] = { "run", "-o", "-m", "-c", "pass", NULL };
    struct sd_option_value values[3];

    CHECK(begins(module, values) == 2 && values[2].number && !values[1].text);
    CHECK(begins(joined, values) == 1);
    CHECK(begins(code, values) == 3 && strcmp(values[1].text, "-m") == 0);
}

TEST(program_begins_at_two_dashes_and_at_one)
{
    char *command[] = { "run", "--", "sh", "-c", "x", NULL };
    char *input[] = { "run", "-", "a", NULL };
    struct sd_option_value values[3];

    CHECK(begins(command, values) == 1);
    CHECK(begins(input, values) == 1);
}

TEST(program_may_be_missing_and_options_may_be_wrong)
{
    char *none[] = { "run", "--with", "rss", NULL };
    char *wrong[] = { "run", "--wth", "rss", "a.py", NULL };
    char *short_of_argument[] = { "run", "-o", NULL };
    struct sd_option_value values[3];

    CHECK(begins(none, values) == 3);
    CHECK(begins(wrong, values) == SD_EUSAGE && strstr(sd_fail_text(), "--with"));
    CHECK(begins(short_of_argument, values) == SD_EUSAGE);
}
