/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_TIME_STACKS_H
#define SD_ANALYSE_STACKS_TIME_STACKS_H
/* time_stacks: the stacks of an evidence by time, thread and open sections, for whoever
 * adds up any part of them: the view `stacks`, and the page. */
#include "analyse/view.h"
#include "profile/slices.h"

/* Fills a zeroed view in the arena.  Without slices all of it is one slice.  Amounts
 * are borrowed from the slices or from the profile, texts from the profile. */
int sd_time_stacks_make(const struct sd_profile *p, enum sd_evidence e,
                        const struct sd_slices *slices, struct sd_arena *a,
                        struct sd_view_stacks *out);
#endif
