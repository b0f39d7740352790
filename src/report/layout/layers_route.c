/* SPDX-License-Identifier: MIT */
/* layers_route: sets y of the layers, and the points that lines run through. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/layout/layers.h"

/* Pixels.  Between two layers there is more room where lines go far aside, so that
 * their curves are not flat. */
#define LEAST_GAP 22
#define MOST_GAP 130
#define GAP_PER_ASIDE 0.11
/* Ends of lines on a box: so far from each other, on so much of its width. */
#define PORT_STEP 12
#define PORT_PART 0.8

/* --- Layers */

static double height_of(const struct sd_layering *g, uint32_t layer)
{
    double height = 0;

    for (uint32_t i = g->first[layer]; i < g->first[layer + 1]; i++)
        height = fmax(height, g->vertices[g->order[i]].height);
    return height;
}

/* Room for the lines below a layer, by how far they go aside: the root of the mean
 * square, so that one that goes far does not push everything apart. */
static double gap_below(const struct sd_layering *g, uint32_t layer)
{
    double sum = 0;
    size_t n = 0;

    for (uint32_t i = g->first[layer]; i < g->first[layer + 1]; i++) {
        uint32_t v = g->order[i];

        for (uint32_t k = g->down_first[v]; k < g->down_first[v + 1]; k++, n++) {
            double aside = g->vertices[v].x - g->vertices[g->down[k]].x;

            sum += aside * aside;
        }
    }
    if (n == 0)
        return LEAST_GAP;
    return fmin(LEAST_GAP + sqrt(sum / (double)n) * GAP_PER_ASIDE, MOST_GAP);
}

static int find_tops(struct sd_layering *g)
{
    double y = 0;

    g->top = sd_alloc((g->n_layers + 1) * 2 * sizeof *g->top);
    if (!g->top)
        return sd_no_memory();
    for (uint32_t i = 0; i < g->n_layers; i++) {
        double height = height_of(g, i);

        g->top[2 * i] = y; /* and its bottom behind it */
        g->top[2 * i + 1] = y + height;
        y += height + (i + 1 < g->n_layers ? gap_below(g, i) : 0);
    }
    g->l->height = y;
    g->l->n_layers = g->n_layers;
    return 0;
}

static void place_boxes(struct sd_layering *g)
{
    for (size_t i = 0; i < g->l->n_boxes; i++) {
        struct sd_layers_box *box = &g->l->boxes[i];

        box->x = g->vertices[i].x;
        box->y = (g->top[2 * box->layer] + g->top[2 * box->layer + 1]) / 2;
    }
}

/* --- Ends */

struct end { /* of a line on a box */
    uint32_t box, line;
    bool is_below;  /* leaves the box downwards */
    double towards; /* x of where the line goes to next */
};

static int by_box(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->box != y->box)
        return x->box < y->box ? -1 : 1;
    if (x->is_below != y->is_below)
        return x->is_below ? 1 : -1;
    if (x->towards != y->towards)
        return x->towards < y->towards ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* x of the ends of every line: [2 * line] the upper, [2 * line + 1] the lower. */
static void spread(const struct sd_layering *g, struct end *ends, size_t n, double *x)
{
    qsort(ends, n, sizeof *ends, by_box);
    for (size_t from = 0, to; from < n; from = to) {
        double width = g->l->boxes[ends[from].box].width * PORT_PART, step;

        for (to = from; to < n && ends[to].box == ends[from].box &&
                        ends[to].is_below == ends[from].is_below;)
            to++;
        step = fmin(PORT_STEP, width / (double)(to - from));
        for (size_t i = from; i < to; i++)
            x[2 * (size_t)ends[i].line + !ends[i].is_below] =
                g->l->boxes[ends[i].box].x +
                ((double)(i - from) - (double)(to - from - 1) / 2) * step;
    }
}

/* --- Lines */

struct way { /* the points of a line, as they were added: one after the other */
    uint32_t first, n;
};

static void find_ways(const struct sd_layering *g, struct way *ways)
{
    for (uint32_t v = (uint32_t)g->l->n_boxes; v < g->n; v++) {
        struct way *w = &ways[g->vertices[v].line];

        if (w->n++ == 0)
            w->first = v;
    }
}

