/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_reach.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/groups.h"

/* Named roots are searched first.  Those of threads that have no name (a value that a
 * function works with) come with those of C: they hold what is being looked at. */
enum { IS_GUESS = 0x80 };

void sd_heap_reach_release(struct sd_heap_reach *r)
{
    struct sd_pages *all[] = { &r->kinds, &r->roots,    &r->parents,
                               &r->order, &r->in_first, &r->in_edges };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sd_pages_release(all[i]);
}

/* --- Roots */

static void suppress_module_dicts(const struct sd_heap_graph *g, uint8_t *is_suppressed)
{
    const struct sd_heap_root *roots = g->roots.p;

    for (uint32_t i = 0; i < g->n_roots; i++) {
        const uint32_t *edges, *labels;
        uint32_t n;

        if (roots[i].kind != SD_HEAP_ROOT_MODULE)
            continue;
        edges = sd_heap_edges(g, roots[i].object, &n);
        labels = sd_heap_labels(g, roots[i].object);
        for (uint32_t k = 0; labels && k < n; k++)
            if (strcmp(sd_heap_name(g, SD_HEAP_LABEL_TEXT(labels[k])), "__dict__") == 0)
                is_suppressed[edges[k]] = 1;
    }
}

/* A type that C defines is not traversed. */
static bool is_type_of_c(const struct sd_heap_graph *g, uint32_t object)
{
    uint32_t n;

    sd_heap_edges(g, object, &n);
    return !n && sd_heap_type_at(g, sd_heap_type_of(g, object))->is_type;
}

static void set_kind(uint8_t *kinds, uint32_t object, enum sd_heap_root_kind kind)
{
    if (!kinds[object] || kinds[object] > kind + 1)
        kinds[object] = (uint8_t)(kind + 1);
}

/* `found` has the references that were found. */
static void find_roots(struct sd_heap_reach *r, const uint32_t *found,
                       const uint8_t *is_suppressed)
{
    const struct sd_heap_graph *g = r->graph;
    const struct sd_heap_root *known = g->roots.p;
    const uint32_t *counts = g->counts.p;
    uint8_t *kinds = r->kinds.p;

    for (uint32_t i = 0; i < g->n; i++) {
        bool is_immortal = counts[i] == SD_HEAP_IMMORTAL;

        if ((is_immortal || counts[i] > found[i]) && !is_suppressed[i])
            kinds[i] = 1 + (is_type_of_c(g, i) ? SD_HEAP_ROOT_TYPE
                            : is_immortal      ? SD_HEAP_ROOT_INTERPRETER
                                               : SD_HEAP_ROOT_C);
    }
    for (uint32_t i = 0; i < g->n_roots; i++) {
        uint32_t object = known[i].object;

        if (!known[i].needs_excess)
            set_kind(kinds, object, known[i].kind);
        else if (kinds[object] && known[i].kind == SD_HEAP_ROOT_INTERPRETER)
            set_kind(kinds, object, known[i].kind);
        else if (kinds[object] == SD_HEAP_ROOT_C + 1)
            kinds[object] = IS_GUESS | (uint8_t)(known[i].kind + 1);
    }
}

/* Orders roots by kind; guesses and C come last. */
static int order_roots(struct sd_heap_reach *r)
{
    uint8_t *kinds = r->kinds.p;
    uint32_t n = r->graph->n;
    int rc;

    for (uint32_t i = 0; i < n; i++)
        r->n_roots += kinds[i] != 0;
    rc = sd_pages_grow(&r->roots, ((size_t)r->n_roots + 1) * sizeof(uint32_t));
    if (rc < 0)
        return rc;
    r->n_roots = 0;
    for (uint32_t kind = 1; kind <= SD_HEAP_N_ROOT_KINDS + 1; kind++) {
        for (uint32_t i = 0; i < n; i++) {
            bool is_late = (kinds[i] & IS_GUESS) || kinds[i] == SD_HEAP_ROOT_C + 1;

            if (kind <= SD_HEAP_ROOT_C ? kinds[i] == kind
                                       : kind == SD_HEAP_N_ROOT_KINDS && is_late)
                ((uint32_t *)r->roots.p)[r->n_roots++] = i;
        }
        if (kind == SD_HEAP_ROOT_C)
            r->n_named = r->n_roots;
    }
    for (uint32_t i = 0; i < n; i++)
        kinds[i] &= (uint8_t)~IS_GUESS;
    return 0;
}

