/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_VERB_H
#define SD_CLI_VERB_H
/* verb: what can be said after `sonde`.  One file each and a line in verbs.def;
 * every collector is a verb too, without a file of its own (run.c).  The table is
 * all that help, man pages and completions read. */
#include "base/option.h"

struct sd_verb {
    const char *name;
    const char *summary;  /* completes "sonde NAME ..." in the list of verbs */
    const char *usage;    /* "[OPTION…] FILE" */
    const char *about;    /* a paragraph or two */
    const char *examples; /* lines of commands, each with a few words */
    const struct sd_option *options;
    enum sd_parse_flags parse;
    /* words: what is left of the command line.  Returns the exit status. */
    int (*run)(const struct sd_verb *verb, const struct sd_option_value *values,
               int n_words, char **words);
};
extern const struct sd_verb *const sd_verbs[]; /* ended by NULL */

/* Prints "sonde: <sentence>" on stderr and returns the exit status: 2 for what was
 * typed wrong, else 1. */
int sd_cli_fail(int rc);
void sd_cli_say(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* stderr, "sonde: " before it */
#endif
