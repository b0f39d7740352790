/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_view.h"

#include <string.h>

#include "analyse/model/model_tables.h"
#include "base/error.h"
#include "base/mem.h"

/* --- Types, operators, and what has no rule */

/* Rows that have a name and a sum: of all there are, or of those without a rule. */
static int add_named(const struct sd_model_costs *c, const struct sd_view_request *w,
                     struct sd_view *v, const char *name)
{
    bool is_types = strcmp(name, "types") == 0;
    bool is_unknown_only = strcmp(name, "unsupported") == 0;
    const struct sd_model_group *from = is_types ? c->types : c->operators;
    size_t n = is_types ? c->n_types : c->n_operators, n_rows = 0, at = 0;
    struct sd_view_table *t;
    struct sd_model_columns columns;

    for (size_t i = 0; i < n; i++)
        n_rows += !is_unknown_only || from[i].sum.n_unknown > 0;
    sd_model_columns(c, w, is_types ? SD_COLUMNS_OF_TYPES : SD_COLUMNS_OF_OPERATORS,
                     &columns);
    t = sd_model_columns_add(&columns, v, name, n_rows);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        if (!is_unknown_only || from[i].sum.n_unknown > 0)
            sd_model_columns_fill(
                &columns, t, at++,
                &(struct sd_model_line){ .costs = c,
                                         .request = w,
                                         .arena = &v->arena,
                                         .layer = UINT32_MAX,
                                         .name = sd_model_text(c->model, from[i].name),
                                         .sum = &from[i].sum,
                                         .known = from[i].known });
    return 0;
}

/* The newest table of the view, sorted and cut. */
static int finish(const struct sd_view_request *w, struct sd_view *v, int rc)
{
    bool is_layers, is_impact, has_key = false;
    const char *key = w->sort ? w->sort[0] : NULL;
    struct sd_view_table *t;

    if (rc < 0)
        return rc;
    t = &v->tables[v->n_tables - 1];
    is_layers = strcmp(t->name, "layers") == 0;
    is_impact = w->has_impact && is_layers;
    if (is_impact)
        key = "share%";
    for (size_t k = 0; key && k < t->n_columns; k++)
        has_key |= strcmp(t->columns[k].name, key + (*key == '-')) == 0;
    /* A column that only layers have is no error of the table of types. */
    if (key && !has_key && !is_layers)
        key = NULL;
    rc = sd_view_table_sort(v, t, key, is_impact ? 0 : w->limit);
    if (rc == 0 && is_impact) {
        sd_model_columns_add_up(t);
        rc = sd_view_table_sort(v, t, NULL, w->limit);
    }
    return rc;
}

int sd_model_view_layers(const struct sd_model_costs *c,
                         const struct sd_view_request *r, struct sd_view *v)
{
    return finish(r, v,
                  r->is_tree ? sd_model_table_of_tree(c, r, v)
                             : sd_model_table_of_layers(c, r, v));
}

int sd_model_view_types(const struct sd_model_costs *c, const struct sd_view_request *r,
                        struct sd_view *v)
{
    return finish(r, v, add_named(c, r, v, "types"));
}

int sd_model_view_operators(const struct sd_model_costs *c,
                            const struct sd_view_request *r, struct sd_view *v)
{
    return finish(r, v, add_named(c, r, v, "operators"));
}

int sd_model_view_unsupported(const struct sd_model_costs *c,
                              const struct sd_view_request *r, struct sd_view *v)
{
    return finish(r, v, add_named(c, r, v, "unsupported"));
}

int sd_model_view_tensors(const struct sd_model_costs *c,
                          const struct sd_view_request *r, struct sd_view *v)
{
    return finish(r, v, sd_model_table_of_tensors(c, v));
}

int sd_model_view_dtypes(const struct sd_model_costs *c,
                         const struct sd_view_request *r, struct sd_view *v)
{
    return finish(r, v, sd_model_table_of_dtypes(c, v));
}

/* --- Pictures */

static int add_bars(const struct sd_model_costs *c, const struct sd_view_request *r,
                    struct sd_view *v, const char *name, enum sd_model_bars_kind kind)
{
    struct sd_drawing *d = sd_view_draw(v, name, SD_SHAPE_BARS);

    return d ? sd_model_bars(c, kind, r, &v->arena, &d->bars) : SD_ENOMEM;
}

int sd_model_view_top_bars(const struct sd_model_costs *c,
                           const struct sd_view_request *r, struct sd_view *v)
{
    return add_bars(c, r, v, "top_bars", SD_MODEL_BARS_TOP);
}

int sd_model_view_impact_bars(const struct sd_model_costs *c,
                              const struct sd_view_request *r, struct sd_view *v)
{
    return add_bars(c, r, v, "impact_bars", SD_MODEL_BARS_IMPACT);
}

int sd_model_view_layer_bars(const struct sd_model_costs *c,
                             const struct sd_view_request *r, struct sd_view *v)
{
    return add_bars(c, r, v, "layer_bars", SD_MODEL_BARS_LAYERS);
}

int sd_model_view_memory_bars(const struct sd_model_costs *c,
                              const struct sd_view_request *r, struct sd_view *v)
{
    return add_bars(c, r, v, "memory_bars", SD_MODEL_BARS_MEMORY);
}

int sd_model_view_type_bars(const struct sd_model_costs *c,
                            const struct sd_view_request *r, struct sd_view *v)
{
    return add_bars(c, r, v, "type_bars", SD_MODEL_BARS_TYPES);
}

int sd_model_view_roofline(const struct sd_model_costs *c,
                           const struct sd_view_request *r, struct sd_view *v)
{
    struct sd_drawing *d = sd_view_draw(v, "roofline", SD_SHAPE_ROOFLINE);

    return d ? sd_model_roofline(c, r, &v->arena, &d->roofline) : SD_ENOMEM;
}

int sd_model_view_layer_map(const struct sd_model_costs *c,
                            const struct sd_view_request *r, struct sd_view *v)
{
    struct sd_drawing *d = sd_view_draw(v, "map", SD_SHAPE_MAP);

    return d ? sd_model_map(c, r->model_metric, r->n_levels, &v->arena, &d->map)
             : SD_ENOMEM;
}
