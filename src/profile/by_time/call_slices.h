/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_SLICES_H
#define SD_PROFILE_CALL_SLICES_H
/* call_slices: traced calls by time.
 *
 * A timeline tells when each call began and ended.  A call's time is put into the
 * slices that it spans and taken from those of the call around it, so that what is left
 * is own time, wherever calls begin and end.  Totals are not these sums: they are
 * without the cost of tracing, and have what a timeline has lost.  So each total is
 * spread over its slices in proportion, to the last nanosecond. */
#include "profile/slices.h"

/* Which of the calls' time is put into slices. */
enum sd_calls_part {
    SD_CALLS_ALL,
    SD_CALLS_INSIDE, /* what lies in the window and section of the filter */
    SD_CALLS_MARKED, /* all; what lies inside has entries of its own.  The `sections` of
                        an entry are its set twice, and one more inside.  Where the ends
                        of the window are those of slices, entries and values are those
                        of SD_CALLS_ALL, to the nanosecond */
};

/* On success the caller releases it. */
int sd_call_slices_load_part(struct sd_slices *s, const struct sd_profile *p,
                             const char *const *paths, size_t n,
                             const struct sd_filter *filter, enum sd_calls_part part);
#endif
