/* SPDX-License-Identifier: MIT */
#include "cli/record/attach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/profile.h"

#define BEGINS_WITHIN_NS 500000000u /* a new process: its Python is waited for */
#define YOUNG_NS 2000000000u        /* how old it may be for that */
enum { NAP_NS = 500000, COMMAND_MAX = 1 << 20 };

int sd_attach_pid(const char *typed, pid_t *pid)
{
    bool is_hex = typed[0] == '0' && (typed[1] == 'x' || typed[1] == 'X');
    const char *digits = typed + (is_hex ? 2 : 0);
    char *end;
    long n;

    errno = 0;
    n = strtol(digits, &end, is_hex ? 16 : 10);
    if (!strchr("0123456789abcdefABCDEF", *digits) || !*digits || *end || errno ||
        n <= 0 || n > INT_MAX)
        return sd_fail(SD_EUSAGE, "\"%s\" is not a process ID", typed);
    *pid = (pid_t)n;
    return 0;
}

int sd_attach_consistency(const struct sd_option_value *consistency,
                          const struct sd_option_value *nonblocking,
                          const struct sd_option_value *blocking,
                          enum sd_consistency *out)
{
    int n_said =
        consistency->is_given + (nonblocking->number != 0) + (blocking->number != 0);

    if (n_said > 1)
        return sd_fail(SD_EUSAGE,
                       "give only one of --consistency, --nonblocking and --blocking");
    *out = (enum sd_consistency)consistency->number;
    if (nonblocking->number)
        *out = SD_CONSISTENCY_AUTO;
    if (blocking->number)
        *out = SD_CONSISTENCY_PAUSE;
    return 0;
}

/* "3.11" or "3.11.7"; NULL leaves the hints as they are. */
static int read_version(const char *typed, struct sd_runtime_hints *hints)
{
    if (!typed)
        return 0;
    hints->version = sd_version_parse(typed, strlen(typed));
    if (!hints->version)
        return sd_fail(SD_EUSAGE,
                       "--python-version takes a version such as 3.11, not \"%s\"",
                       typed);
    return 0;
}

int sd_attach_read(const struct sd_option_value *values, struct sd_runtime_hints *hints,
                   struct sd_sampler_options *options)
{
    int rc = read_version(values[SD_ATTACH_PYTHON_VERSION].text, hints);

    options->hints = hints;
    options->native = values[SD_ATTACH_NATIVE].number != 0;
    if (rc == 0)
        rc = sd_attach_consistency(&values[SD_ATTACH_CONSISTENCY],
                                   &values[SD_ATTACH_NONBLOCKING],
                                   &values[SD_ATTACH_BLOCKING], &options->consistency);
    return rc;
}

static bool is_young(pid_t pid)
{
    uint64_t ticks = sd_process_start_time(pid);

    return ticks && sd_clock_ns() - sd_process_start_ns(ticks) < YOUNG_NS;
}

int sd_attach_open(struct sd_sampler **out, pid_t pid,
                   const struct sd_sampler_options *options)
{
    const struct timespec nap = { 0, NAP_NS };
    uint64_t until = sd_clock_ns() + BEGINS_WITHIN_NS;

    for (;;) {
        int rc = sd_sampler_open(out, pid, options, SD_SAMPLER_NEEDS_PYTHON);

        if (rc != SD_EABSENT || sd_clock_ns() > until ||
            !(sd_runtime_is_likely(pid) || is_young(pid)))
            return rc;
        nanosleep(&nap, NULL);
    }
}

char *sd_attach_command(pid_t pid)
{
    char path[64], *text;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    if (sd_read_file(path, COMMAND_MAX, &text, &n) < 0)
        return NULL;
    while (n && !text[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' ';
    return text;
}

const char *sd_attach_file(const char *file, bool is_full)
{
    const struct sd_site site = { .kind = SD_SITE_FUNCTION, .file = file };

    return is_full ? file : sd_site_short_file(&site);
}
