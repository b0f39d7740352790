/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "collect/alloc/options.h"
#include "collect/collector.h"

#include <string.h>

static const struct sd_metric_about metrics[] = {
#define METRIC(name, unit, adds, meaning)                                              \
    { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/alloc/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    [SD_ALLOC_OPT_LAYER] = { .name = "layer",
                             .kind = SD_CHOICE,
                             .fallback = "all",
                             .argument = "all|py|malloc",
                             .meaning =
                                 "which allocators to record: Python's own (py), "
                                 "those of C (malloc, mmap and their relatives), "
                                 "or both" },
    [SD_ALLOC_OPT_MODE] = { .name = "mode",
                            .kind = SD_CHOICE,
                            .fallback = "full",
                            .argument = "full|aggregate|sample",
                            .meaning =
                                "record every allocation, only sums for each stack, or "
                                "a random sample" },
    [SD_ALLOC_OPT_SAMPLE_BYTES] = { .name = "sample-bytes",
                                    .kind = SD_SIZE,
                                    .fallback = "512KiB",
                                    .argument = "SIZE",
                                    .meaning = "with --mode sample: how many bytes are "
                                               "allocated, on average, from one block "
                                               "that is recorded to the next" },
    [SD_ALLOC_OPT_MAX_FILE] = { .name = "max-file",
                                .kind = SD_SIZE,
                                .argument = "SIZE",
                                .meaning =
                                    "stop recording allocations when the capture "
                                    "has this size" },
    [SD_ALLOC_OPT_NATIVE] = { .name = "native",
                              .kind = SD_FLAG,
                              .meaning = "show the C, C++, Rust and Fortran functions "
                                         "between the Python functions" },
    [SD_ALLOC_OPT_PRELOAD] = { .name = "preload",
                               .kind = SD_FLAG,
                               .meaning =
                                   "record from the first moment of every process, "
                                   "and programs that are not Python, by a library "
                                   "in LD_PRELOAD" },
    { .name = NULL },
};

_Static_assert(sizeof options / sizeof *options == SD_ALLOC_N_OPTIONS + 1,
               "each has its line");

/* The value's place among the words; -1: it is none of them. */
static int word_of(const struct sd_option_value *v, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (v->text && strcmp(v->text, words[i]) == 0)
            return i;
    return -1;
}

int sd_alloc_layers_of(const struct sd_option_value *v)
{
    static const char *const words[] = { "py", "malloc", "all", NULL };

    _Static_assert(SD_LAYER_PY == 1 && SD_LAYER_MALLOC == 2, "the places of the words");
    return word_of(v, words) + 1 ? word_of(v, words) + 1 : -1;
}

int sd_alloc_mode_of(const struct sd_option_value *v)
{
    static const char *const words[] = { "full", "aggregate", "sample", NULL };

    _Static_assert(SD_ALLOC_FULL == 0 && SD_ALLOC_AGGREGATE == 1 &&
                       SD_ALLOC_SAMPLED == 2,
                   "the places of the words");
    return word_of(v, words);
}

/* Options that this mode would ignore, and amounts of nothing. */
static int check_amounts(const struct sd_option_value *values)
{
    const struct sd_option_value *every = &values[SD_ALLOC_OPT_SAMPLE_BYTES];
    const struct sd_option_value *most = &values[SD_ALLOC_OPT_MAX_FILE];
    int mode = sd_alloc_mode_of(&values[SD_ALLOC_OPT_MODE]);

    if (every->number == 0)
        return sd_fail(SD_EUSAGE,
                       "--sample-bytes must be at least 1 byte; the default is 512KiB");
    if (every->is_given && mode != SD_ALLOC_SAMPLED)
        return sd_fail(SD_EUSAGE,
                       "--sample-bytes works only with --mode sample, not with --mode "
                       "%s; use --mode sample, or drop --sample-bytes",
                       values[SD_ALLOC_OPT_MODE].text);
    if (most->is_given && most->number == 0)
        return sd_fail(SD_EUSAGE, "--max-file must be at least 1 byte; by default a "
                                  "capture may have any size");
    if (most->number && mode == SD_ALLOC_AGGREGATE)
        return sd_fail(
            SD_EUSAGE,
            "--max-file has no effect on --mode aggregate, whose file grows only with "
            "the number of stacks; drop --max-file or --mode aggregate");
    return 0;
}

static int check(const struct sd_option_value *values)
{
    int rc;

    if (sd_alloc_layers_of(&values[SD_ALLOC_OPT_LAYER]) < 0)
        return sd_fail(SD_EUSAGE, "--layer must be all, py or malloc, not \"%s\"",
                       values[SD_ALLOC_OPT_LAYER].text);
    if (sd_alloc_mode_of(&values[SD_ALLOC_OPT_MODE]) < 0)
        return sd_fail(SD_EUSAGE,
                       "--mode must be full, aggregate or sample, not \"%s\"",
                       values[SD_ALLOC_OPT_MODE].text);
    rc = check_amounts(values);
    if (rc < 0)
        return rc;
    if (values[SD_ALLOC_OPT_PRELOAD].number &&
        sd_alloc_layers_of(&values[SD_ALLOC_OPT_LAYER]) == SD_LAYER_PY)
        return sd_fail(SD_EUSAGE,
                       "--preload records the allocators of C, which --layer py leaves "
                       "out; drop --preload or --layer py");
    return 0;
}

static bool preloads(const struct sd_option_value *values)
{
    return values[SD_ALLOC_OPT_PRELOAD].number != 0;
}

const struct sd_collector_about sd_about_alloc = {
    .name = "alloc",
    .place = SD_PYTHON,
    .replaces = "memray, tracemalloc",
    .summary = "records every allocation and free with its stack, in all threads, of "
               "Python's allocators and of C's",
    .cost =
        "1.4 to 1.7 times the CPU time of programs that do little but allocate, and up "
        "to 4 times 100 calls deep; 1.0 with --layer malloc, 1.1 with --mode sample.  "
        "Reading the recording takes sonde about as long again",
    .blind_to =
        "what was allocated before the program's first line, and blocks that an object "
        "takes from a free list of the interpreter.  Allocators that are linked into a "
        "library statically are seen as what they get from mmap.  A mapping without "
        "access that the program makes accessible later (mprotect) stays \"reserved\"",
    .metrics = metrics,
    .options = options,
    .check = check,
    .preloads = preloads,
};
