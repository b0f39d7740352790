/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_ALLOC_LOAD_H
#define SD_PROFILE_ALLOC_LOAD_H
/* alloc_load: fills a profile with the allocations of a capture, after all else of it
 * has been decoded: replays the logs of each process, or takes its sums. */
#include "profile/decode.h"
#include "profile/filter.h"

/* 0 or < 0. */
int sd_alloc_load(struct sd_profile *p, struct sd_decoder *d, struct sd_screen *s);
#endif
