/* SPDX-License-Identifier: MIT */
#include "process/python/source_path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { ENVIRONMENT_MAX = 1 << 20 };

/* Adds the parts of `path` to the folder of n bytes in `out`, which has no '/' at its
 * end. */
static bool add_parts(const char *path, char *out, size_t size, size_t *n)
{
    while (*path) {
        size_t length = strcspn(path, "/");

        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (*n > 0 && out[--*n] != '/')
                ;
        } else if (length > 1 || (length == 1 && *path != '.')) {
            if (*n + 1 + length >= size)
                return false;
            out[(*n)++] = '/';
            memcpy(out + *n, path, length);
            *n += length;
        }
        path += length + (path[length] == '/');
    }
    return true;
}

bool sd_source_join(const char *folder, const char *file, char *out, size_t size)
{
    size_t n = 0;

    if (!add_parts(folder, out, size, &n) || !add_parts(file, out, size, &n))
        return false;
    out[n] = 0;
    return n > 0;
}

/* Whether there is a file, seen as the process sees it. */
static bool find_file(const char *view, const char *folder, const char *file,
                      struct stat *st)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s%s/%s", view, folder, file) < PATH_MAX &&
           stat(path, st) == 0 && S_ISREG(st->st_mode);
}

static bool find_in_cwd(pid_t pid, const char *file, char *folder, struct stat *st)
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    n = readlink(path, folder, PATH_MAX - 1);
    if (n <= 0 || folder[0] != '/')
        return false;
    folder[n] = 0;
    return find_file(path, "", file, st);
}

static const char *pwd_in(const char *environment, size_t n)
{
    for (size_t at = 0; at < n; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, "PWD=/", 5) == 0)
            return environment + at + 4;
    return NULL;
}

static bool find_in_pwd(pid_t pid, const char *file, char *folder, struct stat *st)
{
    char path[64], *environment;
    const char *pwd;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    if (sd_read_file(path, ENVIRONMENT_MAX, &environment, &n) < 0)
        return false;
    pwd = pwd_in(environment, n);
    if (pwd && strlen(pwd) < PATH_MAX)
        strcpy(folder, pwd);
    else
        folder[0] = 0;
    sd_free(environment);
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    return folder[0] && find_file(path, folder, file, st);
}

bool sd_source_path(pid_t pid, const char *file, char *out, size_t size)
{
    char cwd[PATH_MAX], pwd[PATH_MAX];
    struct stat here, there;
    bool is_here, is_there;

    if (!*file || *file == '/' || *file == '<')
        return false;
    is_here = find_in_cwd(pid, file, cwd, &here);
    is_there = find_in_pwd(pid, file, pwd, &there);
    if (is_here && is_there &&
        (here.st_dev != there.st_dev || here.st_ino != there.st_ino))
        return false;
    return (is_here || is_there) &&
           sd_source_join(is_here ? cwd : pwd, file, out, size);
}
