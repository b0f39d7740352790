/* SPDX-License-Identifier: MIT */
/* layers_place: sets x of boxes and points, after Brandes and Koepf, "Fast and Simple
 * Horizontal Coordinate Assignment" (2001).
 *
 * Each vertex is put below (or above) the median of its neighbours where that is
 * possible, so that chains of vertices become blocks that stand straight; the blocks
 * are then packed.  That is done four times, from above and below, with the left or the
 * right median first, and every vertex gets the mean of its two middle places.  Long
 * lines are straight because their points never give way to others.
 *
 * Packing is by longest paths through the order of blocks, which respects all widths
 * without the classes of the paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"
#include "report/layout/layers.h"

/* Pixels between two neighbours. */
#define BOX_GAP 16
#define POINT_GAP 4

enum { LEFT_ABOVE, RIGHT_ABOVE, LEFT_BELOW, RIGHT_BELOW, WAYS };

struct placing {
    struct sd_layering *g;
    /* Between a layer and the next, by upper end: where the lower ends reach of long
     * lines that begin further left, and further right. */
    int64_t *left_reach, *right_reach;
    uint32_t *root, *align; /* by vertex: its block, and the next vertex in it */
    /* Which blocks stand right of a block, and how far at least. */
    uint32_t *first, *right;
    double *apart;
    uint32_t *n_left, *sorted;
    double *x[WAYS]; /* by vertex */
    bool is_mirrored, is_from_below;
};

static bool is_point(const struct placing *p, uint32_t v)
{
    return p->g->vertices[v].line != SD_NO_LINE;
}

/* --- Lines that others must not cross */

/* Lower ends of long lines at this vertex; false: there is none. */
static bool long_end(const struct placing *p, uint32_t v, int64_t *at)
{
    const struct sd_layering *g = p->g;

    if (!is_point(p, v) || g->down_first[v] == g->down_first[v + 1] ||
        !is_point(p, g->down[g->down_first[v]]))
        return false;
    *at = g->vertices[g->down[g->down_first[v]]].at;
    return true;
}

static void find_reaches(struct placing *p)
{
    const struct sd_layering *g = p->g;

    for (uint32_t i = 0; i < g->n_layers; i++) {
        int64_t reach = -1, at;

        for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++) {
            p->left_reach[g->order[k]] = reach;
            if (long_end(p, g->order[k], &at) && at > reach)
                reach = at;
        }
        reach = INT64_MAX;
        for (uint32_t k = g->first[i + 1]; k-- > g->first[i];) {
            p->right_reach[g->order[k]] = reach;
            if (long_end(p, g->order[k], &at) && at < reach)
                reach = at;
        }
    }
}

static bool crosses_long(const struct placing *p, uint32_t upper, uint32_t lower)
{
    int64_t at = p->g->vertices[lower].at;

    if (is_point(p, upper) && is_point(p, lower))
        return false;
    return p->left_reach[upper] > at || p->right_reach[upper] < at;
}

/* --- Blocks */

/* The place of a vertex, counted from the side that is tried first. */
static int64_t place_of(const struct placing *p, uint32_t v)
{
    const struct sd_layers_vertex *vertex = &p->g->vertices[v];
    uint32_t n = p->g->first[vertex->layer + 1] - p->g->first[vertex->layer];

    return p->is_mirrored ? (int64_t)(n - 1 - vertex->at) : vertex->at;
}

static uint32_t neighbour(const struct placing *p, uint32_t v, uint32_t i)
{
    const struct sd_layering *g = p->g;
    const uint32_t *first = p->is_from_below ? g->down_first : g->up_first;
    const uint32_t *list = p->is_from_below ? g->down : g->up;

    return p->is_mirrored ? list[first[v + 1] - 1 - i] : list[first[v] + i];
}

static uint32_t count_neighbours(const struct placing *p, uint32_t v)
{
    const uint32_t *first = p->is_from_below ? p->g->down_first : p->g->up_first;

    return first[v + 1] - first[v];
}

