/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_reach.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

enum { GRAPHS = 400 };

TEST(heap_reach_knows_roots_referrers_and_garbage_of_random_graphs)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct sd_heap_maker m;
        struct sd_heap_graph g;
        struct sd_heap_reach r;
        bool is_reached[SD_HEAP_TEST_MOST];
        uint64_t garbage = 0;

        sd_heap_maker_fill(&m, seed);
        sd_heap_maker_graph(&m, &g);
        CHECK(sd_heap_reach_init(&r, &g) == 0);
        CHECK(sd_heap_reach_referrers(&r) == 0);
        sd_heap_maker_reach(&m, SD_HEAP_NONE, is_reached);
        for (uint32_t i = 0; i < m.n; i++) {
            uint32_t n, n_true = 0;
            const uint32_t *in = sd_heap_reach_in(&r, i, &n);

            CHECK(sd_heap_reach_is_root(&r, i) == m.is_root[i]);
            CHECK(sd_heap_reach_is_garbage(&r, i) == !is_reached[i]);
            garbage += is_reached[i] ? 0 : m.size[i];
            for (uint32_t from = 0; from < m.n; from++)
                for (uint32_t k = 0; k < m.n_edges; k++)
                    if (m.from[k] == from && m.to[k] == i)
                        CHECK(n_true < n && in[n_true++] == from);
            CHECK(n == n_true);
        }
        CHECK(r.garbage_bytes == garbage);
        sd_heap_reach_release(&r);
        sd_heap_graph_release(&g);
    }
}

/* 0 a module with the dict 1; 2 is in the dict; 3 has one reference that nobody knows;
 * 4 a value that a function works with, which holds 5. */
static void make_named(struct sd_heap_maker *m, struct sd_heap_graph *g)
{
    struct sd_heap_root module = { .object = 0, .kind = SD_HEAP_ROOT_MODULE };
    struct sd_heap_root value = { .object = 4,
                                  .kind = SD_HEAP_ROOT_THREAD,
                                  .needs_excess = true };
    struct sd_heap_root stale = { .object = 2,
                                  .kind = SD_HEAP_ROOT_THREAD,
                                  .needs_excess = true };
    struct sd_heap_graph texts = { .n = 0 };

    memset(m, 0, sizeof *m);
    m->n = 6;
    for (uint32_t i = 0; i < m->n; i++) {
        m->size[i] = 16;
        m->address[i] = 64 * (uint64_t)(i + 1);
    }
    m->is_root[1] = m->is_root[3] = m->is_root[4] = true;
    sd_heap_maker_edge(m, 0, 1);
    sd_heap_maker_edge(m, 1, 2);
    sd_heap_maker_edge(m, 4, 5);
    sd_heap_maker_edge(m, 4, 2);
    /* Texts have the same numbers in each graph: the types' come first. */
    sd_heap_maker_graph(m, &texts);
    m->labels[0] = SD_HEAP_LABEL(SD_HEAP_STEP_ATTRIBUTE, texts.texts.n);
    sd_heap_graph_release(&texts);
    sd_heap_maker_graph(m, g);
    CHECK(sd_heap_maker_text(g, "__dict__") == SD_HEAP_LABEL_TEXT(m->labels[0]));
    module.text = sd_heap_maker_text(g, "app");
    value.text = sd_heap_maker_text(g, "a value");
    CHECK(sd_heap_add(&g->roots, &g->n_roots, &stale, sizeof stale) == 0);
    CHECK(sd_heap_add(&g->roots, &g->n_roots, &value, sizeof value) == 0);
    CHECK(sd_heap_add(&g->roots, &g->n_roots, &module, sizeof module) == 0);
}

TEST(heap_reach_prefers_what_is_named_and_takes_no_stale_word_for_a_root)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    const uint32_t *parents;
    const char *text;

    make_named(&m, &g);
    CHECK(sd_heap_reach_init(&r, &g) == 0);
    parents = r.parents.p;
    CHECK(!sd_heap_reach_is_root(&r, 1)); /* the module's dict, though it has excess */
    CHECK(parents[1] == 0 && parents[2] == 1);
    CHECK(!sd_heap_reach_is_root(&r, 2)); /* all its references were found */
    CHECK(sd_heap_reach_root(&r, 0, &text) == SD_HEAP_ROOT_MODULE);
    CHECK(strcmp(text, "app") == 0);
    CHECK(sd_heap_reach_root(&r, 3, &text) == SD_HEAP_ROOT_C && !*text);
    CHECK(sd_heap_reach_root(&r, 4, &text) == SD_HEAP_ROOT_THREAD);
    CHECK(strcmp(text, "a value") == 0 && parents[5] == 4);
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}

TEST(heap_reach_searches_as_if_an_object_were_no_root)
{
    struct sd_heap_maker m = { .n = 3,
                               .size = { 16, 16, 16 },
                               .address = { 64, 128, 192 },
                               .is_root = { true, false, true } };
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    uint32_t parents[3], order[3];

    sd_heap_maker_edge(&m, 0, 1);
    sd_heap_maker_edge(&m, 1, 2);
    sd_heap_maker_graph(&m, &g);
    CHECK(sd_heap_reach_init(&r, &g) == 0);
    CHECK(((const uint32_t *)r.parents.p)[2] == 2);
    sd_heap_reach_search(&r, 2, parents, order);
    CHECK(parents[2] == 1 && parents[1] == 0 && parents[0] == 0);
    sd_heap_reach_search(&r, 0, parents, order);
    CHECK(parents[0] == SD_HEAP_NONE); /* nothing else leads there */
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}

TEST(heap_reach_survives_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;

    sd_heap_maker_fill(&m, 5);
    sd_heap_maker_graph(&m, &g);
    EACH_FAILURE(nth)
    {
        struct sd_heap_reach r;
        int rc = sd_heap_reach_init(&r, &g);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0) {
            rc = sd_heap_reach_referrers(&r);
            CHECK(rc == 0 || rc == SD_ENOMEM);
            sd_heap_reach_release(&r);
        }
    }
    sd_heap_graph_release(&g);
}
