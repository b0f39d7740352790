/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/call_stacks.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static int settle_nodes(struct sd_node *nodes, size_t n)
{
    struct sd_call_forest forest = { .nodes = nodes, .n = n };

    return sd_forest_settle(&forest, NULL, NULL);
}

static int derive_nodes(struct sd_node *nodes, size_t n, size_t n_functions,
                        struct sd_calls *out)
{
    const struct sd_call_forest forest = { .nodes = nodes, .n = n };

    return sd_calls_derive(&forest, n_functions, out);
}

/* --- A program made up by chance, seen by both: a tree, and what cProfile does */

enum { FUNCTIONS = 5, NODES = 4096, DEPTH = 40, STEPS = 3000 };

struct entry { /* of a function or a pair, as _lsprof keeps it */
    struct sd_calls_sum sum;
    uint32_t level;
};

struct active {
    uint32_t node, function;
    int64_t since, below; /* the clock at its begin; the time of what it called */
};

struct program {
    uint32_t chance;
    int64_t clock;
    struct active stack[DEPTH];
    uint32_t depth;
    struct sd_node nodes[NODES];
    size_t n;
    struct entry functions[FUNCTIONS], edges[FUNCTIONS][FUNCTIONS];
};

static uint32_t draw(struct program *g, uint32_t below)
{
    g->chance = g->chance * 1664525u + 1013904223u;
    return (g->chance >> 8) % below;
}

static uint32_t child_of(struct program *g, uint32_t parent, uint32_t function)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->nodes[i].parent == parent && g->nodes[i].function == function)
            return (uint32_t)i;
    CHECK(g->n < NODES);
    g->nodes[g->n] = (struct sd_node){ .parent = parent, .function = function };
    return (uint32_t)g->n++;
}

static void call(struct program *g, uint32_t root, uint32_t function)
{
    struct active *a = &g->stack[g->depth];

    a->function = function;
    a->node = child_of(g, g->depth ? a[-1].node : root, function);
    a->since = g->clock;
    a->below = 0;
    g->functions[function].level++;
    if (g->depth > 0)
        g->edges[a[-1].function][function].level++;
    g->depth++;
}

static void finish(struct entry *e, int64_t inclusive, int64_t own)
{
    e->sum.calls++;
    e->sum.own += own;
    if (--e->level > 0)
        return;
    e->sum.primitive++;
    e->sum.total += inclusive;
}

static void give_back(struct program *g)
{
    struct active *a = &g->stack[--g->depth];
    int64_t inclusive = g->clock - a->since, own = inclusive - a->below;

    g->nodes[a->node].calls++;
    g->nodes[a->node].inclusive += inclusive;
    finish(&g->functions[a->function], inclusive, own);
    if (g->depth == 0)
        return;
    finish(&g->edges[a[-1].function][a->function], inclusive, own);
    a[-1].below += inclusive;
}

/* One thread: a root and what it calls. */
static void run_thread(struct program *g)
{
    uint32_t root = (uint32_t)g->n++;

    g->nodes[root] = (struct sd_node){ .parent = SD_NO_NODE };
    for (int i = 0; i < STEPS; i++) {
        g->clock += draw(g, 7);
        if (g->depth == 0 || (g->depth < DEPTH && draw(g, 100) < 50))
            call(g, root, draw(g, FUNCTIONS));
        else
            give_back(g);
    }
    while (g->depth > 0)
        give_back(g);
}

static bool is_same(const struct sd_calls_sum *a, const struct sd_calls_sum *b)
{
    return a->calls == b->calls && a->primitive == b->primitive && a->own == b->own &&
           a->total == b->total;
}

