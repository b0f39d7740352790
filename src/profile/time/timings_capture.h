/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_TIME_TIMINGS_CAPTURE_H
#define SD_PROFILE_TIME_TIMINGS_CAPTURE_H
/* timings_capture: timed statements (timings.h) into a capture, and out of one again:
 * batches are points, and what the statements are is told by facts. */
#include "base/buf.h"
#include "profile/profile.h"
#include "profile/time/timings.h"

struct sd_event;

/* Adds the bytes of a .sonde file; `command` is what was typed, or NULL. */
int sd_timings_capture_write(const struct sd_timings *t, const char *command,
                             struct sd_buf *to);

/* Is this point a batch?  Then it is no reading over time. */
bool sd_timings_capture_is_batch(const struct sd_profile *p, const struct sd_event *e);
int sd_timings_capture_add(struct sd_profile *p, const struct sd_event *e);
/* All points and facts are there: batches of statements that nobody tells of go. */
int sd_timings_capture_settle(struct sd_profile *p);
/* Of another capture, which began so much later. */
int sd_timings_capture_merge(struct sd_profile *into, const struct sd_profile *from,
                             uint64_t later_ns);
#endif
