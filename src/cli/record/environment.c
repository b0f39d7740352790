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

/* A run inside a run has us there already; the dynamic linker takes spaces for colons.
 */
static char *preload(struct sd_arena *a, const char *library, const char *old)
{
    size_t n = strlen(library);

    if (!old || !*old)
        return sd_arena_printf(a, "LD_PRELOAD=%s", library);
    for (const char *at = old; (at = strstr(at, library)); at += n)
        if ((at == old || strchr(": ", at[-1])) && (!at[n] || strchr(": ", at[n])))
            return sd_arena_printf(a, "LD_PRELOAD=%s", old);
    return sd_arena_printf(a, "LD_PRELOAD=%s:%s", old, library);
}

/* Names of ours that the program does not see as we did: three are set anew, and which
 * interpreter started us is nothing to a run inside this one. */
static bool is_replaced(const char *entry)
{
    return value_of(entry, "SONDE_LIVE") || value_of(entry, "SONDE_WITH") ||
           value_of(entry, "SONDE_FROM") || value_of(entry, "SONDE_PYTHON");
}

/* Adds an entry; false: it is NULL, as there was no memory for it. */
static bool put(char **theirs, size_t *at, char *entry)
{
    theirs[(*at)++] = entry;
    return entry != NULL;
}

char **sd_environment_for(struct sd_arena *a, char *const *ours, const char *live_dir,
                          const char *with, const char *bootstrap, const char *library)
{
    char **theirs, folder[PATH_MAX];
    size_t n = 0, at = 0;
    bool is_whole;

    while (ours[n])
        n++;
    theirs = sd_arena_alloc(a, (n + 6) * sizeof *theirs);
    if (!theirs)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(ours[i]) && !(bootstrap && value_of(ours[i], "PYTHONPATH")) &&
            !(library && value_of(ours[i], "LD_PRELOAD")))
            theirs[at++] = ours[i];
    is_whole = put(theirs, &at, sd_arena_printf(a, "SONDE_LIVE=%s", live_dir)) &&
               put(theirs, &at, sd_arena_printf(a, "SONDE_WITH=%s", with));
    if (is_whole && getcwd(folder, sizeof folder))
        is_whole = put(theirs, &at, sd_arena_printf(a, "SONDE_FROM=%s", folder));
    if (is_whole && bootstrap)
        is_whole =
            put(theirs, &at, python_path(a, bootstrap, find(ours, "PYTHONPATH")));
    if (is_whole && library)
        is_whole = put(theirs, &at, preload(a, library, find(ours, "LD_PRELOAD")));
    return is_whole ? theirs : NULL;
}
