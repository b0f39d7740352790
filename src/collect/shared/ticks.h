/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_TICKS_H
#define SD_COLLECT_SHARED_TICKS_H
/* ticks: the clock that traced calls read, twice each.
 *
 * The processor's time-stamp counter where it runs at one rate on all cores and the
 * kernel itself trusts it (clocksource tsc), else CLOCK_MONOTONIC.  A counter's rate is
 * not guessed: whoever wants nanoseconds takes two moments read on both clocks. */
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#include "base/clock.h"
#include "capture/record.h"

/* hot: the time-stamp counter. */
static inline uint64_t sd_tsc(void) { return __rdtsc(); }
/* The processor promises that it runs at one rate, whatever the cores do. */
bool sd_tsc_is_steady(void);

/* Which clock this machine's ticks are. */
enum sd_clock_kind sd_ticks_kind(void);
/* Now, on that clock. */
uint64_t sd_ticks_now(enum sd_clock_kind kind);

struct sd_ticks_pair { /* one moment on both clocks */
    uint64_t ticks, mono_ns;
};
/* Read as close together as can be had. */
struct sd_ticks_pair sd_ticks_pair(enum sd_clock_kind kind);
/* Nanoseconds per tick by two moments; 1 for CLOCK_MONOTONIC, 0 when they are one. */
double sd_ticks_ns(enum sd_clock_kind kind, const struct sd_ticks_pair *from,
                   const struct sd_ticks_pair *to);
#endif
