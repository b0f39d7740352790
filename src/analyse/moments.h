/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MOMENTS_H
#define SD_ANALYSE_MOMENTS_H
/* moments: adds up a level over processes at each moment.
 *
 * The peak of the whole is not the sum of the peaks: they need not fall together.  So
 * all series are walked side by side in time; each process counts with its latest
 * reading until the next, and with nothing before its first and after its last.  Where
 * a bucket holds several readings the process counts with the largest of them while it
 * lasts, so the sum is exact as long as buckets hold one reading and else at most too
 * large, never too small. */
#include "profile/profile.h"

/* The sum as a series, whose buckets the caller releases (sd_series_release).  Metrics
 * that are no levels give an empty one. */
int sd_moments_sum_processes(const struct sd_profile *p, const char *metric,
                             struct sd_series *out);
#endif
