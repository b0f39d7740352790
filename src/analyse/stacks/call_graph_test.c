/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analyse/stacks/call_graph.h"
#include "base/error.h"
#include "base/test.h"

static sd_function_id function(struct sd_call_stats *s, const char *file, int64_t line,
                               const char *name, int64_t calls, double own,
                               double total)
{
    struct sd_call_numbers n = { calls, calls, own, total, 0 };
    sd_function_id id;

    CHECK(sd_call_stats_function(s, file, strlen(file), line, name, strlen(name),
                                 &id) == 0);
    CHECK(sd_call_stats_count(s, id, &n) == 0);
    return id;
}

static void call(struct sd_call_stats *s, sd_function_id from, sd_function_id to,
                 int64_t calls, double total)
{
    struct sd_call_numbers n = { calls, calls, 0, total, 0 };

    CHECK(sd_call_stats_count_calls(s, from, to, &n) == 0);
}

/* main of 10 s calls work (8 s), which calls itself and tiny (0.04 s); main calls rare
 * (1 s), which calls tiny, too. */
static void make(struct sd_call_stats *s)
{
    sd_function_id main_, work, rare, tiny;

    sd_call_stats_init(s);
    main_ = function(s, "/x/app.py", 1, "<module>", 1, 0.99, 10);
    work = function(s, "/x/lib/work.tar.py", 7, "work", 5, 7.96, 8);
    rare = function(s, "~", 0, "<built-in method rare>", 2, 0.99, 1);
    tiny = function(s, "/y/.hidden", 3, "ti\nny\xff", 9, 0.06, 0.06);
    call(s, main_, work, 1, 8);
    call(s, work, work, 4, 6);
    call(s, main_, rare, 2, 1);
    call(s, work, tiny, 8, 0.04);
    call(s, rare, tiny, 1, 0.005);
    CHECK(sd_call_stats_sum(s) == 0);
}

