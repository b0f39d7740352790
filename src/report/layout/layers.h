/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_LAYOUT_LAYERS_H
#define SD_REPORT_LAYOUT_LAYERS_H
/* layers: lays out a directed graph: where its boxes stand, and how its lines run.
 *
 * The layered layout of Sugiyama, in the steps that everybody takes:
 *   1. lines that close a cycle are turned round, so that all go down (layers_rank.c);
 *   2. each box gets a layer below all that lead to it (the same);
 *   3. a line that passes layers gets a point in each of them, and its label a place
 *      of its own half way (layers_order.c);
 *   4. in every layer boxes and points are put into an order with few crossings (the
 *      same);
 *   5. they get their x, straight lines first: Brandes and Koepf (layers_place.c);
 *   6. layers get their y, and lines their ends on the boxes (layers_route.c).
 *
 * So no two boxes overlap and no line runs through a box: where a line passes a layer
 * its point has room of its own.  All is done in a fixed order: the same graph always
 * gives the same picture.  Time and memory are bounded: in a graph so large that there
 * would be more than SD_LAYERS_POINTS of these points the longest lines go without, and
 * straight. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#ifdef SD_TINY
enum { SD_LAYERS_POINTS = 2000 };
#else
enum { SD_LAYERS_POINTS = 60000 };
#endif

struct sd_layers_box {
    double width, height; /* given */
    double beside;        /* given: room that is kept free on its right */
    double weight;        /* given: cycles begin with the heaviest of theirs */
    double x, y;          /* found: its centre */
    uint32_t layer;       /* found */
};

struct sd_layers_point {
    double x, y;
};

struct sd_layers_line {
    uint32_t from, to; /* given: boxes; lines to oneself are not laid out */
    double weight;     /* given: heavy ones go down and straight */
    double label_width, label_height; /* given; 0: it has none */
    bool is_turned;                   /* found: it goes up */
    /* Found: from its first box to its last, two in each layer that it passes: between
     * the two it is vertical, from one layer to the next it is a curve. */
    struct sd_layers_point *points;
    size_t n_points;
    double label_x, label_y; /* found: the left end of the label, and its middle */
};

struct sd_layers {
    struct sd_layers_box *boxes; /* the caller's */
    size_t n_boxes;
    struct sd_layers_line *lines; /* the caller's */
    size_t n_lines;
    double width, height; /* found: all of it lies between 0 and these */
    uint32_t n_layers;    /* found; labels stand in layers of their own */
};

/* Points are made in the arena.  0 or SD_ENOMEM. */
int sd_layers_lay(struct sd_layers *l, struct sd_arena *a);

/* --- For its own files */

#define SD_NO_LINE UINT32_MAX

struct sd_layers_vertex { /* a box, or a line's point in a layer */
    double left, right;   /* how far it reaches from its x */
    double height;
    double x;
    uint32_t layer, at; /* its layer, and its place in it */
    uint32_t line;      /* SD_NO_LINE: a box */
};

struct sd_layering {
    struct sd_layers *l;
    struct sd_layers_vertex *vertices; /* boxes first; owned */
    size_t n, cap;
    /* Segments from layer to layer, each from the upper to the lower end.  Those down
     * from a vertex are down[down_first[v]..down_first[v + 1]), and so up. */
    uint32_t *upper, *lower; /* owned */
    size_t n_segments, cap_segments, cap_lower;
    uint32_t *down_first, *down, *up_first, *up; /* owned */
    /* Vertices by layer and place: those of layer i are order[first[i]..first[i + 1]);
     * owned. */
    uint32_t *first, *order;
    uint32_t n_layers;
    double *top; /* y of each layer where it begins, and where it ends; owned */
};

int sd_layers_rank(struct sd_layering *g);                      /* 1, 2 */
int sd_layers_order(struct sd_layering *g);                     /* 3, 4 */
int sd_layers_place(struct sd_layering *g);                     /* 5 */
int sd_layers_route(struct sd_layering *g, struct sd_arena *a); /* 6 */
#endif
