/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_SLICE_SUMS_H
#define SD_PROFILE_SLICE_SUMS_H
/* slice_sums: puts the sums of a part of the run in the place of a profile's totals of
 * samples, so that any analysis answers for that part without reading the capture. */
#include "profile/slices.h"

struct sd_slice_sums {            /* all zero is a released one */
    struct sd_profile *p;         /* whose totals were changed, or NULL */
    struct sd_stack_totals whole; /* what they were; owned */
};

/* Do slices tell what this filter leaves?  Its ends are those of slices (the end is the
 * last nanosecond of one, or the first behind it, which does not count), and nothing
 * else is filtered than a section and a track. */
bool sd_slices_tell(const struct sd_slices *s, const struct sd_filter *f);
/* Changes the totals, of which only those in that part stay, until
 * sd_slice_sums_release puts the whole back; the profile is the one that the slices
 * were loaded of.  SD_EUSAGE when there is no such section. */
int sd_slice_sums_init(struct sd_slice_sums *sums, struct sd_profile *p,
                       const struct sd_slices *s, const struct sd_filter *f);
void sd_slice_sums_release(struct sd_slice_sums *sums);
#endif
