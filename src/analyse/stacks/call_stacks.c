/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/call_stacks.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/table.h"

enum { NONE = UINT32_MAX };

struct place {                  /* of a node in its tree */
    uint32_t first_child, next; /* NONE ends */
    uint32_t edge;              /* NONE: called by a root, or one itself */
};

struct walk {
    const struct sd_call_forest *forest;
    const struct sd_node *nodes; /* the forest's */
    size_t n;
    struct place *places;       /* owned; by node */
    int64_t *totals;            /* owned; by node: own and all below */
    uint32_t *active_functions; /* owned; how often each is on the present path */
    uint32_t *active_edges;     /* owned */
    uint32_t first_root;
    struct sd_table edges; /* caller << 32 | callee: place in out's edges */
    size_t cap_edges;
    struct sd_calls *out;
};

/* --- Before the walk: edges, children, totals */

static int new_edge(struct walk *w, uint64_t key, uint32_t *id)
{
    struct sd_calls *out = w->out;
    struct sd_calls_edge *edges =
        sd_grow_array(out->edges, &w->cap_edges, out->n_edges + 1, sizeof *edges);

    sd_assert((key >> 32) < out->n_functions && (uint32_t)key < out->n_functions);
    if (!edges)
        return sd_no_memory();
    out->edges = edges;
    *id = (uint32_t)out->n_edges;
    edges[out->n_edges++] = (struct sd_calls_edge){ .caller = (uint32_t)(key >> 32),
                                                    .callee = (uint32_t)key };
    return sd_table_put(&w->edges, key, *id);
}

static int find_edge(struct walk *w, uint32_t caller, uint32_t callee, uint32_t *id)
{
    uint64_t key = (uint64_t)caller << 32 | callee, known;

    if (!sd_table_get(&w->edges, key, &known))
        return new_edge(w, key, id);
    *id = (uint32_t)known;
    return 0;
}

static int edge_of(struct walk *w, const struct sd_node *node, uint32_t *id)
{
    const struct sd_node *caller;

    *id = NONE;
    if (node->parent == SD_NO_NODE || node->is_beyond)
        return 0;
    caller = &w->nodes[node->parent];
    if (caller->parent == SD_NO_NODE)
        return 0;
    return find_edge(w, caller->function, node->function, id);
}

static int find_edges(struct walk *w)
{
    int rc = 0;

    for (size_t i = 0; i < w->n && rc == 0; i++)
        rc = edge_of(w, &w->nodes[i], &w->places[i].edge);
    return rc;
}

/* From the last node to the first: children are put before their parent's others, so
 * that they end up in their order, and have their totals when their parent is met. */
static void link_nodes(struct walk *w)
{
    w->first_root = NONE;
    for (size_t i = w->n; i-- > 0;) {
        uint32_t parent = w->nodes[i].parent;
        uint32_t *first =
            parent == SD_NO_NODE ? &w->first_root : &w->places[parent].first_child;

        sd_assert(parent == SD_NO_NODE || parent < i);
        w->places[i].next = *first;
        *first = (uint32_t)i;
        w->totals[i] = sd_sum_i64(w->totals[i], w->nodes[i].own);
        if (parent != SD_NO_NODE)
            w->totals[parent] = sd_sum_i64(w->totals[parent], w->totals[i]);
    }
}

/* --- The walk */

static void count(struct sd_calls_sum *sum, const struct sd_node *node, int64_t total,
                  bool is_outermost)
{
    sum->calls = sd_sum_u64(sum->calls, node->calls);
    sum->own = sd_sum_i64(sum->own, node->own);
    if (!is_outermost)
        return;
    sum->primitive = sd_sum_u64(sum->primitive, node->calls);
    sum->total = sd_sum_i64(sum->total, total);
}

static void enter(struct walk *w, uint32_t at)
{
    const struct sd_node *node = &w->nodes[at];
    uint32_t edge = w->places[at].edge;

    sd_assert(edge == NONE || edge < w->out->n_edges);
    if (node->parent == SD_NO_NODE || node->is_beyond)
        return;
    sd_assert(node->function < w->out->n_functions);
    count(&w->out->functions[node->function], node, w->totals[at],
          w->active_functions[node->function]++ == 0);
    if (edge != NONE)
        count(&w->out->edges[edge].sum, node, w->totals[at],
              w->active_edges[edge]++ == 0);
}

