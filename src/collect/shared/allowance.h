/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_ALLOWANCE_H
#define SD_COLLECT_SHARED_ALLOWANCE_H
/* allowance: limits the CPU time that a collector takes: it says when the collector may
 * go on.
 *
 * A look at one process costs some 100 us where the caches are others' in between, at
 * eight processes several times that, and at hundreds milliseconds: at a fixed interval
 * the watching would take a share of the machine that grows with what it watches.  So
 * the interval is the shortest one, and what was spent beyond a share of the time that
 * went by makes it longer.  What is spared is kept, up to some milliseconds: the first
 * looks, and those after a quiet time, are made at the interval whatever they cost.  A
 * short program is read as often as a long one that way; so that a program of some
 * seconds is not read at twice the share, what was spared at the beginning is paid back
 * with half of the share. */
#include <stdint.h>

#define SD_ALLOWANCE_WAIT_NS 1000000000u /* at most, whatever a reading costs */
/* Of CPU time that is owed: makes the period longer by once its length. */
#define SD_ALLOWANCE_LONGER_NS 1000000
/* Of CPU time: with less than this spared, periods grow towards what can be afforded.
 */
#define SD_ALLOWANCE_NEAR_NS 2000000
enum { SD_ALLOWANCE_LONGEST = 20 }; /* times its length, that a period may become */

struct sd_allowance {
    uint64_t one_in;   /* so many parts of the time may be spent */
    int64_t most_ns;   /* of what is spared that is kept */
    int64_t spared_ns; /* of CPU time; below 0: what is owed */
    uint64_t lent_ns;  /* of what was spared at the beginning: not yet paid back */
    uint64_t cost_ns;  /* of one look, those of late; for looks at random times */
    uint64_t spent_ns; /* by then */
    uint64_t at_ns;    /* CLOCK_MONOTONIC, of the last look */
};

void sd_allowance_begin(struct sd_allowance *a, uint64_t one_in, uint64_t most_ns,
                        uint64_t now_ns, uint64_t spent_ns);
/* After a look, with the CPU time so far.  For looks at fixed times: how long from now
 * on the next has to wait. */
uint64_t sd_allowance_wait_ns(struct sd_allowance *a, uint64_t now_ns,
                              uint64_t spent_ns);
/* For looks at random times: the period at which they cost the share, longer where
 * something is owed. */
uint64_t sd_allowance_period_ns(struct sd_allowance *a, uint64_t period_ns,
                                uint64_t now_ns, uint64_t spent_ns);
#endif