static void check_against(const struct program *g, const struct sd_calls *c)
{
    size_t n_edges = 0;

    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        CHECK(is_same(&c->functions[f], &g->functions[f].sum));
        for (uint32_t to = 0; to < FUNCTIONS; to++)
            n_edges += g->edges[f][to].sum.calls > 0;
    }
    CHECK(c->n_edges == n_edges);
    for (size_t i = 0; i < c->n_edges; i++)
        CHECK(is_same(&c->edges[i].sum,
                      &g->edges[c->edges[i].caller][c->edges[i].callee].sum));
}

TEST(calls_are_counted_as_cprofile_counts_them)
{
    struct program *g = sd_alloc(sizeof *g);

    CHECK(g);
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct sd_calls c;

        memset(g, 0, sizeof *g);
        g->chance = seed;
        for (uint32_t thread = 0; thread <= seed % 3; thread++)
            run_thread(g);
        CHECK(settle_nodes(g->nodes, g->n) == 0);
        CHECK(derive_nodes(g->nodes, g->n, FUNCTIONS, &c) == 0);
        check_against(g, &c);
        sd_calls_release(&c);
    }
    sd_free(g);
}

/* --- Single cases */

/* f calls itself once, and g; the thread's root is node 0. */
static const struct sd_node recursion[] = {
    { .parent = SD_NO_NODE },
    { .parent = 0, .function = 0, .calls = 2, .inclusive = 100 },
    { .parent = 1, .function = 0, .calls = 3, .inclusive = 60 },
    { .parent = 2, .function = 1, .calls = 6, .inclusive = 30 },
};

TEST(calls_of_a_recursion_count_once_in_the_total)
{
    struct sd_node nodes[4];
    struct sd_calls c;

    memcpy(nodes, recursion, sizeof nodes);
    CHECK(settle_nodes(nodes, 4) == 0);
    CHECK(derive_nodes(nodes, 4, 2, &c) == 0);
    CHECK(is_same(&c.functions[0], &(struct sd_calls_sum){ 5, 2, 70, 100 }));
    CHECK(is_same(&c.functions[1], &(struct sd_calls_sum){ 6, 6, 30, 30 }));
    CHECK(c.n_edges == 2);
    CHECK(c.edges[0].caller == 0 && c.edges[0].callee == 0);
    CHECK(is_same(&c.edges[0].sum, &(struct sd_calls_sum){ 3, 3, 30, 60 }));
    sd_calls_release(&c);
    CHECK(c.functions == NULL && c.n_edges == 0);
}

TEST(calls_of_no_tree_are_none)
{
    struct sd_calls c;

    CHECK(derive_nodes(NULL, 0, 0, &c) == 0);
    CHECK(c.n_functions == 0 && c.n_edges == 0);
    sd_calls_release(&c);
}

/* A tree as deep as a program can recurse must not use the C stack. */
TEST(calls_of_a_deep_recursion_are_derived)
{
    enum { DEEP = 300000 };
    struct sd_node *nodes = sd_alloc(DEEP * sizeof *nodes);
    struct sd_calls c;

    CHECK(nodes);
    nodes[0] = (struct sd_node){ .parent = SD_NO_NODE };
    for (uint32_t i = 1; i < DEEP; i++)
        nodes[i] =
            (struct sd_node){ .parent = i - 1, .calls = 1, .inclusive = DEEP - i };
    CHECK(settle_nodes(nodes, DEEP) == 0);
    CHECK(derive_nodes(nodes, DEEP, 1, &c) == 0);
    CHECK(is_same(&c.functions[0],
                  &(struct sd_calls_sum){ DEEP - 1, 1, DEEP - 1, DEEP - 1 }));
    sd_calls_release(&c);
    sd_free(nodes);
}

TEST(calls_that_find_no_memory_leave_nothing)
{
    struct sd_node nodes[4];
    struct sd_calls c;
    int rc;

    EACH_FAILURE(nth)
    {
        memcpy(nodes, recursion, sizeof nodes);
        rc = settle_nodes(nodes, 4);
        if (rc == 0)
            rc = derive_nodes(nodes, 4, 2, &c);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_calls_release(&c);
    }
}
