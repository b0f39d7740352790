/* SPDX-License-Identifier: MIT */
#include "base/option.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

static const struct sd_option own[] = {
    { "output", SD_TEXT, NULL, "where to write", 'o', "FILE" },
    { "force", SD_FLAG, NULL, "replace it", 0, NULL },
    { "verbose", SD_FLAG, NULL, "say more", 'v', NULL },
    { "number", SD_NUMBER, "20", "rows", 'n', "N" },
    { "color", SD_CHOICE, "auto", "colours", 0, "auto|on|off" },
    { "callers", SD_OPTIONAL, NULL, "who called", 'c', "RE" },
    { "no-wait", SD_FLAG, NULL, "a name that begins like a negation", 0, NULL },
    { "sort", SD_WORDS, NULL, "by what", 's', "WORD" },
    { 0 },
};

static const struct sd_option of_rss[] = {
    { "every", SD_DURATION, "10ms", "interval", 'e', "TIME" },
    { "limit", SD_SIZE, NULL, "largest", 0, "SIZE" },
    { "pss", SD_FLAG, "yes", "shares", 0, NULL },
    { 0 },
};

static const struct sd_option_table tables[] = {
    { own, NULL, false },
    { of_rss, "rss", true },
    { of_rss, "strict", false },
};

enum value_at {
    OUTPUT,
    FORCE,
    VERBOSE,
    NUMBER,
    COLOR,
    CALLERS,
    NO_WAIT,
    SORT,
    EVERY,
    LIMIT,
    PSS,
    STRICT_EVERY,
    STRICT_LIMIT,
    STRICT_PSS,
    N_VALUES
};

/* What a parse of `line`, split at blanks, left behind. */
static struct {
    struct sd_option_value values[N_VALUES];
    char line[200], joined[200];
    char *argv[20];
    int n_words;
} got;

static int parse(const char *line, enum sd_parse_flags flags)
{
    int argc = 0, rc;

    strcpy(got.line, line);
    got.argv[argc++] = "sonde";
    for (char *w = strtok(got.line, " "); w; w = strtok(NULL, " "))
        got.argv[argc++] = strcmp(w, "''") == 0 ? "" : w;
    got.argv[argc] = NULL;
    rc = sd_options_parse(tables, 3, flags, argc, got.argv, got.values, &got.n_words);
    got.joined[0] = 0;
    for (int i = 1; rc == 0 && i <= got.n_words; i++) {
        strcat(got.joined, i > 1 ? " " : "");
        strcat(got.joined, got.argv[i]);
    }
    return rc;
}

static bool text_is(enum value_at at, const char *text)
{
    return got.values[at].text && strcmp(got.values[at].text, text) == 0;
}

static bool refuses(const char *line, const char *sentence)
{
    if (parse(line, SD_PARSE_MIXED) == SD_EUSAGE &&
        strcmp(sd_fail_text(), sentence) == 0)
        return true;
    print_error("said: %s\n", sd_fail_text());
    return false;
}

TEST(without_options_the_fallbacks_stand)
{
    CHECK(parse("", SD_PARSE_MIXED) == 0 && got.n_words == 0);
    CHECK(!got.values[OUTPUT].text && !got.values[OUTPUT].is_given);
    CHECK(got.values[NUMBER].number == 20 && !got.values[NUMBER].is_given);
    CHECK(text_is(COLOR, "auto") && got.values[COLOR].number == 0);
    CHECK(got.values[EVERY].number == 10000000 && text_is(EVERY, "10ms"));
    CHECK(got.values[PSS].number == 1 && !got.values[PSS].is_given);
    CHECK(got.values[STRICT_EVERY].number == 10000000);
}

