/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_RSS_ALLOWANCE_H
#define SD_COLLECT_RSS_ALLOWANCE_H
/* allowance: how much CPU time the readings may take, and so when the next may be.
 *
 * A reading of one process costs 90 to 160 us where the caches are others' in between,
 * of eight processes several times that, and of hundreds milliseconds: at a fixed
 * interval the watching would take a share of the machine that grows with what it
 * watches.  So the interval is the shortest one, and what was spent beyond a
 * two-hundredth of the time that went by is waited for.  What is spared is kept, up to
 * some milliseconds: the first readings, and those after a quiet time, are made at the
 * interval whatever they cost. */
#include <stdint.h>

enum { SD_ALLOWANCE_SHARE = 200 }; /* one in so many: 0.5 % of a CPU */
#define SD_ALLOWANCE_SPARED_NS 5000000
#define SD_ALLOWANCE_WAIT_NS 1000000000u /* at most, whatever a reading costs */

struct sd_allowance {
    int64_t spared_ns; /* of CPU; below 0: to be waited for */
    uint64_t spent_ns; /* by then */
    uint64_t at_ns;    /* CLOCK_MONOTONIC, of the last reading */
};

void sd_allowance_begin(struct sd_allowance *a, uint64_t now_ns, uint64_t spent_ns);
/* After a reading, with the CPU time of this thread so far: how long from now on the
 * next has to wait. */
uint64_t sd_allowance_wait_ns(struct sd_allowance *a, uint64_t now_ns,
                              uint64_t spent_ns);
#endif
