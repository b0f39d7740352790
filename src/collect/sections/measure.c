/* SPDX-License-Identifier: MIT */
/* measure: parses which quantities a section measures. */
#include <string.h>

#include "base/error.h"
#include "collect/sections/sections.h"

static const struct {
    const char *word;
    unsigned measure;
} words[] = {
    { "time", SD_MEASURE_TIME },
    { "memory", SD_MEASURE_MEMORY },
    { "peak", SD_MEASURE_PEAK },
    { "io", SD_MEASURE_IO },
    { "network", SD_MEASURE_NETWORK },
    { "pss", SD_MEASURE_PSS },
    { "cpu", SD_MEASURE_TIME | SD_MEASURE_THREAD_CPU },
    { "process", SD_MEASURE_TIME | SD_MEASURE_PROCESS_CPU },
    { "all", SD_MEASURE_ALL | SD_MEASURE_THREAD_CPU },
};

static bool add_word(const char *p, size_t n, unsigned *measure)
{
    size_t i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == n && memcmp(words[i].word, p, n) == 0) {
            *measure |= words[i].measure;
            return true;
        }
    return false;
}

int sd_section_measure_parse(const char *list, unsigned *measure)
{
    unsigned found = 0;

    do {
        size_t n = strcspn(list, ",+");

        if (!add_word(list, n, &found))
            return sd_fail(SD_EUSAGE,
                           "a section cannot measure \"%.*s\"; it can measure time, "
                           "memory, peak, io, network, pss, cpu, process and all",
                           (int)n, list);
        list += n;
    } while (*list++);
    *measure = found;
    return 0;
}
