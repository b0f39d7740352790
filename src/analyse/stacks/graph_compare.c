/* SPDX-License-Identifier: MIT */
/* graph_compare: joins two call graphs into one, each function and call with the
 * numbers of both. */
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/call_graph.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"

enum { NONE = UINT32_MAX };

struct comparison {
    struct sd_view_graph *ours;
    const struct sd_view_graph *theirs;
    uint32_t *twin_of;  /* owned; by node of theirs: the same in ours, or NONE */
    bool *has_twin;     /* owned; by node of ours */
    struct sd_table at; /* edges of ours by their ends */
};

/* --- Which functions are the same */

static uint64_t name_key(const struct sd_graph_node *n)
{
    return sd_hash(n->name, strlen(n->name), sd_hash(n->file, strlen(n->file), 1));
}

static void pair(struct comparison *c, uint32_t ours, uint32_t theirs)
{
    c->twin_of[theirs] = ours;
    c->has_twin[ours] = true;
}

static int pair_by_name(struct comparison *c)
{
    struct sd_table known = { 0 };
    uint64_t at;
    int rc = 0;

    for (size_t i = 0; i < c->ours->n_nodes && rc == 0; i++)
        rc = sd_table_put(&known, name_key(&c->ours->nodes[i]), i);
    for (uint32_t i = 0; i < c->theirs->n_nodes && rc == 0; i++)
        if (sd_table_get(&known, name_key(&c->theirs->nodes[i]), &at) &&
            !c->has_twin[at])
            pair(c, (uint32_t)at, i);
    sd_table_release(&known);
    return rc;
}

struct left {          /* a node whose like was not found yet */
    uint64_t function; /* its module and function, without the line */
    int64_t line;
    uint32_t node;
};

static struct left left_of(const struct sd_graph_node *n, uint32_t at)
{
    uint64_t module = sd_hash(n->name, strcspn(n->name, ":"), 2);

    return (struct left){ sd_hash(n->function, strlen(n->function), module), n->line,
                          at };
}

