/* SPDX-License-Identifier: MIT */
#include "collect/shared/native_roles.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool fits(const char *name, const char *pattern)
{
    size_t n = strlen(pattern);

    if (n && pattern[n - 1] == '*')
        return strncmp(name, pattern, n - 1) == 0;
    return strcmp(name, pattern) == 0;
}

unsigned sd_native_judge(const char *name)
{
    static const struct {
        enum sd_native_role role;
        const char *pattern;
    } known[] = {
#define NAME(role, pattern) { SD_NATIVE_##role, pattern },
#include "collect/shared/native_names.def"
#undef NAME
    };
    size_t i;

    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fits(name, known[i].pattern))
            return known[i].role;
    return SD_NATIVE_PLAIN;
}
