/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_ENVIRONMENT_H
#define SD_CLI_RECORD_ENVIRONMENT_H
/* environment: makes the environment of the program: its own, and the variables that
 * make it record.
 *
 * It differs from ours by SONDE_LIVE, SONDE_WITH, SONDE_FROM (the folder in which it
 * was typed, where options name files), PYTHONPATH and SONDE_PYTHON, which was for us
 * alone, and by nothing else but LD_PRELOAD where a library is to be preloaded. */
#include "base/arena.h"

/* `bootstrap` NULL leaves PYTHONPATH as it is, `library` NULL LD_PRELOAD; the library
 * comes behind the program's own, so that an allocator there stays the first.  NULL
 * when out of memory. */
char **sd_environment_for(struct sd_arena *a, char *const *ours, const char *live_dir,
                          const char *with, const char *bootstrap, const char *library);
#endif
