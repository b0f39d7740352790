/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_OPTION_H
#define SD_BASE_OPTION_H
/* option: a table describes the options; the command line, the Python keywords, the
 * help, the man pages and the completions all read it.
 *
 * A verb's parse takes several tables (its own, those every verb has, those of
 * the collectors) and fills one array of values, table after table, in order. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/out.h"

enum sd_option_kind {
    SD_FLAG, /* no argument; number is 0 or 1; --no-NAME gives 0 */
    SD_NUMBER,
    SD_DURATION, /* nanoseconds */
    SD_SIZE,     /* bytes */
    SD_TEXT,
    SD_FORMAT,   /* text: the name of an output, which completions list */
    SD_CHOICE,   /* `argument` lists the words: "auto|on|off"; text holds the word */
    SD_NAMES,    /* text: some of the words that `argument` lists, apart by commas; who
                    reads it checks them */
    SD_OPTIONAL, /* text; the argument may be left out (then ""): only as --name=TEXT */
    SD_WORDS,    /* text; said again it adds up: all of it in `words` */
};
enum { SD_WORDS_MAX = 8 };

struct sd_option {
    const char *name; /* without dashes; NULL ends a table */
    enum sd_option_kind kind;
    const char *fallback; /* as typed; NULL: not given (text NULL, number 0) */
    const char *meaning;  /* one line of help, no full stop */
    char letter;          /* short form, or 0 */
    const char *argument; /* shown in help: "FILE", "N", "a|b" */
};

struct sd_option_value {
    uint64_t number;
    const char *text; /* borrowed from argv or the table */
    bool is_given;
    int place; /* in argv, of the last time it was said; larger is later */
    const char *words[SD_WORDS_MAX + 1]; /* of SD_WORDS: ended by NULL */
};

struct sd_option_table {
    const struct sd_option *options;
    const char *prefix; /* "rss" makes --rss-every of "every"; NULL: none */
    bool bare_too;      /* with a prefix: --every is understood as well */
};

enum sd_parse_flags {
    SD_PARSE_MIXED = 0, /* options may stand between and after the words */
    SD_PARSE_STOP_AT_WORD =
        1, /* the first word ends the options: the rest is the program's */
};

/* Parses argv[1..argc).  `values` has room for all options of all tables and is
 * filled with the fallbacks first.  Words that are no options are moved to the
 * front of argv[1..] in order and counted in *n_words; with STOP_AT_WORD all that
 * follows the first word counts too.  "--" ends the options.  SD_EUSAGE with a sentence
 * that names the word and the nearest known option. */
int sd_options_parse(const struct sd_option_table *tables, size_t n_tables,
                     enum sd_parse_flags flags, int argc, char **argv,
                     struct sd_option_value *values, int *n_words);

/* One value as typed ("100ms") into *value, by the option's kind. */
int sd_option_read(const struct sd_option *option, const char *typed,
                   struct sd_option_value *value);
size_t sd_options_count(const struct sd_option *options);
/* Sets the values of a table to what holds when nothing is given. */
void sd_options_fall_back(const struct sd_option *options,
                          struct sd_option_value *values);

/* The nearest of `words` (NULL-ended) to what was typed, or NULL when none is near. */
const char *sd_nearest(const char *typed, const char *const *words);
#endif
