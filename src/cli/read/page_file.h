/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_PAGE_FILE_H
#define SD_CLI_READ_PAGE_FILE_H
/* page_file: writes the page of files that a verb was given, whatever they are. */
#include "cli/verb.h"
#include "outputs/page/page_maker.h"

struct sd_input;

struct sd_page_file {
    const struct sd_command *command;
    char *const *files; /* of one kind; captures, and those of calls or lines, add up */
    size_t n_files;
    struct sd_page_request page;
};

/* The kind that all of them are.  SD_EUSAGE with a sentence where they differ. */
int sd_page_file_input(const struct sd_page_file *f, const struct sd_input **out);
/* Loads them and writes the page.  *status: of a model whose reader has said itself
 * what is wrong, the exit status. */
int sd_page_file_write(const struct sd_page_file *f, const struct sd_input *input,
                       struct sd_out *out, int *status);
#endif
