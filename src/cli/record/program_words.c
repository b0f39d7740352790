/* SPDX-License-Identifier: MIT */
#include "cli/record/program_words.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static bool may_begin_program(const char *word)
{
    if (word[0] != '-' || word[1] == '\0')
        return true;
    return word[1] == 'm' || word[1] == 'c' || strcmp(word, "--") == 0;
}

/* Parses argv[1..argc) without disturbing it. */
static int parse_copy(const struct sd_option_table *tables, size_t n_tables, int argc,
                      char **argv, struct sd_option_value *values, int *n_words)
{
    char **copy = sd_alloc(((size_t)argc + 1) * sizeof *copy);
    int rc;

    if (!copy)
        return sd_no_memory();
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    copy[argc] = NULL;
    rc = sd_options_parse(tables, n_tables, SD_PARSE_STOP_AT_WORD, argc, copy, values,
                          n_words);
    sd_free(copy);
    return rc;
}

/* A word that may begin the program may also be the argument of the option before
 * it (`-o out.sonde`).  Only the option tables know, so they are asked: the program
 * begins at the first such word before which everything is complete. */
int sd_program_words_parse(const struct sd_option_table *tables, size_t n_tables,
                           int argc, char **argv, struct sd_option_value *values,
                           char ***words, int *n_words)
{
    int rc, n;

    for (int i = 1; i < argc; i++) {
        if (!may_begin_program(argv[i]))
            continue;
        rc = parse_copy(tables, n_tables, i, argv, values, &n);
        if (rc == 0 && n == 0) {
            *words = argv + i;
            *n_words = argc - i;
            return 0;
        }
    }
    *words = argv + argc;
    *n_words = 0;
    return parse_copy(tables, n_tables, argc, argv, values, &n);
}
