/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SERIES_H
#define SD_PROFILE_SERIES_H
/* series: keeps readings over time in bounded memory.
 *
 * A bucket is a cell of a grid of 2^k ns; when there are too many, k grows by one and
 * pairs of cells fold together.  Smallest and largest survive every fold, so no peak
 * is lost; only its moment becomes less exact.  The grid starts at CLOCK_REALTIME 0
 * (`origin_ns` is added to every time), so series of two captures have the same cells
 * and merging them is associative. */
#include <stdint.h>

#include "profile/profile.h"

/* Later than any real moment; bounds what a lying file can say, so that origin + time
 * never wraps. */
#define SD_TIME_MAX ((uint64_t)1 << 62)

void sd_sum_add(struct sd_sum *s, enum sd_adds adds, int64_t v);
/* Adds what `from` saw later than `into`. */
void sd_sum_merge(struct sd_sum *into, const struct sd_sum *from, enum sd_adds adds);

/* One reading.  `limit` buckets at most.  0 or SD_ENOMEM. */
int sd_series_add(struct sd_series *s, enum sd_adds adds, uint64_t origin_ns,
                  uint32_t limit, uint64_t time_ns, int64_t v);
/* Adds all readings of `from`, whose times are moved by `later_ns` first. */
int sd_series_merge(struct sd_series *into, const struct sd_series *from,
                    enum sd_adds adds, uint64_t origin_ns, uint64_t later_ns);
/* Gives back the memory that growing kept in reserve.  Never fails. */
void sd_series_settle(struct sd_series *s);
void sd_series_release(struct sd_series *s);
#endif
