/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/call_graph.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/groups.h"
#include "base/mem.h"
#include "base/text.h"

struct maker {
    const struct sd_call_stats *s;
    struct sd_arena *arena;
    struct sd_view_graph *g;
    double own, total; /* of everything */
    struct sd_buf text;
};

/* --- Shares */

/* Of nothing all is all: gprof2dot's rule, by which a profile without time still has a
 * graph. */
static double share(double part, double whole)
{
    double ratio = whole > 0 ? part / whole : 1;

    return ratio > 1 ? 1 : ratio > 0 ? ratio : 0;
}

/* The whole is the sum of all own times, or the longest call where that is more. */
static void measure(struct maker *m)
{
    m->own = m->total = 0;
    for (size_t i = 0; i < m->s->n_listed; i++)
        m->own += sd_call_stats_at(m->s, m->s->listed[i])->n.own;
    m->total = m->own;
    for (size_t i = 0; i < m->s->n_listed; i++) {
        double total = sd_call_stats_at(m->s, m->s->listed[i])->n.total;

        m->total = total > m->total ? total : m->total;
    }
}

/* --- Names */

/* The file's name without folders and suffix, as gprof2dot names a module. */
static void put_module(struct sd_buf *to, const struct sd_intern_string *file)
{
    const char *slash = memrchr(file->p, '/', file->n);
    const char *from = slash ? slash + 1 : file->p;
    size_t n = (size_t)(file->p + file->n - from);
    const char *dot = n ? memrchr(from, '.', n) : NULL;
    size_t n_dots = 0;

    while (n_dots < n && from[n_dots] == '.')
        n_dots++;
    if (dot && (size_t)(dot - from) >= n_dots) /* ".profile" has no suffix */
        n = (size_t)(dot - from);
    sd_text_escape(to, from, n);
}

static int keep_text(struct maker *m, const char **to)
{
    *to = m->text.bad ? NULL
                      : sd_arena_string(m->arena, sd_buf_string(&m->text), m->text.n);
    return *to ? 0 : sd_no_memory();
}

static int name_node(struct maker *m, const struct sd_call_function *f,
                     struct sd_graph_node *node)
{
    size_t before;
    int rc;

    sd_buf_clear(&m->text);
    sd_text_escape(&m->text, f->file.p, f->file.n);
    rc = keep_text(m, &node->file);
    if (rc < 0)
        return rc;
    sd_buf_clear(&m->text);
    put_module(&m->text, &f->file);
    sd_buf_printf(&m->text, ":%" PRId64 ":", f->line);
    before = m->text.n;
    sd_text_escape(&m->text, f->name.p, f->name.n);
    rc = keep_text(m, &node->name);
    if (rc == 0)
        node->function = node->name + before;
    return rc;
}

/* --- Nodes and edges */

static int add_node(struct maker *m, const struct sd_call_function *f)
{
    struct sd_graph_node *node = &m->g->nodes[m->g->n_nodes++];

    *node = (struct sd_graph_node){ .line = f->line,
                                    .calls = f->n.calls,
                                    .self = share(f->n.own, m->own),
                                    .total = share(f->n.total, m->total),
                                    .self_amount = f->n.own,
                                    .total_amount = f->n.total };
    m->g->has_calls |= f->n.calls != 0;
    return name_node(m, f, node);
}

static void add_edges(struct maker *m, uint32_t callee)
{
    const struct sd_call_function *f = &m->s->functions[callee];

    for (uint32_t at = f->first_caller; at != SD_NO_EDGE; at = m->s->edges[at].next) {
        const struct sd_call_edge *e = &m->s->edges[at];
        struct sd_graph_node *caller = &m->g->nodes[e->caller.at];
        double total = sd_call_edge_total(e, f);

        m->g->edges[m->g->n_edges++] =
            (struct sd_graph_edge){ .from = e->caller.at,
                                    .to = callee,
                                    .calls = e->n.calls,
                                    .total = share(total, m->total) };
        if (!m->s->functions[e->caller.at].is_listed) { /* it was running already */
            caller->total_amount += total;
            caller->total = share(caller->total_amount, m->total);
        }
    }
}

/* Edges stand with what is called; here they go to who calls. */
int sd_graph_sort_edges(struct sd_view_graph *g)
{
    struct sd_graph_edge *sorted = sd_alloc((g->n_edges + 1) * sizeof *sorted);
    uint32_t *first = sd_zalloc((g->n_nodes + 2) * sizeof *first);

    if (sorted && first) {
        for (size_t i = 0; i < g->n_edges; i++)
            sd_groups_count(first, g->edges[i].from);
        sd_groups_sum(first, g->n_nodes);
        for (size_t i = 0; i < g->n_edges; i++)
            sorted[sd_groups_place(first, g->edges[i].from)] = g->edges[i];
        memcpy(g->edges, sorted, g->n_edges * sizeof *sorted);
        sd_assert(first[g->n_nodes] == g->n_edges);
    }
    sd_free(sorted);
    sd_free(first);
    return sorted && first ? 0 : sd_no_memory();
}

static int fill(struct maker *m)
{
    struct sd_view_graph *g = m->g;
    int rc = 0;

    g->nodes = sd_arena_alloc(m->arena, (m->s->n_functions + 1) * sizeof *g->nodes);
    g->edges = sd_arena_alloc(m->arena, (m->s->n_edges + 1) * sizeof *g->edges);
    if (!g->nodes || !g->edges)
        return sd_no_memory();
    for (size_t i = 0; i < m->s->n_functions && rc == 0; i++)
        rc = add_node(m, &m->s->functions[i]);
    for (uint32_t i = 0; i < m->s->n_functions && rc == 0; i++)
        add_edges(m, i);
    sd_assert(rc < 0 ||
              (g->n_nodes == m->s->n_functions && g->n_edges <= m->s->n_edges));
    return rc < 0 ? rc : sd_graph_sort_edges(g);
}

int sd_graph_make(const struct sd_call_stats *s, const struct sd_graph_request *request,
                  struct sd_arena *a, struct sd_view_graph *out)
{
    struct maker m = { .s = s, .arena = a, .g = out };
    int rc;

    *out = (struct sd_view_graph){ .unit = "s" };
    measure(&m);
    rc = fill(&m);
    sd_buf_release(&m.text);
    out->n_all_nodes = out->n_nodes;
    out->n_all_edges = out->n_edges;
    return rc < 0 ? rc : sd_graph_prune(out, request);
}
