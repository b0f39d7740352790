/* SPDX-License-Identifier: MIT */
/* graph_prune: leaves out of a call graph what is below the thresholds. */
#include <fnmatch.h>
#include <string.h>

#include "analyse/stacks/call_graph.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"

enum { NONE = UINT32_MAX };

/* Of a comparison, what is worth drawing in either. */
static double larger(double share, double other)
{
    return share > other ? share : other;
}

static bool is_below(const struct sd_graph_node *n, const char *const *paths)
{
    if (!paths || !*paths)
        return true;
    for (; *paths; paths++)
        if (strncmp(n->file, *paths, strlen(*paths)) == 0)
            return true;
    return false;
}

static int check_paths(const struct sd_view_graph *g, const char *const *paths)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (is_below(&g->nodes[i], paths))
            return 0;
    return paths && *paths
               ? sd_fail(SD_EUSAGE,
                         "no function is in a file whose path begins with %s%s", *paths,
                         paths[1] ? ", or with the others" : "")
               : 0;
}

/* --- What is reached from some nodes, or leads to them */

struct walk {
    const struct sd_view_graph *g;
    const bool *is_kept; /* by edge */
    bool goes_up;        /* from callees to callers */
    uint32_t *first;     /* by node: where its edges begin in `by_node` */
    uint32_t *by_node;   /* edges */
    uint32_t *queue;     /* nodes to go on from */
    uint64_t *depth;     /* by node */
};

static uint32_t begin_of(const struct walk *w, size_t edge)
{
    return w->goes_up ? w->g->edges[edge].to : w->g->edges[edge].from;
}

static uint32_t end_of(const struct walk *w, size_t edge)
{
    return w->goes_up ? w->g->edges[edge].from : w->g->edges[edge].to;
}

static int begin_walk(struct walk *w)
{
    size_t n = w->g->n_nodes;

    w->first = sd_zalloc((n + 2) * sizeof *w->first);
    w->by_node = sd_alloc((w->g->n_edges + 1) * sizeof *w->by_node);
    w->queue = sd_alloc((n + 1) * sizeof *w->queue);
    w->depth = sd_zalloc((n + 1) * sizeof *w->depth);
    if (!w->first || !w->by_node || !w->queue || !w->depth)
        return sd_no_memory();
    for (size_t i = 0; i < w->g->n_edges; i++)
        sd_groups_count(w->first, begin_of(w, i));
    sd_groups_sum(w->first, n);
    for (uint32_t i = 0; i < w->g->n_edges; i++)
        w->by_node[sd_groups_place(w->first, begin_of(w, i))] = i;
    sd_assert(w->first[n] == w->g->n_edges);
    return 0;
}

static void release(struct walk *w)
{
    sd_free(w->first);
    sd_free(w->by_node);
    sd_free(w->queue);
    sd_free(w->depth);
}

/* Nearest first, so that every node is met at its least depth. */
static void reach(struct walk *w, size_t n_queue, bool has_depth, uint64_t depth,
                  bool *is_reached)
{
    for (size_t at = 0; at < n_queue; at++) {
        uint32_t node = w->queue[at];

        if (has_depth && w->depth[node] >= depth)
            continue;
        for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++) {
            uint32_t next = end_of(w, w->by_node[i]);

            if (!w->is_kept[w->by_node[i]] || is_reached[next])
                continue;
            is_reached[next] = true;
            w->depth[next] = w->depth[node] + 1;
            w->queue[n_queue++] = next;
            sd_assert(n_queue <= w->g->n_nodes);
        }
    }
}

static bool matches(const struct sd_graph_node *n, const char *pattern)
{
    return fnmatch(pattern, n->name, 0) == 0 || fnmatch(pattern, n->function, 0) == 0;
}

/* Those that match, first in the queue; "main" is also "main(rows:list)". */
static size_t queue_matching(struct walk *w, const char *pattern, const bool *is_node,
                             bool *is_reached)
{
    struct sd_buf with_arguments = { 0 };
    size_t n = 0;

    sd_buf_printf(&with_arguments, "%s(*)", pattern);
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
        if (is_node[i] && (matches(&w->g->nodes[i], pattern) ||
                           matches(&w->g->nodes[i], sd_buf_string(&with_arguments)))) {
            is_reached[i] = true;
            w->queue[n++] = i;
        }
    sd_buf_release(&with_arguments);
    return n;
}

