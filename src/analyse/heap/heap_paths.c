/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_paths.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { NODES_MAX = 1 << 20, STEPS_MAX = 1 << 30 };

/* --- One */

int sd_heap_path_make(const struct sd_heap_graph *g, const uint32_t *parents,
                      uint32_t object, struct sd_arena *a, struct sd_heap_path *out)
{
    uint32_t n = 1, at = object;

    *out = (struct sd_heap_path){ NULL, 0 };
    sd_assert(object < g->n);
    if (parents[object] == SD_HEAP_NONE)
        return 0;
    for (; parents[at] != at && n < STEPS_MAX; n++)
        at = parents[at];
    out->objects = sd_arena_alloc(a, n * sizeof(uint32_t));
    if (!out->objects)
        return sd_no_memory();
    out->n = n;
    for (at = object; n > 0; at = parents[at])
        out->objects[--n] = at;
    return 0;
}

/* --- Several */

struct node { /* an object on the way back, and the one that it was met from */
    uint32_t object, next, length;
};

struct way_back {
    struct sd_heap_reach *r;
    const uint32_t *parents;
    struct sd_pages depths; /* uint32_t[n]: steps from the nearest root */
    struct sd_pages nodes;  /* struct node[n] */
    struct sd_pages heap;   /* uint32_t[n_heap]: nodes, the shortest in all first */
    uint32_t n, n_heap;
};

static int find_depths(struct way_back *w)
{
    const uint32_t *order = w->r->order.p;
    int rc = sd_pages_grow(&w->depths, ((size_t)w->r->graph->n + 1) * sizeof(uint32_t));
    uint32_t *depths = w->depths.p;

    for (uint32_t i = 0; i < w->r->n_reached && rc == 0; i++) {
        uint32_t parent = w->parents[order[i]];

        depths[order[i]] = parent == order[i] ? 0 : depths[parent] + 1;
    }
    return rc;
}

static uint64_t cost(const struct way_back *w, uint32_t heap_at)
{
    uint32_t node = ((const uint32_t *)w->heap.p)[heap_at];
    const struct node *n = (const struct node *)w->nodes.p + node;

    /* Of equal ones the first that was met. */
    return ((uint64_t)n->length + ((const uint32_t *)w->depths.p)[n->object]) << 32 |
           node;
}

static void swap(struct way_back *w, uint32_t a, uint32_t b)
{
    uint32_t *heap = w->heap.p, was = heap[a];

    heap[a] = heap[b];
    heap[b] = was;
}

static int push(struct way_back *w, uint32_t object, uint32_t next, uint32_t length)
{
    int rc = sd_pages_grow(&w->nodes, ((size_t)w->n + 1) * sizeof(struct node));
    uint32_t at = w->n_heap;

    if (rc == 0)
        rc = sd_pages_grow(&w->heap, ((size_t)w->n_heap + 1) * sizeof(uint32_t));
    if (rc < 0)
        return rc;
    ((struct node *)w->nodes.p)[w->n] = (struct node){ object, next, length };
    ((uint32_t *)w->heap.p)[w->n_heap++] = w->n++;
    for (; at > 0 && cost(w, at) < cost(w, (at - 1) / 2); at = (at - 1) / 2)
        swap(w, at, (at - 1) / 2);
    return 0;
}

static uint32_t pop(struct way_back *w)
{
    uint32_t node = ((const uint32_t *)w->heap.p)[0], at = 0;

    swap(w, 0, --w->n_heap);
    for (;;) {
        uint32_t least = at;

        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < w->n_heap;
             child++)
            if (cost(w, child) < cost(w, least))
                least = child;
        if (least == at)
            return node;
        swap(w, at, least);
        at = least;
    }
}

static bool is_on_way(const struct way_back *w, uint32_t node, uint32_t object)
{
    const struct node *nodes = w->nodes.p;

    for (; node != SD_HEAP_NONE; node = nodes[node].next)
        if (nodes[node].object == object)
            return true;
    return false;
}

/* The module whose dict this is; functions refer to it, too, which says nothing new. */
static bool is_dict_of_module(const struct way_back *w, uint32_t object)
{
    uint32_t parent = w->parents[object];
    const char *text;

    return parent != object && w->parents[parent] == parent &&
           sd_heap_type_at(w->r->graph, sd_heap_type_of(w->r->graph, object))
               ->is_dict &&
           sd_heap_reach_root(w->r, parent, &text) == SD_HEAP_ROOT_MODULE;
}

