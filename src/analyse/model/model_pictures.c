/* SPDX-License-Identifier: MIT */
/* model_pictures: makes bars and a map of a model's layers. */
#include <string.h>

#include "analyse/model/model_view.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

static enum sd_cell_kind kind_of(enum sd_model_metric k)
{
    switch (sd_model_metric_unit(k)) {
    case SD_MODEL_COUNT:
    case SD_MODEL_ELEMENTS:
        return SD_CELL_COUNT;
    case SD_MODEL_BYTES:
        return SD_CELL_BYTES;
    case SD_MODEL_NS:
        return SD_CELL_NS;
    }
    return SD_CELL_COUNT;
}

/* An amount that was not measured is none. */
static double amount(const struct sd_model_sum *s, enum sd_model_metric k)
{
    int64_t v = sd_model_metric_of(s, k);

    return v > 0 ? (double)v : 0;
}

int sd_model_pictures_not_measured(enum sd_model_metric k)
{
    const char *how = k == SD_BY_ACTIVATION_BYTES ? "--memory"
                      : k == SD_BY_BACKWARD_TIME  ? "--runtime --backward"
                                                  : "--runtime";

    return sd_fail(
        SD_EUSAGE,
        "%s of this model was not measured; for a model of a program %s measures it",
        sd_model_metric_title(k), how);
}

/* What all of it has; `mode` (NULL: not told) is how the MACs are counted.  Weights
 * alone compute nothing that is known. */
static const char *sums_text(const struct sd_model_costs *c, struct sd_arena *a,
                             const char *mode)
{
    char params[SD_TEXT_MAX], macs[SD_TEXT_MAX];

    sd_text_count(params, c->total.params);
    if (!sd_model_knows_operators(c->model))
        return sd_arena_printf(a, "%s parameters", params);
    return sd_arena_printf(a, "%s parameters, %s MACs%s%s", params,
                           sd_text_count(macs, c->total.macs),
                           mode ? "; counted as: " : "", mode ? mode : "");
}

/* --- Bars */

struct making {
    const struct sd_model_costs *costs;
    const struct sd_view_request *request;
    struct sd_arena *arena;
    struct sd_view_bars *out;
    enum sd_model_bars_kind kind;
    double whole;
};

static void add_bar(struct making *k, const char *name, const char *about,
                    const struct sd_model_sum *sum)
{
    struct sd_bar *b = &k->out->bars[k->out->n_bars++];
    double v = amount(sum, k->request->model_metric);

    *b = (struct sd_bar){ .name = name, .about = about, .values = { v, 0 } };
    if (k->kind == SD_MODEL_BARS_IMPACT)
        b->values[0] = k->whole > 0 ? 100 * v / k->whole : 0;
    if (k->kind == SD_MODEL_BARS_MEMORY) {
        b->values[0] = (double)sum->mem_read;
        b->values[1] = (double)sum->mem_write;
    }
}

static bool is_bar(const struct making *k, const struct sd_model_row *row)
{
    const struct sd_model *m = k->costs->model;

    if (k->request->type &&
        strcmp(sd_model_text(m, m->layers[row->layer].type), k->request->type) != 0)
        return false;
    return k->kind != SD_MODEL_BARS_IMPACT ||
           sd_model_metric_of(&row->sum, k->request->model_metric) > 0;
}

static int add_layers(struct making *k, bool is_sorted)
{
    const struct sd_model_costs *c = k->costs;
    uint32_t *order = sd_alloc((c->n_rows + 1) * sizeof *order);

    if (!order)
        return sd_no_memory();
    for (uint32_t i = 0; i < c->n_rows; i++)
        order[i] = i;
    if (is_sorted)
        sd_model_metric_order(c, k->request->model_metric, SD_MODEL_LARGEST_FIRST,
                              order);
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct sd_model_row *row = &c->rows[order[i]];

        if (is_bar(k, row))
            add_bar(k, sd_model_words_layer(c->model, row->layer),
                    sd_model_text(c->model, c->model->layers[row->layer].type),
                    &row->sum);
    }
    sd_free(order);
    return 0;
}

static void add_types(struct making *k)
{
    const struct sd_model_costs *c = k->costs;

    for (size_t i = 0; i < c->n_types; i++)
        add_bar(k, sd_model_text(c->model, c->types[i].name), NULL, &c->types[i].sum);
}

static int cut(struct making *k)
{
    struct sd_view_bars *b = k->out;
    size_t most = k->request->limit ? k->request->limit : SD_BARS_MAX;
    char n[SD_TEXT_MAX];

    most = most < SD_BARS_MAX ? most : SD_BARS_MAX;
    if (b->n_bars <= most)
        return 0;
    b->note = sd_arena_printf(k->arena, "%s more are not drawn",
                              sd_text_count(n, (int64_t)(b->n_bars - most)));
    b->n_bars = most;
    return b->note ? 0 : sd_no_memory();
}

