/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_picture.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

/* 0 -> 1 -> 2, 3 -> 2, 4 -> 2, and 4 -> 4 */
static void make(struct sd_heap_maker *m, struct sd_heap_graph *g,
                 struct sd_heap_reach *r)
{
    memset(m, 0, sizeof *m);
    m->n = 5;
    for (uint32_t i = 0; i < m->n; i++) {
        m->size[i] = 16;
        m->address[i] = 64 * (uint64_t)(i + 1);
        m->type[i] = i % 4;
    }
    m->is_root[0] = true;
    sd_heap_maker_edge(m, 0, 1);
    sd_heap_maker_edge(m, 1, 2);
    sd_heap_maker_edge(m, 3, 2);
    sd_heap_maker_edge(m, 4, 2);
    sd_heap_maker_edge(m, 4, 4);
    sd_heap_maker_graph(m, g);
    CHECK(sd_heap_reach_init(r, g) == 0);
}

TEST(heap_picture_goes_so_far_and_says_what_it_leaves_out)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    struct sd_arena arena = { NULL, 0 };
    struct sd_view_graph view;
    uint32_t two = 2, four = 4;
    struct sd_heap_picture_request request = {
        .objects = &two, .n = 1, .depth = 1, .too_many = 2, .is_backwards = true
    };

    make(&m, &g, &r);
    CHECK(sd_heap_picture_make(&r, &request, &arena, &view) == 0);
    CHECK(view.n_nodes == 3 && view.n_edges == 2);
    CHECK(strcmp(view.title, "What refers to b.T2") == 0);
    CHECK(strcmp(view.nodes[0].label, "b.T2\n16 B\n1 more refer to it") == 0);
    CHECK(view.edges[0].to == 0 && view.edges[1].to == 0);
    request.depth = 5;
    request.too_many = 10;
    request.hidden = &four;
    request.n_hidden = 1;
    CHECK(sd_heap_picture_make(&r, &request, &arena, &view) == 0);
    CHECK(view.n_nodes == 4 && view.n_edges == 3); /* all but 4 */
    request.is_backwards = false;
    request.objects = &four;
    request.n_hidden = 0;
    CHECK(sd_heap_picture_make(&r, &request, &arena, &view) == 0);
    CHECK(view.n_nodes == 2 && view.n_edges == 2);
    CHECK(strcmp(view.title, "What a.T0 refers to") == 0);
    sd_arena_release(&arena);
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}

TEST(heap_picture_survives_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    uint32_t two = 2;
    struct sd_heap_picture_request request = {
        .objects = &two, .n = 1, .depth = 3, .too_many = 9, .is_backwards = true
    };

    make(&m, &g, &r);
    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { NULL, 0 };
        struct sd_view_graph view;
        int rc = sd_heap_picture_make(&r, &request, &arena, &view);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}