TEST(what_is_said_again_adds_up_and_knows_its_place)
{
    const struct sd_option_value *sort = &got.values[SORT];

    CHECK(parse("", SD_PARSE_MIXED) == 0 && !sort->is_given && !sort->words[0]);
    CHECK(parse("-s a -n 3 --sort=b x -sc", SD_PARSE_MIXED) == 0);
    CHECK(strcmp(sort->words[0], "a") == 0 && strcmp(sort->words[1], "b") == 0);
    CHECK(strcmp(sort->words[2], "c") == 0 && !sort->words[3] && text_is(SORT, "c"));
    CHECK(got.values[NUMBER].place > 0 && sort->place > got.values[NUMBER].place);
    CHECK(refuses("-s1 -s2 -s3 -s4 -s5 -s6 -s7 -s8 -s9",
                  "-s can be given at most 8 times"));
}

TEST(an_argument_follows_or_is_attached)
{
    CHECK(parse("--output=a -n5", SD_PARSE_MIXED) == 0);
    CHECK(text_is(OUTPUT, "a") && got.values[OUTPUT].is_given);
    CHECK(got.values[NUMBER].number == 5);
    CHECK(parse("--output b -n 6", SD_PARSE_MIXED) == 0);
    CHECK(text_is(OUTPUT, "b") && got.values[NUMBER].number == 6);
    CHECK(parse("-oc --number=7", SD_PARSE_MIXED) == 0);
    CHECK(text_is(OUTPUT, "c") && got.values[NUMBER].number == 7);
    CHECK(parse("--output= --number 8", SD_PARSE_MIXED) == 0);
    CHECK(text_is(OUTPUT, "") && got.values[NUMBER].number == 8);
    CHECK(parse("-o '' -o -", SD_PARSE_MIXED) == 0);
    CHECK(text_is(OUTPUT, "-") && got.n_words == 0);
    CHECK(parse("--output=a=b", SD_PARSE_MIXED) == 0 && text_is(OUTPUT, "a=b"));
}

TEST(letters_of_flags_share_a_dash_and_the_last_may_take_an_argument)
{
    CHECK(parse("-vn5", SD_PARSE_MIXED) == 0);
    CHECK(got.values[VERBOSE].number == 1 && got.values[NUMBER].number == 5);
    CHECK(parse("-vvo x", SD_PARSE_MIXED) == 0);
    CHECK(got.values[VERBOSE].number == 1 && text_is(OUTPUT, "x"));
}

TEST(a_flag_is_denied_with_no)
{
    CHECK(parse("--force --no-force --no-pss", SD_PARSE_MIXED) == 0);
    CHECK(got.values[FORCE].number == 0 && got.values[FORCE].is_given);
    CHECK(got.values[PSS].number == 0 && got.values[PSS].is_given);
    CHECK(parse("--no-force --force", SD_PARSE_MIXED) == 0);
    CHECK(got.values[FORCE].number == 1);
    CHECK(parse("--no-rss-pss", SD_PARSE_MIXED) == 0 && got.values[PSS].number == 0);
    CHECK(got.values[STRICT_PSS].number == 1);
    CHECK(parse("--no-wait", SD_PARSE_MIXED) == 0 && got.values[NO_WAIT].number == 1);
    CHECK(parse("--no-no-wait", SD_PARSE_MIXED) == 0);
    CHECK(got.values[NO_WAIT].number == 0 && got.values[NO_WAIT].is_given);
    CHECK(refuses("--no-output", "no option --no-output; did you mean --output?"));
}

TEST(an_optional_argument_is_only_taken_when_attached)
{
    CHECK(parse("--callers word", SD_PARSE_MIXED) == 0);
    CHECK(text_is(CALLERS, "") && got.values[CALLERS].is_given && got.n_words == 1);
    CHECK(parse("--callers=main", SD_PARSE_MIXED) == 0 && text_is(CALLERS, "main"));
    CHECK(parse("-cv word", SD_PARSE_MIXED) == 0);
    CHECK(text_is(CALLERS, "") && got.values[VERBOSE].number == 1 && got.n_words == 1);
}

