/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_GRAPH_H
#define SD_ANALYSE_GRAPH_H
/* graph: functions and who calls whom, as a call graph shows them.
 *
 * It is made of call_stats, so of anything that has functions and callers: a pstats
 * file, traced calls, samples.  The numbers are gprof2dot's: a function's share of the
 * whole with what it called, its own, and how often it was called; what is below its
 * thresholds is left out.  So the two draw the same graph of the same file.
 *
 * Names are for eyes: nothing unprintable is left in them. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "profile/call_stats.h"

/* All zero is everything, below any function, to any depth. */
struct sd_graph_wish {
    double node_percent, edge_percent; /* what has less is left out */
    const char *root, *leaf; /* shell patterns of names or functions, or NULL: only
                                what is called from there, what leads there */
    bool has_depth;
    uint64_t depth; /* calls from the root, or to the leaf */
    const char *const
        *paths; /* files begin with one of these; ended by NULL, or NULL */
    bool is_coloured_by_self; /* weights of nodes are their own shares */
};
#define SD_GRAPH_NODE_PERCENT 0.5
#define SD_GRAPH_EDGE_PERCENT 0.1

struct sd_graph_node {
    const char *name;     /* "module:12:function" */
    const char *function; /* the last part of it */
    const char *file;     /* whole */
    int64_t line;
    int64_t calls;
    double self, total;               /* shares of the whole, 0 to 1 */
    double self_amount, total_amount; /* in the graph's unit */
    double weight;                    /* for its colour, 0 to 1 */
    /* Of a comparison: the same of the other graph, where it is in it.  What is only
     * there has nothing above. */
    bool is_in_other;
    double other_self, other_total;
    int64_t other_calls;
};

struct sd_graph_edge {
    uint32_t from, to; /* nodes; the same in a recursion */
    int64_t calls;
    double total; /* share of the whole that was spent below these calls */
    bool is_in_other;
    double other_total;
    int64_t other_calls;
};

struct sd_view_graph {    /* all in one arena */
    const char *title;    /* what was run */
    const char *subtitle; /* what is drawn of it */
    const char *search;   /* looked for when it is opened, or NULL */
    const char *unit;     /* of amounts: "s", "samples" */
    bool has_calls;       /* calls were counted */
    bool is_compared;
    struct sd_graph_node *nodes; /* in the order of the stats */
    size_t n_nodes, n_all_nodes; /* drawn, and known */
    struct sd_graph_edge *edges; /* by their callers */
    size_t n_edges, n_all_edges;
};

/* `out` has no words but names.  SD_EUSAGE when root or leaf match nothing that is left
 * by the thresholds. */
int sd_graph_make(const struct sd_call_stats *s, const struct sd_graph_wish *wish,
                  struct sd_arena *a, struct sd_view_graph *out);
/* Both in one (graph_compare.c): what either has, drawn when it is above the thresholds
 * in one of them; what only the other has is nothing in the first.  Functions are the
 * same when their names are; since lines move, those that are left are when module and
 * function are, in their order, where both have as many of them. */
int sd_graph_compare(const struct sd_call_stats *s, const struct sd_call_stats *other,
                     const struct sd_graph_wish *wish, struct sd_arena *a,
                     struct sd_view_graph *out);

/* By their callers. */
int sd_graph_sort_edges(struct sd_view_graph *g);
/* graph_prune.c: leaves of the first *n_nodes and *n_edges those that the wish wants.
 */
int sd_graph_prune(struct sd_view_graph *g, const struct sd_graph_wish *wish);
#endif
