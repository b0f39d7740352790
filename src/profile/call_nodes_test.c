/* SPDX-License-Identifier: MIT */
#include "profile/call_nodes.h"

#include "base/test.h"

static int settle_nodes(struct sd_node *nodes, size_t n,
                        const struct sd_trace_cost *cost, uint64_t *subtracted)
{
    struct sd_call_forest forest = { .nodes = nodes, .n = n };

    return sd_forest_settle(&forest, cost, subtracted);
}

enum { N = 4 };

/* A root; f, called twice; g, called 10 times by f; h, 4 times by f. */
static void fill(struct sd_node *nodes)
{
    nodes[0] = (struct sd_node){ .parent = SD_NO_NODE, .inclusive = 77 };
    nodes[1] = (struct sd_node){ .parent = 0, .calls = 2, .inclusive = 1000 };
    nodes[2] = (struct sd_node){ .parent = 1, .calls = 10, .inclusive = 600 };
    nodes[3] = (struct sd_node){ .parent = 1, .calls = 4, .inclusive = 5 };
}

TEST(nodes_own_what_their_children_do_not)
{
    struct sd_node nodes[N];
    uint64_t subtracted = 1;

    fill(nodes);
    CHECK(settle_nodes(nodes, N, NULL, &subtracted) == 0);
    CHECK(nodes[0].own == 0 && nodes[1].own == 395);
    CHECK(nodes[2].own == 600 && nodes[3].own == 5);
    CHECK(subtracted == 0);
}

/* 20 ticks inside of each call, 5 outside, which the caller of 14 calls bears; but four
 * calls of 5 ticks together cannot have had more than a sixteenth of that. */
TEST(nodes_lose_the_cost_of_tracing_and_no_more_than_they_have)
{
    const struct sd_trace_cost cost = { .python_inside = 20 * 1024,
                                        .python_outside = 5 * 1024,
                                        .c_inside = 1024,
                                        .c_outside = 512 };
    struct sd_node nodes[N];
    uint64_t subtracted;

    fill(nodes);
    CHECK(settle_nodes(nodes, N, &cost, &subtracted) == 0);
    CHECK(nodes[1].own == 395 - (2 * 20 + 10 * 5 + 4 * 5 / 16));
    CHECK(nodes[2].own == 600 - 10 * 20);
    CHECK(nodes[3].own == 0);
    CHECK(subtracted == 91 + 200 + 5);
}

/* Killed while f ran: only what it called has ended. */
TEST(nodes_that_never_ended_have_no_time_below_zero)
{
    struct sd_node nodes[N];

    fill(nodes);
    nodes[1].inclusive = 0;
    CHECK(settle_nodes(nodes, N, NULL, NULL) == 0);
    CHECK(nodes[1].own == 0 && nodes[2].own == 600);
}

TEST(nodes_of_absurd_numbers_do_not_wrap)
{
    const struct sd_trace_cost cost = { .python_inside = UINT64_MAX,
                                        .python_outside = UINT64_MAX };
    struct sd_node nodes[N];

    fill(nodes);
    nodes[2].calls = nodes[3].calls = UINT64_MAX;
    nodes[2].inclusive = nodes[3].inclusive = INT64_MAX;
    CHECK(settle_nodes(nodes, N, &cost, NULL) == 0);
    CHECK(nodes[1].own == 0 && nodes[2].own > 0 && nodes[3].own > 0);
}

TEST(nodes_may_go_below_zero_when_that_is_asked_for)
{
    const struct sd_trace_cost bias = { .python_inside = 20 * 1024,
                                        .may_go_below_zero = true };
    struct sd_node nodes[N];

    fill(nodes);
    CHECK(settle_nodes(nodes, N, &bias, NULL) == 0);
    CHECK(nodes[3].own == 5 - 4 * 20);
}

TEST(nodes_of_c_functions_have_a_cost_of_their_own)
{
    const struct sd_trace_cost cost = { .python_inside = 20 * 1024,
                                        .python_outside = 5 * 1024,
                                        .c_inside = 1024,
                                        .c_outside = 512 };
    struct sd_node nodes[N];

    fill(nodes);
    nodes[2].is_c = true;
    CHECK(settle_nodes(nodes, N, &cost, NULL) == 0);
    CHECK(nodes[1].own == 395 - (2 * 20 + 4 * 5 / 16 + 5));
    CHECK(nodes[2].own == 600 - 10);
}

/* An empty call took 20 ticks, half of them in the function, and 30 more when traced,
 * 20 of them in the function: 30 there and 20 in its caller. */
static const struct sd_trace_cost whole = { .python_inside = 20 * 1024,
                                            .python_outside = 10 * 1024,
                                            .python_plain = 20 * 1024 };

/* f, which called g 100 times. */
static void fill_two(struct sd_node *nodes, int64_t f_own, int64_t g)
{
    nodes[0] = (struct sd_node){ .parent = SD_NO_NODE };
    nodes[1] = (struct sd_node){ .parent = 0, .calls = 1, .inclusive = f_own + g };
    nodes[2] = (struct sd_node){ .parent = 1, .calls = 100, .inclusive = g };
}

TEST(nodes_whose_calls_took_half_of_the_least_were_traced_at_half_the_cost)
{
    struct sd_node nodes[3];

    fill_two(nodes, 3000, 100 * 30 / 2);
    CHECK(settle_nodes(nodes, 3, &whole, NULL) == 0);
    CHECK(nodes[2].own == 1500 - 100 * 20 / 2);
    CHECK(nodes[1].own == 3000 - 100 * 10 / 2 - 20);
}

TEST(nodes_that_called_keep_their_part_of_the_calls)
{
    struct sd_node nodes[3];

    fill_two(nodes, 100 * 20 / 4, 100 * 30);
    CHECK(settle_nodes(nodes, 3, &whole, NULL) == 0);
    CHECK(nodes[2].own == 100 * 10);
    CHECK(nodes[1].own == 500 - 100 * 10 / 4 - 20);
}

/* g took half of what an empty call takes, 2,000 times: so h, which does more, is told
 * by that speed, too, and so is f around both. */
TEST(nodes_lose_no_more_than_the_shortest_calls_of_the_tree_allow)
{
    struct sd_node nodes[4];

    nodes[0] = (struct sd_node){ .parent = SD_NO_NODE };
    nodes[1] = (struct sd_node){ .parent = 0, .calls = 1, .inclusive = 1000000 };
    nodes[2] = (struct sd_node){ .parent = 1, .calls = 2000, .inclusive = 30000 };
    nodes[3] = (struct sd_node){ .parent = 1, .calls = 2000, .inclusive = 100000 };
    CHECK(settle_nodes(nodes, 4, &whole, NULL) == 0);
    CHECK(nodes[3].own >= 100000 - 22000 && nodes[3].own < 80000);
    CHECK(nodes[1].own >= 870000 - 22000 - 20);
    nodes[2].calls = nodes[3].calls = 20; /* few tell nothing of others */
    nodes[2].inclusive = 300;
    nodes[3].inclusive = 1000;
    CHECK(settle_nodes(nodes, 4, &whole, NULL) == 0);
    CHECK(nodes[3].own == 1000 - 20 * 20);
}