/* Keeps of the nodes those that are reached from what matches. */
static int keep_reached(const struct sd_view_graph *g,
                        const struct sd_graph_request *request, const char *pattern,
                        bool goes_up, bool *is_node, const bool *is_edge)
{
    struct walk w = { .g = g, .is_kept = is_edge, .goes_up = goes_up };
    bool *is_reached = sd_zalloc(g->n_nodes + 1);
    size_t n = 0;
    int rc = begin_walk(&w);

    if (rc == 0 && !is_reached)
        rc = sd_no_memory();
    if (rc == 0)
        n = queue_matching(&w, pattern, is_node, is_reached);
    if (rc == 0 && n == 0)
        rc =
            sd_fail(SD_EUSAGE,
                    "no function that is drawn matches %s; --node-thres 0 --edge-thres "
                    "0 draws all of them",
                    pattern);
    if (rc == 0) {
        reach(&w, n, request->has_depth, request->depth, is_reached);
        for (size_t i = 0; i < g->n_nodes; i++)
            is_node[i] = is_node[i] && is_reached[i];
    }
    sd_free(is_reached);
    release(&w);
    return rc;
}

/* --- The whole */

static void weigh_edges(const struct sd_view_graph *g,
                        const struct sd_graph_request *request, const bool *is_node,
                        bool *is_edge)
{
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct sd_graph_edge *e = &g->edges[i];

        is_edge[i] = is_node[e->from] && is_node[e->to] &&
                     larger(e->total, e->other_total) >= request->edge_percent / 100;
    }
}

static int mark(const struct sd_view_graph *g, const struct sd_graph_request *request,
                bool *is_node, bool *is_edge)
{
    int rc = check_paths(g, request->paths);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct sd_graph_node *n = &g->nodes[i];

        is_node[i] = larger(n->total, n->other_total) >= request->node_percent / 100 &&
                     is_below(n, request->paths);
    }
    weigh_edges(g, request, is_node, is_edge);
    if (request->root)
        rc = keep_reached(g, request, request->root, false, is_node, is_edge);
    if (request->root && rc == 0)
        weigh_edges(g, request, is_node, is_edge);
    if (request->leaf && rc == 0)
        rc = keep_reached(g, request, request->leaf, true, is_node, is_edge);
    weigh_edges(g, request, is_node, is_edge);
    return rc;
}

static void drop(struct sd_view_graph *g, const bool *is_node, const bool *is_edge,
                 uint32_t *places)
{
    size_t n = 0, n_edges = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        places[i] = is_node[i] ? (uint32_t)n : NONE;
        if (is_node[i])
            g->nodes[n++] = g->nodes[i];
    }
    for (size_t i = 0; i < g->n_edges; i++) {
        struct sd_graph_edge e = g->edges[i];

        if (!is_edge[i])
            continue;
        e.from = places[e.from];
        e.to = places[e.to];
        sd_assert(e.from < n && e.to < n); /* an edge that is kept has both ends */
        g->edges[n_edges++] = e;
    }
    g->n_nodes = n;
    g->n_edges = n_edges;
}

/* Own shares are small: the largest of those that are drawn has the strongest colour.
 */
static void weigh_nodes(struct sd_view_graph *g, bool is_by_self)
{
    double most = 0;

    for (size_t i = 0; i < g->n_nodes; i++)
        most = g->nodes[i].self > most ? g->nodes[i].self : most;
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].weight =
            !is_by_self || most == 0 ? g->nodes[i].total : g->nodes[i].self / most;
}

int sd_graph_prune(struct sd_view_graph *g, const struct sd_graph_request *request)
{
    bool *is_node = sd_zalloc(g->n_nodes + 1), *is_edge = sd_zalloc(g->n_edges + 1);
    uint32_t *places = sd_alloc((g->n_nodes + 1) * sizeof *places);
    int rc = is_node && is_edge && places ? 0 : sd_no_memory();

    if (rc == 0)
        rc = mark(g, request, is_node, is_edge);
    if (rc == 0) {
        drop(g, is_node, is_edge, places);
        weigh_nodes(g, request->is_coloured_by_self);
    }
    sd_free(is_node);
    sd_free(is_edge);
    sd_free(places);
    return rc;
}
