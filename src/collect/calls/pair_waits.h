/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_PAIR_WAITS_H
#define SD_CALLS_PAIR_WAITS_H
/* pair_waits: calls beyond the tree whose stack waits, as that of a greenlet
 * does that is not running, and goes on later or never. */
#include "collect/calls/call_tree.h"

/* Entries that wait (call_tree.h): of `n` of them, in their order, that were on top of
 * the stack.  What they give is theirs to take back: the exit, which is the tree's cell
 * for all calls beyond it from where they left it, or NULL. */
struct sd_beyond_cell *sd_pair_waits_park(struct sd_call_tree *t,
                                          struct sd_call_entry *entries, size_t n);
/* They take the places above the base; then they are on top of the stack again. */
void sd_pair_waits_make_place(struct sd_call_tree *t, struct sd_call_entry *entries,
                              size_t n);
void sd_pair_waits_unpark(struct sd_call_tree *t, size_t n,
                          struct sd_beyond_cell *exit);
/* They never run again: books those beyond the tree, whose `start` and `cpu_start` are
 * what they ran. */
void sd_pair_waits_bury(struct sd_call_tree *t, struct sd_call_entry *entries, size_t n,
                        struct sd_beyond_cell *exit);
#endif
