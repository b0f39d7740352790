/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "collect/collector.h"
#include "collect/lines/choice.h"
#include "collect/lines/options.h"

static const struct sd_metric_about metrics[] = {
#define METRIC(name, unit, adds, meaning)                                              \
    { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/lines/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    [SD_LINES_OPT_ONLY] = { .name = "only",
                            .kind = SD_TEXT,
                            .argument = "NAMES",
                            .meaning = "choose functions without touching the source: "
                                       "'func,Class.method,pkg.mod:func,src/*.py'" },
    [SD_LINES_OPT_MEMORY] = { .name = "memory",
                              .kind = SD_FLAG,
                              .fallback = "0",
                              .meaning = "read resident memory at the end of each "
                                         "line, too, and its peak inside" },
    [SD_LINES_OPT_CPU] = { .name = "cpu",
                           .kind = SD_FLAG,
                           .fallback = "0",
                           .meaning = "measure the CPU time of each line, too" },
    [SD_LINES_OPT_DEBUG_ABOVE] = { .name = "debug-above",
                                   .kind = SD_SIZE,
                                   .argument = "SIZE",
                                   .meaning =
                                       "stop in pdb after the line of chosen code that "
                                       "took the process above this much resident "
                                       "memory" },
    [SD_LINES_OPT_THEN] = { .name = "then",
                            .kind = SD_TEXT,
                            .argument = "dump|exec CMD",
                            .meaning =
                                "with --debug-above: print where all threads are, "
                                "or run a command, instead of pdb, and go on" },
    { .name = NULL },
};

static bool is_deed(const char *then)
{
    return strcmp(then, "dump") == 0 ||
           (strncmp(then, "exec ", 5) == 0 && then[strspn(then + 5, " ") + 5]);
}

enum { LEAST_LIMIT = 1 << 20 }; /* bytes: no interpreter is smaller */

static int check_limit(const struct sd_option_value *values)
{
    const struct sd_option_value *above = &values[SD_LINES_OPT_DEBUG_ABOVE];
    const struct sd_option_value *then = &values[SD_LINES_OPT_THEN];

    if (then->text && !above->is_given)
        return sd_fail(SD_EUSAGE, "--then needs a limit: --debug-above 100MiB");
    if (then->text && !is_deed(then->text))
        return sd_fail(SD_EUSAGE, "--then is dump, or exec and a command, not \"%s\"",
                       then->text);
    if (above->is_given && above->number == 0)
        return sd_fail(SD_EUSAGE, "--debug-above wants a size, such as 100MiB");
    if (above->is_given && above->number < LEAST_LIMIT)
        return sd_fail(SD_EUSAGE,
                       "--debug-above %llu are bytes, and every program has more; "
                       "write 100MiB for megabytes",
                       (unsigned long long)above->number);
    return 0;
}

/* Whoever typed the name of a file that is there meant it. */
static int check_comma(const char *only)
{
    if (!strchr(only, ',') || access(only, F_OK) != 0)
        return 0;
    return sd_fail(
        SD_EUSAGE,
        "--only %s: a comma stands between names; one that is part of a name "
        "is written as \\,",
        only);
}

static int check(const struct sd_option_value *values)
{
    const char *only = values[SD_LINES_OPT_ONLY].text;
    struct sd_line_choice choice;
    int rc = only ? sd_line_choice_read(only, "", &choice) : 0;

    if (rc < 0)
        return rc;
    if (only) {
        sd_line_choice_release(&choice);
        rc = check_comma(only);
    }
    return rc < 0 ? rc : check_limit(values);
}

const struct sd_collector_about sd_about_lines = {
    .name = "lines",
    .place = SD_PYTHON,
    .replaces = "line_profiler, memory_profiler",
    .summary = "counts and times every line of chosen functions, in all threads",
    .cost =
        "some 40 ns a line of chosen code, 3 us with memory; other code as fast as "
        "ever on Python 3.12 and later, but for some 70 ns a frame that an exception "
        "leaves, and one look a call before",
    .blind_to =
        "code that was not chosen, which is part of the line that called it.  A loop "
        "that stays on one line is one hit.  A line that is open when the process is "
        "killed is counted, its time is not.  With memory, the program's own ru_maxrss "
        "reads low",
    .metrics = metrics,
    .options = options,
    .check = check,
};

/* --- In the program ----------------------------------------------------------------
 */

/* "name=value" of the n bytes at `at`: the value, or NULL. */
static const char *value_of(const char *at, size_t n, const char *name, size_t *n_value)
{
    size_t m = strlen(name);

    if (n <= m || strncmp(at, name, m) != 0 || at[m] != '=')
        return NULL;
    *n_value = n - m - 1;
    return at + m + 1;
}

static uint64_t size_of(const char *value, size_t n)
{
    char typed[64];
    uint64_t bytes = 0;

    snprintf(typed, sizeof typed, "%.*s", (int)n, value);
    return sd_text_parse_size(typed, &bytes) ? bytes : 0;
}

static bool read_one(const char *at, size_t n, struct sd_lines_asked *out)
{
    const char *value;
    size_t m;

    value = value_of(at, n, "only", &m);
    if (value && !out->only)
        out->only = sd_option_unpack(value, m);
    if (value)
        return out->only != NULL;
    value = value_of(at, n, "memory", &m);
    if (value)
        out->has_memory = *value == '1';
    value = value_of(at, n, "then", &m);
    if (value && !out->then)
        out->then = sd_option_unpack(value, m);
    value = value_of(at, n, "debug-above", &m);
    if (value)
        out->limit_bytes = size_of(value, m);
    value = value_of(at, n, "cpu", &m);
    if (value)
        out->has_cpu = *value == '1';
    return true;
}

/* "memory=1;only=a+b", n bytes of it. */
static bool read_all(const char *at, size_t n, struct sd_lines_asked *out)
{
    while (n > 0) {
        const char *end = memchr(at, ';', n);
        size_t one = end ? (size_t)(end - at) : n;

        if (!read_one(at, one, out))
            return false;
        at += one + (one < n);
        n -= one + (one < n);
    }
    return true;
}

bool sd_lines_asked_from(const char *with, struct sd_lines_asked *out)
{
    memset(out, 0, sizeof *out);
    for (; with && *with; with += strcspn(with, ","), with += *with == ',') {
        size_t n = strcspn(with, ","), name = strlen("lines");

        if (n < name || strncmp(with, "lines", name) != 0 ||
            (n > name && with[name] != ':'))
            continue;
        return n == name || read_all(with + name + 1, n - name - 1, out);
    }
    return false;
}

void sd_lines_asked_release(struct sd_lines_asked *a)
{
    sd_free(a->only);
    sd_free(a->then);
    a->only = a->then = NULL;
}
