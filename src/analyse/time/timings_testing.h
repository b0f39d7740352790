/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_TIME_TIMINGS_TESTING_H
#define SD_ANALYSE_TIME_TIMINGS_TESTING_H
/* timings_testing: made-up batches for tests, of a machine whose noise is known. */
#include <math.h>

#include "base/test.h"
#include "profile/time/timings.h"

struct sd_timings_maker {
    struct sd_timings t;
    uint64_t random;
    double loop_ns;
    int64_t loops; /* of each batch */
};

static inline double sd_timings_draw(struct sd_timings_maker *m) /* 0 to 1 */
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (double)(m->random >> 11) / (double)(1ull << 53);
}

/* About normal, with a deviation of 1. */
static inline double sd_timings_draw_normal(struct sd_timings_maker *m)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += sd_timings_draw(m);
    return sum - 6;
}

static inline void sd_timings_make_side(struct sd_timings_maker *m, const char *name)
{
    const struct sd_timing_side s = { .statement = name,
                                      .setup = "pass",
                                      .python = "/bin/python3",
                                      .n = NAN,
                                      .allocated_bytes = SD_TIME_UNKNOWN,
                                      .peak_bytes = SD_TIME_UNKNOWN };

    CHECK(sd_timings_add_side(&m->t, &s) == 0);
}

static inline void sd_timings_make_batch(struct sd_timings_maker *m, int64_t side,
                                         int64_t round, double each_ns, int64_t flags)
{
    const struct sd_time_batch b = { .at_ns = 1000 + m->t.n_batches,
                                     .took_ns =
                                         (int64_t)(each_ns * (double)m->loops + 0.5),
                                     .instructions = SD_TIME_UNKNOWN,
                                     .loops = m->loops,
                                     .round = round,
                                     .speed = 1000,
                                     .side = side,
                                     .flags = flags };

    CHECK(sd_timings_add_batch(&m->t, &b) == 0);
}

/* The loop, and the statement: noise only makes them longer. */
static inline void sd_timings_make_round(struct sd_timings_maker *m, int64_t side,
                                         int64_t round, double ns, double slowness)
{
    double noise = 1 + 0.05 * sd_timings_draw(m) * sd_timings_draw(m);

    sd_timings_make_batch(m, side, round, m->loop_ns * slowness, SD_TIME_EMPTY);
    sd_timings_make_batch(m, side, round, (ns + m->loop_ns) * slowness * noise, 0);
}
#endif
