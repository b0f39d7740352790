/* SPDX-License-Identifier: MIT */
#include "report/layout/layers.h"

#include "base/error.h"
#include "base/mem.h"

static int take_boxes(struct sd_layering *g)
{
    const struct sd_layers *l = g->l;

    g->vertices = sd_grow_array(NULL, &g->cap, l->n_boxes + 1, sizeof *g->vertices);
    if (!g->vertices)
        return sd_no_memory();
    for (size_t i = 0; i < l->n_boxes; i++)
        g->vertices[g->n++] = (struct sd_layers_vertex){
            .left = l->boxes[i].width / 2,
            .right = l->boxes[i].width / 2 + l->boxes[i].beside,
            .height = l->boxes[i].height,
            .line = SD_NO_LINE,
        };
    return 0;
}

static void release(struct sd_layering *g)
{
    sd_free(g->vertices);
    sd_free(g->upper);
    sd_free(g->lower);
    sd_free(g->down_first);
    sd_free(g->down);
    sd_free(g->up_first);
    sd_free(g->up);
    sd_free(g->first);
    sd_free(g->order);
    sd_free(g->top);
}

int sd_layers_lay(struct sd_layers *l, struct sd_arena *a)
{
    struct sd_layering g = { .l = l };
    int rc = take_boxes(&g);

    l->width = l->height = 0;
    l->n_layers = 0;
    if (rc == 0)
        rc = sd_layers_rank(&g);
    if (rc == 0)
        rc = sd_layers_order(&g);
    if (rc == 0)
        rc = sd_layers_place(&g);
    if (rc == 0)
        rc = sd_layers_route(&g, a);
    release(&g);
    return rc;
}
