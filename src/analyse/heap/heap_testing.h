/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_HEAP_HEAP_TESTING_H
#define SD_ANALYSE_HEAP_HEAP_TESTING_H
/* heap_testing: makes heaps by hand and at random, for tests.
 *
 * The graph is given as pairs; its counts of references say which objects are roots. */
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "profile/heap/heap_graph.h"

enum { SD_HEAP_TEST_MOST = 64 };

struct sd_heap_maker {
    uint32_t n, n_edges;
    uint32_t from[SD_HEAP_TEST_MOST * 8], to[SD_HEAP_TEST_MOST * 8];
    uint32_t type[SD_HEAP_TEST_MOST];
    uint32_t labels[SD_HEAP_TEST_MOST * 8]; /* of each pair; 0: none */
    uint64_t size[SD_HEAP_TEST_MOST], address[SD_HEAP_TEST_MOST];
    bool is_root[SD_HEAP_TEST_MOST]; /* has one reference more than were found */
    uint64_t random;
};

static inline uint32_t sd_heap_maker_random(struct sd_heap_maker *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % below;
}

static inline void sd_heap_maker_edge(struct sd_heap_maker *m, uint32_t from,
                                      uint32_t to)
{
    m->from[m->n_edges] = from;
    m->to[m->n_edges++] = to;
}

/* Any graph of at most 24 objects: loops, twins, garbage and several roots. */
static inline void sd_heap_maker_fill(struct sd_heap_maker *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->random = seed * 7919 + 1;
    m->n = 2 + sd_heap_maker_random(m, 22);
    for (uint32_t i = 0; i < m->n; i++) {
        m->type[i] = sd_heap_maker_random(m, 4);
        m->size[i] = 16 + sd_heap_maker_random(m, 5) * 8;
        m->address[i] = 0x1000 + 64 * (uint64_t)((i * 37) % 64);
        m->is_root[i] = sd_heap_maker_random(m, 6) == 0;
    }
    for (uint32_t k = sd_heap_maker_random(m, 3 * m->n + 1); k > 0; k--)
        sd_heap_maker_edge(m, sd_heap_maker_random(m, m->n),
                           sd_heap_maker_random(m, m->n));
}

static inline uint32_t sd_heap_maker_text(struct sd_heap_graph *g, const char *s)
{
    uint32_t id;

    CHECK(sd_heap_texts_add(&g->texts, s, strlen(s), &id) == 0);
    return id;
}

/* Types are called a.T0, a.T1, b.T2, b.T3. */
static inline void sd_heap_maker_graph(const struct sd_heap_maker *m,
                                       struct sd_heap_graph *g)
{
    uint32_t n = 0;

    memset(g, 0, sizeof *g);
    g->has_edges = true;
    for (uint32_t i = 0; i < 4; i++) {
        struct sd_heap_type t = { .address = i + 1, .object = SD_HEAP_NONE };
        char name[8] = "a.T0";

        name[0] = i < 2 ? 'a' : 'b';
        name[3] = (char)('0' + i);
        t.name = sd_heap_maker_text(g, name);
        name[1] = 0;
        t.module = sd_heap_maker_text(g, name);
        CHECK(sd_heap_add(&g->type_list, &g->n_types, &t, sizeof t) == 0);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t size = (uint32_t)m->size[i], count = m->is_root[i], first = g->n_edges;
        struct sd_heap_labelled labelled = { i, g->n_labels };
        bool has_labels = false;

        for (uint32_t k = 0; k < m->n_edges; k++)
            count += m->to[k] == i;
        n = i;
        CHECK(sd_heap_add(&g->addresses, &n, &m->address[i], sizeof(uint64_t)) == 0);
        n = i;
        CHECK(sd_heap_add(&g->types, &n, &m->type[i], sizeof n) == 0);
        n = i;
        CHECK(sd_heap_add(&g->sizes, &n, &size, sizeof size) == 0);
        n = i;
        CHECK(sd_heap_add(&g->counts, &n, &count, sizeof count) == 0);
        n = i;
        CHECK(sd_heap_add(&g->first, &n, &first, sizeof first) == 0);
        for (uint32_t k = 0; k < m->n_edges; k++) {
            if (m->from[k] != i)
                continue;
            CHECK(sd_heap_add(&g->edges, &g->n_edges, &m->to[k], sizeof n) == 0);
            has_labels |= m->labels[k] != 0;
        }
        for (uint32_t k = 0; has_labels && k < m->n_edges; k++)
            if (m->from[k] == i)
                CHECK(sd_heap_add(&g->labels, &g->n_labels, &m->labels[k], sizeof n) ==
                      0);
        if (has_labels)
            CHECK(sd_heap_add(&g->labelled, &g->n_labelled, &labelled,
                              sizeof labelled) == 0);
        g->bytes += m->size[i];
    }
    g->n = n = m->n;
    CHECK(sd_heap_add(&g->first, &n, &g->n_edges, sizeof n) == 0);
    CHECK(sd_heap_sort_addresses(g) == 0);
}

/* Which objects are reached when `without` is not there (SD_HEAP_NONE: all are). */
static inline void sd_heap_maker_reach(const struct sd_heap_maker *m, uint32_t without,
                                       bool *is_reached)
{
    bool goes_on = true;

    for (uint32_t i = 0; i < m->n; i++)
        is_reached[i] = m->is_root[i] && i != without;
    while (goes_on) {
        goes_on = false;
        for (uint32_t k = 0; k < m->n_edges; k++)
            if (is_reached[m->from[k]] && m->to[k] != without && !is_reached[m->to[k]])
                is_reached[m->to[k]] = goes_on = true;
    }
}
#endif
