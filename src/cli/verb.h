/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_VERB_H
#define SD_CLI_VERB_H
/* verb: the contract of a verb, the word after `sonde`.  One file each and a line in
 * verbs.def; every collector is a verb too, without a file of its own (verb_run.c does
 * its work).  The table is all that help, man pages and completions read. */
#include "base/option.h"
#include "collect/collector.h"

struct sd_command;

/* An option that others may look for here: why there is none, and what to do. */
struct sd_refusal {
    const char *option; /* without dashes; NULL ends a list */
    char letter;        /* short form, or 0 */
    const char *why;
};

enum sd_verb_group { SD_GROUP_RECORD, SD_GROUP_READ, SD_GROUP_LEARN };

struct sd_verb {
    const char *name;
    enum sd_verb_group group;
    const char *summary; /* completes "sonde NAME" in the list of verbs */
    const char *usage;   /* "[OPTION…] FILE" */
    const char *about;   /* a paragraph or two */
    void (*put_about)(struct sd_buf *to); /* adds what a table says to that, or NULL */
    const char *examples;                 /* lines "command  # what it does" */
    const struct sd_option *options;
    const struct sd_refusal *refusals; /* or NULL */
    bool takes_program; /* the words are a program and its arguments: the first one
                           ends the options; collectors' options are understood too */
    bool takes_command; /* the same, without the collectors' options */
    const struct sd_collector_about *collector; /* of a verb that is one, else NULL */
    /* A collector whose options are said in the verb's own words; NULL: none. */
    const struct sd_collector_about *speaks_for;
    int (*run)(const struct sd_command *c); /* returns the exit status */
};

/* A command line, understood. */
struct sd_command {
    const struct sd_verb *verb;
    const struct sd_option_value *values;        /* in the order of verb->options */
    const struct sd_option_value *common;        /* in the order of enum sd_common */
    const struct sd_option_value *of_collectors; /* table after table of sd_abouts */
    const struct sd_option_value *spoken; /* of the collector it speaks for, by the
                                             verb itself; NULL before that */
    bool is_pyspy;                        /* we were called as py-spy */
    char **words; /* what is left; of a program: "-m", "-c", "--" or the script first */
    int n_words;
};

extern const struct sd_verb sd_verb_run; /* the verb of most collectors, too */

/* What may be said to every verb. */
enum sd_common {
    SD_COMMON_HELP,
    SD_COMMON_HELP_ALL,
    SD_COMMON_COLOR,
    SD_COMMON_QUIET,
    SD_COMMON_VERBOSE
};
extern const struct sd_option sd_common_options[];

/* The ith verb, collectors last; false behind the end.  *out borrows from the
 * tables. */
bool sd_verb_at(size_t i, struct sd_verb *out);
/* SD_EUSAGE with a sentence that names the nearest verb. */
int sd_verb_find(const char *name, struct sd_verb *out);
/* The verb that was perhaps meant, or NULL. */
const char *sd_verb_nearest(const char *name);

/* Every option table of a verb, in the order of their values: its own, the common
 * ones, the collectors'.  Returns how many. */
enum { SD_TABLES_MAX = 24 };
size_t sd_verb_tables(const struct sd_verb *v,
                      struct sd_option_table tables[SD_TABLES_MAX]);

/* The values of one collector's options. */
const struct sd_option_value *
sd_command_options_of(const struct sd_command *c,
                      const struct sd_collector_about *about);
#endif
