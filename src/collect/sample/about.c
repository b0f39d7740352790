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
      .meaning = "rounds a second, on average; above 100000: as many as it can" },
    { .name = "mode",
      .kind = SD_CHOICE,
      .fallback = "wall",
      .argument = "wall|cpu|gil",
      .meaning = "every thread, those that run, or the one that holds the GIL" },
    { .name = "consistency",
      .kind = SD_CHOICE,
      .fallback = "auto",
      .argument = "auto|follow|pause|none",
      .meaning = "how a stack is kept from changing while it is read" },
    { .name = "idle",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "record threads that wait, too" },
    { .name = "children",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "sample the processes that the program starts, too" },
    { .name = "native",
      .kind = SD_FLAG,
      .fallback = "0",
      .meaning = "show the C functions between Python functions, too; a thread that "
                 "runs is stopped for some tens of microseconds for it" },
    { .name = NULL },
};

static int check(const struct sd_option_value *values)
{
    if (values[SD_SAMPLE_RATE].number == 0)
        return sd_fail(SD_EUSAGE, "the rate of sample is 1 a second at least");
    return values[SD_SAMPLE_WITH_NATIVE].number ? sd_unwind_check() : 0;
}

const struct sd_collector_about sd_about_sample = {
    .name = "sample",
    .place = SD_OUTSIDE,
    .replaces = "py-spy record",
    .summary = "looks many times a second at what every Python thread is doing, from "
               "outside, without stopping it",
    .cost =
        "nothing inside the program; outside 20 to 70 us of a CPU per round, of "
        "which most is the waking up.  Where stacks change too fast to be read from "
        "another CPU, that time is taken on the CPU of the program",
    .blind_to = "what happens between two looks; C functions, unless native asks for "
                "them; Python threads of processes that begin and end within some "
                "milliseconds.  A thread that waits is known by the kernel's count of "
                "its running",
    .metrics = sd_sample_metrics,
    .options = options,
    .check = check,
};
