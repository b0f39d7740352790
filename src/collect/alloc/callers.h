/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_CALLERS_H
#define SD_ALLOC_CALLERS_H
/* callers: whether dlopen would open something else, or nothing, for another caller. */
#include <stdbool.h>

/* dlopen searches for a name without a slash where its caller says (DT_RUNPATH), reads
 * $ORIGIN in a path as the caller's folder, and searches the libraries of what it opens
 * where a caller of the old kind says (DT_RPATH). */
bool sd_callers_matter(const char *path, const void *caller);
#endif
