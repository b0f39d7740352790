/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_suspects.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

struct looked_at { /* the suspects of a heap made by hand */
    struct sd_heap_graph graph;
    struct sd_heap_reach reach;
    struct sd_heap_dominators dominators;
    struct sd_arena arena;
    struct sd_heap_suspect *suspects;
    uint32_t n;
};

static void look(struct sd_heap_maker *m, struct looked_at *l)
{
    memset(l, 0, sizeof *l);
    for (uint32_t i = 0; i < m->n; i++)
        m->address[i] = 64 * (uint64_t)(i + 1);
    sd_heap_maker_graph(m, &l->graph);
    CHECK(sd_heap_reach_init(&l->reach, &l->graph) == 0);
    CHECK(sd_heap_dominators_init(&l->dominators, &l->reach) == 0);
    CHECK(sd_heap_suspects_make(&l->dominators, &l->arena, &l->suspects, &l->n) == 0);
}

static void release(struct looked_at *l)
{
    sd_arena_release(&l->arena);
    sd_heap_dominators_release(&l->dominators);
    sd_heap_reach_release(&l->reach);
    sd_heap_graph_release(&l->graph);
}

/* 0 -> 1 -> forty objects of a type */
TEST(suspects_end_where_a_heap_breaks_up)
{
    struct sd_heap_maker m = { .n = 42, .is_root = { true } };
    struct looked_at l;

    sd_heap_maker_edge(&m, 0, 1);
    for (uint32_t i = 0; i < m.n; i++)
        m.size[i] = 100;
    for (uint32_t i = 2; i < m.n; i++) {
        sd_heap_maker_edge(&m, 1, i);
        m.type[i] = 3;
    }
    look(&m, &l);
    CHECK(l.n == 1);
    CHECK(l.suspects[0].holder == 1 && l.suspects[0].held_type == 3);
    CHECK(l.suspects[0].count == 40 && l.suspects[0].retained == 4100);
    CHECK(strstr(l.suspects[0].sentence, "40 b.T3"));
    release(&l);
}

/* 0 -> 1 -> 2 -> ... : a list of 60 */
TEST(suspects_find_who_holds_a_linked_list)
{
    struct sd_heap_maker m = { .n = 62, .is_root = { true } };
    struct looked_at l;

    for (uint32_t i = 0; i < m.n; i++) {
        m.size[i] = 100;
        m.type[i] = i < 2 ? i : 2;
        if (i > 0)
            sd_heap_maker_edge(&m, i - 1, i);
    }
    look(&m, &l);
    CHECK(l.n == 1);
    CHECK(l.suspects[0].holder == 1 && l.suspects[0].held_type == 2);
    CHECK(l.suspects[0].count == 60);
    release(&l);
}

TEST(suspects_name_many_objects_that_nothing_holds_alone)
{
    struct sd_heap_maker m = { .n = 50 };
    struct looked_at l;

    for (uint32_t i = 0; i < m.n; i++) {
        m.size[i] = 100;
        m.type[i] = i % 2;
        m.is_root[i] = true;
    }
    look(&m, &l);
    CHECK(l.n == 2);
    CHECK(l.suspects[0].holder == SD_HEAP_NONE && l.suspects[0].count == 25);
    CHECK(l.suspects[0].share > 0.49 && l.suspects[0].share < 0.51);
    release(&l);
}

TEST(suspects_survive_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    struct sd_heap_dominators d;

    sd_heap_maker_fill(&m, 3);
    sd_heap_maker_graph(&m, &g);
    CHECK(sd_heap_reach_init(&r, &g) == 0);
    CHECK(sd_heap_dominators_init(&d, &r) == 0);
    EACH_FAILURE(nth)
    {
        struct sd_arena arena = { NULL, 0 };
        struct sd_heap_suspect *suspects;
        uint32_t n;
        int rc = sd_heap_suspects_make(&d, &arena, &suspects, &n);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_arena_release(&arena);
    }
    sd_heap_dominators_release(&d);
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}
