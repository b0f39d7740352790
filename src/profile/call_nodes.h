/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CALL_NODES_H
#define SD_PROFILE_CALL_NODES_H
/* call_nodes: calling-context trees as plain numbers, and what of their time is ours.
 *
 * A node is a function as it was called along one path.  What was measured of it is
 * inclusive; here it becomes its own time, without that of the nodes below and, when
 * the cost of tracing is known, without that cost.  Own times add up to every other
 * number there is (analyse/calls.h), so none of them can contradict another.
 *
 * Tracing costs twice in each call: `inside` between the two readings of the clock,
 * where it is booked on the function called, and `outside` of them, where it is booked
 * on the caller.  What it costs was measured at another moment than the calls were
 * made, and a shared machine may have been slower then.  The calls themselves tell:
 * none takes less than an empty one does, which was measured with the cost.  Where
 * calls of a node took less than that, everything was quicker by as much, and so was
 * the cost: less is taken off.  A function that ran is then never left with nothing. */
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
    int64_t own;       /* filled by sd_nodes_settle */
    bool is_c;         /* a C function: tracing it has another cost */
};

struct sd_trace_cost { /* ticks x 1024 for one call */
    uint64_t python_inside, python_outside;
    uint64_t c_inside, c_outside;   /* of C functions */
    uint64_t python_plain, c_plain; /* what a call of an empty function takes when it is
                                       not traced; 0: not known */
    bool may_go_below_zero;         /* the user's own bias, which nothing bounds */
};

/* Fills `own` of all nodes; with NULL nothing is subtracted.  No own time falls below
 * 0 unless that is asked for: a function that had not ended when its thread was killed
 * has less inclusive time than what it called.  *subtracted is how many ticks were
 * taken away altogether (NULL: nobody asks).  0 or SD_ENOMEM. */
int sd_nodes_settle(struct sd_node *nodes, size_t n, const struct sd_trace_cost *cost,
                    uint64_t *subtracted);
#endif
