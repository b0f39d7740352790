/* SPDX-License-Identifier: MIT */
/* layers_rank: decides which lines go up, and in which layer each box stands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"
#include "report/layout/layers.h"

/* Passes over all boxes that pull them towards their neighbours. */
enum { PULLS = 12 };
/* Pixels: between boxes of a layer, of a layer and its gap, and what any layer holds.
 */
#define BOX_ROOM 16
#define ROW 130
#define LEAST_LAYER 1400

struct ranking {
    struct sd_layers *l;
    uint32_t *out_first, *out; /* lines by their upper box */
    uint32_t *in_first, *in;   /* and by their lower one */
    uint32_t *sorted;          /* boxes: the heaviest, then those above first */
    uint32_t *rank;
    uint32_t length; /* of a line, in layers: 2 where labels stand in between */
};

static bool is_loop(const struct sd_layers_line *e) { return e->from == e->to; }
static uint32_t upper(const struct sd_layers_line *e)
{
    return e->is_turned ? e->to : e->from;
}
static uint32_t lower(const struct sd_layers_line *e)
{
    return e->is_turned ? e->from : e->to;
}

/* --- Lines by box */

static int by_weight(const void *a, const void *b, void *of)
{
    const struct sd_layers_line *lines = of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (lines[x].weight != lines[y].weight)
        return lines[x].weight > lines[y].weight ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Fills first[0..n_boxes] and the lines behind; the heaviest of a box first. */
static void group(const struct sd_layers *l,
                  uint32_t (*end)(const struct sd_layers_line *), uint32_t *first,
                  uint32_t *list)
{
    memset(first, 0, (l->n_boxes + 2) * sizeof *first);
    for (size_t i = 0; i < l->n_lines; i++)
        if (!is_loop(&l->lines[i]))
            sd_groups_count(first, end(&l->lines[i]));
    sd_groups_sum(first, l->n_boxes);
    for (uint32_t i = 0; i < l->n_lines; i++)
        if (!is_loop(&l->lines[i]))
            list[sd_groups_place(first, end(&l->lines[i]))] = i;
    for (size_t i = 0; i < l->n_boxes; i++)
        qsort_r(list + first[i], first[i + 1] - first[i], sizeof *list, by_weight,
                l->lines);
}

/* --- Cycles */

enum state { UNSEEN, OPEN, DONE };

/* Depth first along the heaviest lines: what leads back to a box that is open is
 * turned.  So the way that most of the time takes goes down. */
static void turn_from(struct ranking *r, uint32_t root, uint8_t *state, uint32_t *stack,
                      uint32_t *next)
{
    size_t n = 1;

    stack[0] = root;
    state[root] = OPEN;
    while (n > 0) {
        uint32_t box = stack[n - 1];
        struct sd_layers_line *e;

        if (next[box] == r->out_first[box + 1]) {
            state[box] = DONE;
            n--;
            continue;
        }
        e = &r->l->lines[r->out[next[box]++]];
        if (state[e->to] == OPEN) {
            e->is_turned = true;
        } else if (state[e->to] == UNSEEN) {
            state[e->to] = OPEN;
            stack[n++] = e->to;
        }
    }
}

static int by_box_weight(const void *a, const void *b, void *of)
{
    const struct sd_layers_box *boxes = of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (boxes[x].weight != boxes[y].weight)
        return boxes[x].weight > boxes[y].weight ? -1 : 1;
    return x < y ? -1 : 1;
}

static int turn_cycles(struct ranking *r)
{
    size_t n = r->l->n_boxes;
    uint8_t *state = sd_zalloc(n + 1);
    uint32_t *stack = sd_alloc((n + 1) * sizeof *stack);
    uint32_t *next = sd_alloc((n + 1) * sizeof *next);
    int rc = state && stack && next ? 0 : sd_no_memory();

    if (rc == 0)
        memcpy(next, r->out_first, n * sizeof *next);
    for (uint32_t i = 0; i < n && rc == 0; i++) /* what nobody calls first */
        if (r->in_first[i] == r->in_first[i + 1] && state[i] == UNSEEN)
            turn_from(r, i, state, stack, next);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        r->sorted[i] = i;
    if (rc == 0)
        qsort_r(r->sorted, n, sizeof *r->sorted, by_box_weight, r->l->boxes);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (state[r->sorted[i]] == UNSEEN)
            turn_from(r, r->sorted[i], state, stack, next);
    sd_free(state);
    sd_free(stack);
    sd_free(next);
    return rc;
}

/* --- Layers */

/* Boxes in an order in which every line goes forward; each as high as it can be. */
static int sort_boxes(struct ranking *r)
{
    size_t n = r->l->n_boxes, n_sorted = 0;
    uint32_t *left = sd_alloc((n + 1) * sizeof *left);

    if (!left)
        return sd_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        left[i] = r->in_first[i + 1] - r->in_first[i];
        if (left[i] == 0)
            r->sorted[n_sorted++] = i;
    }
    for (size_t at = 0; at < n_sorted; at++) {
        uint32_t box = r->sorted[at];

        for (uint32_t i = r->out_first[box]; i < r->out_first[box + 1]; i++) {
            uint32_t below = lower(&r->l->lines[r->out[i]]);

            if (r->rank[below] < r->rank[box] + r->length)
                r->rank[below] = r->rank[box] + r->length;
            if (--left[below] == 0)
                r->sorted[n_sorted++] = below;
        }
    }
    sd_free(left);
    return 0;
}

/* Between the lowest above it and the highest below it a box may stand anywhere: it
 * goes to the side where more lines are. */
