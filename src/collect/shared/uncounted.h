/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_UNCOUNTED_H
#define SD_COLLECT_UNCOUNTED_H
/* uncounted: marks what a collector makes Python allocate for itself, so that it is not
 * counted as the program's.
 *
 *     sd_uncounted_begin();
 *     name = PyUnicode_AsEncodedString(...);
 *     sd_uncounted_end();
 *
 * Whoever records allocations hears of it in the same thread; without such a recording
 * it costs one load.  Nothing of the program's may run in between. */
#include <stdbool.h>

typedef void sd_uncounted_hear(bool begins);

/* Who wants to hear; NULL: nobody. */
void sd_uncounted_tell(sd_uncounted_hear *hear);
void sd_uncounted_begin(void);
void sd_uncounted_end(void);
#endif
