/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_picture.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/heap/heap_paths.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"

enum { BOXES_MAX = 2000 };

struct picture {
    struct sd_heap_reach *r;
    const struct sd_heap_graph *g;
    const struct sd_heap_picture_request *request;
    struct sd_arena *arena;
    struct sd_table boxes; /* of an object */
    uint32_t objects[BOXES_MAX], depths[BOXES_MAX], left_out[BOXES_MAX];
    uint32_t n;
    struct sd_graph_edge *edges; /* owned until the end */
    size_t n_edges, cap_edges;
};

static bool is_hidden(const struct picture *p, uint32_t object)
{
    for (uint32_t i = 0; i < p->request->n_hidden; i++)
        if (p->request->hidden[i] == object)
            return true;
    return false;
}

static int box_of(struct picture *p, uint32_t object, uint32_t depth, uint32_t *box)
{
    uint64_t there;

    if (sd_table_get(&p->boxes, object, &there)) {
        *box = (uint32_t)there;
        return 0;
    }
    *box = SD_HEAP_NONE;
    if (p->n == BOXES_MAX)
        return 0;
    *box = p->n;
    p->objects[p->n] = object;
    p->depths[p->n++] = depth;
    return sd_table_put(&p->boxes, object, *box);
}

/* --- Text */

static const char *copy_of(struct picture *p, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(p->arena, sd_buf_string(text), text->n);

    sd_buf_release(text);
    return copy;
}

static const char *label_of_box(struct picture *p, uint32_t box)
{
    uint32_t object = p->objects[box];
    struct sd_buf text = { 0 };
    char size[SD_TEXT_MAX];
    const char *known = "";

    sd_buf_text(&text, sd_heap_type_name(p->g, object));
    if (sd_heap_reach_is_root(p->r, object))
        sd_heap_reach_root(p->r, object, &known);
    if (*known)
        sd_buf_printf(&text, "\n%s", known);
    sd_buf_printf(&text, "\n%s",
                  sd_text_bytes(size, (int64_t)sd_heap_size(p->g, object)));
    if (p->left_out[box])
        sd_buf_printf(&text, "\n%u more %s", (unsigned)p->left_out[box],
                      p->request->is_backwards ? "refer to it" : "references");
    return copy_of(p, &text);
}

/* The name of the first reference. */
static const char *label_of_line(struct picture *p, uint32_t from, uint32_t to)
{
    uint32_t way[2] = { from, to };
    struct sd_heap_path path = { way, 2 };
    struct sd_buf text = { 0 };

    sd_heap_path_step(p->r, &path, 1, &text);
    return copy_of(p, &text);
}

/* --- The graph */

/* Above a module there is sys.modules, which all modules are in. */
static bool is_end(const struct picture *p, uint32_t object)
{
    const char *text;

    return p->request->is_backwards && sd_heap_reach_is_root(p->r, object) &&
           sd_heap_reach_root(p->r, object, &text) == SD_HEAP_ROOT_MODULE;
}

static int add_line(struct picture *p, uint32_t from, uint32_t to)
{
    struct sd_graph_edge *grown;

    for (size_t i = 0; i < p->n_edges; i++)
        if (p->edges[i].from == from && p->edges[i].to == to)
            return 0;
    grown = sd_grow_array(p->edges, &p->cap_edges, p->n_edges + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    p->edges = grown;
    grown[p->n_edges] = (struct sd_graph_edge){ .from = from, .to = to };
    grown[p->n_edges].label = label_of_line(p, p->objects[from], p->objects[to]);
    return grown[p->n_edges++].label ? 0 : sd_no_memory();
}

static int expand(struct picture *p, uint32_t box)
{
    bool is_back = p->request->is_backwards;
    uint32_t object = p->objects[box], n, drawn = 0, last = SD_HEAP_NONE;
    const uint32_t *next =
        is_back ? sd_heap_reach_in(p->r, object, &n) : sd_heap_edges(p->g, object, &n);
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        uint32_t other;

        if (is_hidden(p, next[i]) || next[i] == last)
            continue;
        last = next[i];
        other = SD_HEAP_NONE;
        if (drawn < p->request->too_many)
            rc = box_of(p, next[i], p->depths[box] + 1, &other);
        if (rc == 0 && other != SD_HEAP_NONE) {
            drawn++;
            rc = is_back ? add_line(p, other, box) : add_line(p, box, other);
        } else {
            p->left_out[box]++;
        }
    }
    return rc;
}

static int by_ends(const void *a, const void *b)
{
    const struct sd_graph_edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static bool is_asked(const struct picture *p, uint32_t box)
{
    return box < p->request->n;
}

static int put(struct picture *p, struct sd_view_graph *out)
{
    const char *of =
        p->request->n == 1 ? sd_heap_type_name(p->g, p->objects[0]) : "these objects";

    *out = (struct sd_view_graph){ .unit = "", .subtitle = "" };
    out->nodes = sd_arena_alloc(p->arena, (p->n + 1) * sizeof *out->nodes);
    out->edges = sd_arena_alloc(p->arena, (p->n_edges + 1) * sizeof *out->edges);
    out->title = sd_arena_printf(p->arena, "What %s%s%s",
                                 p->request->is_backwards ? "refers to " : "", of,
                                 p->request->is_backwards ? ""
                                 : p->request->n == 1     ? " refers to"
                                                          : " refer to");
    if (!out->nodes || !out->edges || !out->title)
        return sd_no_memory();
    for (uint32_t i = 0; i < p->n; i++) {
        struct sd_graph_node *node = &out->nodes[i];

        node->name = node->function = sd_heap_type_name(p->g, p->objects[i]);
        node->file = "~";
        node->label = label_of_box(p, i);
        node->weight = is_asked(p, i) ? 1 : 1.0 / (p->depths[i] + 2);
        node->total = node->weight;
        if (!node->label)
            return sd_no_memory();
    }
    if (p->n_edges) {
        qsort(p->edges, p->n_edges, sizeof *p->edges, by_ends);
        memcpy(out->edges, p->edges, p->n_edges * sizeof *p->edges);
    }
    out->n_nodes = out->n_all_nodes = p->n;
    out->n_edges = out->n_all_edges = p->n_edges;
    return 0;
}

int sd_heap_picture_make(struct sd_heap_reach *r,
                         const struct sd_heap_picture_request *request,
                         struct sd_arena *a, struct sd_view_graph *out)
{
    struct picture *p = sd_zalloc(sizeof *p);
    uint32_t box;
    int rc = p ? 0 : sd_no_memory();

    if (rc == 0 && request->is_backwards)
        rc = sd_heap_reach_referrers(r);
    if (rc == 0) {
        p->r = r;
        p->g = r->graph;
        p->request = request;
        p->arena = a;
    }
    for (uint32_t i = 0; i < request->n && rc == 0; i++)
        rc = box_of(p, request->objects[i], 0, &box);
    for (uint32_t i = 0; rc == 0 && i < p->n; i++)
        if (p->depths[i] < request->depth && !is_end(p, p->objects[i]))
            rc = expand(p, i);
    if (rc == 0)
        rc = put(p, out);
    if (p) {
        sd_table_release(&p->boxes);
        sd_free(p->edges);
    }
    sd_free(p);
    return rc;
}