/* Puts the vertex below one of its two middle neighbours, when that crosses nothing. */
static int64_t align_vertex(struct placing *p, uint32_t v, int64_t last)
{
    uint32_t n = count_neighbours(p, v);

    for (uint32_t m = n ? (n - 1) / 2 : 1; n && m <= n / 2 && p->align[v] == v; m++) {
        uint32_t u = neighbour(p, v, m);

        if (place_of(p, u) <= last ||
            (p->is_from_below ? crosses_long(p, v, u) : crosses_long(p, u, v)))
            continue;
        p->align[u] = v;
        p->root[v] = p->root[u];
        p->align[v] = p->root[v];
        last = place_of(p, u);
    }
    return last;
}

static uint32_t vertex_at(const struct placing *p, uint32_t layer, uint32_t i)
{
    const struct sd_layering *g = p->g;

    return g->order[p->is_mirrored ? g->first[layer + 1] - 1 - i : g->first[layer] + i];
}

static void align_all(struct placing *p)
{
    const struct sd_layering *g = p->g;

    for (uint32_t v = 0; v < g->n; v++)
        p->root[v] = p->align[v] = v;
    for (uint32_t i = 1; i < g->n_layers; i++) {
        uint32_t layer = p->is_from_below ? g->n_layers - 1 - i : i;
        uint32_t n = g->first[layer + 1] - g->first[layer];
        int64_t last = -1;

        for (uint32_t k = 0; k < n; k++)
            last = align_vertex(p, vertex_at(p, layer, k), last);
    }
}

/* --- Packing */

static double gap(const struct placing *p, uint32_t a, uint32_t b)
{
    return is_point(p, a) || is_point(p, b) ? POINT_GAP : BOX_GAP;
}

/* How far the centres of two neighbours must be apart. */
static double distance(const struct placing *p, uint32_t a, uint32_t b)
{
    const struct sd_layers_vertex *v = p->g->vertices;

    return gap(p, a, b) +
           (p->is_mirrored ? v[a].left + v[b].right : v[a].right + v[b].left);
}

static void count_pair(struct placing *p, uint32_t a, uint32_t b)
{
    sd_groups_count(p->first, p->root[a]);
    p->n_left[p->root[b]]++;
}

static void place_pair(struct placing *p, uint32_t a, uint32_t b)
{
    uint32_t at = sd_groups_place(p->first, p->root[a]);

    p->apart[at] = distance(p, a, b);
    p->right[at] = p->root[b];
}

static void each_pair(struct placing *p,
                      void (*visit)(struct placing *p, uint32_t a, uint32_t b))
{
    const struct sd_layering *g = p->g;

    for (uint32_t i = 0; i < g->n_layers; i++)
        for (uint32_t k = 1; k < g->first[i + 1] - g->first[i]; k++)
            visit(p, vertex_at(p, i, k - 1), vertex_at(p, i, k));
}

static void group_blocks(struct placing *p)
{
    memset(p->first, 0, (p->g->n + 2) * sizeof *p->first);
    memset(p->n_left, 0, (p->g->n + 1) * sizeof *p->n_left);
    each_pair(p, count_pair);
    sd_groups_sum(p->first, p->g->n);
    each_pair(p, place_pair);
}

/* Every block as far left as it goes, then as far right as that leaves room: what
 * stands alone comes near to its neighbours. */
static void pack(struct placing *p, double *x)
{
    const struct sd_layering *g = p->g;
    size_t n = 0;

    group_blocks(p);
    for (uint32_t v = 0; v < g->n; v++) {
        x[v] = 0;
        if (p->root[v] == v && p->n_left[v] == 0)
            p->sorted[n++] = v;
    }
    for (size_t at = 0; at < n; at++)
        for (uint32_t i = p->first[p->sorted[at]]; i < p->first[p->sorted[at] + 1];
             i++) {
            uint32_t b = p->right[i];

            if (x[b] < x[p->sorted[at]] + p->apart[i])
                x[b] = x[p->sorted[at]] + p->apart[i];
            if (--p->n_left[b] == 0)
                p->sorted[n++] = b;
        }
    while (n-- > 0) {
        uint32_t v = p->sorted[n];
        double most = INFINITY;

        for (uint32_t i = p->first[v]; i < p->first[v + 1]; i++)
            most = fmin(most, x[p->right[i]] - p->apart[i]);
        if (most < INFINITY && most > x[v])
            x[v] = most;
    }
    for (uint32_t v = 0; v < g->n; v++)
        x[v] = x[p->root[v]];
}

