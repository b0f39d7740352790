/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_differences.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

enum { GRAPHS = 300 };

TEST(differences_of_random_heaps_are_right)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct sd_heap_maker m[3];
        struct sd_heap_graph g[3];
        const struct sd_heap_graph *graphs[] = { &g[0], &g[1], &g[2] };
        struct sd_heap_changes changes;
        struct sd_pages objects = { 0 };
        uint32_t n, n_true = 0;
        int64_t delta = 0;

        for (int i = 0; i < 3; i++) {
            sd_heap_maker_fill(&m[i], seed * 3 + (uint64_t)i);
            sd_heap_maker_graph(&m[i], &g[i]);
        }
        CHECK(sd_heap_changes_make(graphs, 3, &changes) == 0);
        for (uint32_t r = 0; r < changes.n; r++) {
            const struct sd_heap_change *row = &changes.rows[r];
            uint32_t type = (uint32_t)(row->name[3] - '0');
            uint64_t count[3] = { 0 };

            for (int i = 0; i < 3; i++)
                for (uint32_t k = 0; k < m[i].n; k++)
                    count[i] += m[i].type[k] == type;
            CHECK(row->count == count[2]);
            CHECK(row->count_delta == (int64_t)count[2] - (int64_t)count[0]);
            CHECK(row->n_rises ==
                  (uint32_t)(count[1] > count[0]) + (uint32_t)(count[2] > count[1]));
            CHECK(r == 0 || changes.rows[r - 1].bytes_delta >= row->bytes_delta);
            delta += row->bytes_delta;
        }
        CHECK(delta == (int64_t)g[2].bytes - (int64_t)g[0].bytes);
        sd_heap_changes_release(&changes);
        CHECK(sd_heap_objects_only_in(&g[1], &g[0], &objects, &n) == 0);
        for (uint32_t k = 0; k < m[1].n; k++) {
            bool is_old = false;

            for (uint32_t i = 0; i < m[0].n; i++)
                is_old |=
                    m[0].address[i] == m[1].address[k] && m[0].type[i] == m[1].type[k];
            if (!is_old)
                CHECK(n_true < n && ((uint32_t *)objects.p)[n_true++] == k);
        }
        CHECK(n == n_true);
        sd_pages_release(&objects);
        for (int i = 0; i < 3; i++)
            sd_heap_graph_release(&g[i]);
    }
}

TEST(differences_survive_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    const struct sd_heap_graph *graphs[] = { &g, &g };

    sd_heap_maker_fill(&m, 3);
    sd_heap_maker_graph(&m, &g);
    EACH_FAILURE(nth)
    {
        struct sd_heap_changes changes;
        int rc = sd_heap_changes_make(graphs, 2, &changes);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_heap_changes_release(&changes);
    }
    sd_heap_graph_release(&g);
}