static int by_function_and_line(const void *a, const void *b)
{
    const struct left *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static struct left *find_left(const struct comparison *c, const struct sd_view_graph *g,
                              size_t *n)
{
    struct left *left = sd_alloc((g->n_nodes + 1) * sizeof *left);

    *n = 0;
    for (uint32_t i = 0; left && i < g->n_nodes; i++)
        if (g == c->theirs ? c->twin_of[i] == NONE : !c->has_twin[i])
            left[(*n)++] = left_of(&g->nodes[i], i);
    if (left)
        qsort(left, *n, sizeof *left, by_function_and_line);
    return left;
}

static size_t end_of_run(const struct left *left, size_t n, size_t from)
{
    size_t end = from;

    while (end < n && left[end].function == left[from].function)
        end++;
    return end;
}

/* A line moves when something above it is edited; functions keep their order.  Where
 * one has come or gone it cannot be said which of those of one name. */
static void pair_moved(struct comparison *c, const struct left *ours, size_t n_ours,
                       const struct left *theirs, size_t n_theirs)
{
    size_t i = 0, k = 0;

    while (i < n_ours && k < n_theirs) {
        size_t end = end_of_run(ours, n_ours, i);
        size_t their_end = end_of_run(theirs, n_theirs, k);

        if (ours[i].function < theirs[k].function) {
            i = end;
        } else if (ours[i].function > theirs[k].function) {
            k = their_end;
        } else {
            for (size_t m = 0; end - i == their_end - k && m < end - i; m++)
                pair(c, ours[i + m].node, theirs[k + m].node);
            i = end;
            k = their_end;
        }
    }
}

static int pair_nodes(struct comparison *c)
{
    struct left *ours, *theirs;
    size_t n_ours, n_theirs;
    int rc = pair_by_name(c);

    if (rc < 0)
        return rc;
    ours = find_left(c, c->ours, &n_ours);
    theirs = find_left(c, c->theirs, &n_theirs);
    if (ours && theirs)
        pair_moved(c, ours, n_ours, theirs, n_theirs);
    else
        rc = sd_no_memory();
    sd_free(ours);
    sd_free(theirs);
    return rc;
}

/* --- Numbers of both */

/* Of what only the other has, ours is nothing. */
static void join_nodes(struct comparison *c)
{
    for (uint32_t i = 0; i < c->theirs->n_nodes; i++) {
        const struct sd_graph_node *other = &c->theirs->nodes[i];
        struct sd_graph_node *n;

        if (c->twin_of[i] == NONE) {
            c->twin_of[i] = (uint32_t)c->ours->n_nodes;
            c->ours->nodes[c->ours->n_nodes++] =
                (struct sd_graph_node){ .name = other->name,
                                        .function = other->function,
                                        .file = other->file,
                                        .line = other->line };
        }
        n = &c->ours->nodes[c->twin_of[i]];
        n->is_in_other = true;
        n->other_self = other->self;
        n->other_total = other->total;
        n->other_calls = other->calls;
    }
}

static uint64_t ends_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

static int join_edges(struct comparison *c)
{
    struct sd_view_graph *g = c->ours;
    int rc = 0;

    for (size_t i = 0; i < g->n_edges && rc == 0; i++)
        rc = sd_table_put(&c->at, ends_key(g->edges[i].from, g->edges[i].to), i);
    for (size_t i = 0; i < c->theirs->n_edges && rc == 0; i++) {
        const struct sd_graph_edge *other = &c->theirs->edges[i];
        uint32_t from = c->twin_of[other->from], to = c->twin_of[other->to];
        uint64_t at;

        if (!sd_table_get(&c->at, ends_key(from, to), &at)) {
            at = g->n_edges++;
            g->edges[at] = (struct sd_graph_edge){ .from = from, .to = to };
        }
        g->edges[at].is_in_other = true;
        g->edges[at].other_total = other->total;
        g->edges[at].other_calls = other->calls;
    }
    return rc < 0 ? rc : sd_graph_sort_edges(g);
}

/* Room for all that both have. */
static int grow(struct comparison *c, struct sd_arena *a)
{
    struct sd_view_graph *g = c->ours;
    size_t n_nodes = g->n_nodes + c->theirs->n_nodes;
    size_t n_edges = g->n_edges + c->theirs->n_edges;
    struct sd_graph_node *nodes = sd_arena_alloc(a, (n_nodes + 1) * sizeof *nodes);
    struct sd_graph_edge *edges = sd_arena_alloc(a, (n_edges + 1) * sizeof *edges);

    c->twin_of = sd_alloc((c->theirs->n_nodes + 1) * sizeof *c->twin_of);
    c->has_twin = sd_zalloc(n_nodes + 1);
    if (!nodes || !edges || !c->twin_of || !c->has_twin)
        return sd_no_memory();
    for (size_t i = 0; i < c->theirs->n_nodes; i++)
        c->twin_of[i] = NONE;
    memcpy(nodes, g->nodes, g->n_nodes * sizeof *nodes);
    memcpy(edges, g->edges, g->n_edges * sizeof *edges);
    g->nodes = nodes;
    g->edges = edges;
    return 0;
}

static int join(struct sd_view_graph *g, const struct sd_view_graph *other,
                struct sd_arena *a)
{
    struct comparison c = { .ours = g, .theirs = other };
    int rc = grow(&c, a);

    if (rc == 0)
        rc = pair_nodes(&c);
    if (rc == 0) {
        join_nodes(&c);
        rc = join_edges(&c);
    }
    sd_free(c.twin_of);
    sd_free(c.has_twin);
    sd_table_release(&c.at);
    return rc;
}

int sd_graph_compare(const struct sd_call_stats *s, const struct sd_call_stats *other,
                     const struct sd_graph_request *request, struct sd_arena *a,
                     struct sd_view_graph *out)
{
    const struct sd_graph_request all = { .node_percent = 0 };
    struct sd_view_graph theirs;
    int rc = sd_graph_make(s, &all, a, out);

    if (rc == 0)
        rc = sd_graph_make(other, &all, a, &theirs);
    if (rc == 0)
        rc = join(out, &theirs, a);
    if (rc < 0)
        return rc;
    out->is_compared = true;
    out->has_calls |= theirs.has_calls;
    out->n_all_nodes = out->n_nodes;
    out->n_all_edges = out->n_edges;
    return sd_graph_prune(out, request);
}
