/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_BOUTS_H
#define SD_CALLS_BOUTS_H
/* bouts: what is done again and again to know what something costs here.
 *
 * On a shared machine everything may go at half the speed in this moment, and not in
 * the next.  So what a bout finds is told in units of another loop (speed.h) that is
 * timed in the same breath, before and after; the middle one of the bouts of quick
 * moments counts; and that loop is timed again when a session begins and ends, which
 * tells how many ticks the cost was just then.
 *
 * calibrate.c of calls and of lines say what a bout is.  The interpreter's lock guards
 * what is here. */
#include <stdbool.h>
#include <stdint.h>

enum {
    SD_BOUT_COSTS = 6, /* at most, that one bout finds */
    SD_BOUTS_KEPT = 24,
};

struct sd_bout {                 /* what one found */
    double costs[SD_BOUT_COSTS]; /* in units of the loop */
    double slowest;              /* ticks of that, before or after */
    bool is_steady;              /* before and after it took about the same */
};

struct sd_bouts {                        /* of one kind; all zero is a fresh one */
    struct sd_bout bouts[SD_BOUTS_KEPT]; /* the oldest is overwritten */
    unsigned n;                          /* that there were */
    uint64_t last;                       /* ticks: when */
};

/* A bout begins, and ends: between the two its costs are measured in ticks, and put
 * into the bout behind the second, divided by what it gives. */
struct sd_bout *sd_bout_begin(struct sd_bouts *b);
double sd_bout_end(struct sd_bout *bout);
/* It has costs, and is one of them from now on. */
void sd_bouts_keep(struct sd_bouts *b);

/* Is it time for another? */
bool sd_bouts_are_due(const struct sd_bouts *b, uint64_t now);
/* After `n` of them now, the first there ever were or not: is that enough? */
bool sd_bouts_have_enough(const struct sd_bouts *b, unsigned n, bool are_first);
/* What one cost is, in units of the loop. */
double sd_bouts_cost(const struct sd_bouts *b, int cost);

/* How fast it went while a session ran.  All zero is a fresh one. */
struct sd_pace {
    uint64_t since; /* ticks of the reading at its start; 0: none */
    double loop;    /* ticks of the loop then */
    double sum, weight;
};
/* The session starts, and stops: each gives the ticks of the loop that its costs are to
 * be told by. */
double sd_pace_start(struct sd_pace *p);
double sd_pace_stop(struct sd_pace *p);
#endif
