/* SPDX-License-Identifier: MIT */
/* main: finds the verb, parses its options, and runs it. */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/redact.h"
#include "cli/cut_file.h"
#include "cli/learn/verb_help.h"
#include "cli/path.h"
#include "cli/record/program_words.h"
#include "cli/say.h"
#include "cli/verb.h"
#include "sonde.h"

static const struct sd_option first_options[] = {
    { "version", SD_FLAG, NULL, "print the version", 'V', NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* A standard descriptor that was closed stays closed for the program we start, but
 * must not become one of our own files: each is held by /dev/null until exec.  stdout
 * cannot be written to, so that what is lost there is said. */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* the lowest that is free, and so the next one */
            (void)!open("/dev/null",
                        (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

/* A link of that name to this program: its verbs then have py-spy's defaults, and what
 * py-spy overwrites is overwritten. */
static bool is_pyspy(const char *called)
{
    return called && strcmp(sd_path_base(called), "py-spy") == 0;
}

static int print_version(bool as_pyspy)
{
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    sd_out_text(
        &out, as_pyspy ? "py-spy 0.4.2 (the command line; this is sonde " SONDE_VERSION
                         ")\n"
                       : "sonde " SONDE_VERSION "\n");
    return sd_finish_stdout(&out, 0);
}

/* As py-spy does: help that nobody asked for goes to stderr, with status 2. */
static int print_pyspy_overview(bool is_asked_for)
{
    static const char *const verbs[] = { "record", "top", "dump", "completions" };
    struct sd_verb verb;
    struct sd_out out;

    sd_out_to_fd(&out, is_asked_for ? STDOUT_FILENO : STDERR_FILENO);
    sd_out_text(&out, "Usage: py-spy <COMMAND>\n\nCommands:\n");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (sd_verb_find(verbs[i], &verb) == 0)
            sd_out_printf(&out, "  %-12s %s\n", verb.name, verb.summary);
    sd_out_text(&out,
                "\n`py-spy COMMAND --help` tells more. This is sonde " SONDE_VERSION
                " under the name of py-spy.\n");
    return sd_finish_stdout(&out, is_asked_for ? 0 : 2);
}

static size_t count_values(const struct sd_option_table *tables, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += sd_options_count(tables[i].options);
    return count;
}

/* An option of Python that was typed before a script: says so, with what to type
 * instead.  False: it is none. */
static bool say_option_of_python(const struct sd_verb *verb, const char *text, int argc,
                                 char **argv)
{
    char letter = strncmp(text, "no option -", 11) == 0 ? text[11] : 0;

    if (!verb || !(verb->takes_program || verb->takes_command) || !letter ||
        !strchr("OXWBEISubdix", letter))
        return false;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1] == letter) {
            struct sd_buf words = { 0 };

            for (; i < argc; i++) {
                sd_buf_text(&words, " ");
                sd_quote_word(&words, argv[i], strlen(argv[i]));
            }
            sd_say("-%c is an option of Python, not of sonde: sonde %s -- python%s",
                   letter, verb->name, sd_buf_string(&words));
            sd_buf_release(&words);
            return true;
        }
    return false;
}

/* An option that the verb knows and does not have.  False: it is none. */
static bool say_refusal(const struct sd_verb *verb, const char *text)
{
    const struct sd_refusal *r = verb ? verb->refusals : NULL;
    char shown[64];

    for (; r && r->option; r++) {
        snprintf(shown, sizeof shown, "no option --%s", r->option);
        if (strcmp(text, shown) == 0 ||
            (strncmp(text, "no option -", 11) == 0 && text[11] == r->letter)) {
            sd_say("%s", r->why);
            return true;
        }
    }
    return false;
}

/* An option that nothing here comes near: the parser cannot know where to look it up,
 * since it does not know our verbs. */
static int say_misread(int rc, const struct sd_verb *verb, int argc, char **argv)
{
    const char *text = sd_fail_text();

    if (say_refusal(verb, text) || say_option_of_python(verb, text, argc, argv))
        return 2;
    if (strncmp(text, "no option ", 10) != 0 || strstr(text, "did you mean"))
        return sd_say_failure(rc);
    sd_say("%s; `sonde %s%s--help%s` lists the options", text, verb ? verb->name : "",
           verb ? " " : "", verb && verb->collector ? "-all" : "");
    return 2;
}

/* What was said before the verb holds for it as well. */
static void inherit_common(struct sd_option_value *to, const struct sd_option_value *of)
{
    for (size_t i = 0; sd_common_options[i].name; i++)
        if (of[i].is_given && !to[i].is_given)
            to[i] = of[i];
}

/* argv[0] is the verb's own name. */
static int run_verb(const struct sd_verb *verb, const struct sd_option_value *before,
                    bool as_pyspy, int argc, char **argv)
{
    struct sd_option_table tables[SD_TABLES_MAX];
    size_t n_tables = sd_verb_tables(verb, tables);
    size_t n_own = sd_options_count(verb->options);
    struct sd_option_value *values;
    struct sd_command c = { .verb = verb, .is_pyspy = as_pyspy };
    int rc, status;

    values = sd_zalloc((count_values(tables, n_tables) + 1) * sizeof *values);
    if (!values)
        return sd_say_failure(sd_no_memory());
    if (verb->takes_program || verb->takes_command)
        rc = sd_program_words_parse(tables, n_tables, argc, argv, values, &c.words,
                                    &c.n_words);
    else {
        rc = sd_options_parse(tables, n_tables, SD_PARSE_MIXED, argc, argv, values,
                              &c.n_words);
        c.words = argv + 1;
    }
    c.values = values;
    c.common = values + n_own;
    c.of_collectors = values + n_own + sd_options_count(sd_common_options);
    inherit_common(values + n_own, before);
    if (rc == 0 && c.common[SD_COMMON_HELP_ALL].number)
        status = sd_print_help_all(verb);
    else if (rc == 0 && c.common[SD_COMMON_HELP].number)
        status = sd_print_help(verb);
    else
        status = rc < 0 ? say_misread(rc, verb, argc, argv) : verb->run(&c);
    sd_free(values);
    return status;
}

int main(int argc, char **argv)
{
    const struct sd_option_table tables[] = { { sd_common_options, NULL, false },
                                              { first_options, NULL, false } };
    struct sd_option_value values[8];
    bool as_pyspy = is_pyspy(argv[0]);
    struct sd_verb verb;
    int n_words, rc;

    hold_standard_descriptors();
    sd_cut_file_watch();
    setlocale(LC_CTYPE, "");
    rc = sd_options_parse(tables, 2, SD_PARSE_STOP_AT_WORD, argc, argv, values,
                          &n_words);
    if (rc < 0)
        return say_misread(rc, NULL, argc, argv);
    if (values[SD_COMMON_VERBOSE + 1].number)
        return print_version(as_pyspy);
    if (n_words == 0 && as_pyspy)
        return print_pyspy_overview(values[SD_COMMON_HELP].number != 0);
    if (n_words == 0)
        return sd_print_overview();
    rc = sd_verb_find(argv[1], &verb);
    if (rc < 0)
        return sd_say_failure(rc);
    if (values[SD_COMMON_HELP_ALL].number)
        return sd_print_help_all(&verb);
    if (values[SD_COMMON_HELP].number)
        return sd_print_help(&verb);
    return run_verb(&verb, values, as_pyspy, n_words, argv + 1);
}
