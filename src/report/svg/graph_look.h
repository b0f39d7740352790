/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_SVG_GRAPH_LOOK_H
#define SD_REPORT_SVG_GRAPH_LOOK_H
/* graph_look: chooses colours, line widths and labels of a call graph, the same for
 * every output.  They are those that gprof2dot has, by its names, since people know
 * them. */
#include "analyse/stacks/call_graph.h"
#include "base/buf.h"

struct sd_graph_theme; /* a colour map */

/* What a node may say besides its name and its calls. */
enum sd_graph_word {
    SD_GRAPH_SELF_TIME,
    SD_GRAPH_SELF_PERCENT,
    SD_GRAPH_TOTAL_TIME,
    SD_GRAPH_TOTAL_PERCENT,
    SD_GRAPH_WORDS
};

struct sd_graph_look {
    const struct sd_graph_theme *theme;
    double skew; /* below 1: more colours for small shares; above 1: fewer; > 0 */
    bool strips; /* names without what stands in parentheses */
    bool wraps;  /* long names on several lines */
    enum sd_graph_word words[SD_GRAPH_WORDS];
    size_t n_words;
    /* Of a comparison. */
    double tolerance; /* percent: what differs less is the same */
    bool is_only_slower, is_only_faster;
    bool is_coloured_by_difference;
    double least_difference, most_difference; /* filled by sd_graph_look_measure */
};

/* gprof2dot's own: total and self in percent, all colours. */
struct sd_graph_look sd_graph_look_default(void);
/* By name ("color", "pink", "gray", "bw", "print"); NULL: there is none such. */
const struct sd_graph_theme *sd_graph_theme_named(const char *name);
/* "total-time-percentage" and so on; false: there is none such. */
bool sd_graph_word_named(const char *name, enum sd_graph_word *word);
/* Knows the differences of this graph; before it is drawn by them. */
void sd_graph_look_measure(struct sd_graph_look *look, const struct sd_view_graph *g);

enum sd_graph_change { SD_GRAPH_SAME, SD_GRAPH_SLOWER, SD_GRAPH_FASTER };
enum sd_graph_change sd_graph_change_of(const struct sd_graph_look *look,
                                        const struct sd_view_graph *g,
                                        const struct sd_graph_node *n);

/* How strongly it is coloured, 0 to 1. */
double sd_graph_node_weight(const struct sd_graph_look *look,
                            const struct sd_view_graph *g,
                            const struct sd_graph_node *n);
double sd_graph_edge_weight(const struct sd_graph_look *look,
                            const struct sd_graph_edge *e);

/* "#0d1473"; of a weight, of the text on it, of what is behind all. */
void sd_graph_colour(const struct sd_graph_look *look, double weight, char out[8]);
void sd_graph_text_colour(const struct sd_graph_look *look, double weight, char out[8]);
bool sd_graph_is_filled(const struct sd_graph_look *look);
double sd_graph_font_size(const struct sd_graph_look *look, double weight);
double sd_graph_pen_width(const struct sd_graph_look *look, double weight);

/* Adds the lines of a label, '\n' between them: name, total, (self), calls. */
void sd_graph_node_label(const struct sd_graph_look *look,
                         const struct sd_view_graph *g, const struct sd_graph_node *n,
                         struct sd_buf *to);
void sd_graph_edge_label(const struct sd_view_graph *g, const struct sd_graph_edge *e,
                         struct sd_buf *to);
/* Adds a number with so many decimals and a point, whatever the locale says. */
void sd_graph_put_fixed(struct sd_buf *to, double v, int decimals);
void sd_graph_put_percent(struct sd_buf *to, double share); /* "12.34%" */
#endif
