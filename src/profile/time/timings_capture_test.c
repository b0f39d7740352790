/* SPDX-License-Identifier: MIT */
#include "profile/time/timings_capture.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

enum { PROCESSES = 3, BATCHES = 50 };

static void make(struct sd_timings *t, const char *statement)
{
    const struct sd_timing_side sides[2] = {
        { statement, "a = 1\nb = 2", "/bin/python3", 10, 64, 32 },
        { "other", "", "/bin/python3", 0.5, SD_TIME_UNKNOWN, SD_TIME_UNKNOWN },
    };

    *t = (struct sd_timings){ .size_name = "n", .best_speed = 900, .budget_ns = 15 };
    for (int i = 0; i < 2; i++)
        CHECK(sd_timings_add_side(t, &sides[i]) == 0);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        CHECK(sd_timings_add_process(t, 100 + i, 5, i) == 0);
        for (uint64_t k = 0; k < BATCHES; k++) {
            const struct sd_time_batch b = { .at_ns = 1000000 * i + 1000 * k + 1000,
                                             .took_ns = (int64_t)k + 10,
                                             .waited_ns = SD_TIME_UNKNOWN,
                                             .instructions = 7,
                                             .loops = 3,
                                             .round = (int64_t)k,
                                             .speed = 1000,
                                             .side = (int64_t)k % 2,
                                             .flags = SD_TIME_SLEPT };
            CHECK(sd_timings_add_batch(t, &b) == 0);
        }
    }
}

static struct sd_profile *load(const struct sd_buf *bytes)
{
    struct sd_profile *p = NULL;
    struct sd_reader *r = NULL;

    CHECK(sd_reader_open_bytes(bytes->p, bytes->n, &r) == 0);
    CHECK(sd_profile_load_reader(r, NULL, &p) == 0);
    sd_reader_free(r);
    return p;
}

static void check_same(const struct sd_timings *a, const struct sd_timings *b)
{
    CHECK(a->n_sides == b->n_sides && a->n_processes == b->n_processes);
    CHECK(a->n_batches == b->n_batches && a->best_speed == b->best_speed);
    for (size_t i = 0; i < a->n_sides; i++) {
        CHECK(strcmp(a->sides[i].statement, b->sides[i].statement) == 0);
        CHECK(strcmp(a->sides[i].setup, b->sides[i].setup) == 0);
        CHECK(a->sides[i].n == b->sides[i].n);
        CHECK(a->sides[i].peak_bytes == b->sides[i].peak_bytes);
    }
    for (size_t i = 0; i < a->n_batches; i++) {
        CHECK(a->batches[i].took_ns == b->batches[i].took_ns);
        CHECK(a->batches[i].waited_ns == b->batches[i].waited_ns);
        CHECK(a->batches[i].side == b->batches[i].side);
        CHECK(a->batches[i].flags == b->batches[i].flags);
    }
}

TEST(timings_capture_reads_back_and_is_no_reading_over_time)
{
    struct sd_buf bytes = { 0 };
    struct sd_profile *p;
    struct sd_timings t;

    make(&t, "x");
    CHECK(sd_timings_capture_write(&t, "sonde time x", &bytes) == 0);
    p = load(&bytes);
    check_same(&t, &p->evidence[SD_TIMINGS].timings);
    CHECK(p->n_series == 0 && !p->complaint && sd_profile_has(p, SD_TIMINGS));
    CHECK(strcmp(p->evidence[SD_TIMINGS].timings.size_name, "n") == 0);
    sd_profile_free(p);
    sd_buf_release(&bytes);
    sd_timings_release(&t);
}

TEST(timings_capture_merges_two_and_knows_equal_statements)
{
    struct sd_buf one = { 0 }, two = { 0 };
    struct sd_profile *p, *q;
    struct sd_timings t;

    make(&t, "x");
    CHECK(sd_timings_capture_write(&t, NULL, &one) == 0);
    sd_timings_release(&t);
    make(&t, "y");
    CHECK(sd_timings_capture_write(&t, NULL, &two) == 0);
    p = load(&one);
    q = load(&two);
    CHECK(sd_profile_merge(p, q) == 0);
    CHECK(p->evidence[SD_TIMINGS].timings.n_sides == 3); /* x, other, y */
    CHECK(p->evidence[SD_TIMINGS].timings.n_processes == 2 * PROCESSES);
    CHECK(p->evidence[SD_TIMINGS].timings.n_batches == 2 * PROCESSES * BATCHES);
    CHECK(p->evidence[SD_TIMINGS].timings.processes[PROCESSES].set == PROCESSES);
    sd_profile_free(p);
    sd_profile_free(q);
    sd_buf_release(&one);
    sd_buf_release(&two);
    sd_timings_release(&t);
}

TEST(timings_capture_survives_every_failed_allocation)
{
    struct sd_timings t;

    make(&t, "x");
    EACH_FAILURE(nth)
    {
        struct sd_buf bytes = { 0 };
        int rc = sd_timings_capture_write(&t, NULL, &bytes);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&bytes);
    }
    sd_timings_release(&t);
}
