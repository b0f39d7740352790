/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_WINDOW_H
#define SD_PROFILE_CALL_WINDOW_H
/* call_window: leaves of traced calls what lies in the time and section of a filter.
 *
 * Tables of calls are counted while the program runs and have no time.  Where a
 * timeline tells when every call was, each total of the profile becomes its part in the
 * window: of times what passed in it, of calls those that began in it.  So what is made
 * of totals follows the filter, as that of samples does.  Where something of the
 * timeline is missing, calls stay whole. */
#include "profile/profile.h"

/* `p` was loaded from all these files, with this filter.  After success
 * p->has_calls_cut says whether the calls are those of the window.  0 or < 0. */
int sd_call_window_apply(struct sd_profile *p, const char *const *paths, size_t n,
                         const struct sd_filter *filter);
#endif
