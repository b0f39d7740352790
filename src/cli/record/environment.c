/* SPDX-License-Identifier: MIT */
#include "cli/record/environment.h"

#include <stdbool.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The value when `entry` is "name=value", else NULL. */
static const char *value_of(const char *entry, const char *name)
{
    size_t n = strlen(name);

    return strncmp(entry, name, n) == 0 && entry[n] == '=' ? entry + n + 1 : NULL;
}

static const char *find(char *const *environment, const char *name)
{
    for (size_t i = 0; environment[i]; i++)
        if (value_of(environment[i], name))
            return value_of(environment[i], name);
    return NULL;
}

/* An empty PYTHONPATH means none to Python, but a trailing colon the current
 * directory: so nothing is joined to nothing.  A run inside a run has us there
 * already. */
static char *python_path(struct sd_arena *a, const char *bootstrap, const char *old)
{
    size_t n = strlen(bootstrap);

    if (!old || !*old)
        return sd_arena_printf(a, "PYTHONPATH=%s", bootstrap);
    if (strncmp(old, bootstrap, n) == 0 && (old[n] == ':' || old[n] == '\0'))
        return sd_arena_printf(a, "PYTHONPATH=%s", old);
    return sd_arena_printf(a, "PYTHONPATH=%s:%s", bootstrap, old);
}

/* Names of ours that the program does not see as we did: three are set anew, and which
 * interpreter started us is nothing to a run inside this one. */
static bool is_replaced(const char *entry)
{
    return value_of(entry, "SONDE_LIVE") || value_of(entry, "SONDE_WITH") ||
           value_of(entry, "SONDE_FROM") || value_of(entry, "SONDE_PYTHON");
}

char **sd_environment_for(struct sd_arena *a, char *const *ours, const char *live_dir,
                          const char *with, const char *bootstrap)
{
    char **theirs, folder[PATH_MAX];
    size_t n = 0, at = 0;

    while (ours[n])
        n++;
    theirs = sd_arena_alloc(a, (n + 5) * sizeof *theirs);
    if (!theirs)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(ours[i]) && !(bootstrap && value_of(ours[i], "PYTHONPATH")))
            theirs[at++] = ours[i];
    theirs[at] = sd_arena_printf(a, "SONDE_LIVE=%s", live_dir);
    if (!theirs[at++])
        return NULL;
    theirs[at] = sd_arena_printf(a, "SONDE_WITH=%s", with);
    if (!theirs[at++])
        return NULL;
    if (getcwd(folder, sizeof folder)) {
        theirs[at] = sd_arena_printf(a, "SONDE_FROM=%s", folder);
        if (!theirs[at++])
            return NULL;
    }
    if (bootstrap)
        theirs[at++] = python_path(a, bootstrap, find(ours, "PYTHONPATH"));
    return bootstrap && !theirs[at - 1] ? NULL : theirs;
}
