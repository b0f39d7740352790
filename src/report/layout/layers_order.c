/* SPDX-License-Identifier: MIT */
/* layers_order: adds points for lines that pass layers, and orders each layer so that
 * few lines cross. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"
#include "report/layout/layers.h"

enum {
    SWEEPS = 24,    /* down and up in turns */
    SWEPT = 480000, /* vertices in all sweeps: larger graphs have fewer */
    PATIENCE = 6,   /* sweeps without fewer crossings */
    SWAPPED_UP_TO =
        6000, /* vertices: in larger graphs neighbours do not change places */
    COMPARED_UP_TO = 4096, /* pairs of lines */
    LINE_ROOM = 8,         /* pixels that a passing line keeps free */
};

/* --- Points */

static uint32_t top_of(const struct sd_layering *g, const struct sd_layers_line *e)
{
    return g->vertices[e->is_turned ? e->to : e->from].layer;
}
static uint32_t bottom_of(const struct sd_layering *g, const struct sd_layers_line *e)
{
    return g->vertices[e->is_turned ? e->from : e->to].layer;
}

/* The longest line that gets points. */
static uint32_t longest(const struct sd_layering *g)
{
    uint32_t most = g->n_layers;
    size_t n;

    for (;; most /= 2) {
        n = 0;
        for (size_t i = 0; i < g->l->n_lines; i++) {
            const struct sd_layers_line *e = &g->l->lines[i];
            uint32_t length = bottom_of(g, e) - top_of(g, e);

            if (e->from != e->to && length <= most)
                n += length - 1;
        }
        if (n <= SD_LAYERS_POINTS || most <= 2)
            return most;
    }
}

static int add_segment(struct sd_layering *g, uint32_t from, uint32_t to)
{
    uint32_t *upper =
        sd_grow_array(g->upper, &g->cap_segments, g->n_segments + 1, sizeof *upper);
    uint32_t *lower;

    if (!upper)
        return sd_no_memory();
    g->upper = upper;
    lower = sd_grow_array(g->lower, &g->cap_lower, g->n_segments + 1, sizeof *lower);
    if (!lower)
        return sd_no_memory();
    g->lower = lower;
    upper[g->n_segments] = from;
    lower[g->n_segments++] = to;
    return 0;
}

