/* SPDX-License-Identifier: MIT */
#include "cli/model/map_size.h"

#include "base/error.h"
#include "base/text.h"

/* Levels as sd_model_map takes them: 1 is the model alone. */
static uint32_t levels_of(const struct sd_model *m)
{
    uint32_t deepest = 0;

    for (size_t i = 0; i < m->n_layers; i++)
        if (m->layers[i].depth > deepest)
            deepest = m->layers[i].depth;
    return deepest + 1;
}

/* With so many levels: 1, or 0, or a failure.  *n_boxes was too many, and is then what
 * it has. */
static int fits(const struct sd_model_costs *c, enum sd_model_metric metric,
                uint32_t n_levels, size_t *n_boxes)
{
    struct sd_arena arena = { 0 };
    struct sd_view_map map;
    int rc = sd_model_map(c, metric, n_levels, &arena, &map);

    /* Levels that join nothing need no second look. */
    if (rc == 0 && map.n_boxes != *n_boxes) {
        *n_boxes = map.n_boxes;
        rc = sd_report_map_fits(&map);
    }
    sd_arena_release(&arena);
    return rc;
}

/* One box for the whole model is no picture of it, so depth 0 is not offered. */
static int too_large(const struct sd_model_costs *c, enum sd_model_metric metric,
                     uint32_t n_levels, size_t n_boxes)
{
    uint32_t all = levels_of(c->model);
    uint32_t at = n_levels > 0 && n_levels < all ? n_levels : all;
    size_t n_tried = n_boxes;
    char n[SD_TEXT_MAX];
    int rc = 0;

    sd_text_count(n, (int64_t)n_boxes);
    while (rc == 0 && --at > 1)
        rc = fits(c, metric, at, &n_tried);
    if (rc < 0)
        return rc;
    if (rc > 0)
        return sd_fail(SD_EUSAGE,
                       "a graph of %s boxes is too large to look at; use --depth %u", n,
                       at - 1);
    return sd_fail(SD_EUSAGE,
                   "a graph of %s boxes is too large to look at, and this model has "
                   "too many layers side by side for any --depth; its tables (without "
                   "--graph) show all of its layers",
                   n);
}

int sd_map_size_check(const struct sd_model_costs *c, const struct sd_view_request *r,
                      const struct sd_drawing *d)
{
    int rc = d->shape == SD_SHAPE_MAP ? sd_report_map_fits(&d->map) : 1;

    if (rc != 0)
        return rc < 0 ? rc : 0;
    return too_large(c, r->model_metric, r->n_levels, d->map.n_boxes);
}
