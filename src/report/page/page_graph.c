/* SPDX-License-Identifier: MIT */
/* page_graph: writes a call graph with the places of its nodes and the ways of its
 * edges (report/layout): the page draws it and weighs it, and lays nothing out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/layout/layers.h"
#include "report/page/page_shapes.h"

/* What a box has room for, in pixels: two lines of text, a name and its shares. */
enum { LETTERS_MIN = 12, LETTERS_MAX = 40, LOOP_ROOM = 30 };
#define LETTER 7.4
#define PAD_X 10.0
#define BOX_HEIGHT 40.0

/* A node in the functions of a block: by name, line, and the end of its file. */
static uint32_t function_of(const struct sd_graph_node *n,
                            const struct sd_view_stacks *s)
{
    for (uint32_t i = 0; s && i < s->n_functions; i++) {
        const struct sd_stacks_function *f = &s->functions[i];

        if ((int64_t)f->line == n->line && strcmp(f->name, n->function) == 0 &&
            (!f->file || (n->file && strcmp(f->file, n->file) == 0)))
            return i;
    }
    return UINT32_MAX;
}

static double width_of(const char *name)
{
    size_t columns = sd_text_width(name, strlen(name));

    columns = columns < LETTERS_MIN ? LETTERS_MIN : columns;
    columns = columns > LETTERS_MAX ? LETTERS_MAX : columns;
    return (double)columns * LETTER + 2 * PAD_X;
}

static int lay_out(const struct sd_view_graph *g, struct sd_arena *a,
                   struct sd_layers *l)
{
    *l = (struct sd_layers){ .n_boxes = g->n_nodes, .n_lines = g->n_edges };
    l->boxes = sd_arena_alloc(a, (g->n_nodes + 1) * sizeof *l->boxes);
    l->lines = sd_arena_alloc(a, (g->n_edges + 1) * sizeof *l->lines);
    if (!l->boxes || !l->lines)
        return sd_no_memory();
    for (size_t i = 0; i < g->n_nodes; i++)
        l->boxes[i] = (struct sd_layers_box){ .width = width_of(g->nodes[i].function),
                                              .height = BOX_HEIGHT,
                                              .weight = g->nodes[i].total };
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct sd_graph_edge *e = &g->edges[i];

        l->lines[i] =
            (struct sd_layers_line){ .from = e->from, .to = e->to, .weight = e->total };
        if (e->from == e->to)
            l->boxes[e->from].beside = LOOP_ROOM;
    }
    return sd_layers_lay(l, a);
}

/* Tenths of a pixel are more than eyes see. */
static double in_tenths(double v) { return round(v * 10) / 10; }

static void put_pixels(struct sd_json *j, double v) { sd_json_real(j, in_tenths(v)); }

static void key_pixels(struct sd_json *j, const char *key, double v)
{
    sd_json_key(j, key);
    put_pixels(j, v);
}

static void put_node(struct sd_json *j, const struct sd_graph_node *n,
                     const struct sd_layers_box *box, uint32_t fn)
{
    sd_json_object(j);
    sd_json_key(j, "fn");
    if (fn == UINT32_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, fn);
    sd_json_key_string(j, "name", n->function);
    sd_json_key_string(j, "file", n->file);
    sd_json_key_int(j, "line", n->line);
    key_pixels(j, "x", box->x);
    key_pixels(j, "y", box->y);
    key_pixels(j, "w", box->width);
    key_pixels(j, "h", box->height);
    sd_json_key_real(j, "self", n->self);
    sd_json_key_real(j, "total", n->total);
    sd_json_key_int(j, "calls", n->calls);
    sd_json_end(j);
}

/* A line has two points in each layer.  Where it goes straight on into the next layer,
 * both are like one tall layer, which has two points, too. */
static void put_points(struct sd_json *j, const struct sd_layers_line *line)
{
    for (size_t i = 0; i < line->n_points; i++) {
        bool is_inner = i > 0 && i + 1 < line->n_points;
        size_t other = i % 2 ? i + 1 : i - 1; /* of the layer beside this one */

        if (is_inner &&
            in_tenths(line->points[i].x) == in_tenths(line->points[other].x))
            continue;
        put_pixels(j, line->points[i].x);
        put_pixels(j, line->points[i].y);
    }
}

static void put_edge(struct sd_json *j, const struct sd_graph_edge *e,
                     const struct sd_layers_line *line)
{
    sd_json_object(j);
    sd_json_key_uint(j, "from", e->from);
    sd_json_key_uint(j, "to", e->to);
    sd_json_key_real(j, "total", e->total);
    sd_json_key_int(j, "calls", e->calls);
    sd_json_key_array(j, "points");
    if (e->from != e->to)
        put_points(j, line);
    sd_json_end(j);
    sd_json_end(j);
}

static void put_graph(struct sd_payload *p, const struct sd_view_graph *g,
                      const struct sd_layers *l, const struct sd_view_stacks *stacks)
{
    sd_json_key_string(&p->j, "title", g->title ? g->title : "");
    sd_json_key_string(&p->j, "subtitle", g->subtitle);
    sd_json_key_string(&p->j, "note", NULL);
    sd_json_key_string(&p->j, "unit", g->unit ? g->unit : "");
    key_pixels(&p->j, "width", l->width);
    key_pixels(&p->j, "height", l->height);
    sd_json_key_array(&p->j, "nodes");
    for (size_t i = 0; i < g->n_nodes; i++)
        put_node(&p->j, &g->nodes[i], &l->boxes[i], function_of(&g->nodes[i], stacks));
    sd_json_end(&p->j);
    sd_json_key_array(&p->j, "edges");
    for (size_t i = 0; i < g->n_edges; i++)
        put_edge(&p->j, &g->edges[i], &l->lines[i]);
    sd_json_end(&p->j);
}

int sd_page_put_graph(struct sd_payload *p, const struct sd_view_graph *g,
                      const struct sd_view_stacks *stacks)
{
    struct sd_arena arena = { 0 };
    struct sd_layers layers;
    int rc = lay_out(g, &arena, &layers);

    if (rc == 0)
        put_graph(p, g, &layers, stacks);
    sd_arena_release(&arena);
    return rc;
}
