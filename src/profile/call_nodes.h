/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_NODES_H
#define SD_PROFILE_CALL_NODES_H
/* call_nodes: turns calling-context trees into own times, without the cost of tracing.
 *
 * A node is a function as it was called along one path.  What was measured of it is
 * inclusive; here it becomes its own time, without that of the nodes below and, when
 * the cost of tracing is known, without that cost.  Own times add up to every other
 * number there is (analyse/stacks/call_stacks.h), so none of them can contradict
 * another.
 *
 * Tracing costs twice in each call: `inside` between the two readings of the clock,
 * where it is booked on the function called, and `outside` of them, where it is booked
 * on the caller.  What it costs was measured at another moment than the calls were
 * made, and a shared machine may have been slower then.  The calls themselves tell:
 * none takes less than an empty one does, which was measured with the cost.  Where
 * calls of a node took less than that, everything was quicker by as much, and so was
 * the cost: less is taken off.  A function that ran is then never left with nothing.
 *
 * The shortest calls of a tree bound the cost of all: when functions that call nothing
 * took less time than an empty one, in many calls, the cost is reduced in the whole
 * tree by as much.
 *
 * Beyond a full tree times are known by pair of caller and callee, own ones and
 * inclusive ones.  By how much their cost was less than measured is known from own
 * times, as in the tree; the cost in inclusive times is reduced by the same share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SD_NO_NODE UINT32_MAX

struct sd_node {
    uint32_t parent; /* a smaller index; SD_NO_NODE of a root, which is a thread and
                        no function: only the parent of its nodes */
    uint32_t
        function; /* numbered from 0 by whoever fills the nodes; of a root nothing */
    uint64_t calls;
    int64_t inclusive; /* measured, of the activations that have ended */
    int64_t own;       /* filled by sd_forest_settle */
    bool is_c;         /* a C function: tracing it has another cost */
    bool is_beyond;    /* no function: calls that are known by their pairs alone */
};

/* Traced calls in a stretch of time. */
struct sd_call_counts_calls {
    uint64_t python, c;
};

/* What lies below a node that stands for calls beyond a full tree. */
struct sd_calls_below {
    uint64_t first_calls; /* by the node's parent; is_c of the node tells which */
    struct sd_call_counts_calls inside, around; /* calls, these among them, whose cost
                                              inside (outside) is in the node's time */
};

/* Calls of one function by another, beyond the tree (capture/pair_cell.h). */
struct sd_pair {
    uint32_t caller, function; /* as in the nodes; caller SD_NO_NODE: there is none */
    bool is_c;
    uint64_t calls, primitive, pair_primitive;
    int64_t own, total, pair_total; /* measured, then settled; total and pair_total of
                                       primitive calls alone */
    struct sd_call_counts_calls own_calls; /* made directly by those that have ended */
    /* Calls whose cost inside is in total or pair_total, and those whose cost outside
     * is: all that a call made, and it itself; but not what an open call made itself,
     * whose own time is in no number yet. */
    struct sd_call_counts_calls total_inside, total_around, pair_inside, pair_around;
};

struct sd_call_forest { /* trees, and what lies beyond them; all borrowed */
    struct sd_node *nodes;
    size_t n;
    const struct sd_calls_below *below; /* by `function` of a node that is beyond */
    struct sd_pair *pairs;
    size_t n_pairs;
};

struct sd_trace_cost { /* ticks x 1024 for one call */
    uint64_t python_inside, python_outside;
    uint64_t c_inside, c_outside;   /* of C functions */
    uint64_t python_plain, c_plain; /* what a call of an empty function takes when it is
                                       not traced; 0: not known */
    bool may_go_below_zero;         /* the user's own bias, which nothing bounds */
};

/* Fills `own` of all nodes, and takes off what tracing took of the times of pairs; with
 * NULL nothing is subtracted.  No time falls below 0 unless that is asked for: a
 * function that had not ended when its thread was killed has less inclusive time than
 * what it called.  *subtracted is how many ticks were taken away altogether (NULL:
 * nobody asks).  0 or SD_ENOMEM. */
int sd_forest_settle(struct sd_call_forest *f, const struct sd_trace_cost *cost,
                     uint64_t *subtracted);
#endif