TEST(a_prefix_tells_tables_apart)
{
    CHECK(parse("--rss-every 1s --strict-every 2s", SD_PARSE_MIXED) == 0);
    CHECK(got.values[EVERY].number == 1000000000);
    CHECK(got.values[STRICT_EVERY].number == 2000000000);
    CHECK(parse("--every 3s -e4s", SD_PARSE_MIXED) == 0);
    CHECK(got.values[EVERY].number == 4000000000);
    CHECK(got.values[STRICT_EVERY].number == 10000000);
    CHECK(refuses("--rss-", "no option --rss-; did you mean --rss-every?"));
    CHECK(parse("--rss-limit 64KiB", SD_PARSE_MIXED) == 0);
    CHECK(got.values[LIMIT].number == 65536);
}

TEST(a_table_that_wants_its_prefix_is_not_met_without)
{
    char *argv[][3] = { { "sonde", "--every=1s", NULL },
                        { "sonde", "-e1s", NULL },
                        { "sonde", "--strict-every=1s", NULL } };
    struct sd_option_value values[3];
    int n_words;

    CHECK(sd_options_parse(tables + 2, 1, SD_PARSE_MIXED, 2, argv[0], values,
                           &n_words) == SD_EUSAGE);
    CHECK(sd_options_parse(tables + 2, 1, SD_PARSE_MIXED, 2, argv[1], values,
                           &n_words) == SD_EUSAGE);
    CHECK(sd_options_parse(tables + 2, 1, SD_PARSE_MIXED, 2, argv[2], values,
                           &n_words) == 0);
    CHECK(values[0].number == 1000000000);
}

TEST(choices_are_words_of_their_list)
{
    CHECK(parse("--color off", SD_PARSE_MIXED) == 0);
    CHECK(text_is(COLOR, "off") && got.values[COLOR].number == 2);
    CHECK(refuses("--color o", "--color takes auto, on or off, not \"o\""));
    CHECK(refuses("--color auto|on", "--color takes auto, on or off, not \"auto|on\""));
    CHECK(refuses("--color ''", "--color takes auto, on or off, not \"\""));
}

TEST(words_come_to_the_front_in_order)
{
    CHECK(parse("a -v b --number 3 - c", SD_PARSE_MIXED) == 0);
    CHECK(got.n_words == 4 && strcmp(got.joined, "a b - c") == 0);
    CHECK(!got.argv[5]);
    CHECK(got.values[NUMBER].number == 3);
}

TEST(two_dashes_end_the_options)
{
    CHECK(parse("-v a -- -v --what -- b", SD_PARSE_MIXED) == 0);
    CHECK(strcmp(got.joined, "a -v --what -- b") == 0);
    CHECK(parse("--", SD_PARSE_MIXED) == 0 && got.n_words == 0);
    CHECK(parse("-o -- x", SD_PARSE_MIXED) == 0); /* here they are an argument */
    CHECK(text_is(OUTPUT, "--") && got.n_words == 1);
}

TEST(the_first_word_may_end_the_options_too)
{
    CHECK(parse("-v x.py -v --force -- y", SD_PARSE_STOP_AT_WORD) == 0);
    CHECK(strcmp(got.joined, "x.py -v --force -- y") == 0);
    CHECK(got.values[FORCE].number == 0 && got.values[VERBOSE].number == 1);
    CHECK(parse("-v -- x.py -v", SD_PARSE_STOP_AT_WORD) == 0);
    CHECK(strcmp(got.joined, "x.py -v") == 0);
}

TEST(an_unknown_option_is_answered_with_the_nearest)
{
    CHECK(refuses("--forec", "no option --forec; did you mean --force?"));
    CHECK(refuses("--outputs=x", "no option --outputs; did you mean --output?"));
    CHECK(refuses("--out", "no option --out; did you mean --output?"));
    CHECK(refuses("--evry", "no option --evry; did you mean --every?"));
    CHECK(refuses("--rss-evry", "no option --rss-evry; did you mean --rss-every?"));
    CHECK(refuses("--strict-limt",
                  "no option --strict-limt; did you mean --strict-limit?"));
    CHECK(refuses("--xylophone", "no option --xylophone"));
    CHECK(refuses("-vx", "no option -x"));
    CHECK(refuses("---", "no option ---"));
    CHECK(refuses("--=5", "no option --"));
}

