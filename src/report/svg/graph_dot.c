/* SPDX-License-Identifier: MIT */
/* graph_dot: writes a call graph for graphviz, as gprof2dot does. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/svg/graph.h"

enum { STRING_MAX = 2048 }; /* before it is escaped, which makes at most five of one */

struct writer {
    struct sd_out *out;
    const struct sd_view_graph *g;
    struct sd_graph_look look;
    struct sd_buf text; /* of the label at hand */
};

/* In quotes a backslash would begin an escape, of which graphviz has many, and "&" the
 * name of a character. */
static void put_character(struct sd_out *out, char c)
{
    if (c == '\n')
        sd_out_text(out, "\\n");
    else if (c == '"' || c == '\\')
        sd_out_printf(out, "\\%c", c);
    else if (c == '&')
        sd_out_text(out, "&amp;");
    else
        sd_out_write(out, &c, 1);
}

/* graphviz reads strings of at most 16,384 bytes, and any number of them added up; no
 * character is cut. */
static void put_quoted(struct sd_out *out, const char *s)
{
    const char *from = s;

    sd_out_text(out, "\"");
    for (; *s; s++) {
        if (s - from >= STRING_MAX && (*s & 0xC0) != 0x80) {
            sd_out_text(out, "\" + \"");
            from = s;
        }
        put_character(out, *s);
    }
    sd_out_text(out, "\"");
}

static void put_number(struct writer *w, const char *name, double v)
{
    struct sd_buf text = { 0 };

    sd_graph_put_fixed(&text, v, 2);
    sd_out_printf(w->out, ", %s=\"%s\"", name, sd_buf_string(&text));
    w->out->pending.bad |= text.bad;
    sd_buf_release(&text);
}

static void put_label(struct writer *w)
{
    w->out->pending.bad |= w->text.bad; /* said by the flush */
    sd_out_text(w->out, ", label=");
    put_quoted(w->out, sd_buf_string(&w->text));
}

static void put_node(struct writer *w, size_t i)
{
    const struct sd_graph_node *n = &w->g->nodes[i];
    enum sd_graph_change change = sd_graph_change_of(&w->look, w->g, n);
    double weight = sd_graph_node_weight(&w->look, w->g, n);
    char colour[8], text[8];

    sd_graph_colour(&w->look, weight, colour);
    sd_graph_text_colour(&w->look, weight, text);
    sd_out_printf(w->out, "\t%zu [color=\"%s\", fontcolor=\"%s\"", i, colour, text);
    put_number(w, "fontsize", sd_graph_font_size(&w->look, weight));
    sd_buf_clear(&w->text);
    sd_graph_node_label(&w->look, w->g, n, &w->text);
    put_label(w);
    if (change != SD_GRAPH_SAME)
        sd_out_printf(w->out, ", orientation=\"%s\", shape=cds",
                      change == SD_GRAPH_FASTER ? "90" : "0");
    sd_out_text(w->out, ", tooltip=");
    put_quoted(w->out, n->file);
    sd_out_text(w->out, "];\n");
}

static void put_edge(struct writer *w, const struct sd_graph_edge *e)
{
    double weight = sd_graph_edge_weight(&w->look, e);
    double pen = sd_graph_pen_width(&w->look, weight);
    char colour[8];

    sd_graph_colour(&w->look, weight, colour);
    sd_out_printf(w->out, "\t%u -> %u [color=\"%s\", fontcolor=\"%s\"", e->from, e->to,
                  colour, colour);
    put_number(w, "arrowsize", 0.5 * sqrt(pen));
    put_number(w, "fontsize", sd_graph_font_size(&w->look, weight));
    sd_buf_clear(&w->text);
    sd_graph_edge_label(w->g, e, &w->text);
    put_label(w);
    put_number(w, "labeldistance", pen);
    put_number(w, "penwidth", pen);
    sd_out_text(w->out, "];\n");
}

/* The limits keep graphviz from minutes of work on dense graphs. */
static void put_head(struct writer *w)
{
    bool is_filled = sd_graph_is_filled(&w->look);

    sd_out_text(w->out, "digraph {\n\ttooltip=\" \"\n");
    sd_out_text(w->out, "\tgraph [fontname=Arial, nodesep=0.125, nslimit=2, "
                        "nslimit1=2, ranksep=0.25];\n");
    sd_out_printf(w->out,
                  "\tnode [fontcolor=%s, fontname=Arial, height=0, shape=box, "
                  "style=%s, width=0];\n",
                  is_filled ? "white" : "black", is_filled ? "filled" : "solid");
    sd_out_text(w->out, "\tedge [fontname=Arial];\n");
}

int sd_report_dot(struct sd_out *out, const struct sd_view_graph *g,
                  const struct sd_graph_look *look)
{
    struct writer w = { .out = out, .g = g, .look = *look };

    sd_graph_look_measure(&w.look, g);
    put_head(&w);
    for (size_t i = 0, e = 0; i < g->n_nodes; i++) {
        put_node(&w, i);
        for (; e < g->n_edges && g->edges[e].from == i; e++)
            put_edge(&w, &g->edges[e]);
    }
    sd_out_text(out, "}\n");
    sd_buf_release(&w.text);
    return out->pending.bad ? sd_no_memory() : 0;
}
