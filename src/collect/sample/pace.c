/* SPDX-License-Identifier: MIT */
#include "collect/sample/pace.h"

#include "base/assert.h"

enum {
    MOST_PERIODS = 8,       /* longer intervals (1 in 3,000) are cut to this */
    MANY_PERIODS = 1000000, /* later than this, rounds are not drawn one by one */
};

/* xorshift64*: the same seed gives the same times, so that a test can know them. */
static uint64_t draw(struct sd_pace *p)
{
    uint64_t x = p->random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    p->random = x;
    return x * 0x2545F4914F6CDD1Du;
}

/* -ln(u) of a number u drawn from (0, 1]: leading zeros give the power of two, a short
 * series the rest (error below 1e-4).  No libm for this alone. */
static double minus_log(uint64_t drawn)
{
    int zeros = drawn ? __builtin_clzll(drawn) : 63;
    double m = (double)(drawn << zeros | (uint64_t)1 << 63) / 9223372036854775808.0;
    double y = (m - 1) / (m + 1), y2 = y * y;
    double ln_m = 2 * y * (1 + y2 * (1.0 / 3 + y2 * (1.0 / 5 + y2 / 7)));

    return (zeros + 1) * 0.6931471805599453 - ln_m;
}

static uint64_t interval(struct sd_pace *p)
{
    double periods = minus_log(draw(p));

    sd_assert(p->period_ns >= p->asked_ns);
    if (periods > MOST_PERIODS)
        periods = MOST_PERIODS;
    p->longer_ns += (uint64_t)((double)(p->period_ns - p->asked_ns) * periods);
    return (uint64_t)((double)p->period_ns * periods);
}

void sd_pace_init(struct sd_pace *p, uint64_t period_ns, uint64_t now_ns, uint64_t seed)
{
    sd_assert(period_ns > 0); /* later times are divided by it */
    *p = (struct sd_pace){ .asked_ns = period_ns,
                           .period_ns = period_ns,
                           .next_ns = now_ns,
                           .random = seed | 1 };
    p->after_ns = p->next_ns + interval(p);
}

void sd_pace_go_on(struct sd_pace *p, uint64_t now_ns)
{
    p->next_ns = now_ns;
    p->after_ns = now_ns + interval(p);
}

void sd_pace_slow(struct sd_pace *p, uint64_t period_ns)
{
    sd_assert(period_ns >= p->asked_ns);
    p->period_ns = period_ns;
}

uint64_t sd_pace_put_off(const struct sd_pace *p) { return p->longer_ns / p->asked_ns; }

static void step(struct sd_pace *p)
{
    p->next_ns = p->after_ns;
    p->after_ns = p->next_ns + interval(p);
}

uint64_t sd_pace_step(struct sd_pace *p, uint64_t now_ns)
{
    uint64_t n_missed = 0, many_ns = (uint64_t)MANY_PERIODS * p->period_ns;

    step(p);
    if (p->after_ns < now_ns && now_ns - p->after_ns > many_ns) {
        /* The machine slept.  Exponential intervals have no memory: where the rounds
         * of that time stood does not matter to those after it. */
        n_missed = (now_ns - p->after_ns) / p->period_ns;
        p->after_ns = now_ns;
    }
    for (; p->after_ns < now_ns; n_missed++)
        step(p);
    return n_missed;
}
