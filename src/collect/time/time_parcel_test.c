/* SPDX-License-Identifier: MIT */
#include "collect/time/time_parcel.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static struct sd_buf request_bytes(void)
{
    struct sd_time_parcel_side sides[2] = { { "x + 1", "x = 1", "", 0 },
                                            { "", "", "1e3", 77 } };
    const struct sd_time_request r = { .sides = sides,
                                       .n_sides = 2,
                                       .size_name = "n",
                                       .collects_garbage = true,
                                       .budget_ns = 5,
                                       .loops = 6,
                                       .repeat = 7,
                                       .seed = 8 };
    struct sd_buf b = { 0 };

    sd_time_parcel_put_request(&b, &r);
    return b;
}

static struct sd_buf result_bytes(void)
{
    struct sd_time_batch batches[2] = { { .took_ns = 5, .loops = 3, .side = 0 },
                                        { .took_ns = 6, .loops = 4, .side = 1 } };
    uint64_t loops[2] = { 3, 4 };
    const struct sd_time_result r = { .pid = 11,
                                      .loops = loops,
                                      .n_sides = 2,
                                      .batches = batches,
                                      .n_batches = 2,
                                      .allocated_bytes = SD_TIME_UNKNOWN,
                                      .peak_bytes = 9 };
    struct sd_buf b = { 0 };

    sd_time_parcel_put_result(&b, &r);
    return b;
}

TEST(time_parcel_of_a_request_reads_back)
{
    struct sd_buf b = request_bytes();
    struct sd_arena arena = { 0 };
    struct sd_time_request r;

    CHECK(sd_time_parcel_request(b.p, b.n, &arena, &r) == 0);
    CHECK(r.n_sides == 2 && strcmp(r.sides[0].statement, "x + 1") == 0);
    CHECK(strcmp(r.sides[0].setup, "x = 1") == 0 && !*r.sides[0].size);
    CHECK(strcmp(r.sides[1].size, "1e3") == 0 && r.sides[1].loops == 77);
    CHECK(strcmp(r.size_name, "n") == 0 && r.collects_garbage && !r.is_cpu_time);
    CHECK(r.budget_ns == 5 && r.loops == 6 && r.repeat == 7 && r.seed == 8);
    sd_arena_release(&arena);
    sd_buf_release(&b);
}

TEST(time_parcel_of_a_result_reads_back)
{
    struct sd_buf b = result_bytes();
    struct sd_arena arena = { 0 };
    struct sd_time_result r;

    CHECK(sd_time_parcel_result(b.p, b.n, &arena, &r) == 0);
    CHECK(r.pid == 11 && r.n_sides == 2 && r.loops[1] == 4 && r.n_batches == 2);
    CHECK(r.batches[1].took_ns == 6 && r.batches[1].side == 1);
    CHECK(r.allocated_bytes == SD_TIME_UNKNOWN && r.peak_bytes == 9);
    sd_arena_release(&arena);
    sd_buf_release(&b);
}

/* The other side runs any code at all. */
TEST(time_parcel_refuses_every_cut_and_survives_every_changed_byte)
{
    struct sd_buf asked = request_bytes(), got = result_bytes();

    for (size_t n = 0; n < asked.n; n++) {
        struct sd_arena arena = { 0 };
        struct sd_time_request r;

        CHECK(sd_time_parcel_request(asked.p, n, &arena, &r) == SD_EFORMAT);
        sd_arena_release(&arena);
    }
    for (size_t n = 0; n < got.n; n++) {
        struct sd_arena arena = { 0 };
        struct sd_time_result r;

        CHECK(sd_time_parcel_result(got.p, n, &arena, &r) == SD_EFORMAT);
        got.p[n] ^= 0xff;
        sd_time_parcel_result(got.p, got.n, &arena, &r);
        got.p[n] ^= 0xff;
        sd_arena_release(&arena);
    }
    sd_buf_release(&asked);
    sd_buf_release(&got);
}

TEST(time_parcel_survives_every_failed_allocation)
{
    struct sd_buf got = result_bytes();

    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { 0 };
        struct sd_time_result r;
        int rc = sd_time_parcel_result(got.p, got.n, &arena, &r);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    sd_buf_release(&got);
}
