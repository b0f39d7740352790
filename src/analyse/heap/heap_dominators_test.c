/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_dominators.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

enum { GRAPHS = 1500 };

struct truth {
    bool dominates[SD_HEAP_TEST_MOST][SD_HEAP_TEST_MOST]; /* strictly */
    bool is_reached[SD_HEAP_TEST_MOST];
};

/* What is not reached without an object is dominated by it. */
static void find_truth(const struct sd_heap_maker *m, struct truth *t)
{
    sd_heap_maker_reach(m, SD_HEAP_NONE, t->is_reached);
    for (uint32_t i = 0; i < m->n; i++) {
        bool without[SD_HEAP_TEST_MOST];

        sd_heap_maker_reach(m, i, without);
        for (uint32_t k = 0; k < m->n; k++)
            t->dominates[i][k] =
                i != k && t->is_reached[i] && t->is_reached[k] && !without[k];
    }
}

static uint64_t true_retained(const struct sd_heap_maker *m, const struct truth *t,
                              uint32_t i)
{
    uint64_t bytes = m->size[i];

    for (uint32_t k = 0; k < m->n; k++)
        bytes += t->dominates[i][k] ? m->size[k] : 0;
    return bytes;
}

/* The one whose dominators all others are. */
static uint32_t true_idom(const struct sd_heap_maker *m, const struct truth *t,
                          uint32_t i)
{
    uint32_t idom = SD_HEAP_NONE;

    for (uint32_t k = 0; k < m->n; k++)
        if (t->dominates[k][i] && (idom == SD_HEAP_NONE || t->dominates[idom][k]))
            idom = k;
    return idom;
}

static void check_groups(const struct sd_heap_maker *m, const struct truth *t,
                         const struct sd_heap_dominators *d)
{
    uint64_t retained[4] = { 0 }, of_set;

    CHECK(sd_heap_dominators_of_groups(d, m->type, 4, retained) == 0);
    for (uint32_t type = 0; type < 4; type++) {
        uint32_t objects[SD_HEAP_TEST_MOST], n = 0;
        uint64_t truth = 0;

        for (uint32_t i = 0; i < m->n; i++) {
            bool is_in = m->type[i] == type;

            if (is_in)
                objects[n++] = i;
            for (uint32_t k = 0; k < m->n; k++)
                is_in |= m->type[k] == type && t->dominates[k][i];
            truth += is_in ? m->size[i] : 0;
        }
        CHECK(retained[type] == truth);
        CHECK(sd_heap_dominators_of_set(d, objects, n, &of_set) == 0);
        CHECK(of_set == truth);
    }
}

TEST(dominators_and_retained_sizes_of_random_graphs_are_right)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct sd_heap_maker m;
        struct sd_heap_graph g;
        struct sd_heap_reach r;
        struct sd_heap_dominators d;
        struct truth t;

        sd_heap_maker_fill(&m, seed);
        sd_heap_maker_graph(&m, &g);
        find_truth(&m, &t);
        CHECK(sd_heap_reach_init(&r, &g) == 0);
        CHECK(sd_heap_dominators_init(&d, &r) == 0);
        for (uint32_t i = 0; i < m.n; i++) {
            uint32_t n, idom = true_idom(&m, &t, i);
            const uint32_t *children;
            bool is_child = !t.is_reached[i];

            CHECK(sd_heap_dominators_of(&d, i) == idom);
            CHECK(sd_heap_dominators_retained(&d, i) == true_retained(&m, &t, i));
            children = sd_heap_dominators_children(&d, idom, &n);
            for (uint32_t k = 0; k < n; k++)
                is_child |= children[k] == i;
            CHECK(is_child);
        }
        check_groups(&m, &t, &d);
        sd_heap_dominators_release(&d);
        sd_heap_reach_release(&r);
        sd_heap_graph_release(&g);
    }
}

TEST(dominators_survive_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;

    sd_heap_maker_fill(&m, 3);
    sd_heap_maker_graph(&m, &g);
    EACH_FAILURE(nth)
    {
        struct sd_heap_reach r = { .graph = NULL };
        struct sd_heap_dominators d;
        int rc = sd_heap_reach_init(&r, &g);

        if (rc == 0) {
            rc = sd_heap_dominators_init(&d, &r);
            if (rc == 0)
                sd_heap_dominators_release(&d);
            sd_heap_reach_release(&r);
        }
        CHECK(rc == 0 || rc == SD_ENOMEM);
    }
    sd_heap_graph_release(&g);
}
