/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_GRAPH_REPORT_H
#define SD_OUTPUTS_GRAPH_REPORT_H
/* graph_report: writes the call graph of a capture or a pstats file as SVG, as DOT, or
 * for callgrind's readers. */
#include "analyse/stacks/graph_source.h"
#include "report/svg/graph.h"

enum sd_graph_form { SD_GRAPH_SVG, SD_GRAPH_DOT, SD_GRAPH_CALLGRIND };
/* By the suffix of a file that is a picture or for graphviz; false: it is neither. */
bool sd_graph_form_of(const char *path, enum sd_graph_form *form);

struct sd_graph_order { /* what is to be drawn, and how */
    struct sd_graph_request request;
    struct sd_graph_look look;
    const char *search; /* looked for when the picture is opened, or NULL */
};
struct sd_graph_order sd_graph_report_order_default(void);

/* `other` is compared with, or NULL. */
int sd_graph_report_put(const struct sd_graph_source *s,
                        const struct sd_graph_source *other,
                        const struct sd_graph_order *order, enum sd_graph_form form,
                        struct sd_out *out);
#endif
