/* SPDX-License-Identifier: MIT */
#include "collect/shared/source_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

static bool is_winding(const char *name)
{
    return *name == '/' &&
           (strstr(name, "//") || strstr(name, "/./") || strstr(name, "/../"));
}

/* Takes away the last part, if there is one. */
static size_t go_up(const char *plain, size_t n)
{
    while (n > 0 && plain[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

static void straighten(const char *name, char plain[PATH_MAX])
{
    size_t n = 0;

    while (*name) {
        size_t m;

        name += strspn(name, "/");
        m = strcspn(name, "/");
        if (m == 2 && strncmp(name, "..", 2) == 0) {
            n = go_up(plain, n);
        } else if (m > 0 && !(m == 1 && *name == '.')) {
            plain[n++] = '/';
            memcpy(plain + n, name, m);
            n += m;
        }
        name += m;
    }
    plain[n] = '\0';
}

bool sd_source_name_plain(const char *name, char plain[PATH_MAX])
{
    struct stat a, b;

    if (!is_winding(name) || strlen(name) >= PATH_MAX)
        return false;
    straighten(name, plain);
    return stat(name, &a) == 0 && stat(plain, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}
