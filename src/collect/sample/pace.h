/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_PACE_H
#define SD_COLLECT_SAMPLE_PACE_H
/* pace: says when the next round is due.
 *
 * Intervals are random with an exponential distribution: rounds then fall on the
 * program as rain does, and no loop of it, whatever its period, can hide between them
 * or always be hit at the same place.  Times are absolute, so a late round does not
 * shift those after it; rounds whose time has passed altogether are counted. */
#include <stdint.h>

struct sd_pace {
    uint64_t asked_ns;          /* the period asked for, */
    uint64_t period_ns;         /* and that of now, which may be longer; on average */
    uint64_t longer_ns;         /* by which intervals were longer for that reason */
    uint64_t next_ns, after_ns; /* CLOCK_MONOTONIC: the next, and the one after it */
    uint64_t random;            /* state of the generator */
};

void sd_pace_init(struct sd_pace *p, uint64_t period_ns, uint64_t now_ns,
                  uint64_t seed);
/* After a time in which nobody was to make rounds: the next is due now. */
void sd_pace_go_on(struct sd_pace *p, uint64_t now_ns);
/* From the interval after the next on, the period is longer than was asked for, or as
 * long again. */
void sd_pace_slow(struct sd_pace *p, uint64_t period_ns);
/* Rounds that are not made for that reason. */
uint64_t sd_pace_put_off(const struct sd_pace *p);
/* After a round: next_ns becomes that of the next; it may have passed, then it is due
 * at once.  Returns how many were missed before it. */
uint64_t sd_pace_step(struct sd_pace *p, uint64_t now_ns);
#endif