TEST(an_unknown_option_of_any_length_is_refused)
{
    char word[180];

    memset(word, 'y', sizeof word);
    word[0] = word[1] = '-';
    word[sizeof word - 1] = 0;
    CHECK(parse(word, SD_PARSE_MIXED) == SD_EUSAGE);
}

TEST(a_wrong_argument_is_answered_with_what_is_taken)
{
    CHECK(refuses("--every fast",
                  "--every takes a duration such as 100ms, not \"fast\""));
    CHECK(refuses("--rss-every=",
                  "--rss-every takes a duration such as 100ms, not \"\""));
    CHECK(refuses("-nx", "-n takes a whole number such as 10, not \"x\""));
    CHECK(refuses("--limit big", "--limit takes a size such as 64MiB, not \"big\""));
    CHECK(refuses("--force=yes", "--force takes no argument"));
    CHECK(refuses("--every", "--every needs a duration such as 100ms"));
    CHECK(refuses("-o", "-o needs an argument (FILE)"));
}

/* Whatever is typed is understood or refused with a sentence. */
TEST(any_command_line_is_understood_or_refused)
{
    static const char *const parts[] = { "-",     "--",    "=",       "no-", "rss-",
                                         "every", "force", "o",       "n",   "5",
                                         "ms",    "v",     "callers", " ",   " " };
    char line[150];

    srand(5);
    for (int i = 0; i < 20000; i++) {
        int rc;

        line[0] = 0;
        for (int n = rand() % 12; n > 0; n--)
            strcat(line, parts[(size_t)rand() % (sizeof parts / sizeof *parts)]);
        rc = parse(line, i % 2 ? SD_PARSE_STOP_AT_WORD : SD_PARSE_MIXED);
        CHECK(rc == 0 || (rc == SD_EUSAGE && sd_fail_text()[0]));
        CHECK(rc < 0 || got.n_words < 20);
    }
}

TEST(one_value_is_read_by_its_kind)
{
    struct sd_option_value v = { .number = 7 };

    CHECK(sd_option_read(&of_rss[0], "2s", &v) == 0 && v.number == 2000000000);
    CHECK(strcmp(v.text, "2s") == 0 && v.is_given);
    CHECK(sd_option_read(&of_rss[2], "off", &v) == 0 && v.number == 0);
    CHECK(sd_option_read(&of_rss[2], "true", &v) == 0 && v.number == 1);
    CHECK(sd_option_read(&of_rss[2], "perhaps", &v) == SD_EUSAGE && v.number == 1);
    CHECK(strcmp(sd_fail_text(), "pss takes yes or no, not \"perhaps\"") == 0);
    CHECK(sd_options_count(of_rss) == 3 && sd_options_count(of_rss + 3) == 0);
}

TEST(the_nearest_word_is_a_slip_or_a_beginning_and_nothing_far)
{
    static const char *const words[] = { "report", "record", "run", "info",
                                         "rate",   "on",     "a",   NULL };
    static const char *const none[] = { NULL };

    CHECK(strcmp(sd_nearest("rat", words), "rate") == 0);
    CHECK(strcmp(sd_nearest("reprot", words), "report") == 0);
    CHECK(strcmp(sd_nearest("rec", words), "record") == 0);
    CHECK(strcmp(sd_nearest("urn", words), "run") == 0);
    CHECK(strcmp(sd_nearest("no", words), "on") == 0); /* two swapped are one slip */
    CHECK(!sd_nearest("convert", words));
    CHECK(!sd_nearest("", words) && !sd_nearest("x", words));
    CHECK(!sd_nearest("run", none));
}
