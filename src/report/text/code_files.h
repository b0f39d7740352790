/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_TEXT_CODE_FILES_H
#define SD_REPORT_TEXT_CODE_FILES_H
/* code_files: caches the source files that were read last.
 *
 * A table is made of each function, and a file has many: it is read and cut into lines
 * once, not once for each of them.  Functions come file by file, unless somebody has
 * sorted them by time; so a handful is kept, and the one that nobody has asked for
 * longest gives way. */
#include <stdbool.h>

#include "report/text/code_text.h"

enum { SD_CODE_FILES = 8 };

/* The source of a file: 1 when there is one, which `into` then holds; 0; or < 0. */
typedef int sd_code_files_read(void *context, const char *file,
                               struct sd_code_text *into);

struct sd_code_file {
    char *name; /* owned */
    struct sd_code_text text;
    bool is_there;
};

struct sd_code_files {        /* all zero is an empty one */
    sd_code_files_read *read; /* NULL: the file of that name is read */
    void *context;
    struct sd_code_file files[SD_CODE_FILES]; /* the last asked for is the first */
    size_t n;
};

/* 1, or 0 when there is no source and *out is empty.  It is ours until the next call.
 */
int sd_code_files_find(struct sd_code_files *s, const char *file,
                       const struct sd_code_text **out);
/* The same where the text of that file is at hand, or NULL. */
int sd_code_files_find_in(struct sd_code_files *s, const char *file, const char *text,
                          const struct sd_code_text **out);
void sd_code_files_release(struct sd_code_files *s);
#endif
