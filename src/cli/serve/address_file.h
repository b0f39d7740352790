/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_ADDRESS_FILE_H
#define SD_CLI_SERVE_ADDRESS_FILE_H
/* address_file: a page that leads the browser to the server's address.
 *
 * The address has the token, and other users of the machine can read the command line
 * of a browser.  So the browser is given the name of a file that only its user can
 * read, in a folder of its own. */
#include "base/arena.h"

struct sd_address_file { /* all zero is a removed one */
    struct sd_arena arena;
    char *folder;     /* or NULL */
    const char *path; /* or NULL: there is no file yet */
};

/* On success the caller removes it. */
int sd_address_file_make(struct sd_address_file *f, const char *address);
void sd_address_file_remove(struct sd_address_file *f);
#endif
