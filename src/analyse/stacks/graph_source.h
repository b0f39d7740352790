/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_GRAPH_SOURCE_H
#define SD_ANALYSE_STACKS_GRAPH_SOURCE_H
/* graph_source: what a call graph is drawn from: a capture, or the calls of a pstats
 * file. */
#include "analyse/stacks/call_counts.h"
#include "analyse/stacks/call_graph.h"

struct sd_graph_source {
    const struct sd_call_stats *stats;
    struct sd_call_stats made; /* owned; where they were made for this */
    struct sd_arena arena;
    const char *title; /* what was run */
    const char *what;  /* what the numbers are: "12.4 s traced" */
    const char *unit;  /* "s", or "samples" */
};

void sd_graph_source_init(struct sd_graph_source *s);
void sd_graph_source_release(struct sd_graph_source *s);
/* Of a capture: its samples, or its traced calls where nothing was sampled, or what the
 * metric of the request's choice belongs to.  SD_EABSENT when it has neither. */
int sd_graph_source_of_profile(struct sd_graph_source *s, const struct sd_profile *p,
                               const struct sd_stacks_request *request);
/* Of calls that are there already, and stay as long as the source. */
int sd_graph_source_of_calls(struct sd_graph_source *s,
                             const struct sd_call_stats *calls, const char *title);

/* The graph with its words, in the arena.  `other` is compared with, or NULL. */
int sd_graph_source_draw(const struct sd_graph_source *s,
                         const struct sd_graph_source *other,
                         const struct sd_graph_request *request, struct sd_arena *a,
                         struct sd_view_graph *out);
#endif