static const struct sd_graph_node *node(const struct sd_view_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return &g->nodes[i];
    return NULL;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

TEST(graph_has_names_and_shares_as_gprof2dot)
{
    const struct sd_graph_request all = { 0 };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s;

    make(&s);
    CHECK(sd_graph_make(&s, &all, &a, &g) == 0);
    CHECK(g.n_nodes == 4 && g.n_edges == 5 && g.has_calls);
    CHECK(near(node(&g, "app:1:<module>")->total, 1));
    CHECK(near(node(&g, "app:1:<module>")->self, 0.099));
    CHECK(near(node(&g, "work.tar:7:work")->total, 0.8));
    CHECK(node(&g, "~:0:<built-in method rare>")->calls == 2);
    CHECK(node(&g, ".hidden:3:ti\\nny\\xff")); /* nothing unprintable */
    CHECK(strcmp(node(&g, "work.tar:7:work")->function, "work") == 0);
    for (size_t i = 1; i < g.n_edges; i++)
        CHECK(g.edges[i - 1].from <= g.edges[i].from);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

TEST(graph_leaves_out_what_is_below_the_thresholds)
{
    const struct sd_graph_request request = { .node_percent = 0.5,
                                              .edge_percent = 0.1 };
    const struct sd_graph_request edges = { .node_percent = 0, .edge_percent = 0.1 };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s;

    make(&s);
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(g.n_nodes == 4 && g.n_edges == 4 && g.n_all_edges == 5);
    CHECK(sd_graph_make(&s, &edges, &a, &g) == 0);
    CHECK(g.n_nodes == 4 && g.n_edges == 4);
    CHECK(sd_graph_make(&s, &(struct sd_graph_request){ .node_percent = 5 }, &a, &g) ==
          0);
    CHECK(g.n_nodes == 3 && g.n_edges == 3 && g.n_all_nodes == 4);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

TEST(graph_goes_from_a_root_and_to_a_leaf_and_so_far)
{
    struct sd_graph_request request = { .root = "work*" };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s;

    make(&s);
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(g.n_nodes == 2 && g.n_edges == 2 && !node(&g, "app:1:<module>"));
    request = (struct sd_graph_request){ .leaf = "*rare*" };
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(g.n_nodes == 2 && node(&g, "app:1:<module>"));
    request =
        (struct sd_graph_request){ .root = "<module>", .has_depth = true, .depth = 1 };
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(g.n_nodes == 3 && !node(&g, ".hidden:3:ti\\nny\\xff"));
    request = (struct sd_graph_request){ .root = "nobody" };
    CHECK(sd_graph_make(&s, &request, &a, &g) == SD_EUSAGE);
    request =
        (struct sd_graph_request){ .paths = (const char *const[]){ "/x/", NULL } };
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(g.n_nodes == 2);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

TEST(graph_of_self_times_has_the_largest_strongest)
{
    const struct sd_graph_request request = { .is_coloured_by_self = true };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s;

    make(&s);
    CHECK(sd_graph_make(&s, &request, &a, &g) == 0);
    CHECK(near(node(&g, "work.tar:7:work")->weight, 1));
    CHECK(node(&g, "app:1:<module>")->weight < 0.13);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

TEST(graph_of_callers_that_were_running_already_has_what_they_called)
{
    struct sd_arena a = { 0 };
    struct sd_call_stats s;
    struct sd_view_graph g;
    sd_function_id early, f;

    sd_call_stats_init(&s);
    f = function(&s, "a.py", 2, "f", 3, 4, 4);
    CHECK(sd_call_stats_function(&s, "a.py", 4, 1, "early", 5, &early) == 0);
    call(&s, early, f, 3, 4);
    CHECK(sd_call_stats_sum(&s) == 0);
    CHECK(sd_graph_make(&s, &(struct sd_graph_request){ .node_percent = 50 }, &a, &g) ==
          0);
    CHECK(g.n_nodes == 2 && g.n_edges == 1);
    CHECK(near(node(&g, "a:1:early")->total, 1) && node(&g, "a:1:early")->self == 0);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

TEST(graph_of_nothing_and_of_no_time)
{
    struct sd_arena a = { 0 };
    struct sd_call_stats s;
    struct sd_view_graph g;

    sd_call_stats_init(&s);
    CHECK(sd_graph_make(&s, &(struct sd_graph_request){ 0 }, &a, &g) == 0);
    CHECK(g.n_nodes == 0 && g.n_edges == 0);
    function(&s, "a.py", 2, "f", 3, 0, 0);
    CHECK(sd_call_stats_sum(&s) == 0);
    CHECK(sd_graph_make(&s, &(struct sd_graph_request){ .node_percent = 0.5 }, &a,
                        &g) == 0);
    CHECK(g.n_nodes == 1 && g.nodes[0].total == 1);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
}

/* make()'s functions later: <module> stays, work is two lines lower and calls what is
 * new, the others are gone. */
static void make_later(struct sd_call_stats *s)
{
    sd_function_id main_, work, new;

    sd_call_stats_init(s);
    main_ = function(s, "/x/app.py", 1, "<module>", 1, 1, 10);
    work = function(s, "/x/lib/work.tar.py", 9, "work", 6, 5, 9);
    new = function(s, "/x/new.py", 1, "new", 3, 4, 4);
    call(s, main_, work, 1, 9);
    call(s, work, new, 3, 4);
    CHECK(sd_call_stats_sum(s) == 0);
}

TEST(graphs_are_compared_by_name_and_where_lines_moved_by_function)
{
    const struct sd_graph_request all = { 0 };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s, later;

    make(&s);
    make_later(&later);
    CHECK(sd_graph_compare(&s, &later, &all, &a, &g) == 0 && g.is_compared);
    CHECK(node(&g, "work.tar:7:work")->is_in_other);
    CHECK(near(node(&g, "work.tar:7:work")->other_total, 0.9));
    CHECK(node(&g, "work.tar:7:work")->other_calls == 6);
    CHECK(!node(&g, "work.tar:9:work"));
    CHECK(!node(&g, "~:0:<built-in method rare>")->is_in_other);
    CHECK(g.edges[0].is_in_other && near(g.edges[0].other_total, 0.9));
    sd_arena_release(&a);
    sd_call_stats_release(&s);
    sd_call_stats_release(&later);
}

TEST(what_only_the_second_file_has_is_drawn_and_was_nothing_in_the_first)
{
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s, later;
    const struct sd_graph_edge *e;

    make(&s);
    make_later(&later);
    CHECK(sd_graph_compare(
              &s, &later,
              &(struct sd_graph_request){ .node_percent = 30, .edge_percent = 30 }, &a,
              &g) == 0);
    CHECK(g.n_nodes == 3 && g.n_edges == 3); /* work calls itself */
    CHECK(g.n_all_nodes > 3);                /* those of both */
    CHECK(node(&g, "new:1:new")->total == 0 && node(&g, "new:1:new")->calls == 0);
    CHECK(near(node(&g, "new:1:new")->other_total, 0.4));
    e = &g.edges[2];
    CHECK(strcmp(g.nodes[e->from].function, "work") == 0);
    CHECK(strcmp(g.nodes[e->to].function, "new") == 0);
    CHECK(e->calls == 0 && e->other_calls == 3 && near(e->other_total, 0.4));
    sd_arena_release(&a);
    sd_call_stats_release(&s);
    sd_call_stats_release(&later);
}

TEST(functions_of_one_name_are_compared_in_the_order_of_their_lines)
{
    const struct sd_graph_request all = { 0 };
    struct sd_arena a = { 0 };
    struct sd_view_graph g;
    struct sd_call_stats s, later;

    sd_call_stats_init(&s);
    function(&s, "/x/m.py", 20, "__init__", 2, 1, 1);
    function(&s, "/x/m.py", 10, "__init__", 1, 1, 1);
    function(&s, "/x/n.py", 1, "f", 1, 1, 1);
    CHECK(sd_call_stats_sum(&s) == 0);
    sd_call_stats_init(&later);
    function(&later, "/x/m.py", 13, "__init__", 10, 1, 1);
    function(&later, "/x/m.py", 23, "__init__", 20, 1, 1);
    function(&later, "/x/n.py", 2, "f", 1, 1, 1); /* one of two: which was it? */
    function(&later, "/x/n.py", 3, "f", 1, 1, 1);
    CHECK(sd_call_stats_sum(&later) == 0);
    CHECK(sd_graph_compare(&s, &later, &all, &a, &g) == 0);
    CHECK(g.n_nodes == 5);
    CHECK(node(&g, "m:10:__init__")->other_calls == 10);
    CHECK(node(&g, "m:20:__init__")->other_calls == 20);
    CHECK(!node(&g, "n:1:f")->is_in_other);
    sd_arena_release(&a);
    sd_call_stats_release(&s);
    sd_call_stats_release(&later);
}

TEST(graph_survives_every_allocation_that_fails)
{
    const struct sd_graph_request request = { .root = "*", .leaf = "*" };
    struct sd_call_stats s, later;

    make(&s);
    make_later(&later);
    EACH_FAILURE(nth)
    {
        struct sd_arena a = { 0 };
        struct sd_view_graph g;
        int rc = sd_graph_make(&s, &request, &a, &g);

        if (rc == 0)
            rc = sd_graph_compare(&s, &later, &request, &a, &g);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&a);
    }
    sd_call_stats_release(&s);
    sd_call_stats_release(&later);
}
