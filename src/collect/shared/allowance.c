/* SPDX-License-Identifier: MIT */
#include "collect/shared/allowance.h"

#include "base/assert.h"

void sd_allowance_begin(struct sd_allowance *a, uint64_t one_in, uint64_t most_ns,
                        uint64_t now_ns, uint64_t spent_ns)
{
    sd_assert(one_in > 0); /* times are divided by it */
    *a = (struct sd_allowance){ .one_in = one_in,
                                .most_ns = (int64_t)most_ns,
                                .spared_ns = (int64_t)most_ns,
                                .at_ns = now_ns,
                                .spent_ns = spent_ns };
}

/* Books the time and the CPU time since the last look.  Returns what is owed, at most
 * that much, so that one dear look is not paid for for ever. */
static uint64_t settle(struct sd_allowance *a, uint64_t now_ns, uint64_t spent_ns,
                       uint64_t most_owed_ns)
{
    a->spared_ns += (int64_t)((now_ns - a->at_ns) / a->one_in);
    a->spared_ns -= (int64_t)(spent_ns - a->spent_ns);
    a->at_ns = now_ns;
    a->spent_ns = spent_ns;
    if (a->spared_ns > a->most_ns)
        a->spared_ns = a->most_ns;
    if (a->spared_ns < -(int64_t)most_owed_ns)
        a->spared_ns = -(int64_t)most_owed_ns;
    sd_assert(a->spared_ns <= a->most_ns);
    return a->spared_ns < 0 ? (uint64_t)-a->spared_ns : 0;
}

uint64_t sd_allowance_wait_ns(struct sd_allowance *a, uint64_t now_ns,
                              uint64_t spent_ns)
{
    return a->one_in * settle(a, now_ns, spent_ns, SD_ALLOWANCE_WAIT_NS / a->one_in);
}

uint64_t sd_allowance_period_ns(struct sd_allowance *a, uint64_t period_ns,
                                uint64_t now_ns, uint64_t spent_ns)
{
    const uint64_t most_owed_ns =
        (uint64_t)(SD_ALLOWANCE_LONGEST - 1) * SD_ALLOWANCE_LONGER_NS;
    uint64_t owed = settle(a, now_ns, spent_ns, most_owed_ns);

    return period_ns + period_ns * owed / SD_ALLOWANCE_LONGER_NS;
}
