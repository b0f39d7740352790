/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_SVG_GRAPH_H
#define SD_REPORT_SVG_GRAPH_H
/* graph: draws a call graph.
 *
 * As SVG it is laid out here (layers.h) and stands in one file with its own script: it
 * opens from any disk, asks the network for nothing, and is a picture where no script
 * runs.  As DOT it is for graphviz and whatever else reads that.  Text of strangers
 * stands in both as text only. */
#include "analyse/stacks/call_graph.h"
#include "base/out.h"
#include "report/svg/graph_look.h"

/* Lines beyond these many go without labels, which the pointer shows. */
enum { SD_GRAPH_LABELS = 900 };

/* 0 or SD_ENOMEM. */
int sd_report_graph(struct sd_out *out, const struct sd_view_graph *g,
                    const struct sd_graph_look *look);
int sd_report_dot(struct sd_out *out, const struct sd_view_graph *g,
                  const struct sd_graph_look *look);
#endif