static void place_one_way(struct placing *p, int way)
{
    double *x = p->x[way];

    p->is_mirrored = way == RIGHT_ABOVE || way == RIGHT_BELOW;
    p->is_from_below = way == LEFT_BELOW || way == RIGHT_BELOW;
    align_all(p);
    pack(p, x);
    for (uint32_t v = 0; v < p->g->n && p->is_mirrored; v++)
        x[v] = -x[v];
}

/* --- All four */

struct extent {
    double from, to;
};

static struct extent extent_of(const struct placing *p, const double *x)
{
    struct extent e = { INFINITY, -INFINITY };

    for (uint32_t v = 0; v < p->g->n; v++) {
        e.from = fmin(e.from, x[v] - p->g->vertices[v].left);
        e.to = fmax(e.to, x[v] + p->g->vertices[v].right);
    }
    return e;
}

/* Those from the left begin where the narrowest does, those from the right end there.
 */
static void bring_together(struct placing *p)
{
    struct extent e[WAYS];
    int narrowest = 0;

    for (int i = 0; i < WAYS; i++) {
        e[i] = extent_of(p, p->x[i]);
        if (e[i].to - e[i].from < e[narrowest].to - e[narrowest].from)
            narrowest = i;
    }
    for (int i = 0; i < WAYS; i++) {
        bool is_left = i == LEFT_ABOVE || i == LEFT_BELOW;
        double by = is_left ? e[narrowest].from - e[i].from : e[narrowest].to - e[i].to;

        for (uint32_t v = 0; v < p->g->n; v++)
            p->x[i][v] += by;
    }
}

static double middle(const double x[WAYS])
{
    double least = fmin(fmin(x[0], x[1]), fmin(x[2], x[3]));
    double most = fmax(fmax(x[0], x[1]), fmax(x[2], x[3]));

    return (x[0] + x[1] + x[2] + x[3] - least - most) / 2;
}

static void take_middles(struct placing *p)
{
    for (uint32_t v = 0; v < p->g->n; v++)
        p->g->vertices[v].x =
            middle((double[]){ p->x[0][v], p->x[1][v], p->x[2][v], p->x[3][v] });
}

/* Moves all so that it begins at 0; gives its width. */
static double begin_at_zero(struct sd_layering *g)
{
    double from = INFINITY, to = 0;

    for (uint32_t v = 0; v < g->n; v++)
        from = fmin(from, g->vertices[v].x - g->vertices[v].left);
    for (uint32_t v = 0; v < g->n; v++) {
        g->vertices[v].x -= from;
        to = fmax(to, g->vertices[v].x + g->vertices[v].right);
    }
    return to;
}

/* --- Squeezing */

/* Straight lines cost width: a hub with a hundred callees, each with a line of its own
 * through all layers, is as wide as all of them side by side.  Where that is much wider
 * than the widest layer needs to be, all is squeezed: x is scaled, and in each layer
 * what then overlaps is moved apart, as little as possible (the sum of squares). */
#define WIDE 1.3 /* beyond the widest layer */
#define SQUEEZED 1.1

static double layer_width(const struct placing *p, uint32_t layer)
{
    const struct sd_layering *g = p->g;
    double width = 0;

    for (uint32_t i = g->first[layer]; i < g->first[layer + 1]; i++) {
        uint32_t v = g->order[i];

        width += g->vertices[v].left + g->vertices[v].right;
        if (i > g->first[layer])
            width += gap(p, g->order[i - 1], v);
    }
    return width;
}

struct clump {  /* neighbours that stand as close as they may */
    double sum; /* of where its members request the first of them to be */
    uint32_t n;
};

/* Neighbours that overlap become a clump, which stands where it suits them best
 * together; clumps that overlap become one. */
