/* SPDX-License-Identifier: MIT */
#include "cli/learn/verb_help.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/out.h"
#include "base/text.h"
#include "cli/record/verb_run.h"
#include "cli/say.h"

enum { WIDTH = 80, NAME_COLUMN = 14, MEANING_COLUMN = 30 };

const char *const sd_group_titles[] = { "Record a program", "Look at a capture",
                                        "Learn more" };

void sd_put_wrapped(struct sd_out *out, const char *text, size_t at, size_t indent)
{
    bool is_first =
        true; /* of its line: nothing stands between it and what was there */

    while (*text) {
        size_t n = strcspn(text, " \n");
        size_t width = sd_text_width(text, n);

        if (!is_first && at + 1 + width > WIDTH) {
            sd_out_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!is_first) {
            sd_out_text(out, " ");
            at++;
        }
        sd_out_write(out, text, n);
        at += width;
        text += n;
        is_first = *text == '\n';
        if (is_first) {
            sd_out_printf(out, "\n%*s", text[1] && text[1] != '\n' ? (int)indent : 0,
                          "");
            at = indent;
        }
        if (*text)
            text++;
    }
    sd_out_text(out, "\n");
}

void sd_help_table_title(struct sd_buf *to, const struct sd_verb *verb,
                         const struct sd_option_table *table)
{
    if (table->options == sd_common_options)
        sd_buf_text(to, "Options of every verb");
    else if (table->prefix && !table->bare_too)
        sd_buf_printf(to, "Options of %s, when it is chosen", table->prefix);
    else if (table->prefix)
        sd_buf_printf(to, "Options of %s", table->prefix);
    else
        sd_buf_text(to, verb->collector ? "Options of every run" : "Options");
}

void sd_help_option_long_name(struct sd_buf *to, const struct sd_option_table *table,
                              const struct sd_option *option)
{
    if (table->prefix && !table->bare_too)
        sd_buf_printf(to, "%s-", table->prefix);
    sd_buf_text(to, option->name);
}

void sd_help_option_spelling(struct sd_buf *to, const struct sd_option_table *table,
                             const struct sd_option *option)
{
    static const char *const arguments[] = {
        [SD_NUMBER] = "N",      [SD_DURATION] = "TIME", [SD_SIZE] = "SIZE",
        [SD_FORMAT] = "NAME",   [SD_TEXT] = "TEXT",     [SD_CHOICE] = "WORD",
        [SD_OPTIONAL] = "TEXT", [SD_WORDS] = "TEXT",    [SD_NAMES] = "NAME[,NAME...]",
    };
    const char *argument = option->argument;

    if (option->letter && !(table->prefix && !table->bare_too))
        sd_buf_printf(to, "-%c, ", option->letter);
    sd_buf_text(to, "--");
    sd_help_option_long_name(to, table, option);
    if (option->kind == SD_FLAG)
        return;
    if (!argument || option->kind == SD_NAMES)
        argument = arguments[option->kind];
    sd_buf_printf(to, option->kind == SD_OPTIONAL ? "[=%s]" : " %s", argument);
}

/* ": functions, calls" of "functions|calls" */
static void put_names(struct sd_buf *to, const char *names)
{
    sd_buf_text(to, ": ");
    for (; *names; names++)
        if (*names == '|')
            sd_buf_text(to, ", ");
        else
            sd_buf_add(to, names, 1);
}

void sd_help_option_explained(struct sd_buf *to, const struct sd_option *option)
{
    struct sd_option_value fallback = { 0 };

    sd_buf_text(to, option->meaning);
    if (option->kind == SD_NAMES)
        put_names(to, option->argument);
    if (!option->fallback || !*option->fallback)
        return;
    if (option->kind != SD_FLAG)
        sd_buf_printf(to, " (%s)", option->fallback);
    else if (sd_option_read(option, option->fallback, &fallback) == 0 &&
             fallback.number)
        sd_buf_text(to, " (on; --no-... turns it off)");
}

