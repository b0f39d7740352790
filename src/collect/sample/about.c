/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "collect/collector.h"
#include "collect/sample/metrics.h"
#include "process/native/unwind.h"

const struct sd_metric_about sd_sample_metrics[] = {
#define METRIC(id, name, unit, adds, meaning)                                          \
    [SD_SAMPLE_METRIC_##id] = { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/sample/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    { .name = "rate",
      .kind = SD_NUMBER,
      .fallback = "200",
      .argument = "N",
      .meaning = "rounds a second, on average; above 100000: as many as possible; "
                 "without this option 200, or fewer where 200 would take more than "
                 "1.25 % of a CPU" },
    { .name = "mode",
      .kind = SD_CHOICE,
      .fallback = "wall",
      .argument = "wall|cpu|gil",
      .meaning = "which threads to record: all, those that run, or the one that holds "
                 "the GIL" },
    { .name = "consistency",
      .kind = SD_CHOICE,
      .fallback = "auto",
      .argument = "auto|follow|pause|none",
      .meaning = "how to keep a stack consistent while it is read" },
    { .name = "idle",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "record waiting threads, too" },
    { .name = "children",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "sample the processes that the program starts, too" },
    { .name = "native",
      .kind = SD_FLAG,
      .fallback = "0",
      .meaning = "show the C functions between Python functions, too; stops running "
                 "threads for some tens of microseconds each time" },
    { .name = NULL },
};

_Static_assert(sizeof sd_sample_metrics / sizeof *sd_sample_metrics ==
                   SD_SAMPLE_N_METRICS + 1,
               "and the end of the list");
_Static_assert(sizeof options / sizeof *options == SD_SAMPLE_WITH_NATIVE + 2,
               "the last has its line, and the end of the list");

static int check(const struct sd_option_value *values)
{
    if (values[SD_SAMPLE_RATE].number == 0)
        return sd_fail(
            SD_EUSAGE,
            "the rate of the collector sample must be at least 1 per second");
    return values[SD_SAMPLE_WITH_NATIVE].number ? sd_unwind_check() : 0;
}

const struct sd_collector_about sd_about_sample = {
    .name = "sample",
    .place = SD_OUTSIDE,
    .replaces = "py-spy record",
    .summary = "looks many times a second at what every Python thread is doing, from "
               "outside, without stopping it",
    .cost = "nothing inside the program; outside 20 to 70 us of a CPU per round, most "
            "of it for waking up.  Where stacks change too fast to be read from "
            "another CPU, that time is taken on the CPU of the program",
    .blind_to = "what happens between two looks; C functions, unless native asks for "
                "them; Python threads of processes that begin and end within some "
                "milliseconds.  Whether a thread waits is taken from the kernel's "
                "counters",
    .metrics = sd_sample_metrics,
    .options = options,
    .check = check,
};