static void part(const struct placing *p, uint32_t layer, struct clump *clumps,
                 double *offset)
{
    const struct sd_layering *g = p->g;
    const uint32_t *order = g->order + g->first[layer];
    uint32_t n = g->first[layer + 1] - g->first[layer], n_clumps = 0, at = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct clump c = { 0, 1 };

        offset[i] = i ? offset[i - 1] + distance(p, order[i - 1], order[i]) : 0;
        c.sum = g->vertices[order[i]].x - offset[i];
        while (n_clumps > 0 &&
               clumps[n_clumps - 1].sum / clumps[n_clumps - 1].n > c.sum / c.n) {
            c.sum += clumps[--n_clumps].sum;
            c.n += clumps[n_clumps].n;
        }
        clumps[n_clumps++] = c;
    }
    for (uint32_t k = 0; k < n_clumps; k++)
        for (uint32_t i = 0; i < clumps[k].n; i++, at++)
            g->vertices[order[at]].x = clumps[k].sum / clumps[k].n + offset[at];
}

static int squeeze(struct placing *p, double width)
{
    struct sd_layering *g = p->g;
    struct clump *clumps = sd_alloc((g->n + 1) * sizeof *clumps);
    double *offset = sd_alloc((g->n + 1) * sizeof *offset), most = 0;

    p->is_mirrored = false;
    for (uint32_t i = 0; i < g->n_layers; i++)
        most = fmax(most, layer_width(p, i));
    if (clumps && offset && width > most * WIDE) {
        for (uint32_t v = 0; v < g->n; v++)
            g->vertices[v].x *= most * SQUEEZED / width;
        for (uint32_t i = 0; i < g->n_layers; i++)
            part(p, i, clumps, offset);
    }
    sd_free(clumps);
    sd_free(offset);
    return clumps && offset ? 0 : sd_no_memory();
}

static int by_place(const void *a, const void *b, void *of)
{
    const struct sd_layers_vertex *vertices = of;
    uint32_t x = vertices[*(const uint32_t *)a].at,
             y = vertices[*(const uint32_t *)b].at;

    return x < y ? -1 : x > y;
}

static void sort_neighbours(struct sd_layering *g)
{
    for (size_t v = 0; v < g->n; v++) {
        qsort_r(g->up + g->up_first[v], g->up_first[v + 1] - g->up_first[v],
                sizeof *g->up, by_place, g->vertices);
        qsort_r(g->down + g->down_first[v], g->down_first[v + 1] - g->down_first[v],
                sizeof *g->down, by_place, g->vertices);
    }
}

static int take_memory(struct placing *p)
{
    size_t n = p->g->n + 2;
    bool has_all;

    p->left_reach = sd_alloc(n * sizeof *p->left_reach);
    p->right_reach = sd_alloc(n * sizeof *p->right_reach);
    p->root = sd_alloc(n * sizeof *p->root);
    p->align = sd_alloc(n * sizeof *p->align);
    p->first = sd_alloc(n * sizeof *p->first);
    p->right = sd_alloc(n * sizeof *p->right);
    p->apart = sd_alloc(n * sizeof *p->apart);
    p->n_left = sd_alloc(n * sizeof *p->n_left);
    p->sorted = sd_alloc(n * sizeof *p->sorted);
    has_all = p->left_reach && p->right_reach && p->root && p->align && p->first &&
              p->right && p->apart && p->n_left && p->sorted;
    for (int i = 0; i < WAYS; i++) {
        p->x[i] = sd_alloc(n * sizeof *p->x[i]);
        has_all = has_all && p->x[i];
    }
    return has_all ? 0 : sd_no_memory();
}

static void release(struct placing *p)
{
    sd_free(p->left_reach);
    sd_free(p->right_reach);
    sd_free(p->root);
    sd_free(p->align);
    sd_free(p->first);
    sd_free(p->right);
    sd_free(p->apart);
    sd_free(p->n_left);
    sd_free(p->sorted);
    for (int i = 0; i < WAYS; i++)
        sd_free(p->x[i]);
}

int sd_layers_place(struct sd_layering *g)
{
    struct placing p = { .g = g };
    int rc = take_memory(&p);

    if (rc == 0 && g->n > 0) {
        sort_neighbours(g);
        find_reaches(&p);
        for (int way = 0; way < WAYS; way++)
            place_one_way(&p, way);
        bring_together(&p);
        take_middles(&p);
        rc = squeeze(&p, begin_at_zero(g));
        g->l->width = begin_at_zero(g);
    }
    release(&p);
    return rc;
}
