/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_THREAD_NAMES_H
#define SD_ALLOC_THREAD_NAMES_H
/* thread_names: what Python calls the thread that runs, or one that it starts. */
#include <stddef.h>

/* Copies the name; 0: it is not known yet, or cannot be asked for now.  Runs nothing of
 * the program's, and leaves the exception that is set as it is. */
size_t sd_alloc_thread_name(char *to, size_t most);
/* The same of the thread that Python's threading is about to start from here: who does
 * little under its name may never be asked for it. */
size_t sd_alloc_started_name(char *to, size_t most);
#endif