/* A verb with a file of its own; other collectors are `run` by another name. */
static bool has_own_words(const struct sd_verb *verb)
{
    return verb->run != sd_verb_run.run;
}

void sd_verb_paragraphs(struct sd_buf *to, const struct sd_verb *verb)
{
    const struct sd_collector_about *about = verb->collector;

    if (!about) {
        sd_buf_text(to, verb->about);
        if (verb->put_about)
            verb->put_about(to);
        return;
    }
    if (has_own_words(verb))
        sd_buf_printf(to, "%s\n\n", verb->about);
    else
        sd_buf_printf(to,
                      "Runs a program with the collector %s, as `sonde run --with %s`, "
                      "and prints what it saw on stdout after the program's own "
                      "output.\n\n",
                      about->name, about->name);
    sd_buf_printf(to, "What it does: %s.\nCost: %s.\nCannot see: %s.", about->summary,
                  about->cost, about->blind_to);
    if (about->replaces)
        sd_buf_printf(to, "\nReplaces: %s.", about->replaces);
}

void sd_verb_example_lines(struct sd_buf *to, const struct sd_verb *verb)
{
    const char *name = verb->name;

    if (!verb->collector || has_own_words(verb)) {
        sd_buf_text(to, verb->examples);
        return;
    }
    sd_buf_printf(to, "sonde %s train.py --epochs 2\n", name);
    sd_buf_printf(to, "sonde %s -o train.sonde -m pkg.train\n", name);
    sd_buf_printf(to, "sonde %s -- ./train.sh    # any command\n", name);
    sd_buf_text(to, "sonde report train.sonde    # the same again, later\n");
}

static void put_option(struct sd_out *out, const struct sd_option_table *table,
                       const struct sd_option *option)
{
    struct sd_buf spelling = { 0 }, explained = { 0 };
    size_t width;

    sd_help_option_spelling(&spelling, table, option);
    sd_help_option_explained(&explained, option);
    width = 2 + sd_text_width(sd_made(out, &spelling), spelling.n);
    sd_out_printf(out, "  %s", sd_made(out, &spelling));
    if (width + 2 > MEANING_COLUMN)
        sd_out_printf(out, "\n%*s", MEANING_COLUMN, "");
    else
        sd_out_printf(out, "%*s", (int)(MEANING_COLUMN - width), "");
    sd_put_wrapped(out, sd_made(out, &explained), MEANING_COLUMN, MEANING_COLUMN);
    sd_buf_release(&spelling);
    sd_buf_release(&explained);
}

static void put_table(struct sd_out *out, const struct sd_verb *verb,
                      const struct sd_option_table *table)
{
    struct sd_buf title = { 0 };

    if (!table->options || !table->options->name)
        return;
    sd_help_table_title(&title, verb, table);
    sd_out_printf(out, "\n%s:\n", sd_made(out, &title));
    for (const struct sd_option *o = table->options; o->name; o++)
        put_option(out, table, o);
    sd_buf_release(&title);
}

