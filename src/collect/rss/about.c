/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "collect/collector.h"
#include "collect/rss/metrics.h"

const struct sd_metric_about sd_rss_metrics[] = {
#define METRIC(id, name, unit, adds, meaning)                                          \
    [SD_RSS_##id] = { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/rss/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    { .name = "every",
      .kind = SD_DURATION,
      .fallback = "10ms",
      .argument = "TIME",
      .meaning = "time between two readings" },
    { .name = "children",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "read the processes that the program starts, too" },
    { .name = "pss",
      .kind = SD_FLAG,
      .fallback = "0",
      .meaning = "read proportional memory too, once a second (up to 45 ms at 2 GB)" },
    { .name = "tcp",
      .kind = SD_FLAG,
      .fallback = "1",
      .meaning = "read the bytes of each process's own TCP connections, ten times a "
                 "second at most" },
    { .name = NULL },
};

_Static_assert(sizeof sd_rss_metrics / sizeof *sd_rss_metrics == SD_RSS_N_METRICS + 1,
               "and the end of the list");
_Static_assert(sizeof options / sizeof *options == SD_RSS_WITH_TCP + 2,
               "the last has its line, and the end of the list");

static int check(const struct sd_option_value *values)
{
    if (values[SD_RSS_EVERY].number == 0)
        return sd_fail(SD_EUSAGE, "the interval of rss cannot be zero");
    return 0;
}

const struct sd_collector_about sd_about_rss = {
    .name = "rss",
    .place = SD_OUTSIDE,
    .replaces = "mprof run, mprof attach",
    .summary = "reads over time what each process holds and uses: memory and its peak, "
               "CPU, threads, bytes read, written and sent",
    .cost =
        "nothing inside the program; outside, 90 to 160 us of CPU time per reading and "
        "30 to 70 us for each further process (rss.cpu_ns in the capture is what it "
        "was).  Unless an interval is given, readings come less often where they would "
        "take more than 0.5 % of a CPU",
    .blind_to =
        "who allocated or used it.  Network bytes are those of the whole network "
        "namespace, loopback included, not of the process; by process only those of "
        "TCP connections are known, and connections opened and closed between two "
        "looks (100 ms) are not seen.  Bytes of memory-mapped files and of send and "
        "recv on "
        "sockets are not in read and written.  The peak is the kernel's own mark, so a "
        "short one is seen; only one in the last interval before the end of a process "
        "that had children may be missed.  A process that begins and ends between two "
        "readings is not seen, nor is one that is orphaned before it was seen",
    .metrics = sd_rss_metrics,
    .options = options,
    .check = check,
};
