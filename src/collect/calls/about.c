/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "collect/calls/options.h"
#include "collect/collector.h"

#include <string.h>

static const struct sd_metric_about metrics[] = {
#define METRIC(name, unit, adds, meaning)                                              \
    { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/calls/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    [SD_CALLS_OPT_BUILTINS] = { .name = "builtins",
                                .kind = SD_FLAG,
                                .fallback = "0",
                                .meaning = "follow C functions, too" },
    [SD_CALLS_OPT_THREADS] = { .name = "threads",
                               .kind = SD_FLAG,
                               .fallback = "1",
                               .meaning = "follow all threads, not only the main one" },
    [SD_CALLS_OPT_CPU] = { .name = "cpu",
                           .kind = SD_FLAG,
                           .fallback = "0",
                           .meaning = "measure the CPU time of each call, too; sonde "
                                      "calls then shows CPU time instead of wall-clock "
                                      "time" },
    [SD_CALLS_OPT_BOUNDED] = { .name = "bounded",
                               .kind = SD_FLAG,
                               .fallback = "0",
                               .meaning =
                                   "leave functions out once they were called often "
                                   "and are short (Python 3.12 and later)" },
    [SD_CALLS_OPT_NODES] = { .name = "nodes",
                             .kind = SD_NUMBER,
                             .fallback = "1000000",
                             .argument = "N",
                             .meaning = "paths that are kept apart in each thread; "
                                        "calls along further ones are counted by "
                                        "caller and callee" },
    [SD_CALLS_OPT_TIMELINE] = { .name = "timeline",
                                .kind = SD_FLAG,
                                .fallback = "0",
                                .meaning =
                                    "record when each call began and ended, too, for "
                                    "Perfetto (convert x.sonde x.trace.json); 8 bytes "
                                    "a call" },
    [SD_CALLS_OPT_SIGNATURES] = { .name = "signatures",
                                  .kind = SD_OPTIONAL,
                                  .argument = "types|lengths|sizes",
                                  .meaning =
                                      "tell calls apart by the types of their "
                                      "arguments, and the dtype and shape of arrays; "
                                      "lengths: of containers, too; sizes: and the "
                                      "values of integers" },
    [SD_CALLS_OPT_SCALING] = { .name = "scaling",
                               .kind = SD_FLAG,
                               .fallback = "0",
                               .meaning =
                                   "record sizes of arguments (--signatures=sizes) and "
                                   "CPU time; sonde calls then shows how time grows "
                                   "with size" },
    { .name = NULL },
};

_Static_assert(sizeof options / sizeof *options == SD_CALLS_N_OPTIONS + 1,
               "each has its line");

/* What may be said of signatures, in the order of enum sd_value_detail; nothing at all
 * is the first of them. */
static const char *const details[] = { "types", "lengths", "sizes" };

int sd_calls_signatures_of(const struct sd_option_value *v)
{
    _Static_assert(sizeof details / sizeof *details == 3, "the loop asks them all");
    if (!v->text)
        return 0;
    for (int i = 0; i < 3; i++)
        if (strcmp(v->text, *v->text ? details[i] : "") == 0)
            return i + 1;
    return -1;
}

static int check(const struct sd_option_value *values)
{
    uint64_t nodes = values[SD_CALLS_OPT_NODES].number;

    if (nodes < SD_CALLS_NODES_LEAST || nodes > SD_CALLS_NODES_MOST)
        return sd_fail(SD_EUSAGE, "--nodes must be from 2 to 16,000,000");
    if (sd_calls_signatures_of(&values[SD_CALLS_OPT_SIGNATURES]) < 0)
        return sd_fail(SD_EUSAGE,
                       "--signatures must be types, lengths or sizes, not \"%s\"",
                       values[SD_CALLS_OPT_SIGNATURES].text);
    if (values[SD_CALLS_OPT_SCALING].number && values[SD_CALLS_OPT_SIGNATURES].text &&
        *values[SD_CALLS_OPT_SIGNATURES].text &&
        strcmp(values[SD_CALLS_OPT_SIGNATURES].text, details[2]) != 0)
        return sd_fail(SD_EUSAGE, "--scaling needs --signatures=sizes, which it "
                                  "chooses by itself; drop --signatures");
    if ((values[SD_CALLS_OPT_SIGNATURES].text || values[SD_CALLS_OPT_SCALING].number) &&
        values[SD_CALLS_OPT_BOUNDED].number)
        return sd_fail(
            SD_EUSAGE,
            "--%s needs every call, and --bounded leaves calls out; drop one of them",
            values[SD_CALLS_OPT_SCALING].number ? "scaling" : "signatures");
    return 0;
}

const struct sd_collector_about sd_about_calls = {
    .name = "calls",
    .place = SD_PYTHON,
    .replaces = "cProfile, yappi",
    .summary = "counts and times every call, along the path by which it was called, in "
               "all threads",
    .cost =
        "15 to 25 ns a call on Python 3.8 to 3.10, 35 on 3.11, 50 on 3.12 and later; "
        "with C functions 40 to 130 (a 2.8 GHz Xeon; the cost that was "
        "calibrated is subtracted and shown)",
    .blind_to = "lines inside a function, and C functions unless they are asked for.  "
                "C code that calls no Python is part of its caller.  A call that is "
                "open when the process is killed is counted, its time is not.  Calls "
                "beyond the limit of paths (--nodes) are known by caller and callee "
                "only.  Code of sub-interpreters is not traced",
    .metrics = metrics,
    .options = options,
    .check = check,
};

/* Growth is seen in sizes, and in CPU time, which other programs do not lengthen. */
void sd_calls_imply(struct sd_option_value values[SD_CALLS_N_OPTIONS])
{
    if (!values[SD_CALLS_OPT_SCALING].number)
        return;
    values[SD_CALLS_OPT_SIGNATURES].text = details[2];
    values[SD_CALLS_OPT_CPU].number = 1;
}
