/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_THREAD_NAMES_H
#define SD_ALLOC_THREAD_NAMES_H
/* thread_names: what Python calls the thread that runs. */
#include <stddef.h>

/* Copies the name; 0: it is not known yet, or cannot be asked for now.  Runs nothing of
 * the program's, and leaves the exception that is set as it is. */
size_t sd_alloc_thread_name(char *to, size_t most);
#endif
