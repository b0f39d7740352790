/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "report/layout/layers.h"

enum { MOST_BOXES = 300, MOST_LINES = 900 };

struct graph {
    struct sd_layers l;
    struct sd_layers_box boxes[MOST_BOXES];
    struct sd_layers_line lines[MOST_LINES];
    struct sd_arena arena;
};

/* The same numbers everywhere. */
static uint32_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void begin(struct graph *g, size_t n_boxes)
{
    memset(g, 0, sizeof *g);
    g->l =
        (struct sd_layers){ .boxes = g->boxes, .lines = g->lines, .n_boxes = n_boxes };
    for (size_t i = 0; i < n_boxes; i++)
        g->boxes[i] = (struct sd_layers_box){ .width = 40 + (double)(i * 37 % 160),
                                              .height = 50 };
}

static void join(struct graph *g, uint32_t from, uint32_t to, bool has_label)
{
    CHECK(g->l.n_lines < MOST_LINES);
    g->lines[g->l.n_lines++] =
        (struct sd_layers_line){ .from = from,
                                 .to = to,
                                 .weight = 1.0 / (double)(g->l.n_lines + 1),
                                 .label_width = has_label ? 36 : 0,
                                 .label_height = has_label ? 24 : 0 };
    if (from == to)
        g->boxes[from].beside = 60;
}

static void make_random(struct graph *g, size_t n_boxes, size_t n_lines, uint64_t seed)
{
    begin(g, n_boxes);
    for (size_t i = 0; i < n_lines; i++) {
        uint32_t from = next_number(&seed) % (uint32_t)n_boxes;

        join(g, from, next_number(&seed) % (uint32_t)n_boxes, seed % 2 == 0);
    }
}

/* --- What must hold of every layout */

static bool overlap(const struct sd_layers_box *a, const struct sd_layers_box *b)
{
    double left = fmax(a->x - a->width / 2, b->x - b->width / 2);
    double right =
        fmin(a->x + a->width / 2 + a->beside, b->x + b->width / 2 + b->beside);
    double up = fmax(a->y - a->height / 2, b->y - b->height / 2);
    double down = fmin(a->y + a->height / 2, b->y + b->height / 2);

    return right - left > 0.01 && down - up > 0.01;
}

static void check_boxes(const struct graph *g)
{
    for (size_t i = 0; i < g->l.n_boxes; i++) {
        const struct sd_layers_box *b = &g->boxes[i];

        CHECK(b->x - b->width / 2 >= -0.01 && b->y - b->height / 2 >= -0.01);
        CHECK(b->x + b->width / 2 <= g->l.width + 0.01);
        CHECK(b->y + b->height / 2 <= g->l.height + 0.01);
        for (size_t k = 0; k < i; k++)
            CHECK(!overlap(b, &g->boxes[k]));
    }
}

/* Does this vertical piece of a line, or the label at it, lie in a box? */
static void check_piece(const struct graph *g, const struct sd_layers_point *p)
{
    double up = fmin(p[0].y, p[1].y), down = fmax(p[0].y, p[1].y);

    for (size_t i = 0; i < g->l.n_boxes; i++) {
        const struct sd_layers_box *b = &g->boxes[i];
        bool is_beside = p->x <= b->x - b->width / 2 || p->x >= b->x + b->width / 2;

        CHECK(is_beside || down <= b->y - b->height / 2 + 0.01 ||
              up >= b->y + b->height / 2 - 0.01);
    }
}

static void check_ends(const struct graph *g, const struct sd_layers_line *e)
{
    const struct sd_layers_box *from = &g->boxes[e->from], *to = &g->boxes[e->to];
    const struct sd_layers_point *last = &e->points[e->n_points - 1];
    double sign = e->is_turned ? -1 : 1;

    CHECK(fabs(e->points[0].y - (from->y + sign * from->height / 2)) < 0.01);
    CHECK(fabs(last->y - (to->y - sign * to->height / 2)) < 0.01);
    CHECK(fabs(e->points[0].x - from->x) <= from->width / 2);
    CHECK(fabs(last->x - to->x) <= to->width / 2);
}

static void check_lines(const struct graph *g)
{
    for (size_t i = 0; i < g->l.n_lines; i++) {
        const struct sd_layers_line *e = &g->lines[i];
        uint32_t upper = e->is_turned ? e->to : e->from;
        uint32_t lower = e->is_turned ? e->from : e->to;

        if (e->from == e->to)
            continue;
        CHECK(g->boxes[upper].layer < g->boxes[lower].layer);
        CHECK(e->n_points >= 4 && e->n_points % 2 == 0);
        check_ends(g, e);
        for (size_t k = 0; k < e->n_points; k += 2) {
            CHECK(e->points[k].x == e->points[k + 1].x);
            check_piece(g, &e->points[k]);
        }
        if (e->label_height > 0)
            CHECK(e->label_y > 0 && e->label_x > 0);
    }
}

static void lay(struct graph *g)
{
    CHECK(sd_layers_lay(&g->l, &g->arena) == 0);
    check_boxes(g);
    check_lines(g);
}

/* --- */

