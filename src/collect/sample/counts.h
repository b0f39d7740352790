/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_COUNTS_H
#define SD_COLLECT_SAMPLE_COUNTS_H
/* counts: counts the outcomes of rounds and of looks at threads.  Nothing that was
 * asked for and not got is left out of them. */
#include <stdint.h>

struct sd_sample_counts {
#define COUNT(name, meaning) uint64_t name;
#include "collect/sample/counts.def"
#undef COUNT
};
#endif