static void leave(struct walk *w, uint32_t at)
{
    if (w->nodes[at].parent == SD_NO_NODE || w->nodes[at].is_beyond)
        return;
    w->active_functions[w->nodes[at].function]--;
    if (w->places[at].edge != NONE)
        w->active_edges[w->places[at].edge]--;
}

/* Trees may be as deep as a program recurses, so parents are found again through the
 * nodes and not on the C stack. */
static void walk_all(struct walk *w)
{
    uint32_t at = w->first_root;

    while (at != NONE) {
        enter(w, at);
        if (w->places[at].first_child != NONE) {
            at = w->places[at].first_child;
            continue;
        }
        leave(w, at);
        while (w->places[at].next == NONE && w->nodes[at].parent != SD_NO_NODE) {
            at = w->nodes[at].parent;
            leave(w, at);
        }
        at = w->places[at].next;
    }
}

/* --- Beyond the trees */

static void add_pair(struct sd_calls_sum *sum, const struct sd_pair *pair,
                     uint64_t primitive, int64_t total)
{
    sum->calls = sd_sum_u64(sum->calls, pair->calls);
    sum->own = sd_sum_i64(sum->own, pair->own);
    sum->primitive = sd_sum_u64(sum->primitive, primitive);
    sum->total = sd_sum_i64(sum->total, total);
}

static int add_pairs(struct walk *w)
{
    uint32_t edge;
    int rc = 0;

    for (size_t i = 0; i < w->forest->n_pairs && rc == 0; i++) {
        const struct sd_pair *pair = &w->forest->pairs[i];

        sd_assert(pair->function < w->out->n_functions);
        add_pair(&w->out->functions[pair->function], pair, pair->primitive,
                 pair->total);
        if (pair->caller == SD_NO_NODE)
            continue;
        rc = find_edge(w, pair->caller, pair->function, &edge);
        if (rc == 0)
            add_pair(&w->out->edges[edge].sum, pair, pair->pair_primitive,
                     pair->pair_total);
    }
    return rc;
}

static int take_memory(struct walk *w)
{
    size_t n = w->n + 1, n_functions = w->out->n_functions + 1;

    w->places = sd_alloc(n * sizeof *w->places);
    w->totals = sd_zalloc(n * sizeof *w->totals);
    w->active_functions = sd_zalloc(n_functions * sizeof *w->active_functions);
    w->out->functions = sd_zalloc(n_functions * sizeof *w->out->functions);
    if (!w->places || !w->totals || !w->active_functions || !w->out->functions)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        w->places[i] = (struct place){ NONE, NONE, NONE };
    return 0;
}

static int derive(struct walk *w)
{
    int rc = take_memory(w);

    if (rc == 0)
        rc = find_edges(w);
    if (rc < 0)
        return rc;
    w->active_edges = sd_zalloc((w->out->n_edges + 1) * sizeof *w->active_edges);
    if (!w->active_edges)
        return sd_no_memory();
    link_nodes(w);
    walk_all(w);
    for (size_t i = 0; i < w->out->n_functions; i++)
        sd_assert_slow(w->active_functions[i] == 0); /* what was entered was left */
    return add_pairs(w);
}

int sd_calls_derive(const struct sd_call_forest *f, size_t n_functions,
                    struct sd_calls *out)
{
    struct walk w = { .forest = f, .nodes = f->nodes, .n = f->n, .out = out };
    int rc;

    *out = (struct sd_calls){ .n_functions = n_functions };
    rc = derive(&w);
    if (rc < 0)
        sd_calls_release(out);
    sd_free(w.places);
    sd_free(w.totals);
    sd_free(w.active_functions);
    sd_free(w.active_edges);
    sd_table_release(&w.edges);
    return rc;
}

void sd_calls_release(struct sd_calls *c)
{
    sd_free(c->functions);
    sd_free(c->edges);
    *c = (struct sd_calls){ 0 };
}
