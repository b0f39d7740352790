/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LEARN_VERB_HELP_H
#define SD_CLI_LEARN_VERB_HELP_H
/* verb_help: prints help from the tables of verbs, options and collectors. verb_man.c
 * and verb_completions.c read the same tables for other readers. */
#include "base/buf.h"
#include "base/out.h"
#include "cli/verb.h"

/* Each prints on stdout and returns the exit status. */
int sd_print_overview(void);
int sd_print_help(const struct sd_verb *verb);
/* With every option that it understands; sd_print_help of a collector's verb has only
 * its own. */
int sd_print_help_all(const struct sd_verb *verb);

extern const char *const sd_group_titles[]; /* by enum sd_verb_group */

/* Adds `text` from column `at` on, wrapped between `indent` and 80 columns.  A new line
 * in the text is one in the output. */
void sd_put_wrapped(struct sd_out *out, const char *text, size_t at, size_t indent);

/* "Options", "Options of rss", "Options of every verb". */
void sd_help_table_title(struct sd_buf *to, const struct sd_verb *verb,
                         const struct sd_option_table *table);
/* The long name as typed, without dashes: "rss-every", or "every" under `sonde rss`. */
void sd_help_option_long_name(struct sd_buf *to, const struct sd_option_table *table,
                              const struct sd_option *option);
/* "-o, --output FILE" */
void sd_help_option_spelling(struct sd_buf *to, const struct sd_option_table *table,
                             const struct sd_option *option);
/* What the option means, with its fallback: "how often to read (10ms)". */
void sd_help_option_explained(struct sd_buf *to, const struct sd_option *option);
/* A verb's paragraphs; a collector's are made of what it says about itself. */
void sd_verb_paragraphs(struct sd_buf *to, const struct sd_verb *verb);
/* "train.py" examples of a collector, or the verb's own. */
void sd_verb_example_lines(struct sd_buf *to, const struct sd_verb *verb);
#endif