static int add_vertex(struct sd_layering *g, const struct sd_layers_vertex *v)
{
    struct sd_layers_vertex *grown =
        sd_grow_array(g->vertices, &g->cap, g->n + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    g->vertices = grown;
    grown[g->n++] = *v;
    return 0;
}

/* Labels stand between layers of boxes, in an odd one: at the end of the line where
 * fewer others are. */
static uint32_t label_layer(const struct sd_layering *g, const struct sd_layers_line *e,
                            const uint32_t *n_lines)
{
    uint32_t top = top_of(g, e), bottom = bottom_of(g, e);
    uint32_t above = n_lines[e->is_turned ? e->to : e->from];
    uint32_t below = n_lines[e->is_turned ? e->from : e->to];

    return above > below   ? bottom - 1
           : above < below ? top + 1
                           : (top + bottom) / 2 | 1;
}

static int add_line(struct sd_layering *g, uint32_t line, const uint32_t *n_lines)
{
    const struct sd_layers_line *e = &g->l->lines[line];
    uint32_t above = e->is_turned ? e->to : e->from, top = top_of(g, e),
             bottom = bottom_of(g, e), label = label_layer(g, e, n_lines);
    int rc = 0;

    for (uint32_t layer = top + 1; layer < bottom && rc == 0; layer++) {
        struct sd_layers_vertex v = {
            .left = LINE_ROOM / 2, .right = LINE_ROOM / 2, .layer = layer, .line = line
        };

        if (e->label_height > 0 && layer == label) {
            v.right = e->label_width + LINE_ROOM;
            v.height = e->label_height;
        }
        rc = add_vertex(g, &v);
        if (rc == 0)
            rc = add_segment(g, above, (uint32_t)g->n - 1);
        above = (uint32_t)g->n - 1;
    }
    return rc < 0 ? rc : add_segment(g, above, e->is_turned ? e->from : e->to);
}

static int add_lines(struct sd_layering *g)
{
    uint32_t most = longest(g);
    uint32_t *n_lines = sd_zalloc((g->l->n_boxes + 1) * sizeof *n_lines);
    int rc = n_lines ? 0 : sd_no_memory();

    for (size_t i = 0; i < g->l->n_lines && rc == 0; i++) {
        n_lines[g->l->lines[i].from]++;
        n_lines[g->l->lines[i].to]++;
    }
    for (uint32_t i = 0; i < g->l->n_lines && rc == 0; i++) {
        const struct sd_layers_line *e = &g->l->lines[i];

        if (e->from != e->to && bottom_of(g, e) - top_of(g, e) <= most)
            rc = add_line(g, i, n_lines);
    }
    sd_free(n_lines);
    return rc;
}

static void group(const uint32_t *by, const uint32_t *other, size_t n_segments,
                  size_t n, uint32_t *first, uint32_t *list)
{
    for (size_t i = 0; i < n_segments; i++)
        sd_groups_count(first, by[i]);
    sd_groups_sum(first, n);
    for (size_t i = 0; i < n_segments; i++)
        list[sd_groups_place(first, by[i])] = other[i];
}

static int group_segments(struct sd_layering *g)
{
    g->down_first = sd_zalloc((g->n + 2) * sizeof *g->down_first);
    g->up_first = sd_zalloc((g->n + 2) * sizeof *g->up_first);
    g->down = sd_alloc((g->n_segments + 1) * sizeof *g->down);
    g->up = sd_alloc((g->n_segments + 1) * sizeof *g->up);
    if (!g->down_first || !g->up_first || !g->down || !g->up)
        return sd_no_memory();
    group(g->upper, g->lower, g->n_segments, g->n, g->down_first, g->down);
    group(g->lower, g->upper, g->n_segments, g->n, g->up_first, g->up);
    return 0;
}

/* --- The first order */

static int count_layers(struct sd_layering *g)
{
    g->first = sd_zalloc((g->n_layers + 2) * sizeof *g->first);
    g->order = sd_alloc((g->n + 1) * sizeof *g->order);
    if (!g->first || !g->order)
        return sd_no_memory();
    for (size_t i = 0; i < g->n; i++)
        g->first[g->vertices[i].layer + 1]++;
    for (uint32_t i = 0; i < g->n_layers; i++)
        g->first[i + 1] += g->first[i];
    return 0;
}

/* A walk from callers to callees. */
struct walk {
    struct sd_layering *g;
    uint32_t *stack; /* owned; of vertices that are open */
    size_t n;
    uint32_t *next; /* owned; by vertex: which of those below it comes next */
    uint32_t *n_in; /* owned; by layer: how many stand there */
    bool *is_seen;  /* owned; by vertex */
};

/* It comes next in its layer, and then what is below it. */
static void enter(struct walk *w, uint32_t vertex)
{
    struct sd_layering *g = w->g;
    uint32_t layer = g->vertices[vertex].layer, at = w->n_in[layer]++;

    g->vertices[vertex].at = at;
    g->order[g->first[layer] + at] = vertex;
    w->is_seen[vertex] = true;
    w->stack[w->n++] = vertex;
}

static void walk_from(struct walk *w, uint32_t root)
{
    const struct sd_layering *g = w->g;

    enter(w, root);
    while (w->n > 0) {
        uint32_t v = w->stack[w->n - 1], below;

        if (w->next[v] == g->down_first[v + 1]) {
            w->n--;
            continue;
        }
        below = g->down[w->next[v]++];
        if (!w->is_seen[below])
            enter(w, below);
    }
}

/* Depth first, so that what hangs together stands together: from those that have
 * nothing above them, then from whatever is left. */
static int order_first(struct sd_layering *g)
{
    struct walk w = {
        .g = g,
        .stack = sd_alloc((g->n + 1) * sizeof *w.stack),
        .next = sd_alloc((g->n + 1) * sizeof *w.next),
        .n_in = sd_zalloc((g->n_layers + 1) * sizeof *w.n_in),
        .is_seen = sd_zalloc(g->n + 1),
    };
    int rc = w.stack && w.next && w.n_in && w.is_seen ? 0 : sd_no_memory();

    if (rc == 0)
        memcpy(w.next, g->down_first, g->n * sizeof *w.next);
    for (uint32_t i = 0; i < g->n && rc == 0; i++)
        if (g->up_first[i] == g->up_first[i + 1])
            walk_from(&w, i);
    for (uint32_t i = 0; i < g->n && rc == 0; i++)
        if (!w.is_seen[i])
            walk_from(&w, i);
    sd_free(w.stack);
    sd_free(w.next);
    sd_free(w.n_in);
    sd_free(w.is_seen);
    return rc;
}

/* --- Crossings */

struct sorter {
    struct sd_layering *g;
    double *request; /* by vertex: where its neighbours are */
    uint32_t *best;  /* the order with the fewest crossings */
    uint64_t least;  /* how many they are */
    uint32_t *tree;  /* for counting: of the largest layer */
    uint32_t *ends;  /* lower ends of one vertex, in order */
};

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Between a layer and the next: a tree of counts knows how many lines that began
 * further left end further right. */
static uint64_t count_between(const struct sorter *s, uint32_t layer)
{
    const struct sd_layering *g = s->g;
    uint32_t n = g->first[layer + 2] - g->first[layer + 1], n_put = 0;
    uint64_t crossings = 0;

    memset(s->tree, 0, (n + 1) * sizeof *s->tree);
    for (uint32_t i = g->first[layer]; i < g->first[layer + 1]; i++) {
        uint32_t v = g->order[i], n_ends = 0;

        for (uint32_t k = g->down_first[v]; k < g->down_first[v + 1]; k++)
            s->ends[n_ends++] = g->vertices[g->down[k]].at;
        if (n_ends > 1)
            qsort(s->ends, n_ends, sizeof *s->ends, by_number);
        for (uint32_t k = 0; k < n_ends; k++) {
            uint32_t left = 0;

            for (uint32_t at = s->ends[k] + 1; at > 0; at -= at & -at)
                left += s->tree[at];
            crossings += n_put - left;
        }
        for (uint32_t k = 0; k < n_ends; k++, n_put++)
            for (uint32_t at = s->ends[k] + 1; at <= n; at += at & -at)
                s->tree[at]++;
    }
    return crossings;
}

static uint64_t count_crossings(const struct sorter *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i + 1 < s->g->n_layers; i++)
        sum += count_between(s, i);
    return sum;
}

