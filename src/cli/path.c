/* SPDX-License-Identifier: MIT */
#include "cli/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

const char *sd_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool sd_path_exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

bool sd_path_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool sd_path_is_regular(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool sd_path_is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool sd_path_is_script(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[2] = "";
    bool is_script =
        fd >= 0 && read(fd, head, sizeof head) == sizeof head && head[0] == '#';

    if (fd >= 0)
        close(fd);
    return is_script && head[1] == '!';
}

bool sd_path_has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);

    return n > m && strcmp(path + n - m, suffix) == 0;
}

const char *sd_path_find_program(struct sd_arena *a, const char *name)
{
    const char *at = getenv("PATH");

    if (strchr(name, '/'))
        return sd_path_is_program(name) ? name : NULL;
    if (!at)
        at = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(at, ":");
        /* An empty part of PATH is the current directory. */
        const char *path =
            sd_arena_printf(a, "%.*s%s%s", (int)n, at, n ? "/" : "./", name);

        if (path && *name && sd_path_is_program(path))
            return path;
        if (!at[n])
            return NULL;
        at += n + 1;
    }
}

int sd_path_new_folder(struct sd_arena *a, const char *name, char **out)
{
    const char *above = getenv("TMPDIR");
    char *folder =
        sd_arena_printf(a, "%s/%s-XXXXXX", above && *above ? above : "/tmp", name);

    *out = NULL;
    if (!folder)
        return sd_no_memory();
    if (!mkdtemp(folder))
        return sd_fail_errno(errno, "cannot make a folder for the page: %s", folder);
    *out = folder;
    return 0;
}
