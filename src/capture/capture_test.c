/* SPDX-License-Identifier: MIT */
/* The whole way: a log into a capture, and the reader out of it. */
#include "capture/capture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"
#include "capture/capture_testing.h"

TEST(capture_gives_back_what_was_logged)
{
    struct sd_scratch s;
    struct sd_seen seen;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    CHECK(sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= 1000; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(s.counts.events == 1000 && s.counts.lost == 0);
    CHECK(access(s.live, F_OK) != 0);
    sd_scratch_read(&s, &seen);
    CHECK(seen.events == 1000 && seen.sum == 1000 * 1001 / 2);
    CHECK(seen.names_wrong == 0);
    CHECK(seen.complaint[0] == 0);
    CHECK(seen.health.is_ended && seen.health.status == 0 && !seen.health.has_live);
    sd_scratch_remove(&s);
}
