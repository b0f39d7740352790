/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_CALL_STACKS_H
#define SD_ANALYSE_STACKS_CALL_STACKS_H
/* call_stacks: derives cProfile's numbers from calling-context trees.
 *
 * cProfile keeps one entry per function and one per pair of caller and callee, with a
 * level of recursion each: a call is primitive, and its time counts in the total, when
 * the function (or the pair) was not active already.  In a tree that is a property of
 * the path above a node, so one walk that keeps how often each function and each pair
 * is on the present path gives exactly the same numbers, in linear time.
 *
 * Calls beyond a full tree have no path; their pairs have counted what a path would
 * tell.
 *
 * Trees of several threads stand in one array when they are to be added, and are asked
 * about one by one when they are to be kept apart. */
#include "profile/call_nodes.h"

struct sd_calls_sum {
    uint64_t calls, primitive; /* primitive ones are the first of a recursion */
    int64_t own, total;        /* in what the nodes' own times are in */
};

struct sd_calls_edge {
    uint32_t caller, callee; /* functions */
    struct sd_calls_sum sum;
};

struct sd_calls {                   /* all zero is a released one */
    struct sd_calls_sum *functions; /* owned; by function */
    size_t n_functions;
    struct sd_calls_edge *edges; /* owned; in the order of their first nodes */
    size_t n_edges;
};

/* The forest is settled, and each function in it is below n_functions.  What is called
 * by a root has no caller, hence no edge.  Pairs beyond the trees are counted with the
 * rest; nodes that stand for them are in the totals of the functions above, and in no
 * count.  0 or SD_ENOMEM. */
int sd_calls_derive(const struct sd_call_forest *f, size_t n_functions,
                    struct sd_calls *out);
void sd_calls_release(struct sd_calls *c);
#endif