static int by_wish(const void *a, const void *b, void *of)
{
    const struct sorter *s = of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (s->request[x] != s->request[y])
        return s->request[x] < s->request[y] ? -1 : 1;
    return s->g->vertices[x].at < s->g->vertices[y].at ? -1 : 1;
}

/* Every vertex to the mean place of its neighbours in the layer that is settled. */
static void settle_layer(const struct sorter *s, uint32_t layer, bool goes_down)
{
    struct sd_layering *g = s->g;
    const uint32_t *first = goes_down ? g->up_first : g->down_first;
    const uint32_t *list = goes_down ? g->up : g->down;
    uint32_t from = g->first[layer], to = g->first[layer + 1];

    for (uint32_t i = from; i < to; i++) {
        uint32_t v = g->order[i], n = first[v + 1] - first[v];
        double sum = 0;

        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            sum += g->vertices[list[k]].at;
        s->request[v] = n ? sum / n : g->vertices[v].at;
    }
    qsort_r(g->order + from, to - from, sizeof *g->order, by_wish, (void *)s);
    for (uint32_t i = from; i < to; i++)
        g->vertices[g->order[i]].at = i - from;
}

/* How many lines of two neighbours cross on one side, when they stand so, less than
 * when they change places. */
static int64_t gain_on(const struct sd_layering *g, const uint32_t *first,
                       const uint32_t *list, uint32_t u, uint32_t v)
{
    int64_t gain = 0;

    for (uint32_t i = first[u]; i < first[u + 1]; i++)
        for (uint32_t k = first[v]; k < first[v + 1]; k++) {
            uint32_t a = g->vertices[list[i]].at, b = g->vertices[list[k]].at;

            gain += (a > b) - (a < b);
        }
    return gain;
}