static int expand(struct way_back *w, uint32_t node)
{
    struct node at = ((const struct node *)w->nodes.p)[node];
    uint32_t n, last = SD_HEAP_NONE;
    const uint32_t *in = sd_heap_reach_in(w->r, at.object, &n);
    int rc = 0;

    if (is_dict_of_module(w, at.object))
        return is_on_way(w, node, w->parents[at.object])
                   ? 0
                   : push(w, w->parents[at.object], node, at.length + 1);

    for (uint32_t i = 0; i < n && rc == 0 && w->n < NODES_MAX; i++) {
        if (in[i] != last && w->parents[in[i]] != SD_HEAP_NONE &&
            !is_on_way(w, node, in[i]))
            rc = push(w, in[i], node, at.length + 1);
        last = in[i]; /* an object's references stand together */
    }
    return rc;
}

static int put_path(const struct way_back *w, uint32_t node, struct sd_arena *a,
                    struct sd_heap_path *out)
{
    const struct node *nodes = w->nodes.p;

    out->n = nodes[node].length + 1;
    out->objects = sd_arena_alloc(a, out->n * sizeof *out->objects);
    if (!out->objects)
        return sd_no_memory();
    for (uint32_t i = 0; i < out->n; i++, node = nodes[node].next)
        out->objects[i] = nodes[node].object;
    return 0;
}

int sd_heap_paths_make(struct sd_heap_reach *r, uint32_t object, uint32_t most,
                       struct sd_arena *a, struct sd_heap_path **out, uint32_t *n)
{
    struct way_back w = { .r = r, .parents = r->parents.p };
    int rc = sd_heap_reach_referrers(r);

    *n = 0;
    *out = sd_arena_alloc(a, ((size_t)most + 1) * sizeof **out);
    if (rc == 0 && !*out)
        rc = sd_no_memory();
    if (rc == 0)
        rc = find_depths(&w);
    if (rc == 0 && w.parents[object] != SD_HEAP_NONE)
        rc = push(&w, object, SD_HEAP_NONE, 0);
    while (rc == 0 && w.n_heap > 0 && *n < most) {
        uint32_t node = pop(&w);
        uint32_t met = ((const struct node *)w.nodes.p)[node].object;

        if (w.parents[met] == met)
            rc = put_path(&w, node, a, &(*out)[(*n)++]);
        else
            rc = expand(&w, node);
    }
    sd_pages_release(&w.depths);
    sd_pages_release(&w.nodes);
    sd_pages_release(&w.heap);
    return rc;
}

/* --- Text */

struct step { /* how one object of a path refers to the next */
    uint32_t label;
    int64_t item; /* -1: it is none */
};

static struct step step_of(const struct sd_heap_graph *g,
                           const struct sd_heap_path *path, uint32_t i)
{
    const uint32_t *labels = sd_heap_labels(g, path->objects[i - 1]);
    uint32_t n, found = SD_HEAP_NONE;
    const uint32_t *edges = sd_heap_edges(g, path->objects[i - 1], &n);
    struct step step = { 0, -1 };

    for (uint32_t k = 0; k < n; k++) {
        if (edges[k] != path->objects[i])
            continue;
        if (found == SD_HEAP_NONE || (labels && labels[k] && !labels[found]))
            found = k;
    }
    if (found == SD_HEAP_NONE)
        return step;
    step.label = labels ? labels[found] : 0;
    step.item = sd_heap_item(g, path->objects[i - 1], found);
    return step;
}

static bool is_attribute(const struct sd_heap_graph *g, uint32_t label,
                         const char *name)
{
    return SD_HEAP_LABEL_STEP(label) == SD_HEAP_STEP_ATTRIBUTE &&
           strcmp(sd_heap_name(g, SD_HEAP_LABEL_TEXT(label)), name) == 0;
}

/* The `item`th of "a,b,c". */
static void put_one_of(const char *names, int64_t item, struct sd_buf *to)
{
    size_t n;

    for (; item > 0 && *names; item--) {
        names += strcspn(names, ",");
        names += *names == ',';
    }
    n = strcspn(names, ",");
    sd_buf_add(to, n ? names : "?", n ? n : 1);
}

static void put_item(const struct sd_heap_graph *g, uint32_t label_before, int64_t item,
                     struct sd_buf *to)
{
    const char *names = sd_heap_name(g, SD_HEAP_LABEL_TEXT(label_before));

