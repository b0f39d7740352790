/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_CHOOSER_H
#define SD_LINES_LINE_CHOOSER_H
/* line_chooser: who chooses code by names (--only): the session that fills the capture,
 * and blocks of the program.  Each code object that runs is shown to all of them.  With
 * the interpreter's lock. */
#include "cpython/compat.h"

#include <stdbool.h>

#include "collect/lines/line_choice.h"

struct sd_line_session;

struct sd_line_chooser { /* all zero: it chooses nothing */
    struct sd_line_choice choice;
    struct sd_line_session *session;   /* that gets the code; borrowed ... */
    int (*choose)(PyCodeObject *code); /* ... or NULL, and this takes it */
    bool is_on;
    struct sd_line_chooser *next;
};

/* Chooses by these names from now on.  SD_EUSAGE when nothing is named. */
int sd_line_chooser_begin(struct sd_line_chooser *c, const char *only,
                          int (*choose)(PyCodeObject *code));
void sd_line_chooser_end(struct sd_line_chooser *c);
#endif
