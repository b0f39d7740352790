/* SPDX-License-Identifier: MIT */
/* page_map: writes parts and what flows between them, with the places of boxes and the
 * ways of links (report/layout). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/layout/layers.h"
#include "report/json/shape_json.h"
#include "report/page/page_shapes.h"

enum { LEAST_WIDTH = 60, PAD = 10, LINE = 16, NAME_COLUMNS = 60 };
#define LETTER 7.2

static double width_of(const char *text)
{
    size_t columns = text ? sd_text_width(text, strlen(text)) : 0;

    return (double)(columns < NAME_COLUMNS ? columns : NAME_COLUMNS) * LETTER;
}

static struct sd_layers_box box_of(const struct sd_view_map *m, size_t i)
{
    const struct sd_map_box *b = &m->boxes[i];
    double width =
        fmax(width_of(b->name), fmax(width_of(b->about), width_of(b->value)));
    int lines = 1 + (b->about && *b->about) + (b->value && *b->value);

    return (struct sd_layers_box){ .width = fmax(width, LEAST_WIDTH) + 2 * PAD,
                                   .height = lines * LINE + PAD,
                                   .weight = (double)(m->n_boxes - i) };
}

/* `links` is for each line the link it is of. */
static int lay_out(const struct sd_view_map *m, struct sd_arena *a, struct sd_layers *l,
                   size_t **links)
{
    *l = (struct sd_layers){ .n_boxes = m->n_boxes };
    l->boxes = sd_arena_alloc(a, (m->n_boxes + 1) * sizeof *l->boxes);
    l->lines = sd_arena_alloc(a, (m->n_links + 1) * sizeof *l->lines);
    *links = sd_arena_alloc(a, (m->n_links + 1) * sizeof **links);
    if (!l->boxes || !l->lines || !*links)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_boxes; i++)
        l->boxes[i] = box_of(m, i);
    for (size_t i = 0; i < m->n_links; i++) {
        const struct sd_map_link *k = &m->links[i];

        if (k->from == k->to || k->from >= m->n_boxes || k->to >= m->n_boxes)
            continue;
        (*links)[l->n_lines] = i;
        l->lines[l->n_lines++] =
            (struct sd_layers_line){ .from = k->from, .to = k->to, .weight = 1 };
    }
    return sd_layers_lay(l, a);
}

static void put_pixels(struct sd_json *j, double v)
{
    sd_json_real(j, round(v * 10) / 10);
}

static void key_pixels(struct sd_json *j, const char *key, double v)
{
    sd_json_key(j, key);
    put_pixels(j, v);
}

static void put_box(struct sd_json *j, const struct sd_map_box *b,
                    const struct sd_layers_box *at)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", b->name);
    sd_json_key_string(j, "about", b->about);
    sd_json_key_string(j, "value", b->value);
    sd_json_key_real(j, "share", b->share);
    key_pixels(j, "x", at->x);
    key_pixels(j, "y", at->y);
    key_pixels(j, "w", at->width);
    key_pixels(j, "h", at->height);
    sd_json_end(j);
}

static void put_link(struct sd_json *j, const struct sd_map_link *k,
                     const struct sd_layers_line *line)
{
    sd_json_object(j);
    sd_json_key_uint(j, "from", k->from);
    sd_json_key_uint(j, "to", k->to);
    sd_json_key_string(j, "about", k->about);
    sd_json_key_array(j, "points");
    for (size_t i = 0; i < line->n_points; i++) {
        put_pixels(j, line->points[i].x);
        put_pixels(j, line->points[i].y);
    }
    sd_json_end(j);
    sd_json_end(j);
}

int sd_page_put_map(struct sd_payload *p, const struct sd_view_map *m)
{
    struct sd_arena arena = { 0 };
    struct sd_layers l;
    size_t *links;
    int rc = lay_out(m, &arena, &l, &links);

    sd_report_words_json(&p->j, m->title, m->subtitle, m->note);
    sd_json_key_string(&p->j, "quantity", m->quantity);
    key_pixels(&p->j, "width", l.width);
    key_pixels(&p->j, "height", l.height);
    sd_json_key_array(&p->j, "boxes");
    for (size_t i = 0; rc == 0 && i < m->n_boxes; i++)
        put_box(&p->j, &m->boxes[i], &l.boxes[i]);
    sd_json_end(&p->j);
    sd_json_key_array(&p->j, "links");
    for (size_t i = 0; rc == 0 && i < l.n_lines; i++)
        put_link(&p->j, &m->links[links[i]], &l.lines[i]);
    sd_json_end(&p->j);
    sd_arena_release(&arena);
    return rc;
}
