/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_BEST_H
#define SD_MACHINE_MACHINE_BEST_H
/* machine_best: picks the best of many rounds that can be trusted.
 *
 * Nearly all that disturbs a round makes it slower, so the best one counts; but the
 * clock of CPU time is wrong now and then on a busy virtual machine, and a round too
 * good to be true was seen in two of some fifteen runs (185 and 194 GFLOP/s, where the
 * others had 174 to 179).  So what counts
 * was reached twice: the second best. */
#include <stdbool.h>

struct sd_best {
    double rates[3]; /* the best first */
};

static inline void sd_best_add(struct sd_best *b, double rate)
{
    for (int i = 0; i < 3; i++)
        if (rate > b->rates[i]) {
            double lower = b->rates[i];

            b->rates[i] = rate;
            rate = lower;
        }
}

static inline double sd_best_of(const struct sd_best *b) { return b->rates[1]; }

/* Do two agree within 2 %, the best alone left out if need be? */
static inline bool sd_best_is_settled(const struct sd_best *b)
{
    return b->rates[1] > 0 &&
           (b->rates[1] >= 0.98 * b->rates[0] || b->rates[2] >= 0.98 * b->rates[1]);
}
#endif
