/* SPDX-License-Identifier: MIT */
/* map: draws parts of something and what flows between them as boxes and lines.
 *
 * The layout is that of call graphs (layers.h), the sheet that of plots (canvas.h), so
 * that it can be a picture of any kind.  A box is the redder, the larger its share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/layout/layers.h"
#include "report/picture/canvas.h"
#include "report/report.h"

#ifndef HAVE_CAIRO
int sd_report_map(struct sd_out *out, enum sd_picture kind, const struct sd_view_map *m)
{
    (void)out;
    (void)kind;
    (void)m;
    return sd_canvas_lacks_cairo();
}

int sd_report_map_fits(const struct sd_view_map *m)
{
    (void)m;
    return sd_canvas_lacks_cairo();
}
#else

enum {
    MARGIN = 20,
    HEAD = 76,
    FOOT = 30,
    LEAST_WIDTH = 460,
    PAD = 10,
    LINE = 15,
    NAME_COLUMNS = 60,
    CURVE = 12, /* straight pieces of a curve */
    /* What cairo and browsers still draw; more is said to be too much. */
    MOST_PIXELS = 30000,
};

static const struct sd_colour line_colour = { 0.45, 0.48, 0.52, 1 };

struct drawing {
    struct sd_canvas *canvas;
    const struct sd_view_map *of;
    struct sd_layers layers;
    struct sd_arena arena;
    double x, y; /* where the layout's 0, 0 is on the sheet */
    double most; /* the largest share */
};

/* Letters are measured by their columns: there is no sheet to measure them on before
 * its size is known. */
static double width_of(const char *text, double size)
{
    size_t columns = text ? sd_text_width(text, strlen(text)) : 0;

    return (double)(columns < NAME_COLUMNS ? columns : NAME_COLUMNS) * size * 0.6;
}

static double lines_of(const struct sd_map_box *b)
{
    return 1 + (b->about && *b->about) + (b->value && *b->value);
}

static int lay(struct drawing *d)
{
    const struct sd_view_map *m = d->of;
    struct sd_layers *l = &d->layers;

    l->boxes = sd_arena_alloc(&d->arena, (m->n_boxes + 1) * sizeof *l->boxes);
    l->lines = sd_arena_alloc(&d->arena, (m->n_links + 1) * sizeof *l->lines);
    if (!l->boxes || !l->lines)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_boxes; i++) {
        const struct sd_map_box *b = &m->boxes[i];
        double width = fmax(width_of(b->name, 12.5),
                            fmax(width_of(b->about, 11), width_of(b->value, 11)));

        l->boxes[i] = (struct sd_layers_box){ .width = fmax(width, 60) + 2 * PAD,
                                              .height = lines_of(b) * LINE + PAD,
                                              .weight = (double)(m->n_boxes - i) };
        d->most = fmax(d->most, b->share);
    }
    for (size_t i = 0; i < m->n_links; i++) {
        const struct sd_map_link *k = &m->links[i];

        if (k->from == k->to || k->from >= m->n_boxes || k->to >= m->n_boxes)
            continue;
        l->lines[l->n_lines++] = (struct sd_layers_line){
            .from = k->from,
            .to = k->to,
            .weight = 1,
            .label_width = k->about ? width_of(k->about, 10.5) + 8 : 0,
            .label_height = k->about ? LINE : 0,
        };
    }
    l->n_boxes = m->n_boxes;
    return sd_layers_lay(l, &d->arena);
}

/* From near white over yellow to red; the text on it stays dark, so red is light. */
static struct sd_colour colour_of(double share)
{
    double t = share > 0 ? sqrt(fmin(share, 1)) : 0;

    if (share <= 0)
        return SD_RGB(0xf2f3f4);
    return (struct sd_colour){ 1, 0.96 - 0.52 * t, 0.80 - 0.48 * t, 1 };
}

/* --- Lines */

static void curve_to(struct drawing *d, const struct sd_layers_point *a,
                     const struct sd_layers_point *b)
{
    double middle = (a->y + b->y) / 2;

    for (int i = 1; i <= CURVE; i++) {
        double t = (double)i / CURVE, u = 1 - t;
        double x =
            (u * u * u + 3 * u * u * t) * a->x + (3 * u * t * t + t * t * t) * b->x;
        double y = u * u * u * a->y + 3 * u * u * t * middle + 3 * u * t * t * middle +
                   t * t * t * b->y;

        sd_canvas_to(d->canvas, d->x + x, d->y + y);
    }
}

static void draw_head(struct drawing *d, const struct sd_layers_point *tip, bool is_up)
{
    double back = is_up ? 7 : -7;

    sd_canvas_begin(d->canvas, d->x + tip->x, d->y + tip->y);
    sd_canvas_to(d->canvas, d->x + tip->x - 4, d->y + tip->y + back);
    sd_canvas_to(d->canvas, d->x + tip->x + 4, d->y + tip->y + back);
    sd_canvas_fill(d->canvas, line_colour);
}

static void draw_line(struct drawing *d, const struct sd_layers_line *l)
{
    const struct sd_layers_point *p = l->points;

    if (l->n_points < 2)
        return;
    sd_canvas_begin(d->canvas, d->x + p[0].x, d->y + p[0].y);
    for (size_t i = 1; i < l->n_points; i++) {
        if (i % 2 == 0) /* from one layer to the next; the others are inside one */
            curve_to(d, &p[i - 1], &p[i]);
        else
            sd_canvas_to(d->canvas, d->x + p[i].x, d->y + p[i].y);
    }
    sd_canvas_stroke(d->canvas, 1.2, line_colour);
    draw_head(d, &p[l->n_points - 1], l->is_turned);
}

