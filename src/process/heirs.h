/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_HEIRS_H
#define SD_PROCESS_HEIRS_H
/* heirs: finds processes that were started with a given entry in their environment.
 *
 * A daemon leaves its parents, its session and its terminal, but keeps the environment
 * that it was given, which the kernel shows for every process of the same user.  So the
 * descendants of a program can be found after the program has ended, except those that
 * were started with another environment or have written their title over it. */
#include <sys/types.h>

#include "process/stat.h"

struct sd_heir {
    pid_t pid;
    char name[SD_PROCESS_NAME];
};

/* Returns how many processes, without our own, have the entry ("NAME=value"); `first`
 * is one of them.  Zombies do not count.  `in_session` limits the search to processes
 * with this session ID (setsid(2)); 0 does not. */
unsigned sd_heirs_find(const char *entry, pid_t in_session, struct sd_heir *first);
#endif