static uint32_t upper_box(const struct sd_layers_line *e)
{
    return e->is_turned ? e->to : e->from;
}
static uint32_t lower_box(const struct sd_layers_line *e)
{
    return e->is_turned ? e->from : e->to;
}

static size_t list_ends(const struct sd_layering *g, const struct way *ways,
                        struct end *ends)
{
    size_t n = 0;

    for (uint32_t i = 0; i < g->l->n_lines; i++) {
        const struct sd_layers_line *e = &g->l->lines[i];
        uint32_t above = upper_box(e), below = lower_box(e);
        const struct way *w = &ways[i];

        if (e->from == e->to)
            continue;
        ends[n++] =
            (struct end){ above, i, true, g->vertices[w->n ? w->first : below].x };
        ends[n++] = (struct end){ below, i, false,
                                  g->vertices[w->n ? w->first + w->n - 1 : above].x };
    }
    return n;
}

static void put_end(const struct sd_layering *g, struct sd_layers_line *e, uint32_t box,
                    bool is_below, double x)
{
    const struct sd_layers_box *b = &g->l->boxes[box];
    double side = is_below ? b->y + b->height / 2 : b->y - b->height / 2;
    double edge = g->top[2 * b->layer + is_below];

    /* From its side to the edge of its layer nothing else is in the way. */
    e->points[e->n_points++] = (struct sd_layers_point){ x, is_below ? side : edge };
    e->points[e->n_points++] = (struct sd_layers_point){ x, is_below ? edge : side };
}

static void reverse(struct sd_layers_line *e)
{
    for (size_t i = 0, k = e->n_points; i + 1 < k; i++, k--) {
        struct sd_layers_point p = e->points[i];

        e->points[i] = e->points[k - 1];
        e->points[k - 1] = p;
    }
}

static int route_line(struct sd_layering *g, uint32_t line, const struct way *w,
                      const double *x, struct sd_arena *a)
{
    struct sd_layers_line *e = &g->l->lines[line];

    e->points = sd_arena_alloc(a, (2 * (size_t)w->n + 4) * sizeof *e->points);
    if (!e->points)
        return sd_no_memory();
    put_end(g, e, upper_box(e), true, x[2 * (size_t)line]);
    for (uint32_t v = w->first; v < w->first + w->n; v++) {
        const struct sd_layers_vertex *p = &g->vertices[v];

        for (int k = 0; k < 2; k++)
            e->points[e->n_points++] =
                (struct sd_layers_point){ p->x, g->top[2 * p->layer + (uint32_t)k] };
        if (p->height > 0) {
            e->label_x = p->x + 4;
            e->label_y = (g->top[2 * p->layer] + g->top[2 * p->layer + 1]) / 2;
        }
    }
    put_end(g, e, lower_box(e), false, x[2 * (size_t)line + 1]);
    if (w->n == 0) { /* too long for points: its label stands on it */
        e->label_x = (e->points[1].x + e->points[2].x) / 2 + 4;
        e->label_y = (e->points[1].y + e->points[2].y) / 2;
    }
    if (e->is_turned)
        reverse(e);
    return 0;
}

static int route_lines(struct sd_layering *g, struct sd_arena *a)
{
    size_t m = g->l->n_lines;
    struct way *ways = sd_zalloc((m + 1) * sizeof *ways);
    struct end *ends = sd_alloc((m + 1) * 2 * sizeof *ends);
    double *x = sd_zalloc((m + 1) * 2 * sizeof *x);
    int rc = ways && ends && x ? 0 : sd_no_memory();

    if (rc == 0) {
        find_ways(g, ways);
        spread(g, ends, list_ends(g, ways, ends), x);
    }
    for (uint32_t i = 0; i < m && rc == 0; i++) {
        g->l->lines[i].n_points = 0;
        if (g->l->lines[i].from != g->l->lines[i].to)
            rc = route_line(g, i, &ways[i], x, a);
    }
    sd_free(ways);
    sd_free(ends);
    sd_free(x);
    return rc;
}

int sd_layers_route(struct sd_layering *g, struct sd_arena *a)
{
    int rc = find_tops(g);

    if (rc < 0)
        return rc;
    place_boxes(g);
    return route_lines(g, a);
}
