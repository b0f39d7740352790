/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_TARGET_PARTS_H
#define SD_COLLECT_SAMPLE_TARGET_PARTS_H
/* target_parts: what the files of a round share: round (who is read, how, and what is
 * told of it) and batch (many read by one system call). */
#include "collect/sample/target.h"

struct sd_shot_of sd_target_shot_of(struct sd_target *t, const struct sd_round *round);

/* Whether the thread must be read in this round, and how. */
bool sd_target_must_read(const struct sd_target_thread *x,
                         const struct sd_round *round);
bool sd_target_must_follow(const struct sd_target_thread *x,
                           const struct sd_round *round);
bool sd_target_must_pause(const struct sd_target_thread *x,
                          const struct sd_round *round);
bool sd_target_must_be_native(const struct sd_target_thread *x,
                              const struct sd_round *round);

/* On the CPU of a thread that is followed and about to be read; false: it has ended. */
bool sd_target_stand_by(struct sd_target_thread *x);
/* Then, whether it stood still for this result. */
bool sd_target_stood_still(struct sd_target *t, struct sd_target_thread *x,
                           const struct sd_round *round, enum sd_shot_result result);

/* The clock that tells what reading the thread costs, and what it says since then is
 * added to that. */
uint64_t sd_target_cost_clock(const struct sd_target_thread *x);
void sd_target_add_cost(struct sd_target_thread *x, uint64_t began_ns);
/* It has been read, with this result. */
void sd_target_settle(struct sd_target_thread *x, enum sd_shot_result result,
                      struct sd_round *round);
/* Shifts in whether a read from outside was torn. */
void sd_target_remember_torn(struct sd_target_thread *x, bool was_torn,
                             uint64_t now_ns);

/* Whether several looks at it are taken by one system call. */
static inline bool sd_target_has_one_thread(const struct sd_target *t)
{
    return t->n_threads == 1 && t->n_unbegun == 0;
}

/* Reads the GILs and, by the same system calls, the threads that need not be stopped,
 * nor followed one by one.  What it does not settle is left to be read one by one. */
void sd_target_read_batches(struct sd_target *t, struct sd_round *round);
#endif
