/* SPDX-License-Identifier: MIT */
/* model_layer_tables: layers as rows in the order of their first calls, or as a tree in
 * which each stands behind what holds it.
 *
 * A row of the flat table has what its layer itself did, so that the rows add up to the
 * model; a row of the tree has all that happened inside. */
#include <stdlib.h>
#include <string.h>

#include "analyse/model/model_tables.h"
#include "base/error.h"
#include "base/mem.h"

/* --- As rows */

static bool is_wanted(const struct sd_model *m, uint32_t layer, const char *type)
{
    return !type || strcmp(sd_model_text(m, m->layers[layer].type), type) == 0;
}

static size_t count_wanted(const struct sd_model_costs *c, const char *type)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_rows; i++)
        n += is_wanted(c->model, c->rows[i].layer, type);
    return n;
}

static int no_such_type(const struct sd_model_costs *c, const char *type)
{
    struct sd_buf there = { 0 };
    int rc;

    for (size_t i = 0; i < c->n_types; i++)
        sd_buf_printf(&there, "%s%s", i ? ", " : "",
                      sd_model_text(c->model, c->types[i].name));
    rc = sd_fail(SD_EUSAGE, "no layer is of the type %s; the types are %s", type,
                 sd_buf_string(&there));
    sd_buf_release(&there);
    return rc;
}

int sd_model_table_of_layers(const struct sd_model_costs *c,
                             const struct sd_view_request *w, struct sd_view *v)
{
    size_t n = count_wanted(c, w->type), at = 0;
    struct sd_view_table *t;
    struct sd_model_columns columns;

    if (w->type && n == 0)
        return no_such_type(c, w->type);
    sd_model_columns(c, w, SD_COLUMNS_OF_LAYERS, &columns);
    t = sd_model_columns_add(&columns, v, "layers", n);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct sd_model_row *row = &c->rows[i];

        if (!is_wanted(c->model, row->layer, w->type))
            continue;
        sd_model_columns_fill(
            &columns, t, at++,
            &(struct sd_model_line){ .costs = c,
                                     .request = w,
                                     .arena = &v->arena,
                                     .layer = row->layer,
                                     .name = sd_model_words_layer(c->model, row->layer),
                                     .sum = &row->sum });
    }
    return 0;
}

/* --- As a tree: in the order of their first calls, each behind what holds it */

struct walk {
    const struct sd_model_costs *costs;
    const struct sd_view_request *request;
    uint32_t *first, *next; /* child of each layer, and its next sibling; owned */
    uint32_t *order;        /* layers, depth first; owned */
    int32_t *row;           /* of each layer, or -1; owned */
    size_t n;
};

static void walk_release(struct walk *k)
{
    sd_free(k->first);
    sd_free(k->next);
    sd_free(k->order);
    sd_free(k->row);
}

static int walk_init(struct walk *k)
{
    size_t n = k->costs->model->n_layers;

    k->first = sd_alloc(n * sizeof *k->first);
    k->next = sd_alloc(n * sizeof *k->next);
    k->order = sd_alloc(n * sizeof *k->order);
    k->row = sd_alloc(n * sizeof *k->row);
    if (!k->first || !k->next || !k->order || !k->row)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++) {
        k->first[i] = k->next[i] = UINT32_MAX;
        k->row[i] = -1;
    }
    return 0;
}

static bool comes_before(const struct sd_model *m, uint32_t a, uint32_t b)
{
    uint32_t x = m->layers[a].order, y = m->layers[b].order;

    if (x != y && x && y)
        return x < y;
    return x && !y ? true : !x && y ? false : a < b;
}

static int compare(const void *p, const void *q, void *model)
{
    uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;

    return a == b ? 0 : comes_before(model, a, b) ? -1 : 1;
}

/* All in order, from the last on: each comes before those of its parent that are there
 * already.  The room of `order` is free until they are listed. */
static void link_children(struct walk *k)
{
    const struct sd_model *m = k->costs->model;

    for (uint32_t i = 0; i < m->n_layers; i++)
        k->order[i] = i;
    qsort_r(k->order, m->n_layers, sizeof *k->order, compare, (void *)(uintptr_t)m);
    for (size_t i = m->n_layers; i-- > 0;) {
        uint32_t layer = k->order[i], *first = &k->first[m->layers[layer].parent];

        if (layer == SD_MODEL_ROOT)
            continue;
        k->next[layer] = *first;
        *first = layer;
    }
}

/* Depth first without a stack: down to the first child, else to the next sibling of the
 * nearest that has one. */
static void list_in_order(struct walk *k)
{
    const struct sd_model *m = k->costs->model;
    uint32_t at = SD_MODEL_ROOT, level = 1, most = k->request->n_levels;

    while (k->n < m->n_layers) {
        k->row[at] = (int32_t)k->n;
        k->order[k->n++] = at;
        if (k->first[at] != UINT32_MAX && (!most || level < most)) {
            at = k->first[at];
            level++;
            continue;
        }
        while (at != SD_MODEL_ROOT && k->next[at] == UINT32_MAX) {
            at = m->layers[at].parent;
            level--;
        }
        if (at == SD_MODEL_ROOT)
            return;
        at = k->next[at];
    }
}

static int put_tree(struct walk *k, struct sd_view *v)
{
    const struct sd_model *m = k->costs->model;
    struct sd_view_table *t;
    struct sd_model_columns columns;

    sd_model_columns(k->costs, k->request, SD_COLUMNS_OF_LAYERS, &columns);
    t = sd_model_columns_add(&columns, v, "layers", k->n);
    if (!t)
        return sd_no_memory();
    t->parents = sd_arena_alloc(&v->arena, (k->n + 1) * sizeof *t->parents);
    if (!t->parents)
        return sd_no_memory();
    for (size_t i = 0; i < k->n; i++) {
        uint32_t layer = k->order[i];

        t->parents[i] = layer == SD_MODEL_ROOT ? -1 : k->row[m->layers[layer].parent];
        sd_model_columns_fill(
            &columns, t, i,
            &(struct sd_model_line){ .costs = k->costs,
                                     .request = k->request,
                                     .arena = &v->arena,
                                     .layer = layer,
                                     .name = sd_model_words_short_name(m, layer),
                                     .sum = &k->costs->within[layer] });
    }
    return 0;
}

int sd_model_table_of_tree(const struct sd_model_costs *c,
                           const struct sd_view_request *w, struct sd_view *v)
{
    struct walk k = { .costs = c, .request = w };
    int rc = walk_init(&k);

    if (rc == 0) {
        link_children(&k);
        list_in_order(&k);
        rc = put_tree(&k, v);
    }
    walk_release(&k);
    return rc;
}
