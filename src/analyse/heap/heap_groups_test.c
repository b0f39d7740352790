/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_groups.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

enum { GRAPHS = 300 };

static const char *const names[] = { "a.T0", "a.T1", "b.T2", "b.T3" };

static void true_name(const struct sd_heap_maker *m, enum sd_heap_by by, uint32_t i,
                      char name[64])
{
    bool has_type[4] = { false };

    name[0] = 0;
    if (by == SD_HEAP_BY_SIZE)
        snprintf(name, 64, "%" PRIu64, m->size[i]);
    else if (by == SD_HEAP_BY_MODULE)
        strcpy(name, m->type[i] < 2 ? "a" : "b");
    else if (by != SD_HEAP_BY_REFERRERS)
        strcpy(name, names[m->type[i]]);
    if (by != SD_HEAP_BY_REFERRERS)
        return;
    for (uint32_t k = 0; k < m->n_edges; k++)
        has_type[m->type[m->from[k]]] |= m->to[k] == i;
    for (int t = 0; t < 4; t++)
        if (has_type[t]) {
            strcat(name, name[0] ? ", " : "");
            strcat(name, names[t]);
        }
    if (!name[0])
        strcpy(name, "nothing");
}

static void check_groups(const struct sd_heap_maker *m,
                         const struct sd_heap_groups *out, enum sd_heap_by by)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < out->n; i++) {
        const struct sd_heap_row *row = &out->rows[i];
        uint64_t count = 0, bytes = 0;
        char name[64];

        CHECK(i == 0 || out->rows[i - 1].bytes >= row->bytes);
        for (uint32_t k = 0; k < m->n; k++) {
            true_name(m, by, k, name);
            if (strcmp(name, row->name) == 0) {
                count++;
                bytes += m->size[k];
            }
        }
        CHECK(count && row->count == count && row->bytes == bytes);
        CHECK(row->retained >= bytes);
        n += count;
    }
    CHECK(n == m->n);
}

TEST(groups_of_random_graphs_are_right)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct sd_heap_maker m;
        struct sd_heap_graph g;
        struct sd_heap_reach r;
        struct sd_heap_dominators d;

        sd_heap_maker_fill(&m, seed);
        sd_heap_maker_graph(&m, &g);
        CHECK(sd_heap_reach_init(&r, &g) == 0);
        CHECK(sd_heap_dominators_init(&d, &r) == 0);
        for (int by = 0; by < SD_HEAP_N_BYS; by++) {
            struct sd_heap_groups groups;

            CHECK(sd_heap_groups_make(&g, &r, &d, (enum sd_heap_by)by, NULL, 0,
                                      &groups) == 0);
            check_groups(&m, &groups, (enum sd_heap_by)by);
            sd_heap_groups_release(&groups);
        }
        sd_heap_dominators_release(&d);
        sd_heap_reach_release(&r);
        sd_heap_graph_release(&g);
    }
}

TEST(groups_by_owner_tell_whose_dict_it_is)
{
    struct sd_heap_maker m = { .n = 3,
                               .size = { 16, 64, 72 },
                               .address = { 64, 128, 192 },
                               .type = { 2, 0, 0 },
                               .is_root = { true, false, true } };
    struct sd_heap_graph g, texts;
    struct sd_heap_groups groups;

    sd_heap_maker_edge(&m, 0, 1);
    sd_heap_maker_graph(&m, &texts);
    m.labels[0] = SD_HEAP_LABEL(SD_HEAP_STEP_ATTRIBUTE, texts.texts.n);
    sd_heap_graph_release(&texts);
    sd_heap_maker_graph(&m, &g);
    CHECK(sd_heap_maker_text(&g, "__dict__") == SD_HEAP_LABEL_TEXT(m.labels[0]));
    CHECK(sd_heap_groups_make(&g, NULL, NULL, SD_HEAP_BY_OWNER, NULL, 0, &groups) == 0);
    CHECK(groups.n == 3);
    CHECK(strcmp(groups.rows[0].name, "a.T0") == 0 && groups.rows[0].bytes == 72);
    CHECK(strcmp(groups.rows[1].name, "dict of b.T2") == 0 &&
          groups.rows[1].bytes == 64);
    sd_heap_groups_release(&groups);
    CHECK(sd_heap_by_named("owner") == SD_HEAP_BY_OWNER && sd_heap_by_named("x") == -1);
    CHECK(strcmp(sd_heap_by_name(SD_HEAP_BY_SIZE), "size") == 0);
    sd_heap_graph_release(&g);
}

TEST(groups_survive_each_failing_allocation)
{
    struct sd_heap_maker m;
    struct sd_heap_graph g;
    struct sd_heap_reach r;

    sd_heap_maker_fill(&m, 3);
    sd_heap_maker_graph(&m, &g);
    CHECK(sd_heap_reach_init(&r, &g) == 0);
    EACH_FAILURE(nth)
    {
        struct sd_heap_groups groups;
        int rc =
            sd_heap_groups_make(&g, &r, NULL, SD_HEAP_BY_REFERRERS, NULL, 0, &groups);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_heap_groups_release(&groups);
    }
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}