TEST(layers_of_nothing_and_of_one_box)
{
    static struct graph g;

    begin(&g, 0);
    lay(&g);
    CHECK(g.l.width == 0 && g.l.height == 0 && g.l.n_layers == 0);
    begin(&g, 1);
    lay(&g);
    CHECK(g.l.width == 40 && g.l.height == 50 && g.boxes[0].x == 20);
    join(&g, 0, 0, true);
    lay(&g);
    CHECK(g.l.width == 100 && g.l.n_layers == 1);
    sd_arena_release(&g.arena);
}

TEST(layers_of_a_chain_are_straight)
{
    static struct graph g;

    begin(&g, 5);
    for (uint32_t i = 0; i < 4; i++)
        join(&g, i, i + 1, false);
    lay(&g);
    CHECK(g.l.n_layers == 5);
    for (size_t i = 1; i < 5; i++) {
        CHECK(g.boxes[i].layer == i && fabs(g.boxes[i].x - g.boxes[0].x) < 0.01);
        CHECK(g.boxes[i].y > g.boxes[i - 1].y);
    }
    sd_arena_release(&g.arena);
}

TEST(layers_put_callers_above_and_centre_them)
{
    static struct graph g;

    begin(&g, 4); /* a diamond */
    for (size_t i = 0; i < 4; i++)
        g.boxes[i].width = 80;
    join(&g, 0, 1, true);
    join(&g, 0, 2, true);
    join(&g, 1, 3, true);
    join(&g, 2, 3, true);
    lay(&g);
    CHECK(g.boxes[0].layer == 0 && g.boxes[3].layer == 4);
    CHECK(g.boxes[1].layer == 2 && g.boxes[2].layer == 2);
    CHECK(fabs(g.boxes[0].x - (g.boxes[1].x + g.boxes[2].x) / 2) < 20);
    CHECK(fabs(g.boxes[0].x - g.boxes[3].x) < 0.01);
    sd_arena_release(&g.arena);
}

TEST(layers_turn_the_line_that_closes_a_cycle)
{
    static struct graph g;
    size_t n_turned = 0;

    begin(&g, 60);
    for (uint32_t i = 0; i < 60; i++)
        join(&g, i, (i + 1) % 60, false);
    g.boxes[7].weight = 1;
    lay(&g);
    for (size_t i = 0; i < 60; i++)
        n_turned += g.lines[i].is_turned;
    CHECK(n_turned == 1 && g.lines[6].is_turned); /* into the heaviest */
    CHECK(g.boxes[7].layer == 0 && g.boxes[6].layer == 59);
    sd_arena_release(&g.arena);
}

TEST(layers_cross_no_lines_where_none_must)
{
    static struct graph g;

    begin(&g, 6); /* named in the other order on the lower side */
    join(&g, 0, 5, false);
    join(&g, 1, 4, false);
    join(&g, 2, 3, false);
    lay(&g);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            CHECK((g.boxes[i].x < g.boxes[k].x) ==
                  (g.boxes[5 - i].x < g.boxes[5 - k].x));
    sd_arena_release(&g.arena);
}

/* Callees of one function stand in several rows when one would be too wide. */
TEST(layers_of_a_hub_are_not_one_row)
{
    static struct graph g;
    double row = 0;

    begin(&g, 200);
    for (uint32_t i = 1; i < 200; i++)
        join(&g, 0, i, true);
    lay(&g);
    for (size_t i = 1; i < 200; i++)
        row += g.boxes[i].width;
    CHECK(g.l.n_layers > 5 && g.l.width < row / 3);
    sd_arena_release(&g.arena);
}

TEST(layers_hold_for_any_graph)
{
    static struct graph g;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        size_t n = 2 + seed * 7 % 120;

        make_random(&g, n, n * (1 + seed % 4), seed);
        lay(&g);
        sd_arena_release(&g.arena);
    }
}

TEST(layers_are_the_same_for_the_same_graph)
{
    static struct graph a, b;

    make_random(&a, 80, 200, 5);
    make_random(&b, 80, 200, 5);
    lay(&a);
    lay(&b);
    CHECK(a.l.width == b.l.width && a.l.height == b.l.height);
    for (size_t i = 0; i < 80; i++)
        CHECK(a.boxes[i].x == b.boxes[i].x && a.boxes[i].y == b.boxes[i].y);
    sd_arena_release(&a.arena);
    sd_arena_release(&b.arena);
}

/* A chain, and lines from every box to its last: more points than there may be. */
TEST(layers_have_bounded_points)
{
    static struct graph g;
    size_t n_points = 0;

    begin(&g, MOST_BOXES);
    for (uint32_t i = 0; i + 1 < MOST_BOXES; i++)
        join(&g, i, i + 1, true);
    for (uint32_t i = 0; i + 2 < MOST_BOXES; i++)
        join(&g, i, MOST_BOXES - 1, true);
    for (uint32_t i = 2; i < MOST_BOXES; i++)
        join(&g, 0, i, false);
    CHECK(sd_layers_lay(&g.l, &g.arena) == 0);
    check_boxes(&g);
    for (size_t i = 0; i < g.l.n_lines; i++)
        n_points += (g.lines[i].n_points - 4) / 2;
    CHECK(n_points <= SD_LAYERS_POINTS);
    sd_arena_release(&g.arena);
}

TEST(layers_survive_every_allocation_that_fails)
{
    static struct graph g;

    EACH_FAILURE(nth)
    {
        int rc;

        make_random(&g, 12, 24, 3);
        rc = sd_layers_lay(&g.l, &g.arena);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&g.arena);
    }
}
