/* SPDX-License-Identifier: MIT */
#include "cli/record/package.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/path.h"

/* Seen from the directory of the program. */
static const char *const places[] = {
    "/python/sonde", /* build/sonde beside build/python */
    "/..",           /* the wheel: sonde/bin/sonde */
    "/../lib/python*/site-packages/sonde",
    "/../lib/python*/dist-packages/sonde",
    "/../lib/sonde",
};

static bool is_package(struct sd_arena *a, const char *dir)
{
    const char *file = sd_arena_printf(a, "%s/_bootstrap/sitecustomize.py", dir);

    return file && sd_path_exists(file);
}

static const char *absolute(struct sd_arena *a, const char *dir)
{
    char whole[PATH_MAX];

    return realpath(dir, whole) ? sd_arena_string(a, whole, strlen(whole)) : NULL;
}

static const char *first_package(struct sd_arena *a, const char *pattern)
{
    const char *found = NULL;
    glob_t names;

    if (glob(pattern, 0, NULL, &names) != 0)
        return NULL;
    for (size_t i = 0; i < names.gl_pathc && !found; i++)
        if (is_package(a, names.gl_pathv[i]))
            found = absolute(a, names.gl_pathv[i]);
    globfree(&names);
    return found;
}

/* Makes a pattern that matches this directory's own name, whatever bytes it has. */
static const char *glob_quoted(struct sd_arena *a, const char *dir)
{
    size_t n = strlen(dir), m = 0;
    char *quoted = sd_arena_alloc(a, 2 * n + 1);

    for (size_t i = 0; quoted && i < n; i++) {
        if (strchr("*?[\\", dir[i]))
            quoted[m++] = '\\';
        quoted[m++] = dir[i];
    }
    return quoted;
}

const char *sd_package_find_from(struct sd_arena *a, const char *program_dir)
{
    const char *quoted = glob_quoted(a, program_dir);
    const char *found = NULL;

    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++) {
        const char *pattern =
            quoted ? sd_arena_printf(a, "%s%s", quoted, places[i]) : NULL;

        if (pattern)
            found = first_package(a, pattern);
    }
    return found;
}

const char *sd_package_find(struct sd_arena *a)
{
    const char *named = getenv("SONDE_PACKAGE");
    char self[PATH_MAX];
    ssize_t n;

    if (named && *named)
        return is_package(a, named) ? absolute(a, named) : NULL;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return NULL;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    return sd_package_find_from(a, self);
}

/* "cpython-311-x86_64-linux-gnu.so" is known as what stands before its second dash. */
static int tag_length(const char *suffix)
{
    const char *dash = strchr(suffix, '-');

    dash = dash ? strchr(dash + 1, '-') : NULL;
    return dash ? (int)(dash - suffix) : (int)strlen(suffix);
}

void sd_package_extensions(struct sd_arena *a, const char *package, struct sd_buf *to)
{
    static const char start[] = "_sonde.";
    const char *quoted = glob_quoted(a, package);
    const char *pattern = quoted ? sd_arena_printf(a, "%s/%s*", quoted, start) : NULL;
    glob_t names;

    if (!pattern || glob(pattern, 0, NULL, &names) != 0)
        return;
    for (size_t i = 0; i < names.gl_pathc; i++) {
        const char *suffix = sd_path_base(names.gl_pathv[i]) + strlen(start);

        sd_buf_printf(to, "%s%.*s", i ? ", " : "", tag_length(suffix), suffix);
    }
    globfree(&names);
}

const char *sd_package_bootstrap(struct sd_arena *a, const char *package)
{
    return sd_arena_printf(a, "%s/_bootstrap", package);
}