/* Comparing all lines of two hubs with each other would take longer than it is worth.
 */
static bool are_small(const struct sd_layering *g, uint32_t u, uint32_t v)
{
    uint64_t up = g->up_first[u + 1] - g->up_first[u];
    uint64_t down = g->down_first[u + 1] - g->down_first[u];

    return up * (g->up_first[v + 1] - g->up_first[v]) +
               down * (g->down_first[v + 1] - g->down_first[v]) <=
           COMPARED_UP_TO;
}

static bool swap_in(struct sd_layering *g, uint32_t layer)
{
    bool has_swapped = false;

    for (uint32_t i = g->first[layer]; i + 1 < g->first[layer + 1]; i++) {
        uint32_t u = g->order[i], v = g->order[i + 1];

        if (!are_small(g, u, v) || gain_on(g, g->up_first, g->up, u, v) +
                                           gain_on(g, g->down_first, g->down, u, v) <=
                                       0)
            continue;
        g->order[i] = v;
        g->order[i + 1] = u;
        g->vertices[v].at--;
        g->vertices[u].at++;
        has_swapped = true;
    }
    return has_swapped;
}

static void swap_all(struct sd_layering *g)
{
    bool has_swapped = g->n <= SWAPPED_UP_TO;

    for (int pass = 0; pass < 8 && has_swapped; pass++) {
        has_swapped = false;
        for (uint32_t i = 0; i < g->n_layers; i++)
            has_swapped |= swap_in(g, i);
    }
}

static bool keep_if_better(struct sorter *s)
{
    uint64_t n = count_crossings(s);

    if (n >= s->least)
        return false;
    s->least = n;
    memcpy(s->best, s->g->order, s->g->n * sizeof *s->best);
    return true;
}

static void sweep(struct sorter *s)
{
    struct sd_layering *g = s->g;
    int n_in_vain = 0;
    size_t most = g->n * SWEEPS <= SWEPT ? SWEEPS : SWEPT / g->n + 1;

    keep_if_better(s);
    for (size_t i = 0; i < most && n_in_vain < PATIENCE && s->least > 0; i++) {
        bool goes_down = i % 2 == 0;

        for (uint32_t k = 1; k < g->n_layers; k++)
            settle_layer(s, goes_down ? k : g->n_layers - 1 - k, goes_down);
        swap_all(g);
        n_in_vain = keep_if_better(s) ? 0 : n_in_vain + 1;
    }
    memcpy(g->order, s->best, g->n * sizeof *g->order);
    for (uint32_t i = 0; i < g->n_layers; i++)
        for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
            g->vertices[g->order[k]].at = k - g->first[i];
}

static int reduce_crossings(struct sd_layering *g)
{
    struct sorter s = { .g = g, .least = UINT64_MAX };
    int rc;

    s.request = sd_alloc((g->n + 1) * sizeof *s.request);
    s.best = sd_alloc((g->n + 1) * sizeof *s.best);
    s.tree = sd_alloc((g->n + 2) * sizeof *s.tree);
    s.ends = sd_alloc((g->n_segments + 1) * sizeof *s.ends);
    rc = s.request && s.best && s.tree && s.ends ? 0 : sd_no_memory();
    if (rc == 0)
        sweep(&s);
    sd_free(s.request);
    sd_free(s.best);
    sd_free(s.tree);
    sd_free(s.ends);
    return rc;
}

int sd_layers_order(struct sd_layering *g)
{
    int rc = add_lines(g);

    if (rc == 0)
        rc = group_segments(g);
    if (rc == 0)
        rc = count_layers(g);
    if (rc == 0)
        rc = order_first(g);
    return rc < 0 ? rc : reduce_crossings(g);
}
