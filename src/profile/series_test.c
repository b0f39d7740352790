/* SPDX-License-Identifier: MIT */
#include "profile/series.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/test.h"

enum { MS = 1000000 };

TEST(series_keeps_every_reading_while_there_is_room)
{
    struct sd_series s = { 0 };

    for (int i = 0; i < 1000; i++)
        CHECK(sd_series_add(&s, SD_ADDS_LEVEL, 0, SD_SERIES_BUCKETS,
                            (uint64_t)i * 10 * MS, i) == 0);
    CHECK(s.n_buckets == 1000 && s.sum.n == 1000 && s.sum.max == 999);
    CHECK(s.buckets[500].from_ns == (uint64_t)5000 * MS && s.buckets[500].last == 500);
    sd_series_release(&s);
}

TEST(series_never_loses_a_peak_or_the_ends)
{
    struct sd_series s = { 0 };
    int64_t most = 0;

    srand(1);
    for (int i = 0; i < 300000; i++) {
        int64_t v = i == 123456 ? 1000000 : rand() % 1000;

        CHECK(sd_series_add(&s, SD_ADDS_LEVEL, 12345, SD_SERIES_BUCKETS,
                            (uint64_t)i * MS, v) == 0);
    }
    CHECK(s.n_buckets <= SD_SERIES_BUCKETS && s.n_buckets > SD_SERIES_BUCKETS / 3);
    for (uint32_t i = 0; i < s.n_buckets; i++) {
        most = s.buckets[i].max > most ? s.buckets[i].max : most;
        CHECK(s.buckets[i].min <= s.buckets[i].last);
        CHECK(s.buckets[i].last <= s.buckets[i].max);
        CHECK(i == 0 || s.buckets[i - 1].to_ns < s.buckets[i].from_ns);
    }
    CHECK(most == 1000000 && s.sum.max == 1000000);
    CHECK(s.buckets[0].from_ns == 0);
    CHECK(s.buckets[s.n_buckets - 1].to_ns == (uint64_t)299999 * MS);
    sd_series_release(&s);
}

/* The order of arrival says nothing about time: several streams feed one series. */
TEST(series_comes_out_the_same_in_any_order)
{
    struct sd_series up = { 0 }, down = { 0 };

    for (int i = 0; i < 10000; i++) {
        int k = 9999 - i;

        CHECK(sd_series_add(&up, SD_ADDS_COUNTER, 0, 64, (uint64_t)i * MS, i * 3) == 0);
        CHECK(sd_series_add(&down, SD_ADDS_COUNTER, 0, 64, (uint64_t)k * MS, k * 3) ==
              0);
    }
    CHECK(up.n_buckets == down.n_buckets && up.bucket_ns == down.bucket_ns);
    for (uint32_t i = 0; i < up.n_buckets; i++)
        CHECK(up.buckets[i].last == down.buckets[i].last &&
              up.buckets[i].from_ns == down.buckets[i].from_ns);
    CHECK(up.sum.total == 29997 && down.sum.total == 29997);
    CHECK(down.sum.first == 0 && down.sum.last == 29997);
    sd_series_release(&up);
    sd_series_release(&down);
}

TEST(series_holds_any_times_a_liar_may_give)
{
    struct sd_series s = { 0 };

    for (int i = 0; i < 5000; i++)
        CHECK(sd_series_add(&s, SD_ADDS_LEVEL, SD_TIME_MAX, 8,
                            i % 2 ? SD_TIME_MAX - (uint64_t)i : (uint64_t)i,
                            i % 3 ? INT64_MAX : INT64_MIN + 1) == 0);
    CHECK(s.n_buckets <= 8 && s.sum.n == 5000);
    sd_series_release(&s);
}

TEST(intervals_stay_sorted_apart_and_few)
{
    struct sd_intervals s = { 0 };
    uint64_t n = 0;

    srand(2);
    for (int i = 0; i < 20000; i++) {
        uint64_t from = (uint64_t)(rand() % 1000000) * 1000;

        CHECK(sd_intervals_add(&s, 100, (struct sd_interval){ from, from + 500, 1 }) ==
              0);
        CHECK(sd_intervals_touch(&s, from + 250, from + 250));
    }
    CHECK(s.n > 0 && s.n <= 100);
    for (uint32_t i = 0; i < s.n; i++) {
        n += s.items[i].n;
        CHECK(i == 0 || s.items[i].from_ns > s.items[i - 1].to_ns + s.gap_ns);
    }
    CHECK(n == 20000);
    sd_intervals_release(&s);
}

TEST(intervals_touch_only_what_they_cover)
{
    struct sd_intervals s = { 0 };

    CHECK(!sd_intervals_touch(&s, 0, UINT64_MAX));
    CHECK(sd_intervals_add(&s, 10, (struct sd_interval){ 10, 20, 1 }) == 0);
    CHECK(sd_intervals_add(&s, 10, (struct sd_interval){ 40, 50, 1 }) == 0);
    CHECK(!sd_intervals_touch(&s, 0, 9) && sd_intervals_touch(&s, 0, 10));
    CHECK(sd_intervals_touch(&s, 20, 30) && !sd_intervals_touch(&s, 21, 39));
    CHECK(sd_intervals_touch(&s, 0, 100) && !sd_intervals_touch(&s, 51, 99));
    CHECK(sd_intervals_add(&s, 10, (struct sd_interval){ 15, 45, 1 }) == 0);
    CHECK(s.n == 1 && s.items[0].from_ns == 10 && s.items[0].to_ns == 50);
    CHECK(s.items[0].n == 3);
    sd_intervals_release(&s);
}
