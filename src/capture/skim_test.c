/* SPDX-License-Identifier: MIT */
#include "capture/skim.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"
#include "capture/capture_testing.h"
#include "capture/reader.h"

/* A capture of one log, with an event each microsecond. */
static void record(struct sd_scratch *s, uint32_t n)
{
    uint64_t from;

    sd_scratch_make(s);
    CHECK(sd_scratch_create(s, NULL) == 0);
    CHECK(sd_scratch_join(s) == 0);
    from = sd_clock_ns();
    for (uint32_t i = 0; i < n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s->writer), from + i * 1000u));
    sd_writer_leave(s->writer);
    CHECK(sd_capture_finish(s->capture, 0, NULL) == 0);
}

TEST(skim_counts_what_the_reader_counts_and_spreads_it_over_time)
{
    struct sd_scratch s;
    struct sd_reader *r;
    struct sd_skim skim;
    double events = 0;

    record(&s, 5000);
    CHECK(sd_skim_file(s.path, &skim) == 0);
    CHECK(sd_reader_open(s.path, &r) == 0);
    CHECK(skim.n_events == sd_reader_health(r)->events && skim.n_events == 5000);
    CHECK(skim.n_chunks == sd_reader_health(r)->chunks + 1); /* END is a chunk, too */
    CHECK(skim.file_bytes == sd_reader_health(r)->file_bytes);
    for (uint32_t i = 0; i < skim.n_slices; i++)
        events += skim.events[i];
    CHECK(events > 4999.5 && events < 5000.5);
    CHECK(skim.lasted_ns / skim.slice_ns < skim.n_slices);
    sd_reader_free(r);
    sd_scratch_remove(&s);
}

TEST(skim_passes_over_damage)
{
    struct sd_scratch s;
    struct sd_skim whole, damaged;
    int fd;

    record(&s, 20000);
    CHECK(sd_skim_file(s.path, &whole) == 0);
    fd = open(s.path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, "XXXX", 4, 64) == 4); /* the magic of the first chunk */
    close(fd);
    CHECK(sd_skim_file(s.path, &damaged) == 0);
    CHECK(damaged.n_chunks == whole.n_chunks - 1);
    sd_scratch_remove(&s);
}

TEST(skim_refuses_what_is_no_capture)
{
    struct sd_skim skim;

    CHECK(sd_skim_file("/dev/null", &skim) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "not a capture"));
    CHECK(sd_skim_file("/no/such/file", &skim) == SD_EABSENT);
}
