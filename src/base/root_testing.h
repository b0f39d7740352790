/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ROOT_TESTING_H
#define SD_BASE_ROOT_TESTING_H
/* root_testing: a directory in /tmp whose /proc and /sys describe the machine that a
 * test wants. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/test.h"

static inline void put_file(const char *root, const char *path, const char *text)
{
    char full[512];
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    f = fopen(full, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static inline void remove_root(const char *root)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
}
#endif
