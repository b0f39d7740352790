/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/lines/line_choice.h"
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

_Static_assert(sizeof options / sizeof *options == SD_LINES_N_OPTIONS + 1,
               "each has its line");

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
        return sd_fail(SD_EUSAGE,
                       "--then takes \"dump\" or \"exec COMMAND\", not \"%s\"",
                       then->text);
    if (above->is_given && above->number == 0)
        return sd_fail(SD_EUSAGE, "--debug-above needs a size, such as 100MiB");
    if (above->is_given && above->number < LEAST_LIMIT)
        return sd_fail(SD_EUSAGE,
                       "--debug-above %llu means bytes, and every program uses more; "
                       "write 100MiB for megabytes",
                       (unsigned long long)above->number);
    return 0;
}

/* Whoever typed the name of a file that is there meant it. */
static int check_comma(const char *only)
{
    if (!strchr(only, ',') || access(only, F_OK) != 0)
        return 0;
    return sd_fail(SD_EUSAGE,
                   "--only %s: there is a file of that name, but a comma separates "
                   "names; to choose the file, write its comma as \\,",
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
        "about 40 ns per line of chosen code, 3 us with memory; other code: on "
        "Python 3.12 to 3.14 about 70 ns per frame that an exception leaves, before "
        "3.12 one check per call",
    .blind_to =
        "code that was not chosen, which is part of the line that called it.  A loop "
        "that stays on one line is one hit.  A line that is open when the process is "
        "killed is counted, its time is not.  With memory, the program's own ru_maxrss "
        "reads low",
    .metrics = metrics,
    .options = options,
    .check = check,
};
