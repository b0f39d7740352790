/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_paths.h"

#include "analyse/heap/heap_testing.h"
#include "base/error.h"

enum { GRAPHS = 300, MOST = 2000 };

static bool has_edge(const struct sd_heap_maker *m, uint32_t from, uint32_t to)
{
    for (uint32_t k = 0; k < m->n_edges; k++)
        if (m->from[k] == from && m->to[k] == to)
            return true;
    return false;
}

/* Simple paths from a root to `object` that have no other root: counted by length. */
static void count_paths(const struct sd_heap_maker *m, uint32_t object, uint32_t *way,
                        uint32_t n, uint32_t *by_length)
{
    way[n++] = object;
    if (m->is_root[object]) {
        by_length[n]++;
        return;
    }
    for (uint32_t from = 0; from < m->n; from++) {
        bool is_on_way = false;

        for (uint32_t i = 0; i < n; i++)
            is_on_way |= way[i] == from;
        if (!is_on_way && has_edge(m, from, object))
            count_paths(m, from, way, n, by_length);
    }
}

static void check_paths(const struct sd_heap_maker *m, struct sd_heap_reach *r,
                        uint32_t object)
{
    uint32_t by_length[SD_HEAP_TEST_MOST + 2] = { 0 }, way[SD_HEAP_TEST_MOST + 1], n;
    struct sd_arena arena = { NULL, 0 };
    struct sd_heap_path *paths, one;

    count_paths(m, object, way, 0, by_length);
    CHECK(sd_heap_paths_make(r, object, MOST, &arena, &paths, &n) == 0);
    CHECK(sd_heap_path_make(r->graph, r->parents.p, object, &arena, &one) == 0);
    CHECK((n > 0) == (one.n > 0));
    CHECK(n == 0 || paths[0].n == one.n); /* the first is a shortest */
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *o = paths[i].objects;

        CHECK(m->is_root[o[0]] && o[paths[i].n - 1] == object);
        CHECK(i == 0 || paths[i - 1].n <= paths[i].n);
        for (uint32_t k = 1; k < paths[i].n; k++)
            CHECK(has_edge(m, o[k - 1], o[k]) && !m->is_root[o[k]]);
        for (uint32_t other = 0; other < i; other++)
            CHECK(paths[other].n != paths[i].n ||
                  memcmp(paths[other].objects, o, paths[i].n * sizeof *o) != 0);
        if (n < MOST)
            CHECK(by_length[paths[i].n]-- > 0);
    }
    for (uint32_t length = 0; n < MOST && length <= m->n + 1; length++)
        CHECK(by_length[length] == 0); /* all were found */
    sd_arena_release(&arena);
}

TEST(paths_of_random_graphs_are_all_and_in_order)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct sd_heap_maker m;
        struct sd_heap_graph g;
        struct sd_heap_reach r;

        do /* what brute force can count */
            sd_heap_maker_fill(&m, seed + 1000);
        while (m.n_edges > 30 && (m.n_edges = 30) == 0);
        sd_heap_maker_graph(&m, &g);
        CHECK(sd_heap_reach_init(&r, &g) == 0);
        for (uint32_t i = 0; i < m.n; i++)
            check_paths(&m, &r, i);
        sd_heap_reach_release(&r);
        sd_heap_graph_release(&g);
    }
}

/* app (a module) -> its dict -> a function -> its defaults -> a dict -> a list -> x */
TEST(paths_read_as_one_would_write_them)
{
    static const char *const texts[] = { "__dict__", "work", "a,cache", "key" };
    static const enum sd_heap_step steps[] = {
        SD_HEAP_STEP_ATTRIBUTE, SD_HEAP_STEP_KEY_TEXT, SD_HEAP_STEP_DEFAULTS,
        SD_HEAP_STEP_NONE,      SD_HEAP_STEP_KEY_TEXT, SD_HEAP_STEP_NONE,
    };
    struct sd_heap_maker m = { .n = 7, .is_root = { true } };
    struct sd_heap_root module = { .object = 0, .kind = SD_HEAP_ROOT_MODULE };
    struct sd_heap_graph g;
    struct sd_heap_reach r;
    struct sd_heap_path path;
    struct sd_arena arena = { NULL, 0 };
    struct sd_buf text = { 0 }, step = { 0 };
    struct sd_heap_graph first = { .n = 0 };
    uint32_t ids[4];

    for (uint32_t i = 0; i < m.n; i++) {
        m.size[i] = 16;
        m.address[i] = 64 * (uint64_t)(i + 1);
        if (i > 0)
            sd_heap_maker_edge(&m, i - 1, i);
        if (i == 4) /* the tuple of defaults has two; the last comes first */
            sd_heap_maker_edge(&m, 3, 2);
    }
    m.type[0] = 1;
    m.type[3] = m.type[5] = 2;
    sd_heap_maker_graph(&m, &first);
    for (uint32_t i = 0; i < 4; i++)
        ids[i] = sd_heap_maker_text(&first, texts[i]);
    sd_heap_graph_release(&first);
    for (uint32_t k = 0, i = 0; k < m.n_edges; k++) {
        static const int of[] = { 0, 1, 2, -1, 3, -1 };

        if (m.from[k] == 3 && m.to[k] == 2)
            continue;
        if (of[i] >= 0)
            m.labels[k] = SD_HEAP_LABEL(steps[i], ids[of[i]]);
        i++;
    }
    sd_heap_maker_graph(&m, &g);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(sd_heap_maker_text(&g, texts[i]) == ids[i]);
    ((struct sd_heap_type *)g.type_list.p)[1].is_module = true;
    ((struct sd_heap_type *)g.type_list.p)[2].items = SD_HEAP_ITEMS_REVERSED;
    module.text = sd_heap_maker_text(&g, "app");
    CHECK(sd_heap_add(&g.roots, &g.n_roots, &module, sizeof module) == 0);
    CHECK(sd_heap_reach_init(&r, &g) == 0);
    CHECK(sd_heap_path_make(&g, r.parents.p, 6, &arena, &path) == 0);
    sd_heap_path_text(&r, &path, &text);
    CHECK(strcmp(sd_buf_string(&text), "app.work(default of cache)['key'][0]") == 0);
    sd_heap_path_step(&r, &path, 2, &step);
    CHECK(strcmp(sd_buf_string(&step), ".work") == 0);
    sd_buf_release(&text);
    sd_buf_release(&step);
    sd_arena_release(&arena);
    sd_heap_reach_release(&r);
    sd_heap_graph_release(&g);
}
