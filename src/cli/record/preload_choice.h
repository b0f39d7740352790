/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_PRELOAD_CHOICE_H
#define SD_CLI_RECORD_PRELOAD_CHOICE_H
/* preload_choice: whether the package's library goes on LD_PRELOAD for a run, and
 * whether a program can be recorded without it. */
#include "cli/record/program.h"
#include "cli/record/run_collectors.h"

/* *library becomes the path for LD_PRELOAD, in the arena, or NULL: nothing asks for it.
 * `package` may be NULL.  SD_EUSAGE where a collector that could preload is to record a
 * program that has no Python; SD_ELACKS where the library cannot be loaded from where
 * it is. */
int sd_preload_choose(struct sd_arena *a, const struct sd_collector_set *chosen,
                      const struct sd_program *program, const char *package,
                      const char **library);
#endif
