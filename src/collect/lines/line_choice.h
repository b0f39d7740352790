/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_CHOICE_H
#define SD_LINES_LINE_CHOICE_H
/* line_choice: parses --only: which functions the user chose.
 *
 * Names with commas between them (one that is part of a name has a backslash before
 * it), each one of
 *
 *     func   Class.method   Class     by qualified name, or its end
 *     pkg.mod   pkg.mod.func          a whole module, or one function of it
 *     pkg.mod:func                    the same, and nothing else it may mean
 *     src/x.py   src/[a-c].py         files, from the current folder or the root
 *     src/x.py:func   src/x.py:12     a function of a file, also by its first line
 *
 * and * ? [ ] stand for whatever they do in a shell.  No Python here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_line_choice {
    char *text;   /* owned: all names, each ended by a NUL */
    size_t n;     /* bytes of it */
    char *folder; /* owned: relative files start here */
};

struct sd_line_subject {
    const char *file, *module, *name; /* module may be NULL; the name is qualified */
    uint32_t first;                   /* line */
};

/* SD_EUSAGE when nothing is named. */
int sd_line_choice_read(const char *typed, const char *folder,
                        struct sd_line_choice *out);
/* Whether a name, or what stands before its colon, is that of a file. */
bool sd_line_choice_is_file(const char *place);
bool sd_line_choice_has(const struct sd_line_choice *c,
                        const struct sd_line_subject *f);
void sd_line_choice_release(struct sd_line_choice *c);
#endif
