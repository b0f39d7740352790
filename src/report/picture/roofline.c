/* SPDX-License-Identifier: MIT */
/* roofline: draws operations per second over operations per byte, on logarithmic axes.
 * The roof rises with the bandwidth of memory to the peak of the processor; nothing
 * stands above it but by a mistake of measuring, and then it is drawn there. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "report/picture/canvas.h"
#include "report/report.h"

#ifndef HAVE_CAIRO
int sd_report_roofline(struct sd_out *out, enum sd_picture kind,
                       const struct sd_view_roofline *r, unsigned width)
{
    (void)out;
    (void)kind;
    (void)r;
    (void)width;
    return sd_canvas_lacks_cairo();
}
#else

enum {
    MIN_PIXELS = 300,
    LEFT = 78,
    RIGHT = 24,
    TOP = 74,
    BOTTOM = 66,
    NAMES = 12, /* of the largest layers that are not written over each other */
};

struct sheet {
    struct sd_canvas *canvas;
    const struct sd_view_roofline *of;
    struct sd_box plot;
    double x0, x1, y0, y1; /* powers of ten at the edges */
};

static struct sd_font font(double size, struct sd_colour colour, enum sd_anchor anchor)
{
    return (struct sd_font){ .size = size, .colour = colour, .anchor = anchor };
}

static double roof(const struct sd_view_roofline *r, double intensity)
{
    return fmin(r->peak, r->bandwidth * intensity);
}

static double height_of(const struct sd_view_roofline *r, size_t i)
{
    return r->points[i].rate > 0 ? r->points[i].rate : roof(r, r->points[i].intensity);
}

/* Whole powers of ten around all that is drawn, the corner of the roof included. */
static void find_range(struct sheet *s)
{
    const struct sd_view_roofline *r = s->of;
    double corner = log10(r->peak / r->bandwidth);
    double x0 = corner, x1 = corner, y0 = log10(r->peak), y1 = y0;

    for (size_t i = 0; i < r->n_points; i++) {
        double x = log10(r->points[i].intensity), y = log10(height_of(r, i));

        x0 = fmin(x0, x);
        x1 = fmax(x1, x);
        y0 = fmin(y0, y);
        y1 = fmax(y1, y);
    }
    s->x0 = floor(x0 - 0.3);
    s->x1 = ceil(x1 + 0.3);
    s->y0 = floor(fmin(y0, y1 - 2));
    s->y1 = ceil(y1 + 0.1);
}

static double x_of(const struct sheet *s, double log_x)
{
    return s->plot.x + (log_x - s->x0) / (s->x1 - s->x0) * s->plot.w;
}

static double y_of(const struct sheet *s, double log_y)
{
    return s->plot.y + s->plot.h - (log_y - s->y0) / (s->y1 - s->y0) * s->plot.h;
}

static void draw_words(struct sheet *s, double height)
{
    const struct sd_view_roofline *r = s->of;
    struct sd_font title = font(16, SD_INK, SD_ANCHOR_START);
    struct sd_font small = font(12, SD_GREY, SD_ANCHOR_START);
    double room = s->plot.x + s->plot.w - 18;

    sd_canvas_text(s->canvas, 18, 30, sd_canvas_fit(s->canvas, r->title, &title, room),
                   &title);
    if (r->subtitle)
        sd_canvas_text(s->canvas, 18, 52,
                       sd_canvas_fit(s->canvas, r->subtitle, &small, room), &small);
    if (r->note)
        sd_canvas_text(s->canvas, 18, height - 8,
                       sd_canvas_fit(s->canvas, r->note, &small, room), &small);
}

