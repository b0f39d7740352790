/* SPDX-License-Identifier: MIT */
#include "cpython/layout.h"

#include <stdio.h>
#include <string.h>

#include "cpython/layouts.h"

static const struct sd_layout *const layouts[] = {
#define LAYOUT(minor) &sd_layout_cp3##minor,
#include "cpython/layouts.def"
#undef LAYOUT
};

enum { FIRST_TOLD = 0x030d }; /* 3.13 */

const struct sd_layout *sd_layout_of_version(uint32_t version)
{
    size_t i;

    for (i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i]->version >> 16 == version >> 16)
            return layouts[i];
    return NULL;
}

const struct sd_layout *sd_layout_next(const struct sd_layout *after)
{
    size_t i;

    if (!after)
        return layouts[0];
    for (i = 0; i + 1 < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i] == after && !sd_layout_is_told(layouts[i + 1]->version))
            return layouts[i + 1];
    return NULL;
}

bool sd_layout_is_told(uint32_t version) { return version >> 16 >= FIRST_TOLD; }

const char *sd_layout_supported(void) { return "3.8 to 3.15"; }

char *sd_version_text(char out[SD_VERSION_TEXT], uint32_t version,
                      bool is_free_threaded)
{
    unsigned major = version >> 24, minor = version >> 16 & 255,
             micro = version >> 8 & 255;
    unsigned serial = version & 15;
    const char *level = "";

    switch (version >> 4 & 15) {
    case 0xa:
        level = "a";
        break;
    case 0xb:
        level = "b";
        break;
    case 0xc:
        level = "rc";
        break;
    }
    if (*level)
        snprintf(out, SD_VERSION_TEXT, "%u.%u.%u%s%u%s", major, minor, micro, level,
                 serial, is_free_threaded ? "t" : "");
    else
        snprintf(out, SD_VERSION_TEXT, "%u.%u.%u%s", major, minor, micro,
                 is_free_threaded ? "t" : "");
    return out;
}

/* Digits from *at on, at most three of them; false when there is none. */
static bool take_number(const char *s, size_t n, size_t *at, uint32_t *v)
{
    size_t from = *at;

    *v = 0;
    while (*at < n && *at - from < 3 && s[*at] >= '0' && s[*at] <= '9')
        *v = *v * 10 + (uint32_t)(s[(*at)++] - '0');
    return *at > from && *v < 256;
}

static bool take(const char *s, size_t n, size_t *at, char c)
{
    if (*at >= n || s[*at] != c)
        return false;
    ++*at;
    return true;
}

/* The level and its serial number, "rc2"; 0xf0 for a final version. */
static uint32_t take_level(const char *s, size_t n, size_t *at)
{
    uint32_t level = 0xf0, serial;

    if (take(s, n, at, 'a'))
        level = 0xa0;
    else if (take(s, n, at, 'b'))
        level = 0xb0;
    else if (take(s, n, at, 'r') && take(s, n, at, 'c'))
        level = 0xc0;
    if (level != 0xf0 && take_number(s, n, at, &serial))
        level |= serial & 15;
    return level;
}

uint32_t sd_version_of_suffix(const char *suffix, bool *is_free_threaded)
{
    static const char begin[] = ".cpython-";
    const char *digits = suffix + sizeof begin - 1;
    uint32_t minor;
    size_t at = 1;

    *is_free_threaded = false;
    if (strncmp(suffix, begin, sizeof begin - 1) != 0 || *digits < '1' || *digits > '9')
        return 0;
    if (!take_number(digits, strlen(digits), &at, &minor))
        return 0;
    *is_free_threaded = digits[at] == 't';
    return (uint32_t)(*digits - '0') << 24 | minor << 16 | 0xf0;
}

uint32_t sd_version_parse(const char *s, size_t n)
{
    uint32_t major, minor, micro = 0, level = 0xf0;
    size_t at = 0;

    if (!take_number(s, n, &at, &major) || !take(s, n, &at, '.') ||
        !take_number(s, n, &at, &minor))
        return 0;
    if (take(s, n, &at, '.')) {
        if (!take_number(s, n, &at, &micro))
            return 0;
        level = take_level(s, n, &at);
    }
    take(s, n, &at, '+'); /* built between two releases */
    if (at != n)
        return 0;
    return major << 24 | minor << 16 | micro << 8 | level;
}
