/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_INTERPRETER_H
#define SD_CLI_RECORD_INTERPRETER_H
/* interpreter: finds which Python runs the program, and whether our extension fits
 * it. */
#include <stdbool.h>

#include "base/arena.h"

struct sd_interpreter {
    const char *path;
    char **environment; /* that it is to be started with, or NULL: ours */
};

/* `named` (--python), else the one that called us (SONDE_PYTHON, set by `python -m
 * sonde`), else the active virtual environment's, else python3 or python on PATH.  In
 * place of a script (a shim of pyenv or asdf) it is the Python which that starts, with
 * the environment that it makes for it, so that the twenty processes of finding it are
 * not in the recording.  SD_EABSENT with a sentence when there is none. All in the
 * arena. */
int sd_interpreter_find(struct sd_arena *a, const char *named,
                        struct sd_interpreter *out);

/* Does this command name a Python?  By its name only: python, python3.11, pypy3. */
bool sd_interpreter_is_python(const char *command);

/* Is the extension there that fits this interpreter?  Starts it once to ask (some 15
 * ms).  SD_ELACKS with a sentence that says what to do. */
int sd_interpreter_fits(struct sd_arena *a, const char *python, const char *package);
#endif
