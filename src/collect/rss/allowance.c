/* SPDX-License-Identifier: MIT */
#include "collect/rss/allowance.h"

void sd_allowance_begin(struct sd_allowance *a, uint64_t now_ns, uint64_t spent_ns)
{
    *a = (struct sd_allowance){ .spared_ns = SD_ALLOWANCE_SPARED_NS,
                                .at_ns = now_ns,
                                .spent_ns = spent_ns };
}

uint64_t sd_allowance_wait_ns(struct sd_allowance *a, uint64_t now_ns,
                              uint64_t spent_ns)
{
    uint64_t wait_ns;

    a->spared_ns += (int64_t)((now_ns - a->at_ns) / SD_ALLOWANCE_SHARE);
    a->spared_ns -= (int64_t)(spent_ns - a->spent_ns);
    a->at_ns = now_ns;
    a->spent_ns = spent_ns;
    if (a->spared_ns > SD_ALLOWANCE_SPARED_NS)
        a->spared_ns = SD_ALLOWANCE_SPARED_NS;
    if (a->spared_ns >= 0)
        return 0;
    wait_ns = (uint64_t)-a->spared_ns * SD_ALLOWANCE_SHARE;
    if (wait_ns > SD_ALLOWANCE_WAIT_NS) {
        wait_ns = SD_ALLOWANCE_WAIT_NS;
        a->spared_ns = -(int64_t)(wait_ns / SD_ALLOWANCE_SHARE); /* no debt for ever */
    }
    return wait_ns;
}
