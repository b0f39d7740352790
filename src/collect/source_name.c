/* SPDX-License-Identifier: MIT */
#include "collect/source_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In which the process was when something was first measured; "": not known. */
static char folder[PATH_MAX];

void sd_source_name_begins(void)
{
    if (!folder[0] && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
}

bool sd_source_name_whole(const char *name, char whole[PATH_MAX])
{
    int n;

    while (strncmp(name, "./", 2) == 0)
        name += 2;
    if (!*name || *name == '/' || *name == '<' || !folder[0])
        return false;
    n = snprintf(whole, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX && (access(whole, F_OK) == 0 || errno == ENOTDIR);
}
