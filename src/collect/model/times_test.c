/* SPDX-License-Identifier: MIT */
#include "collect/model/times.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

TEST(layer_times_go_to_the_layer_that_runs)
{
    struct sd_layer_times t;

    CHECK(sd_times_init(&t, 3, 2) == 0);
    sd_times_begin(&t, 0, 100);
    sd_times_border(&t, 1, 110);
    sd_times_border(&t, 2, 130);
    sd_times_border(&t, 1, 160);
    sd_times_border(&t, 0, 165);
    sd_times_end(&t, false, 200);
    CHECK(sd_times_of(&t, 0, false) == 45);
    CHECK(sd_times_of(&t, 1, false) == 25);
    CHECK(sd_times_of(&t, 2, false) == 30);
    CHECK(sd_times_of(&t, 2, true) == 0);
    sd_times_release(&t);
}

TEST(layer_times_are_medians_of_passes)
{
    static const uint64_t took[5] = { 50, 10, 40, 1000, 30 };
    struct sd_layer_times t;

    CHECK(sd_times_init(&t, 1, 5) == 0);
    for (int i = 0; i < 5; i++) {
        sd_times_begin(&t, 0, 0);
        sd_times_end(&t, false, took[i]);
        sd_times_begin(&t, 0, 0);
        sd_times_end(&t, true, 2 * took[i]);
    }
    CHECK(sd_times_of(&t, 0, false) == 40);
    CHECK(sd_times_of(&t, 0, true) == 80);
    sd_times_begin(&t, 0, 0); /* one more than was asked for is not kept */
    sd_times_end(&t, false, 7);
    CHECK(t.n_passes == 5);
    sd_times_release(&t);
}

TEST(layer_times_without_memory)
{
    struct sd_layer_times t;

    for (size_t nth = 1; nth <= 3; nth++) {
        sd_mem_fail_at(nth, false);
        CHECK(sd_times_init(&t, 4, 4) == SD_ENOMEM);
        CHECK(t.now_ns == NULL);
    }
    sd_mem_fail_at(0, false);
}