static void draw_axes(struct sheet *s)
{
    struct sd_font below = font(11, SD_GREY, SD_ANCHOR_MIDDLE);
    struct sd_font beside = font(11, SD_GREY, SD_ANCHOR_END);
    double low = s->plot.y + s->plot.h, right = s->plot.x + s->plot.w;
    char text[SD_TEXT_MAX + 8], number[SD_TEXT_MAX];

    for (double p = s->x0; p <= s->x1; p++) {
        double x = x_of(s, p);

        sd_canvas_line(s->canvas, x, s->plot.y, x, low, 1, SD_GRID);
        snprintf(text, sizeof text, "%g", pow(10, p));
        sd_canvas_text(s->canvas, x, low + 16, text, &below);
    }
    for (double p = s->y0; p <= s->y1; p++) {
        double y = y_of(s, p);

        sd_canvas_line(s->canvas, s->plot.x, y, right, y, 1, SD_GRID);
        snprintf(text, sizeof text, "%s", sd_text_scaled(number, pow(10, p)));
        sd_canvas_text(s->canvas, s->plot.x - 7, y + 4, text, &beside);
    }
    sd_canvas_text(s->canvas, s->plot.x + s->plot.w / 2, low + 34,
                   "FLOPs for each byte read or written", &below);
    below.is_upwards = true;
    sd_canvas_text(s->canvas, 18, s->plot.y + s->plot.h / 2, "FLOPs a second", &below);
}

static void draw_roof(struct sheet *s)
{
    const struct sd_view_roofline *r = s->of;
    double corner = log10(r->peak / r->bandwidth);

    sd_canvas_clip(s->canvas, s->plot);
    sd_canvas_begin(s->canvas, x_of(s, s->x0), y_of(s, s->x0 + log10(r->bandwidth)));
    sd_canvas_to(s->canvas, x_of(s, corner), y_of(s, log10(r->peak)));
    sd_canvas_to(s->canvas, x_of(s, s->x1), y_of(s, log10(r->peak)));
    sd_canvas_stroke(s->canvas, 2, SD_RGB(0x0b5394));
    sd_canvas_unclip(s->canvas);
}

static double radius_of(const struct sd_roofline_point *p)
{
    return 3 + 14 * sqrt(fmax(p->share, 0));
}

static void draw_points(struct sheet *s)
{
    const struct sd_view_roofline *r = s->of;

    for (size_t i = 0; i < r->n_points; i++)
        sd_canvas_dot(s->canvas, x_of(s, log10(r->points[i].intensity)),
                      y_of(s, log10(height_of(r, i))), radius_of(&r->points[i]),
                      SD_RGBA(0xd98032, 0.7));
}

/* The largest ones, each where none was written before. */
static void draw_names(struct sheet *s)
{
    const struct sd_view_roofline *r = s->of;
    struct sd_font f = font(11, SD_INK, SD_ANCHOR_START);
    double taken[NAMES][2], below = 2;
    size_t n = 0;

    while (n < NAMES) {
        size_t best = r->n_points;
        double x, y;
        bool is_free = true;

        for (size_t i = 0; i < r->n_points; i++)
            if (r->points[i].share < below &&
                (best == r->n_points || r->points[i].share > r->points[best].share))
                best = i;
        if (best == r->n_points)
            return;
        below = r->points[best].share;
        x = x_of(s, log10(r->points[best].intensity)) + radius_of(&r->points[best]) + 4;
        y = y_of(s, log10(height_of(r, best))) + 4;
        for (size_t i = 0; i < n; i++)
            is_free &= fabs(taken[i][1] - y) > 13 || fabs(taken[i][0] - x) > 140;
        taken[n][0] = x;
        taken[n++][1] = y;
        if (is_free)
            sd_canvas_text(s->canvas, x, y,
                           sd_canvas_fit(s->canvas, r->points[best].name, &f,
                                         s->plot.x + s->plot.w - x),
                           &f);
    }
}

int sd_report_roofline(struct sd_out *out, enum sd_picture kind,
                       const struct sd_view_roofline *r, unsigned width)
{
    struct sheet s = { .of = r };
    unsigned height = width * 5 / 8 + TOP;
    int rc;

    rc = sd_canvas_check_width(width, MIN_PIXELS);
    if (rc < 0)
        return rc;
    s.plot = (struct sd_box){ LEFT, TOP, (double)width - LEFT - RIGHT,
                              (double)height - TOP - BOTTOM };
    find_range(&s);
    rc = sd_canvas_open(kind, width, height, r->title, &s.canvas);
    if (rc < 0)
        return rc;
    sd_canvas_fill_box(s.canvas, (struct sd_box){ 0, 0, width, height },
                       SD_RGB(0xffffff));
    draw_words(&s, height);
    draw_axes(&s);
    draw_roof(&s);
    draw_points(&s);
    draw_names(&s);
    return sd_canvas_close(s.canvas, 0, out);
}
#endif