static int count_roots(struct sd_heap_reach *r)
{
    const struct sd_heap_graph *g = r->graph;
    const uint32_t *edges = g->edges.p;
    const struct sd_heap_type *types = g->type_list.p;
    struct sd_pages found = { 0 }, suppressed = { 0 };
    int rc = sd_pages_grow(&found, ((size_t)g->n + 1) * sizeof(uint32_t));
    uint32_t *n = found.p;

    if (rc == 0)
        rc = sd_pages_grow(&suppressed, (size_t)g->n + 1);
    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < g->n_edges; i++)
        n[edges[i]]++;
    for (uint32_t i = 0; i < g->n_types; i++)
        if (types[i].object != SD_HEAP_NONE)
            n[types[i].object] += types[i].n_told;
    suppress_module_dicts(g, suppressed.p);
    find_roots(r, n, suppressed.p);
    rc = order_roots(r);
out:
    sd_pages_release(&found);
    sd_pages_release(&suppressed);
    return rc;
}

enum sd_heap_root_kind sd_heap_reach_root(const struct sd_heap_reach *r,
                                          uint32_t object, const char **text)
{
    const struct sd_heap_graph *g = r->graph;
    const struct sd_heap_root *known = g->roots.p;
    uint8_t kind = ((const uint8_t *)r->kinds.p)[object];

    sd_assert(kind > 0);
    *text = "";
    for (uint32_t i = 0; i < g->n_roots && !**text; i++)
        if (known[i].object == object && known[i].kind + 1 == kind)
            *text = sd_heap_name(g, known[i].text);
    return (enum sd_heap_root_kind)(kind - 1);
}

/* --- The search */

struct search {
    const struct sd_heap_graph *g;
    uint32_t *parents, *order;
    uint32_t n, at; /* met; followed */
    uint32_t wanted;
};

static void follow(struct search *s)
{
    while (s->at < s->n) {
        uint32_t from = s->order[s->at++], n;
        const uint32_t *to = sd_heap_edges(s->g, from, &n);

        for (uint32_t i = 0; i < n; i++) {
            if (s->parents[to[i]] != SD_HEAP_NONE)
                continue;
            s->parents[to[i]] = from;
            s->order[s->n++] = to[i];
            if (to[i] == s->wanted)
                return;
        }
    }
}

uint32_t sd_heap_reach_search(const struct sd_heap_reach *r, uint32_t but,
                              uint32_t *parents, uint32_t *order)
{
    const uint32_t *roots = r->roots.p;
    struct search s = {
        .g = r->graph, .parents = parents, .order = order, .wanted = but
    };
    bool is_found = false;

    memset(parents, 0xff, (size_t)r->graph->n * sizeof *parents);
    for (uint32_t i = 0; i < r->n_roots && !is_found; i++) {
        if (i == r->n_named) { /* nothing unexplained before all that is named */
            follow(&s);
            is_found = but != SD_HEAP_NONE && parents[but] != SD_HEAP_NONE;
        }
        if (is_found || roots[i] == but || parents[roots[i]] != SD_HEAP_NONE)
            continue;
        parents[roots[i]] = roots[i];
        order[s.n++] = roots[i];
    }
    if (!is_found)
        follow(&s);
    return s.n;
}

int sd_heap_reach_init(struct sd_heap_reach *r, const struct sd_heap_graph *g)
{
    size_t n = (size_t)g->n + 1;
    int rc;

    *r = (struct sd_heap_reach){ .graph = g };
    sd_assert(g->has_edges);
    rc = sd_pages_grow(&r->kinds, n);
    if (rc == 0)
        rc = sd_pages_grow(&r->parents, n * sizeof(uint32_t));
    if (rc == 0)
        rc = sd_pages_grow(&r->order, n * sizeof(uint32_t));
    if (rc == 0)
        rc = count_roots(r);
    if (rc < 0) {
        sd_heap_reach_release(r);
        return rc;
    }
    r->n_reached = sd_heap_reach_search(r, SD_HEAP_NONE, r->parents.p, r->order.p);
    for (uint32_t i = 0; i < g->n; i++)
        if (sd_heap_reach_is_garbage(r, i))
            r->garbage_bytes += sd_heap_size(g, i);
    return 0;
}

int sd_heap_reach_referrers(struct sd_heap_reach *r)
{
    const struct sd_heap_graph *g = r->graph;
    uint32_t *first, *in;
    int rc;

    if (r->in_first.p)
        return 0;
    rc = sd_pages_grow(&r->in_edges, ((size_t)g->n_edges + 1) * sizeof(uint32_t));
    if (rc == 0)
        rc = sd_pages_grow(&r->in_first, ((size_t)g->n + 2) * sizeof(uint32_t));
    if (rc < 0)
        return rc;
    first = r->in_first.p;
    in = r->in_edges.p;
    for (uint32_t i = 0; i < g->n_edges; i++)
        sd_groups_count(first, ((const uint32_t *)g->edges.p)[i]);
    sd_groups_sum(first, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t n;
        const uint32_t *to = sd_heap_edges(g, i, &n);

        for (uint32_t k = 0; k < n; k++)
            in[sd_groups_place(first, to[k])] = i;
    }
    return 0;
}
