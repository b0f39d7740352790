/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_GRAPH_H
#define SD_CLI_GRAPH_H
/* graph: the call graph of a capture or of a pstats file, as a picture, as DOT, and as
 * what callgrind's readers take: from whatever has functions and callers to a file. */
#include "analyse/traced.h"
#include "report/svg/graph.h"

enum sd_graph_form { SD_GRAPH_SVG, SD_GRAPH_DOT, SD_GRAPH_CALLGRIND };
/* By the name of a file; false when it is none of them. */
bool sd_graph_form_of(const char *path, enum sd_graph_form *form);
/* By the word for a format: "graph", "dot", "callgrind". */
bool sd_graph_form_named(const char *word, enum sd_graph_form *form);

struct sd_graph_source { /* all zero but `stats` is a released one */
    struct sd_call_stats stats;
    struct sd_arena arena;
    const char *title; /* what was run */
    const char *what;  /* what the numbers are: "12.4 s traced" */
    const char *unit;  /* "s", or "samples" */
};

void sd_graph_source_init(struct sd_graph_source *s);
void sd_graph_source_release(struct sd_graph_source *s);
/* Of a capture: its samples, or its traced calls where nothing was sampled, or what the
 * metric of the wish's choice belongs to.  SD_EABSENT when it has neither. */
int sd_graph_source_of_profile(struct sd_graph_source *s, const struct sd_profile *p,
                               const struct sd_traced_wish *wish);
/* Of pstats files, added up. */
int sd_graph_source_of_files(struct sd_graph_source *s, char *const *files, size_t n);

struct sd_graph_order { /* what is to be drawn, and how */
    struct sd_graph_wish wish;
    struct sd_graph_look look;
    const char *search; /* looked for when the picture is opened, or NULL */
};
struct sd_graph_order sd_graph_order_default(void);

/* `other` is compared with, or NULL. */
int sd_graph_put(const struct sd_graph_source *s, const struct sd_graph_source *other,
                 const struct sd_graph_order *order, enum sd_graph_form form,
                 struct sd_out *out);
#endif