static bool pull(struct ranking *r, uint32_t box)
{
    uint32_t n_in = r->in_first[box + 1] - r->in_first[box];
    uint32_t n_out = r->out_first[box + 1] - r->out_first[box];
    uint32_t least = 0, most = UINT32_MAX, to;

    for (uint32_t i = r->in_first[box]; i < r->in_first[box + 1]; i++) {
        uint32_t above = r->rank[upper(&r->l->lines[r->in[i]])] + r->length;

        least = above > least ? above : least;
    }
    for (uint32_t i = r->out_first[box]; i < r->out_first[box + 1]; i++) {
        uint32_t below = r->rank[lower(&r->l->lines[r->out[i]])] - r->length;

        most = below < most ? below : most;
    }
    if (n_in == n_out || (n_in == 0 && n_out == 0))
        return false;
    to = n_in > n_out ? least : most;
    if (to == r->rank[box])
        return false;
    r->rank[box] = to;
    return true;
}

static void pull_all(struct ranking *r)
{
    size_t n = r->l->n_boxes;
    bool has_moved = true;

    for (int pass = 0; pass < PULLS && has_moved; pass++) {
        has_moved = false;
        for (size_t i = 0; i < n; i++)
            has_moved |= pull(r, r->sorted[pass % 2 ? i : n - 1 - i]);
    }
}

/* --- Wide layers */

/* What is called by one function alone would stand in one row, however many they are.
 * So a layer has a width, chosen for a picture about twice as wide as high, and who
 * finds it full goes on to the next.  A line that passes needs less room than a box. */
static double width_of_layers(const struct sd_layers *l)
{
    double sum = 0;

    for (size_t i = 0; i < l->n_boxes; i++)
        sum += l->boxes[i].width + l->boxes[i].beside + BOX_ROOM;
    return fmax(LEAST_LAYER, sqrt(sum * ROW * 2));
}

/* Where the box goes: not above what leads to it, not into a full layer. */
static uint32_t layer_with_room(const struct ranking *r, uint32_t box,
                                const double *used, double width, double most)
{
    uint32_t layer = r->rank[box];

    for (uint32_t i = r->in_first[box]; i < r->in_first[box + 1]; i++) {
        uint32_t above = r->rank[upper(&r->l->lines[r->in[i]])] + r->length;

        layer = above > layer ? above : layer;
    }
    while (used[layer / r->length] > 0 && used[layer / r->length] + width > most)
        layer += r->length;
    return layer;
}

/* Ranks end below the number of boxes, and each box makes at most one layer more: so
 * there are at most twice as many layers as boxes. */
static int spread(struct ranking *r)
{
    double most = width_of_layers(r->l);
    double *used = sd_zalloc((2 * r->l->n_boxes + 2) * sizeof *used);

    if (!used)
        return sd_no_memory();
    for (size_t i = 0; i < r->l->n_boxes; i++) {
        uint32_t box = r->sorted[i];
        double width = r->l->boxes[box].width + r->l->boxes[box].beside + BOX_ROOM;

        r->rank[box] = layer_with_room(r, box, used, width, most);
        used[r->rank[box] / r->length] += width;
    }
    sd_free(used);
    return 0;
}

/* --- All of it */

static int take_memory(struct ranking *r)
{
    size_t n = r->l->n_boxes, m = r->l->n_lines;

    r->out_first = sd_zalloc((n + 2) * sizeof *r->out_first);
    r->in_first = sd_zalloc((n + 2) * sizeof *r->in_first);
    r->out = sd_alloc((m + 1) * sizeof *r->out);
    r->in = sd_alloc((m + 1) * sizeof *r->in);
    r->sorted = sd_alloc((n + 1) * sizeof *r->sorted);
    r->rank = sd_zalloc((n + 1) * sizeof *r->rank);
    return r->out_first && r->in_first && r->out && r->in && r->sorted && r->rank
               ? 0
               : sd_no_memory();
}

static void group_both(struct ranking *r)
{
    group(r->l, upper, r->out_first, r->out);
    group(r->l, lower, r->in_first, r->in);
}

static int rank(struct ranking *r)
{
    int rc;

    for (size_t i = 0; i < r->l->n_lines; i++)
        r->l->lines[i].is_turned = false;
    group_both(r);
    rc = turn_cycles(r);
    if (rc < 0)
        return rc;
    group_both(r);
    rc = sort_boxes(r);
    if (rc < 0)
        return rc;
    pull_all(r);
    return spread(r);
}

/* From 0 on: pulling may have left the first layers empty. */
static void take_layers(const struct ranking *r, struct sd_layering *g)
{
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < g->l->n_boxes; i++)
        least = r->rank[i] < least ? r->rank[i] : least;
    for (size_t i = 0; i < g->l->n_boxes; i++) {
        uint32_t layer = r->rank[i] - least;

        g->l->boxes[i].layer = g->vertices[i].layer = layer;
        g->n_layers = layer >= g->n_layers ? layer + 1 : g->n_layers;
    }
}

int sd_layers_rank(struct sd_layering *g)
{
    struct ranking r = { .l = g->l, .length = 1 };
    int rc = take_memory(&r);

    for (size_t i = 0; i < g->l->n_lines; i++)
        if (g->l->lines[i].label_height > 0 && !is_loop(&g->l->lines[i]))
            r.length = 2;
    if (rc == 0)
        rc = rank(&r);
    if (rc == 0)
        take_layers(&r, g);
    sd_free(r.out_first);
    sd_free(r.in_first);
    sd_free(r.out);
    sd_free(r.in);
    sd_free(r.sorted);
    sd_free(r.rank);
    return rc;
}
