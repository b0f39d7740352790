/* SPDX-License-Identifier: MIT */
#include "collect/shared/ticks.h"

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool sd_tsc_is_steady(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* A kernel that saw the counters of two cores disagree takes it off this list. */
static bool is_trusted_by_kernel(void)
{
    static const char path[] =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = 0;
    return strncmp(text, "tsc", 3) == 0 || strstr(text, " tsc");
}

enum sd_clock_kind sd_ticks_kind(void)
{
    return sd_tsc_is_steady() && is_trusted_by_kernel() ? SD_CLOCK_TSC
                                                        : SD_CLOCK_MONOTONIC;
}

uint64_t sd_ticks_now(enum sd_clock_kind kind)
{
    return kind == SD_CLOCK_TSC ? sd_tsc() : sd_clock_ns();
}

struct sd_ticks_pair sd_ticks_pair(enum sd_clock_kind kind)
{
    struct sd_ticks_pair best = { 0, 0 };
    uint64_t narrowest = UINT64_MAX;

    if (kind != SD_CLOCK_TSC) {
        best.ticks = best.mono_ns = sd_clock_ns();
        return best;
    }
    for (int i = 0; i < 5; i++) { /* once is not enough: it may be interrupted */
        uint64_t before = sd_tsc(), ns = sd_clock_ns(), after = sd_tsc();

        if (after - before >= narrowest)
            continue;
        narrowest = after - before;
        best = (struct sd_ticks_pair){ before + narrowest / 2, ns };
    }
    return best;
}

double sd_ticks_ns(enum sd_clock_kind kind, const struct sd_ticks_pair *from,
                   const struct sd_ticks_pair *to)
{
    if (kind != SD_CLOCK_TSC)
        return 1;
    if (to->ticks <= from->ticks || to->mono_ns <= from->mono_ns)
        return 0;
    return (double)(to->mono_ns - from->mono_ns) / (double)(to->ticks - from->ticks);
}
