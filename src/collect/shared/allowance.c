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
                                .lent_ns = most_ns,
                                .at_ns = now_ns,
                                .spent_ns = spent_ns };
}

/* What may be spent of the time that went by: half of it pays back what was lent. */
static uint64_t earn(struct sd_allowance *a, uint64_t elapsed_ns)
{
    uint64_t earned_ns = elapsed_ns / a->one_in;
    uint64_t back_ns = earned_ns / 2 < a->lent_ns ? earned_ns / 2 : a->lent_ns;

    a->lent_ns -= back_ns;
    return earned_ns - back_ns;
}

/* Of the time, one part in so many may be spent now. */
static uint64_t one_in_now(const struct sd_allowance *a)
{
    return a->one_in * (a->lent_ns > 0 ? 2 : 1);
}

/* Books the time and the CPU time since the last look.  Returns what is owed, at most
 * that much, so that one dear look is not paid for for ever. */
static uint64_t settle(struct sd_allowance *a, uint64_t now_ns, uint64_t spent_ns,
                       uint64_t most_owed_ns)
{
    a->spared_ns += (int64_t)earn(a, now_ns - a->at_ns);
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
    uint64_t one_in = one_in_now(a);

    return one_in * settle(a, now_ns, spent_ns, SD_ALLOWANCE_WAIT_NS / one_in);
}

/* The period at which looks as dear as the last ones cost the share, at most LONGEST
 * periods; one dear look says little about the next. */
static uint64_t affordable_ns(struct sd_allowance *a, uint64_t period_ns,
                              uint64_t cost_ns)
{
    uint64_t longest_ns = SD_ALLOWANCE_LONGEST * period_ns, needed_ns;

    if (cost_ns > longest_ns / a->one_in)
        cost_ns = longest_ns / a->one_in;
    a->cost_ns = a->cost_ns - a->cost_ns / 8 + cost_ns / 8;
    needed_ns = a->cost_ns * one_in_now(a);
    if (needed_ns > longest_ns)
        return longest_ns;
    return needed_ns > period_ns ? needed_ns : period_ns;
}

uint64_t sd_allowance_period_ns(struct sd_allowance *a, uint64_t period_ns,
                                uint64_t now_ns, uint64_t spent_ns)
{
    const uint64_t most_owed_ns =
        (uint64_t)(SD_ALLOWANCE_LONGEST - 1) * SD_ALLOWANCE_LONGER_NS;
    uint64_t needed_ns = affordable_ns(a, period_ns, spent_ns - a->spent_ns);
    uint64_t owed_ns = settle(a, now_ns, spent_ns, most_owed_ns);
    uint64_t longer_ns;

    if (a->spared_ns >= SD_ALLOWANCE_NEAR_NS)
        return period_ns;
    if (a->spared_ns >= 0)
        longer_ns = (needed_ns - period_ns) *
                    (uint64_t)(SD_ALLOWANCE_NEAR_NS - a->spared_ns) /
                    SD_ALLOWANCE_NEAR_NS;
    else
        longer_ns =
            needed_ns - period_ns + needed_ns * owed_ns / SD_ALLOWANCE_LONGER_NS;
    if (longer_ns > (SD_ALLOWANCE_LONGEST - 1) * period_ns)
        longer_ns = (SD_ALLOWANCE_LONGEST - 1) * period_ns;
    return period_ns + longer_ns;
}
