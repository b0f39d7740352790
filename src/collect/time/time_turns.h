/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_TIME_TIME_TURNS_H
#define SD_COLLECT_TIME_TIME_TURNS_H
/* time_turns: processes that measure in turn, one at a time.
 *
 * Interpreters that are compared run at the same time, so that what the machine does
 * meets all of them alike; but only the one whose turn it is runs, so that none
 * disturbs another.  They share a word in memory.  In each round all have one turn, in
 * an order that is drawn anew. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SD_TIME_TURNS_MAX = 16 }; /* processes */

struct sd_time_turns {     /* in memory that all of them map; zeros: the first turn */
    _Atomic uint32_t turn; /* counted up by the one whose turn it is; a futex */
    _Atomic uint32_t is_over;    /* somebody's time is up, or somebody has ended */
    _Atomic uint32_t n_measured; /* processes that have a batch of every statement */
    _Atomic uint32_t is_long;    /* a turn is one round: somebody's statement is long */
    uint32_t n;                  /* processes */
    uint32_t seed;
};

/* Waits until it is the turn of the `me`th; false: it is over. */
bool sd_time_turns_wait(struct sd_time_turns *t, uint32_t me);
/* Gives the turn to the next. */
void sd_time_turns_pass(struct sd_time_turns *t);
void sd_time_turns_end(struct sd_time_turns *t);
/* Have all had as many turns, and something measured?  Asked by the one whose turn
 * begins: then it may end. */
bool sd_time_turns_may_end(struct sd_time_turns *t);
/* Which of `n` comes at place `at` in this round. */
uint32_t sd_time_turns_order(uint32_t seed, uint32_t round, uint32_t n, uint32_t at);
#endif
