/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_PACKAGE_H
#define SD_CLI_PACKAGE_H
/* package: where the Python half of Sonde is: the bootstrap that starts inside
 * collectors, and the extension of each interpreter. */
#include "base/arena.h"

/* Looks in $SONDE_PACKAGE, in python/sonde beside the program, around it when it lies
 * in sonde/bin, and under ../lib.  Absolute, in the arena; NULL when there is none. */
const char *sd_package_find(struct sd_arena *a);
/* The same, for a program that stands in `program_dir`. */
const char *sd_package_find_from(struct sd_arena *a, const char *program_dir);
/* The directory that goes on PYTHONPATH. */
const char *sd_package_bootstrap(struct sd_arena *a, const char *package);
#endif