static const char *bars_title(struct making *k)
{
    const char *what = sd_model_metric_title(k->request->model_metric);
    const char *model = sd_model_words_title(k->costs->model);
    const char *of = k->request->type ? k->request->type : "layers";

    switch (k->kind) {
    case SD_MODEL_BARS_TOP:
        return sd_arena_printf(k->arena, "%s: the %s with most %s", model, of, what);
    case SD_MODEL_BARS_IMPACT:
        return sd_arena_printf(k->arena, "%s: share of %s in all %s", model, of, what);
    case SD_MODEL_BARS_LAYERS:
        return sd_arena_printf(k->arena, "%s: %s of %s, as they run", model, what, of);
    case SD_MODEL_BARS_MEMORY:
        return sd_arena_printf(k->arena, "%s: elements that %s read and write", model,
                               of);
    case SD_MODEL_BARS_TYPES:
        return sd_arena_printf(k->arena, "%s: %s by type of layer", model, what);
    }
    return NULL;
}

static int set_words(struct making *k)
{
    struct sd_view_bars *b = k->out;

    b->title = bars_title(k);
    b->subtitle = sums_text(k->costs, k->arena, sd_model_mode_name(k->costs->mode));
    b->n_series = 1;
    b->series[0] = sd_model_metric_title(k->request->model_metric);
    b->kind = kind_of(k->request->model_metric);
    if (k->kind == SD_MODEL_BARS_IMPACT)
        b->kind = SD_CELL_PERCENT;
    if (k->kind == SD_MODEL_BARS_MEMORY) {
        b->n_series = 2;
        b->series[0] = "read: inputs and parameters";
        b->series[1] = "written: outputs";
        b->kind = SD_CELL_COUNT;
    }
    return b->title && b->subtitle ? 0 : sd_no_memory();
}

int sd_model_bars(const struct sd_model_costs *c, enum sd_model_bars_kind kind,
                  const struct sd_view_request *w, struct sd_arena *a,
                  struct sd_view_bars *out)
{
    struct making k = {
        .costs = c, .request = w, .arena = a, .out = out, .kind = kind
    };
    size_t most = c->n_rows > c->n_types ? c->n_rows : c->n_types;
    int rc;

    *out = (struct sd_view_bars){ 0 };
    if (kind != SD_MODEL_BARS_MEMORY &&
        sd_model_metric_of(&c->total, w->model_metric) < 0)
        return sd_model_pictures_not_measured(w->model_metric);
    out->bars = sd_arena_alloc(a, (most + 1) * sizeof *out->bars);
    if (!out->bars)
        return sd_no_memory();
    k.whole = amount(&c->total, w->model_metric);
    rc = set_words(&k);
    if (rc == 0 && kind == SD_MODEL_BARS_TYPES)
        add_types(&k);
    else if (rc == 0)
        rc = add_layers(&k, kind == SD_MODEL_BARS_TOP || kind == SD_MODEL_BARS_IMPACT);
    if (rc == 0 && out->n_bars == 0)
        return sd_fail(
            SD_EABSENT, "%s is 0 for every layer%s%s, so there is nothing to draw%s",
            kind == SD_MODEL_BARS_MEMORY ? "the memory read and written"
                                         : sd_model_metric_title(w->model_metric),
            w->type ? " of type " : "", w->type ? w->type : "",
            kind == SD_MODEL_BARS_MEMORY ? "" : "; choose another metric");
    return rc == 0 ? cut(&k) : rc;
}

/* --- The map */

struct mapping {
    const struct sd_model_costs *costs;
    enum sd_model_metric metric;
    uint32_t n_levels; /* 0: all */
    struct sd_arena *arena;
    struct sd_view_map *out;
    uint32_t *box;          /* of each layer, or UINT32_MAX; owned */
    uint32_t *shown;        /* the layer that stands for each: itself, or the one at the
                               depth asked for that holds it; owned */
    struct sd_table linked; /* pairs of boxes */
};

/* A parent stands before its children, so what stands for it is known first. */
static int prepare(struct mapping *k)
{
    const struct sd_model *m = k->costs->model;

    k->box = sd_alloc(m->n_layers * sizeof *k->box);
    k->shown = sd_alloc(m->n_layers * sizeof *k->shown);
    if (!k->box || !k->shown)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_layers; i++) {
        const struct sd_model_layer *l = &m->layers[i];

        k->box[i] = UINT32_MAX;
        k->shown[i] = k->n_levels > 0 && l->depth >= k->n_levels ? k->shown[l->parent]
                                                                 : (uint32_t)i;
    }
    return 0;
}

/* What lies deeper than is shown belongs to the layer that holds it. */
static bool holds_hidden(const struct mapping *k, uint32_t layer)
{
    return k->n_levels > 0 && k->costs->model->layers[layer].depth + 1u >= k->n_levels;
}

