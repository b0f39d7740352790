/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_CALL_GRAPH_H
#define SD_ANALYSE_STACKS_CALL_GRAPH_H
/* call_graph: makes a call graph: functions and who calls whom.
 *
 * It is made of call_stats, so of anything that has functions and callers: a pstats
 * file, traced calls, samples.  The numbers are gprof2dot's: a function's share of the
 * whole with what it called, its own, and how often it was called; what is below its
 * thresholds is left out.  So the two draw the same graph of the same file.
 *
 * Names are for eyes: nothing unprintable is left in them. */
#include <stdbool.h>
#include <stdint.h>

#include "analyse/view.h"
#include "base/arena.h"
#include "profile/call_stats.h"

/* All zero is everything, below any function, to any depth. */
struct sd_graph_request {
    double node_percent, edge_percent; /* what has less is left out */
    const char *root, *leaf; /* shell patterns of names or functions, or NULL: only
                                what is called from there, what leads there */
    bool has_depth;
    uint64_t depth; /* calls from the root, or to the leaf */
    const char *const
        *paths; /* files begin with one of these; ended by NULL, or NULL */
    bool is_coloured_by_self; /* weights of nodes are their own shares */
};
#define SD_GRAPH_USUAL                                                                 \
    {                                                                                  \
        .node_percent = 0.5, .edge_percent = 0.1                                       \
    }

/* `out` has no words but names.  SD_EUSAGE when root or leaf match nothing that is left
 * by the thresholds. */
int sd_graph_make(const struct sd_call_stats *s, const struct sd_graph_request *request,
                  struct sd_arena *a, struct sd_view_graph *out);
/* Both in one (graph_compare.c): what either has, drawn when it is above the thresholds
 * in one of them; what only the other has is nothing in the first.  Functions are the
 * same when their names are; since lines move, those that are left are when module and
 * function are, in their order, where both have as many of them. */
int sd_graph_compare(const struct sd_call_stats *s, const struct sd_call_stats *other,
                     const struct sd_graph_request *request, struct sd_arena *a,
                     struct sd_view_graph *out);

/* By their callers. */
int sd_graph_sort_edges(struct sd_view_graph *g);
/* graph_prune.c: leaves of the first *n_nodes and *n_edges those that the request
 * wants.
 */
int sd_graph_prune(struct sd_view_graph *g, const struct sd_graph_request *request);
#endif
