/* SPDX-License-Identifier: MIT */
#include "cli/record/output_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/path.h"
#include "outputs/outputs.h"

enum { LAST_NUMBER = 100000 };

/* A file name of a module or a command: no directories, nothing hidden. */
static const char *safe(struct sd_arena *a, const char *name)
{
    char *copy = sd_arena_string(a, name, strlen(name));

    for (char *c = copy; c && *c; c++)
        if (*c == '/')
            *c = '-';
    if (copy && (*copy == '.' || *copy == '\0' || *copy == '-'))
        return sd_arena_printf(a, "run%s", copy);
    return copy;
}

/* A capture is its file and the live folder beside it: both names must be free. */
static bool is_free(struct sd_arena *a, const char *capture)
{
    const char *live = sd_arena_printf(a, "%s.live", capture);

    return live && !sd_path_exists(capture) && !sd_path_exists(live);
}

/* Said of the name that was typed, not of what is made beside it. */
static int check_folder(const char *path)
{
    size_t n = (size_t)(sd_path_base(path) - path);
    char dir[PATH_MAX] = ".";

    if (n >= sizeof dir)
        return 0; /* which creating it will say */
    if (n > 0)
        snprintf(dir, sizeof dir, "%.*s", (int)n, path);
    if (access(dir, W_OK | X_OK) == 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return sd_fail(SD_EABSENT, "cannot create %s: its directory does not exist",
                       path);
    return sd_fail(SD_EACCESS, "cannot create %s: %s; name another place with -o FILE",
                   path, strerror(errno));
}

int sd_naming_next(struct sd_arena *a, const char *name, struct sd_naming *in_out)
{
    name = safe(a, name);
    for (int i = 1; i < LAST_NUMBER; i++) {
        in_out->capture = i == 1 ? sd_arena_printf(a, "%s.sonde", name)
                                 : sd_arena_printf(a, "%s-%d.sonde", name, i);
        if (!in_out->capture)
            return sd_no_memory();
        if (is_free(a, in_out->capture))
            return check_folder(in_out->capture);
    }
    return sd_fail(SD_EEXISTS,
                   "%s.sonde and all its numbered names exist; choose a name with -o",
                   name);
}

static bool has_suffix_at_all(const char *path)
{
    const char *dot = strrchr(sd_path_base(path), '.');

    return dot && dot != sd_path_base(path);
}

int sd_naming_check_free(const char *path, enum sd_create_flags create)
{
    if (sd_path_is_dir(path))
        return sd_fail(SD_EEXISTS, "%s is a directory; -o needs a file", path);
    if (!sd_path_exists(path))
        return check_folder(path);
    if (!sd_path_is_regular(path))
        return sd_fail(SD_EEXISTS,
                       "%s is not a regular file, so sonde does not replace it; choose "
                       "another name",
                       path);
    if (create == SD_CREATE_NEW)
        return sd_fail(SD_EEXISTS,
                       "%s already exists; choose another name, or use --force to "
                       "overwrite it",
                       path);
    return 0;
}

int sd_naming_beside(struct sd_arena *a, const char *output,
                     enum sd_create_flags create, struct sd_naming *out)
{
    int rc = sd_naming_check_free(output, create);

    *out = (struct sd_naming){ .export = output, .is_chosen = true };
    if (rc < 0)
        return rc;
    out->capture = sd_arena_printf(a, "%s.sonde", output);
    return out->capture ? 0 : sd_no_memory();
}

int sd_naming_choose(struct sd_arena *a, const char *output, const char *name,
                     enum sd_create_flags create, struct sd_naming *out)
{
    int rc;

    *out = (struct sd_naming){ .is_chosen = output != NULL };
    if (!output)
        return sd_naming_next(a, name, out);
    if (!*output)
        return sd_fail(SD_EUSAGE, "-o needs the name of a file");
    if (strcmp(output, "-") == 0)
        return sd_fail(SD_EUSAGE, "a capture is not written to stdout; name a file, "
                                  "or record in another --format");
    rc = sd_naming_check_free(output, create);
    if (rc < 0)
        return rc;
    out->capture = output;
    if (sd_output_is_capture(output) || !has_suffix_at_all(output))
        return 0;
    rc = sd_output_check(output, ".sonde, ");
    return rc < 0 ? rc : sd_naming_beside(a, output, create, out);
}