static int fill_box(struct mapping *k, struct sd_map_box *b, uint32_t layer)
{
    const struct sd_model *m = k->costs->model;
    const struct sd_model_sum *sum =
        holds_hidden(k, layer) ? &k->costs->within[layer] : &k->costs->own[layer];
    const struct sd_layer_call *call = m->layers[layer].calls;
    double v = amount(sum, k->metric), whole = amount(&k->costs->total, k->metric);
    const char *shapes = "";
    char text[SD_TEXT_MAX];

    if (call)
        shapes = sd_model_words_operands(k->arena, call->out, call->n_out);
    if (!shapes)
        return sd_no_memory();
    b->name = sd_model_words_layer(m, layer);
    b->about =
        sd_arena_printf(k->arena, "%s%s%s", sd_model_text(m, m->layers[layer].type),
                        *shapes ? "  → " : "", shapes);
    b->share = whole > 0 ? v / whole : 0;
    if (kind_of(k->metric) == SD_CELL_NS)
        sd_text_duration(text, (int64_t)v);
    else if (kind_of(k->metric) == SD_CELL_BYTES)
        sd_text_bytes(text, (int64_t)v);
    else
        sd_text_scaled(text, v);
    b->value =
        v > 0 ? sd_arena_printf(k->arena, "%s, %.1f %%", text, 100 * b->share) : "";
    return b->about && b->value ? 0 : sd_no_memory();
}

static int add_box(struct mapping *k, uint32_t of)
{
    uint32_t layer = k->shown[of];

    if (k->box[layer] != UINT32_MAX)
        return 0;
    k->box[layer] = (uint32_t)k->out->n_boxes;
    return fill_box(k, &k->out->boxes[k->out->n_boxes++], layer);
}

/* A box for every layer that has a row and ran, in that order, and for what else takes
 * part: a block that adds what went round to what went through. */
static int add_boxes(struct mapping *k)
{
    const struct sd_model *m = k->costs->model;
    int rc = 0;

    k->out->boxes = sd_arena_alloc(k->arena, (m->n_layers + 1) * sizeof *k->out->boxes);
    if (!k->out->boxes)
        return sd_no_memory();
    for (size_t i = 0; rc == 0 && i < k->costs->n_rows; i++) {
        uint32_t layer = k->costs->rows[i].layer;

        if (m->layers[layer].order > 0 || !sd_model_knows_operators(m))
            rc = add_box(k, layer);
    }
    for (size_t i = 0; rc == 0 && i < m->n_edges; i++) {
        rc = add_box(k, m->edges[i].from);
        if (rc == 0)
            rc = add_box(k, m->edges[i].to);
    }
    return rc;
}

static int add_link(struct mapping *k, uint32_t from, uint32_t to)
{
    uint64_t pair = (uint64_t)from << 32 | to, unused;
    struct sd_view_map *o = k->out;

    if (from == UINT32_MAX || to == UINT32_MAX || from == to ||
        sd_table_get(&k->linked, pair, &unused))
        return 0;
    o->links[o->n_links++] = (struct sd_map_link){ from, to, NULL };
    return sd_table_put(&k->linked, pair, 1);
}

static int add_links(struct mapping *k)
{
    const struct sd_model *m = k->costs->model;
    size_t most = m->n_edges + k->out->n_boxes + 1;
    int rc = 0;

    k->out->links = sd_arena_alloc(k->arena, most * sizeof *k->out->links);
    if (!k->out->links)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_edges && rc == 0; i++)
        rc = add_link(k, k->box[k->shown[m->edges[i].from]],
                      k->box[k->shown[m->edges[i].to]]);
    if (m->n_edges > 0)
        return rc;
    k->out->note = "lines: the order in which layers ran first";
    for (uint32_t i = 1; i < k->out->n_boxes && rc == 0; i++)
        rc = add_link(k, i - 1, i);
    return rc;
}

static int set_map_words(struct mapping *k)
{
    const char *what = sd_model_metric_title(k->metric);

    k->out->title = sd_model_words_title(k->costs->model);
    k->out->subtitle = sums_text(k->costs, k->arena, NULL);
    k->out->quantity = sd_arena_printf(k->arena, "the redder, the more %s", what);
    return k->out->subtitle && k->out->quantity ? 0 : sd_no_memory();
}

int sd_model_map(const struct sd_model_costs *c, enum sd_model_metric metric,
                 uint32_t n_levels, struct sd_arena *a, struct sd_view_map *out)
{
    struct mapping k = {
        .costs = c, .metric = metric, .n_levels = n_levels, .arena = a, .out = out
    };
    int rc;

    *out = (struct sd_view_map){ 0 };
    if (sd_model_metric_of(&c->total, metric) < 0)
        return sd_model_pictures_not_measured(metric);
    rc = prepare(&k);
    if (rc == 0)
        rc = set_map_words(&k);
    if (rc == 0)
        rc = add_boxes(&k);
    if (rc == 0)
        rc = add_links(&k);
    sd_free(k.box);
    sd_free(k.shown);
    sd_table_release(&k.linked);
    return rc;
}
