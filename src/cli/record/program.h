/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_PROGRAM_H
#define SD_CLI_RECORD_PROGRAM_H
/* program: finds out which program `sonde run` is asked to run. */
#include <stdbool.h>

#include "base/arena.h"

struct sd_program {
    const char *path;   /* of the file to execute */
    char **environment; /* to give it, less what we add; NULL: ours */
    char **argv;        /* its own, ended by NULL */
    const char *name;   /* what the capture is called after: "train" */
    bool is_python;     /* an interpreter is started, as far as one can see */
};

/* Understands "script.py ARG…", "-m MODULE ARG…", "-c CODE ARG…", "-" and "-- COMMAND
 * ARG…", and checks that all of it can be run.  `python` is what --python said, or
 * NULL.  SD_EUSAGE or the machine's refusal, with a sentence.  All in the arena. */
int sd_program_read(struct sd_arena *a, int n_words, char **words, const char *python,
                    struct sd_program *out);
#endif
