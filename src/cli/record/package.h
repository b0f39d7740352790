/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_PACKAGE_H
#define SD_CLI_RECORD_PACKAGE_H
/* package: finds Sonde's Python package: the bootstrap that starts inside collectors,
 * and the extension of each interpreter. */
#include "base/arena.h"
#include "base/buf.h"

/* Looks in $SONDE_PACKAGE, in python/sonde beside the program, around it when it lies
 * in sonde/bin, and under ../lib.  Absolute, in the arena; NULL when there is none. */
const char *sd_package_find(struct sd_arena *a);
/* The same, for a program that stands in `program_dir`. */
const char *sd_package_find_from(struct sd_arena *a, const char *program_dir);
/* "cpython-38, cpython-311": the interpreters that it has extensions for. */
void sd_package_extensions(struct sd_arena *a, const char *package, struct sd_buf *to);
/* The directory that goes on PYTHONPATH. */
const char *sd_package_bootstrap(struct sd_arena *a, const char *package);
#endif