static void draw_labels(struct drawing *d)
{
    struct sd_font f = { .size = 10.5, .colour = SD_GREY, .anchor = SD_ANCHOR_START };
    size_t at = 0;

    for (size_t i = 0; i < d->of->n_links; i++) {
        const struct sd_map_link *k = &d->of->links[i];

        if (k->from == k->to || k->from >= d->of->n_boxes || k->to >= d->of->n_boxes)
            continue;
        if (k->about)
            sd_canvas_text(d->canvas, d->x + d->layers.lines[at].label_x + 4,
                           d->y + d->layers.lines[at].label_y + 4, k->about, &f);
        at++;
    }
}

/* --- Boxes */

static void draw_box(struct drawing *d, size_t i)
{
    const struct sd_map_box *b = &d->of->boxes[i];
    const struct sd_layers_box *at = &d->layers.boxes[i];
    struct sd_box box = { d->x + at->x - at->width / 2, d->y + at->y - at->height / 2,
                          at->width, at->height };
    struct sd_font name = {
        .size = 12.5, .is_bold = true, .colour = SD_INK, .anchor = SD_ANCHOR_MIDDLE
    };
    struct sd_font small = { .size = 11, .colour = SD_INK, .anchor = SD_ANCHOR_MIDDLE };
    double x = d->x + at->x, y = box.y + LINE + 1, room = at->width - 8;

    sd_canvas_fill_box(d->canvas, box, SD_RGB(0x9aa0a6));
    sd_canvas_fill_box(d->canvas,
                       (struct sd_box){ box.x + 1, box.y + 1, box.w - 2, box.h - 2 },
                       colour_of(d->most > 0 ? b->share / d->most : 0));
    sd_canvas_text(d->canvas, x, y, sd_canvas_fit(d->canvas, b->name, &name, room),
                   &name);
    if (b->about && *b->about)
        sd_canvas_text(d->canvas, x, y += LINE,
                       sd_canvas_fit(d->canvas, b->about, &small, room), &small);
    if (b->value && *b->value)
        sd_canvas_text(d->canvas, x, y + LINE,
                       sd_canvas_fit(d->canvas, b->value, &small, room), &small);
}

/* --- The sheet */

static void draw_words(struct drawing *d, double width, double height)
{
    const struct sd_view_map *m = d->of;
    struct sd_font title = { .size = 16, .colour = SD_INK };
    struct sd_font small = { .size = 12, .colour = SD_GREY };
    double room = width - 2 * MARGIN;

    sd_canvas_fill_box(d->canvas, (struct sd_box){ 0, 0, width, height },
                       SD_RGB(0xffffff));
    sd_canvas_text(d->canvas, MARGIN, 30,
                   sd_canvas_fit(d->canvas, m->title, &title, room), &title);
    if (m->subtitle)
        sd_canvas_text(d->canvas, MARGIN, 50,
                       sd_canvas_fit(d->canvas, m->subtitle, &small, room), &small);
    if (m->quantity)
        sd_canvas_text(d->canvas, MARGIN, 66,
                       sd_canvas_fit(d->canvas, m->quantity, &small, room), &small);
    if (m->note)
        sd_canvas_text(d->canvas, MARGIN, height - 10, m->note, &small);
}

static double width_of_sheet(const struct drawing *d)
{
    return fmax(d->layers.width + 2 * MARGIN, LEAST_WIDTH);
}

static double height_of_sheet(const struct drawing *d)
{
    return d->layers.height + HEAD + FOOT;
}

static bool is_small_enough(const struct drawing *d)
{
    return width_of_sheet(d) <= MOST_PIXELS && height_of_sheet(d) <= MOST_PIXELS;
}

static int draw(struct drawing *d, enum sd_picture kind, struct sd_out *out)
{
    double width = width_of_sheet(d), height = height_of_sheet(d);
    int rc;

    if (!is_small_enough(d))
        return sd_fail(
            SD_EUSAGE,
            "a graph of %zu boxes is too large to look at; use a smaller --depth",
            d->of->n_boxes);
    rc = sd_canvas_open(kind, (unsigned)width, (unsigned)height, d->of->title,
                        &d->canvas);
    if (rc < 0)
        return rc;
    d->x = (width - d->layers.width) / 2;
    d->y = HEAD;
    draw_words(d, width, height);
    for (size_t i = 0; i < d->layers.n_lines; i++)
        draw_line(d, &d->layers.lines[i]);
    draw_labels(d);
    for (size_t i = 0; i < d->of->n_boxes; i++)
        draw_box(d, i);
    return sd_canvas_close(d->canvas, 0, out);
}

int sd_report_map(struct sd_out *out, enum sd_picture kind, const struct sd_view_map *m)
{
    struct drawing d = { .of = m };
    int rc = lay(&d);

    if (rc == 0)
        rc = draw(&d, kind, out);
    sd_arena_release(&d.arena);
    return rc;
}

int sd_report_map_fits(const struct sd_view_map *m)
{
    struct drawing d = { .of = m };
    int rc = lay(&d);

    if (rc == 0)
        rc = is_small_enough(&d);
    sd_arena_release(&d.arena);
    return rc;
}
#endif
