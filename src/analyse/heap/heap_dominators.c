/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_dominators.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/groups.h"

/* Numbers of the depth-first search: 0 is none, TOP what stands before all roots, and
 * objects come behind it. */
enum { TOP = 1 };

struct forest {
    const struct sd_heap_graph *g;
    struct sd_heap_reach *r;
    struct sd_pages numbers;  /* uint32_t[n]: of an object; 0: not reached */
    struct sd_pages vertices; /* uint32_t[n + 2]: the object of a number */
    struct sd_pages parents, semis, labels, ancestors, idoms; /* uint32_t[n + 2] */
    struct sd_pages stack;                                    /* uint64_t[n + 2] */
    uint32_t n;                                               /* the last number */
};

void sd_heap_dominators_release(struct sd_heap_dominators *d)
{
    sd_pages_release(&d->idoms);
    sd_pages_release(&d->retained);
    sd_pages_release(&d->child_first);
    sd_pages_release(&d->children);
}

static void release(struct forest *f)
{
    struct sd_pages *all[] = { &f->numbers, &f->vertices,  &f->parents, &f->semis,
                               &f->labels,  &f->ancestors, &f->idoms,   &f->stack };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sd_pages_release(all[i]);
}

static int grow(struct forest *f)
{
    struct sd_pages *all[] = { &f->numbers, &f->vertices,  &f->parents, &f->semis,
                               &f->labels,  &f->ancestors, &f->idoms };
    size_t bytes = ((size_t)f->g->n + 2) * sizeof(uint32_t);
    int rc = sd_pages_grow(&f->stack, ((size_t)f->g->n + 2) * sizeof(uint64_t));

    for (size_t i = 0; i < sizeof all / sizeof all[0] && rc == 0; i++)
        rc = sd_pages_grow(all[i], bytes);
    return rc;
}

static void number(struct forest *f, uint32_t object, uint32_t parent)
{
    uint32_t at = ++f->n;

    ((uint32_t *)f->numbers.p)[object] = at;
    ((uint32_t *)f->vertices.p)[at] = object;
    ((uint32_t *)f->parents.p)[at] = parent;
}

/* The stack has pairs: an object's number, and its next reference. */
static void search(struct forest *f, uint32_t root)
{
    const uint32_t *first = f->g->first.p, *edges = f->g->edges.p;
    const uint32_t *numbers = f->numbers.p, *vertices = f->vertices.p;
    struct {
        uint32_t number, next;
    } *stack = f->stack.p;
    uint32_t depth = 0;

    number(f, root, TOP);
    stack[depth].number = f->n;
    stack[depth++].next = first[root];
    while (depth > 0) {
        uint32_t at = stack[depth - 1].number;
        uint32_t end = first[vertices[at] + 1];
        uint32_t next = stack[depth - 1].next;

        while (next < end && numbers[edges[next]])
            next++;
        stack[depth - 1].next = next + 1;
        if (next >= end) {
            depth--;
            continue;
        }
        number(f, edges[next], at);
        stack[depth].number = f->n;
        stack[depth++].next = first[edges[next]];
    }
}

/* Gives `v` the label of the least semidominator on its path, and shortens the path. */
static void compress(struct forest *f, uint32_t v)
{
    uint32_t *ancestors = f->ancestors.p, *labels = f->labels.p, *stack = f->stack.p;
    const uint32_t *semis = f->semis.p;
    uint32_t depth = 0;

    while (ancestors[ancestors[v]]) {
        stack[depth++] = v;
        v = ancestors[v];
    }
    while (depth > 0) {
        uint32_t up;

        v = stack[--depth];
        up = ancestors[v];
        if (semis[labels[up]] < semis[labels[v]])
            labels[v] = labels[up];
        ancestors[v] = ancestors[up];
    }
}

static uint32_t least(struct forest *f, uint32_t v)
{
    const uint32_t *ancestors = f->ancestors.p, *labels = f->labels.p;

    if (!ancestors[v])
        return v;
    compress(f, v);
    return labels[v];
}

static uint32_t semi_of(struct forest *f, uint32_t w)
{
    uint32_t object = ((const uint32_t *)f->vertices.p)[w], n;
    const uint32_t *semis = f->semis.p, *numbers = f->numbers.p;
    const uint32_t *in = sd_heap_reach_in(f->r, object, &n);
    uint32_t semi = w;

    if (sd_heap_reach_is_root(f->r, object))
        return TOP;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = numbers[in[i]], other;

        if (!v)
            continue; /* garbage */
        other = v < w ? v : semis[least(f, v)];
        if (other < semi)
            semi = other;
    }
    return semi;
}

/* From the last to the first; what comes behind w is linked to its parent. */
static void find_semis(struct forest *f)
{
    uint32_t *semis = f->semis.p, *labels = f->labels.p, *ancestors = f->ancestors.p;
    const uint32_t *parents = f->parents.p;

    for (uint32_t w = TOP; w <= f->n; w++) {
        semis[w] = w;
        labels[w] = w;
    }
    for (uint32_t w = f->n; w > TOP; w--) {
        semis[w] = semi_of(f, w);
        ancestors[w] = parents[w];
    }
}

static void find_idoms(struct forest *f)
{
    uint32_t *idoms = f->idoms.p;
    const uint32_t *semis = f->semis.p, *parents = f->parents.p;

    for (uint32_t w = TOP + 1; w <= f->n; w++) {
        uint32_t idom = parents[w];

        while (idom > semis[w])
            idom = idoms[idom];
        idoms[w] = idom;
    }
}

