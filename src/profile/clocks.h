/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CLOCKS_H
#define SD_PROFILE_CLOCKS_H
/* clocks: converts a stream's ticks to nanoseconds of CLOCK_MONOTONIC.
 *
 * Most streams tick in CLOCK_MONOTONIC itself and need nothing.  Others (the time
 * stamp counter) carry pairs of both clocks; between two pairs time is a straight line,
 * and outside of them the nearest line goes on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

enum { SD_CLOCK_PAIRS = 1024 }; /* per stream; then every second one is forgotten */

struct sd_clock_pair {
    uint64_t ticks, mono_ns;
};

struct sd_clock_line {           /* one stream's */
    struct sd_clock_pair *pairs; /* owned; rising in both */
    size_t n, cap;
};

struct sd_clocks {               /* all zero is a fresh one */
    struct sd_clock_line *lines; /* owned */
    size_t n, cap;
    struct sd_table by_stream;
};

/* 0 or SD_ENOMEM.  They may come in any order; one that does not rise with the others
 * is left out. */
int sd_clocks_add(struct sd_clocks *c, uint64_t stream, uint64_t ticks,
                  uint64_t mono_ns);
/* NULL: the stream ticks in CLOCK_MONOTONIC.  Borrowed until the next add. */
const struct sd_clock_line *sd_clocks_line(const struct sd_clocks *c, uint64_t stream);
uint64_t sd_clock_line_ns(const struct sd_clock_line *line, uint64_t ticks);
/* The pairs before and behind these ticks; NULL: there is none. */
void sd_clock_line_around(const struct sd_clock_line *line, uint64_t ticks,
                          const struct sd_clock_pair **before,
                          const struct sd_clock_pair **behind);
/* How long a tick is, by the two pairs of all streams that are farthest apart: the time
 * stamp counters of a machine go alike.  0: there are no two. */
double sd_clocks_ns_per_tick(const struct sd_clocks *c);
void sd_clocks_release(struct sd_clocks *c);
#endif