static void put_examples(struct sd_out *out, const struct sd_verb *verb)
{
    struct sd_buf lines = { 0 };

    sd_verb_example_lines(&lines, verb);
    sd_out_text(out, "\nExamples:\n");
    for (const char *at = sd_made(out, &lines); *at;) {
        size_t n = strcspn(at, "\n");

        sd_out_printf(out, "  %.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
    sd_buf_release(&lines);
}

static void put_beginning(struct sd_out *out, const struct sd_verb *verb)
{
    struct sd_buf about = { 0 };

    sd_out_printf(out, "sonde %s ", verb->name);
    sd_put_wrapped(out, verb->usage, 7 + strlen(verb->name), 6);
    sd_out_text(out, "\n");
    sd_verb_paragraphs(&about, verb);
    sd_put_wrapped(out, sd_made(out, &about), 0, 0);
    sd_buf_release(&about);
}

int sd_print_help_all(const struct sd_verb *verb)
{
    struct sd_option_table tables[SD_TABLES_MAX];
    size_t n_tables = sd_verb_tables(verb, tables);
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    put_beginning(&out, verb);
    for (size_t i = 0; i < n_tables; i++)
        if (tables[i].options != sd_common_options)
            put_table(&out, verb, &tables[i]);
    put_table(&out, verb, &tables[1]);
    put_examples(&out, verb);
    return sd_finish_stdout(&out, 0);
}

/* Where to write, in which order, and how many rows: what nearly everybody types. */
static bool is_usual(const struct sd_option *option)
{
    return option->letter && strchr("osn", option->letter);
}

/* The usual ones, the collector's own, and those of the verb that no other has. */
static void put_own_options(struct sd_out *out, const struct sd_verb *verb)
{
    const struct sd_option_table of_verb = { verb->options, NULL, false };
    const struct sd_option_table own = { verb->collector->options,
                                         verb->collector->name, true };

    sd_out_printf(out, "\nOptions of %s:\n", verb->name);
    for (const struct sd_option *o = verb->options; o->name; o++)
        if (is_usual(o))
            put_option(out, &of_verb, o);
    for (const struct sd_option *o = own.options; o->name; o++)
        put_option(out, &own, o);
    for (const struct sd_option *o = verb->options + SD_RUN_OPTIONS; o->name; o++)
        if (!is_usual(o))
            put_option(out, &of_verb, o);
}

int sd_print_help(const struct sd_verb *verb)
{
    struct sd_out out;

    if (!verb->collector)
        return sd_print_help_all(verb);
    sd_out_to_fd(&out, STDOUT_FILENO);
    put_beginning(&out, verb);
    put_own_options(&out, verb);
    put_examples(&out, verb);
    sd_out_printf(&out, "\n`sonde %s --help-all` lists all options\n", verb->name);
    return sd_finish_stdout(&out, 0);
}

static void put_group(struct sd_out *out, enum sd_verb_group group)
{
    struct sd_verb v;

    sd_out_printf(out, "\n%s:\n", sd_group_titles[group]);
    for (size_t i = 0; sd_verb_at(i, &v); i++) {
        if (v.group != group)
            continue;
        sd_out_printf(out, "  %-*s", NAME_COLUMN - 2, v.name);
        sd_put_wrapped(out, v.summary, NAME_COLUMN, NAME_COLUMN);
    }
}

int sd_print_overview(void)
{
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    sd_out_text(&out, "sonde VERB [OPTION...] ...\n\nOne profiler for Python and "
                      "machine-learning programs.\n");
    put_group(&out, SD_GROUP_RECORD);
    put_group(&out, SD_GROUP_READ);
    put_group(&out, SD_GROUP_LEARN);
    sd_out_text(&out, "\nsonde VERB --help says more about each; sonde --version "
                      "prints the version.\n"
                      "\nExamples:\n"
                      "  sonde run train.py            # run it, record it, print a "
                      "summary\n"
                      "  sonde report train.sonde      # look at what was recorded\n");
    return sd_finish_stdout(&out, 0);
}

static const struct sd_option no_options[] = {
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static int run(const struct sd_command *c)
{
    struct sd_verb verb;
    int rc;

    if (c->n_words == 0)
        return sd_print_overview();
    if (c->n_words > 1)
        return sd_say_failure(
            sd_fail(SD_EUSAGE,
                    "help explains one verb at a time, not \"%s\" and "
                    "\"%s\"",
                    c->words[0], c->words[1]));
    rc = sd_verb_find(c->words[0], &verb);
    return rc < 0 ? sd_say_failure(rc) : sd_print_help(&verb);
}

const struct sd_verb sd_verb_help = {
    .name = "help",
    .group = SD_GROUP_LEARN,
    .summary = "says what a verb does",
    .usage = "[VERB]",
    .about = "Prints what `sonde VERB --help` prints; without a verb, the list of all. "
             "`sonde VERB --help-all` has every option.",
    .examples = "sonde help run\nsonde help report\n",
    .options = no_options,
    .run = run,
};
