/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_COMPILED_MODULES_H
#define SD_CLI_RECORD_COMPILED_MODULES_H
/* compiled_modules: finds the modules of a program that mypyc or Cython compiled.
 *
 * Their functions have no frames, so a sample shows the Python function that called
 * them, however far away that is; --native shows them.  They are known by the files
 * that the program has mapped, which are looked at while it runs. */
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "profile/profile.h"

enum { SD_COMPILED_MODULES_MAX = 64 };

struct sd_compiled_modules {                      /* all zero is a fresh one */
    const char *modules[SD_COMPILED_MODULES_MAX]; /* extension modules, in the arena */
    size_t n;
};

/* Adds what the process has mapped now; one that cannot be read adds nothing. */
void sd_compiled_modules_look(struct sd_compiled_modules *c, struct sd_arena *a,
                              pid_t pid);
/* "mypyc (path)" or "Cython (path)", of the first that one of the two made; or nothing.
 * Reads the files. */
void sd_compiled_modules_put(const struct sd_compiled_modules *c, struct sd_buf *to);

/* A sentence for the reader of the hottest rows, or nothing.  There is one where the
 * capture names such a module and has no native frames, and where one line has most
 * samples of the hottest function. */
void sd_compiled_modules_hint(const struct sd_profile *p, struct sd_buf *to);
/* The key under which the capture holds what sd_compiled_modules_put says. */
#define SD_COMPILED_MODULES_META "run.compiled"
#endif
