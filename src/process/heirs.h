/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_HEIRS_H
#define SD_PROCESS_HEIRS_H
/* heirs: processes that were started with a certain entry in their environment.
 *
 * A daemon leaves its parents, its session and its terminal; what it keeps is the
 * environment that it was given, which the kernel shows of every process of the same
 * user.  So the descendants of a program are still found when the program has ended.
 * One that was started with another environment, or has written its title over it, is
 * not. */
#include <sys/types.h>

#include "process/stat.h"

struct sd_heir {
    pid_t pid;
    char name[SD_PROCESS_NAME];
};

/* How many have the entry ("NAME=value"), us apart, and the first of them.  Those that
 * have ended and are not waited for do not count.  `in_session` is a session whose
 * processes alone count; 0: of all. */
unsigned sd_heirs_find(const char *entry, pid_t in_session, struct sd_heir *first);
#endif
