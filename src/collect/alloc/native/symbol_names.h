/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_SYMBOL_NAMES_H
#define SD_ALLOC_SYMBOL_NAMES_H
/* symbol_names: the names of functions, from the files of loaded objects.
 *
 * A file is read in pieces, never mapped: one that is cut short meanwhile would kill
 * the program.  What stays in memory is 8 bytes a function and a hash table of their
 * beginnings.  A file without symbols has them in another one below /usr/lib/debug,
 * which its build id names, or else those that others link to. */
#include <stddef.h>

#include "collect/alloc/native/code_objects.h"

enum { SD_SYMBOL_NAME = 2048 }; /* longer names are cut */

/* Copies the name of the function that begins there; 0: it has none.  One thread at a
 * time. */
size_t sd_symbol_name(const struct sd_code_object *o, uintptr_t start,
                      char to[SD_SYMBOL_NAME]);
/* Its file as a user knows it; the program's is that of the process. */
size_t sd_symbol_file(const struct sd_code_object *o, char *to, size_t most);
#endif