static void put_tree(struct sd_heap_dominators *d, const struct forest *f)
{
    const struct sd_heap_graph *g = d->graph;
    const uint32_t *vertices = f->vertices.p, *idoms = f->idoms.p;
    uint64_t *retained = d->retained.p;
    uint32_t *out = d->idoms.p, *first = d->child_first.p, *children = d->children.p;

    for (uint32_t i = 0; i < g->n; i++) {
        out[i] = SD_HEAP_NONE;
        retained[i] = sd_heap_size(g, i);
    }
    for (uint32_t w = f->n; w > TOP; w--)
        if (idoms[w] != TOP) {
            out[vertices[w]] = vertices[idoms[w]];
            retained[vertices[idoms[w]]] += retained[vertices[w]];
        }
    for (uint32_t w = TOP + 1; w <= f->n; w++)
        sd_groups_count(first, idoms[w] != TOP ? vertices[idoms[w]] : g->n);
    sd_groups_sum(first, (size_t)g->n + 1);
    for (uint32_t w = TOP + 1; w <= f->n; w++)
        children[sd_groups_place(first, idoms[w] != TOP ? vertices[idoms[w]] : g->n)] =
            vertices[w];
}

static int grow_tree(struct sd_heap_dominators *d)
{
    size_t n = (size_t)d->graph->n + 1;
    int rc = sd_pages_grow(&d->idoms, n * sizeof(uint32_t));

    if (rc == 0)
        rc = sd_pages_grow(&d->retained, n * sizeof(uint64_t));
    if (rc == 0)
        rc = sd_pages_grow(&d->child_first, (n + 2) * sizeof(uint32_t));
    if (rc == 0)
        rc = sd_pages_grow(&d->children, n * sizeof(uint32_t));
    return rc;
}

int sd_heap_dominators_init(struct sd_heap_dominators *d, struct sd_heap_reach *r)
{
    struct forest f = { .g = r->graph, .r = r, .n = TOP };
    const uint32_t *roots = r->roots.p;
    int rc = sd_heap_reach_referrers(r);

    *d = (struct sd_heap_dominators){ .graph = r->graph, .reach = r };
    if (rc == 0)
        rc = grow(&f);
    if (rc == 0)
        rc = grow_tree(d);
    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < r->n_roots; i++)
        if (!((const uint32_t *)f.numbers.p)[roots[i]])
            search(&f, roots[i]);
    sd_assert(f.n - TOP == r->n_reached);
    find_semis(&f);
    find_idoms(&f);
    put_tree(d, &f);
out:
    release(&f);
    if (rc < 0)
        sd_heap_dominators_release(d);
    return rc;
}

/* --- Sets */

struct descent { /* through the tree, with the groups that stand above */
    uint32_t object, next;
};

int sd_heap_dominators_of_groups(const struct sd_heap_dominators *d,
                                 const uint32_t *group, uint32_t n_groups,
                                 uint64_t *retained)
{
    struct sd_pages above = { 0 }, stack = { 0 };
    const uint32_t *first = d->child_first.p, *children = d->children.p;
    uint32_t n_tops, *n_above;
    const uint32_t *tops = sd_heap_dominators_children(d, SD_HEAP_NONE, &n_tops);
    struct descent *way;
    int rc = sd_pages_grow(&above, ((size_t)n_groups + 1) * sizeof(uint32_t));

    if (rc == 0)
        rc = sd_pages_grow(&stack, ((size_t)d->graph->n + 1) * sizeof *way);
    n_above = above.p;
    way = stack.p;
    for (uint32_t t = 0; rc == 0 && t < n_tops; t++) {
        uint32_t depth = 0;

        way[depth++] = (struct descent){ tops[t], first[tops[t]] };
        while (depth > 0) {
            struct descent *at = &way[depth - 1];
            uint32_t g = group[at->object];

            if (at->next == first[at->object] && g != SD_HEAP_NONE && n_above[g]++ == 0)
                retained[g] += sd_heap_dominators_retained(d, at->object);
            if (at->next < first[at->object + 1]) {
                uint32_t child = children[at->next++];

                way[depth++] = (struct descent){ child, first[child] };
                continue;
            }
            if (g != SD_HEAP_NONE)
                n_above[g]--;
            depth--;
        }
    }
    for (uint32_t i = 0; rc == 0 && i < d->graph->n; i++)
        if (group[i] != SD_HEAP_NONE && sd_heap_reach_is_garbage(d->reach, i))
            retained[group[i]] += sd_heap_size(d->graph, i);
    sd_pages_release(&above);
    sd_pages_release(&stack);
    return rc;
}

int sd_heap_dominators_of_set(const struct sd_heap_dominators *d,
                              const uint32_t *objects, uint32_t n, uint64_t *retained)
{
    struct sd_pages group = { 0 };
    int rc = sd_pages_grow(&group, ((size_t)d->graph->n + 1) * sizeof(uint32_t));

    *retained = 0;
    if (rc < 0)
        return rc;
    memset(group.p, 0xff, (size_t)d->graph->n * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++)
        ((uint32_t *)group.p)[objects[i]] = 0;
    rc = sd_heap_dominators_of_groups(d, group.p, 1, retained);
    sd_pages_release(&group);
    return rc;
}