    if (SD_HEAP_LABEL_STEP(label_before) == SD_HEAP_STEP_CLOSURE) {
        sd_buf_text(to, "(closure variable ");
        put_one_of(names, item, to);
        sd_buf_text(to, ")");
    } else if (SD_HEAP_LABEL_STEP(label_before) == SD_HEAP_STEP_DEFAULTS) {
        sd_buf_text(to, "(default of ");
        put_one_of(names, item, to);
        sd_buf_text(to, ")");
    } else {
        sd_buf_printf(to, "[%" PRId64 "]", item);
    }
}

static void put_step(const struct sd_heap_graph *g, struct step before,
                     struct step step, struct sd_buf *to)
{
    const char *text = sd_heap_name(g, SD_HEAP_LABEL_TEXT(step.label));
    bool is_in_dict = is_attribute(g, before.label, "__dict__");

    switch (SD_HEAP_LABEL_STEP(step.label)) {
    case SD_HEAP_STEP_NONE:
        if (step.item >= 0)
            put_item(g, before.label, step.item, to);
        else
            sd_buf_text(to, "(...)");
        break;
    case SD_HEAP_STEP_ATTRIBUTE:
        sd_buf_printf(to, ".%s", text);
        break;
    case SD_HEAP_STEP_KEY_TEXT:
        sd_buf_printf(to, is_in_dict ? ".%s" : "['%s']", text);
        break;
    case SD_HEAP_STEP_KEY:
        sd_buf_printf(to, "[%s]", text);
        break;
    case SD_HEAP_STEP_IS_KEY:
        sd_buf_text(to, "(a key)");
        break;
    case SD_HEAP_STEP_LOCAL:
        sd_buf_printf(to, "(%s)", text);
        break;
    case SD_HEAP_STEP_CLOSURE:
        sd_buf_text(to, ".__closure__");
        break;
    case SD_HEAP_STEP_DEFAULTS:
        sd_buf_text(to, ".__defaults__");
        break;
    case SD_HEAP_N_STEPS:
        break;
    }
}

static void put_root(const struct sd_heap_reach *r, uint32_t object, struct sd_buf *to)
{
    const char *text;
    enum sd_heap_root_kind kind;

    if (!sd_heap_reach_is_root(r, object))
        return;
    kind = sd_heap_reach_root(r, object, &text);
    if (*text)
        sd_buf_text(to, text);
    else if (kind == SD_HEAP_ROOT_C)
        sd_buf_text(to, "references that C holds");
}

void sd_heap_path_step(const struct sd_heap_reach *r, const struct sd_heap_path *path,
                       uint32_t i, struct sd_buf *to)
{
    struct step none = { 0, -1 };

    if (i == 0)
        put_root(r, path->objects[0], to);
    else
        put_step(r->graph, i > 1 ? step_of(r->graph, path, i - 1) : none,
                 step_of(r->graph, path, i), to);
}

/* Steps that say nothing to a reader: the dict of an object's attributes, the tuple of
 * defaults and of cells. */
static bool is_silent(const struct sd_heap_graph *g, struct step step)
{
    enum sd_heap_step kind = SD_HEAP_LABEL_STEP(step.label);

    return kind == SD_HEAP_STEP_CLOSURE || kind == SD_HEAP_STEP_DEFAULTS ||
           is_attribute(g, step.label, "__dict__");
}

/* The variable that a cell holds was named where the cell was. */
static bool is_cell_content(const struct sd_heap_graph *g, struct step step)
{
    return is_attribute(g, step.label, "cell_contents");
}

void sd_heap_path_text(const struct sd_heap_reach *r, const struct sd_heap_path *path,
                       struct sd_buf *to)
{
    const struct sd_heap_graph *g = r->graph;
    struct step before = { 0, -1 };
    size_t start = to->n;

    if (!path->n)
        return;
    put_root(r, path->objects[0], to);
    if (to->n == start)
        sd_buf_text(to, sd_heap_type_name(g, path->objects[0]));
    else if (sd_heap_type_at(g, sd_heap_type_of(g, path->objects[0]))->is_module ==
                 false &&
             path->n > 1)
        sd_buf_text(to, ": ");
    for (uint32_t i = 1; i < path->n; i++) {
        struct step step = step_of(g, path, i);

        if (!is_cell_content(g, step) && (!is_silent(g, step) || i + 1 == path->n))
            put_step(g, before, step, to);
        before = step;
    }
}
