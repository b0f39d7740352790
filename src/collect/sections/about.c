/* SPDX-License-Identifier: MIT */
#include "collect/collector.h"
#include "collect/sections/metrics.h"
#include "collect/sections/sections.h"

const struct sd_metric_about sd_section_metrics[] = {
#define METRIC(id, name, unit, adds, meaning)                                          \
    [SD_SECTION_##id] = { name, SD_UNIT_##unit, SD_ADDS_##adds, meaning },
#include "collect/sections/metrics.def"
#undef METRIC
    { NULL, 0, 0, NULL },
};

static const struct sd_option options[] = {
    { .name = "measure",
      .kind = SD_TEXT,
      .fallback = "all",
      .argument = "WORDS",
      .meaning = "what a section reads unless it says so itself: time, memory, peak, "
                 "io, network, all" },
    { .name = NULL },
};

_Static_assert(sizeof sd_section_metrics / sizeof *sd_section_metrics ==
                   SD_SECTION_N_METRICS + 1,
               "and the end of the list");

static int check(const struct sd_option_value *values)
{
    unsigned measure;

    return values[0].text ? sd_section_measure_parse(values[0].text, &measure) : 0;
}

const struct sd_collector_about sd_about_sections = {
    .name = "sections",
    .place = SD_INSIDE,
    .replaces = "amltk's Profiler",
    .summary = "records the named regions that the program opens: wall and CPU time, "
               "memory before, after and at its peak, bytes read, written and sent",
    .cost =
        "0.1 us a section with wall time only, from C; 2 us with memory, 12 us with "
        "everything (6 us of it network, 2 us peak)",
    .blind_to =
        "who inside a section spent it: open smaller ones.  Memory, I/O and network "
        "are those of the whole process, network of its whole namespace: what other "
        "threads (and other processes of the namespace) do meanwhile counts too.  "
        "Bytes of child processes count once the process has waited for them.  "
        "Memory-mapped files and send/recv on sockets are not in read and written.  "
        "While sections ask for peaks the program's own ru_maxrss and VmHWM read low, "
        "because the kernel's one mark is set back each time",
    .metrics = sd_section_metrics,
    .options = options,
    .check = check,
};
