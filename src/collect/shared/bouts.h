/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_BOUTS_H
#define SD_COLLECT_SHARED_BOUTS_H
/* bouts: repeats a measurement to learn what something costs on this machine.
 *
 * On a shared machine everything may go at half the speed in this moment, and not in
 * the next: the other half of the core is busy, or is not.  So a small loop (speed.h)
 * is timed again and again during a bout.  Where it took about the same throughout, the
 * machine kept its speed, and what the bout found is kept in units of the loop; a bout
 * in which the speed changed would take the change for a cost, and counts only where
 * there is no other.
 *
 * Not all code slows down alike: a loop that takes 1.4 times as long may stand beside
 * calls that take 1.6 times as long.  So bouts that ran at about the speed that is
 * asked for tell the cost; where there are few such, a low one of all does: too little
 * taken off is better than too much.  And a loop of 300 instructions does not feel who
 * empties the caches, which calls do, traced or not.  So what counts of those bouts is
 * by how much tracing made calls longer, the middle one, and the time of the calls
 * without it where that was short.
 *
 * How fast a session ran is told by the same loop, timed when it begins and ends and
 * now and then between (sd_bouts_looks_take).
 *
 * call_calibration.c and line_calibration.c say what a bout is.  The interpreter's lock
 * guards what is here. */
#include <stdbool.h>
#include <stdint.h>

enum {
    SD_BOUT_COSTS = 8, /* at most, that one bout finds */
    SD_BOUTS_KEPT = 24,
};

struct sd_bout {                 /* what one found */
    double costs[SD_BOUT_COSTS]; /* in units of the loop */
    double plain;                /* the same: what the work takes without those costs */
    double slowest, quickest;    /* ticks of the loop, during the bout */
    double loop;                 /* the one that is the unit */
};

struct sd_bouts {                        /* of one kind; all zero is a fresh one */
    struct sd_bout bouts[SD_BOUTS_KEPT]; /* the oldest is overwritten */
    unsigned n;                          /* that there were */
    uint64_t last;                       /* ticks: when */
};

/* A bout begins, and ends: between the two its costs are measured in ticks, and put
 * into the bout behind the second, divided by what it gives.  Between any two pieces of
 * that work stands a look at the speed. */
struct sd_bout *sd_bout_begin(struct sd_bouts *b);
void sd_bout_look(struct sd_bout *bout);
double sd_bout_end(struct sd_bout *bout);
/* It has costs, and is one of them from now on. */
void sd_bouts_keep(struct sd_bouts *b);

/* Is it time for another? */
bool sd_bouts_are_due(const struct sd_bouts *b, uint64_t now);
/* After `n` of them now, the first there ever were or not: is that enough? */
bool sd_bouts_have_enough(const struct sd_bouts *b, unsigned n, bool are_first);
/* What one cost is, in units of the loop, where the loop takes so many ticks. */
double sd_bouts_cost(const struct sd_bouts *b, int cost, double loop);
/* The relative error of that cost: how far the bouts that tell it differ. */
double sd_bouts_error(const struct sd_bouts *b, int cost, double loop);

/* The loop as it was timed during a session, by one thread.  All zero is a fresh one.
 */
struct sd_bouts_looks {
    double sum, least, most; /* ticks */
    uint32_t n;
};
/* Times it once; 3 us or so.  Needs no lock. */
void sd_bouts_looks_take(struct sd_bouts_looks *l);
void sd_bouts_looks_add(struct sd_bouts_looks *to, const struct sd_bouts_looks *more);

/* How fast it went while a session ran.  All zero is a fresh one. */
struct sd_bouts_pace {
    uint64_t since; /* ticks of the reading at its start; 0: none */
    double loop;    /* ticks of the loop then */
    double sum, weight;
    double error; /* by how much the sum may be wrong */
};
/* The session starts, and stops: each gives the ticks of the loop that its costs are to
 * be told by.  `between`: what was read since the start, or NULL. */
double sd_bouts_pace_start(struct sd_bouts_pace *p);
double sd_bouts_pace_stop(struct sd_bouts_pace *p,
                          const struct sd_bouts_looks *between);
/* The relative error of these ticks. */
double sd_bouts_pace_error(const struct sd_bouts_pace *p);

/* For tests: a machine whose speed the test sets, instead of the processor.  NULL: the
 * processor again. */
struct sd_bouts_machine {
    uint64_t (*loop)(void); /* ticks that the loop takes now */
    uint64_t (*now)(void);  /* ticks */
};
void sd_bouts_run_on(const struct sd_bouts_machine *machine);
#endif
