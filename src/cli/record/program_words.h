/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_PROGRAM_WORDS_H
#define SD_CLI_RECORD_PROGRAM_WORDS_H
/* program_words: finds where our options end and the program's begin.
 *
 * `sonde run --with rss train.py --with nothing`: all from train.py on is the
 * program's.  -m and -c begin it too, as in Python, and `--` begins any command. */
#include "base/option.h"

/* Parses argv[1..] up to the program into `values`.  *words is the rest of argv,
 * beginning with "-m…", "-c…", "--" or the script; *n_words 0 when no program was
 * named.  SD_EUSAGE as sd_options_parse. */
int sd_program_words_parse(const struct sd_option_table *tables, size_t n_tables,
                           int argc, char **argv, struct sd_option_value *values,
                           char ***words, int *n_words);
#endif
