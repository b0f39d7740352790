/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_TIME_TIME_GROWTH_H
#define SD_ANALYSE_TIME_TIME_GROWTH_H
/* time_growth: how the time of a statement grows with a size that was varied. */
#include "analyse/growth/growth.h"
#include "analyse/view.h"
#include "profile/time/timings.h"

/* A drawing of it, in the arena. */
int sd_time_growth_picture(const struct sd_timings *t, struct sd_arena *a,
                           struct sd_view_growth *out);
int sd_time_growth_fit(const struct sd_timings *t, struct sd_growth *out);
#endif
