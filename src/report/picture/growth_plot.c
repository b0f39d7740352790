/* SPDX-License-Identifier: MIT */
/* growth_plot: draws how the time of functions grows with size, a panel for each.
 *
 * Both axes are logarithmic, so a power is a straight line and its exponent the slope.
 * Dots are what was measured; the curve through them is whole as far as it was
 * measured and dashed beyond.  A thin line through the largest size shows what linear
 * would be. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "report/picture/canvas.h"
#include "report/report.h"

#ifndef HAVE_CAIRO
int sd_report_growth(struct sd_out *out, enum sd_picture kind,
                     const struct sd_view_growth *g, unsigned width)
{
    (void)out;
    (void)kind;
    (void)g;
    (void)width;
    return sd_canvas_lacks_cairo();
}
#else

enum {
    MIN_PIXELS = 200,
    MARGIN = 18,
    TITLE = 46,  /* pixels above the panels */
    PANEL = 330, /* height of one */
    NOTE = 24,
    COLUMNS = 2,
    LEFT = 78, /* inside a panel, around its axes */
    RIGHT = 16,
    ABOVE = 46,
    BELOW = 50,
};

static const struct sd_colour frame = { 0.62, 0.64, 0.67, 1 };
static const unsigned plain_colour = 0x0b5394, flagged_colour = 0xc0392b;

/* One panel on the sheet; axes in decimal logarithms. */
struct panel {
    struct sd_canvas *canvas;
    const struct sd_growth_panel *of;
    struct sd_box box, area;
    double x0, x1, y0, y1;
};

static struct sd_font font(double size, struct sd_colour colour, enum sd_anchor anchor)
{
    return (struct sd_font){ .size = size, .colour = colour, .anchor = anchor };
}

static double x_of(const struct panel *p, double n)
{
    return p->area.x + (log10(n) - p->x0) / (p->x1 - p->x0) * p->area.w;
}

static double y_of(const struct panel *p, double ns)
{
    return p->area.y + p->area.h - (log10(ns) - p->y0) / (p->y1 - p->y0) * p->area.h;
}

/* --- Axes */

static void include(const struct sd_growth_mark *m, size_t n, struct panel *p)
{
    for (size_t i = 0; i < n; i++) {
        p->x0 = fmin(p->x0, log10(m[i].n));
        p->x1 = fmax(p->x1, log10(m[i].n));
        p->y0 = fmin(p->y0, log10(m[i].ns));
        p->y1 = fmax(p->y1, log10(m[i].ns));
    }
}

static void find_axes(struct panel *p)
{
    p->x0 = p->y0 = INFINITY;
    p->x1 = p->y1 = -INFINITY;
    include(p->of->points, p->of->n_points, p);
    include(p->of->curve, p->of->n_curve, p);
    p->x0 -= 0.08;
    p->x1 += 0.04;
    p->y0 -= 0.15 + fmax(0, 0.5 - (p->y1 - p->y0)); /* what is constant stays flat */
    p->y1 += 0.15;
}

/* "100 µs": a power of ten in nanoseconds, as people say it. */
static void time_text(char out[SD_TEXT_MAX], int power)
{
    static const char *const units[] = { "ns", "µs", "ms", "s" };
    int unit = power < 0 ? 0 : power / 3 > 3 ? 3 : power / 3;

    snprintf(out, SD_TEXT_MAX, "%.10g %s", pow(10, power - 3 * unit), units[unit]);
}

static void count_text(char out[SD_TEXT_MAX], int power)
{
    if (power <= 7)
        sd_text_count(out, (int64_t)pow(10, power));
    else
        snprintf(out, SD_TEXT_MAX, "1e%d", power);
}

/* Every power of ten, or every second or third where there are many. */
static int step_of(double from, double to, double pixels, double each)
{
    int step = (int)ceil((to - from) * each / pixels);

    return step < 1 ? 1 : step;
}

static void draw_x_axis(const struct panel *p)
{
    struct sd_font f = font(11, SD_GREY, SD_ANCHOR_MIDDLE);
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_MIDDLE);
    double low = p->area.y + p->area.h;
    int step = step_of(p->x0, p->x1, p->area.w, 84);
    char text[SD_TEXT_MAX];

    for (int at = (int)ceil(p->x0); at <= p->x1; at += step) {
        double x = x_of(p, pow(10, at));

        sd_canvas_line(p->canvas, x, p->area.y, x, low, 1, SD_GRID);
        count_text(text, at);
        sd_canvas_text(p->canvas, x, low + 16, text, &f);
    }
    sd_canvas_line(p->canvas, p->area.x, low, p->area.x + p->area.w, low, 1, frame);
    sd_canvas_text(p->canvas, p->area.x + p->area.w / 2, low + 35,
                   sd_canvas_fit(p->canvas, p->of->argument, &name, p->area.w), &name);
}

static void draw_y_axis(const struct panel *p, const char *quantity)
{
    struct sd_font f = font(11, SD_GREY, SD_ANCHOR_END);
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_MIDDLE);
    int step = step_of(p->y0, p->y1, p->area.h, 24);
    char text[SD_TEXT_MAX];

    for (int at = (int)ceil(p->y0); at <= p->y1; at += step) {
        double y = y_of(p, pow(10, at));

        sd_canvas_line(p->canvas, p->area.x, y, p->area.x + p->area.w, y, 1, SD_GRID);
        time_text(text, at);
        sd_canvas_text(p->canvas, p->area.x - 7, y + 4, text, &f);
    }
    name.is_upwards = true;
    sd_canvas_text(p->canvas, p->box.x + 12, p->area.y + p->area.h / 2, quantity,
                   &name);
}

/* --- What was measured, and the curve */

/* What linear would be, through the curve at the largest size that was measured. */
static void draw_linear(const struct panel *p, const struct sd_growth_mark *at)
{
    double from = pow(10, p->x0), to = pow(10, p->x1), k = p->of->linear_slope;

    sd_canvas_dashed(p->canvas, x_of(p, from), y_of(p, at->ns * pow(from / at->n, k)),
                     x_of(p, to), y_of(p, at->ns * pow(to / at->n, k)), 1,
                     SD_RGBA(0x6f7780, 0.7));
}

static void draw_curve(const struct panel *p, struct sd_colour colour)
{
    const struct sd_growth_mark *c = p->of->curve;
    size_t last = 0;

    for (size_t i = 1; i < p->of->n_curve; i++) {
        double x0 = x_of(p, c[i - 1].n), y0 = y_of(p, c[i - 1].ns);
        double x1 = x_of(p, c[i].n), y1 = y_of(p, c[i].ns);

        if (c[i].n <= p->of->measured_to * 1.001) {
            sd_canvas_line(p->canvas, x0, y0, x1, y1, 2, colour);
            last = i;
        } else if (i % 2) {
            sd_canvas_line(p->canvas, x0, y0, x1, y1, 1.5, colour);
        }
    }
    draw_linear(p, &c[last]);
}

static void draw_panel(struct sd_canvas *canvas, const struct sd_growth_panel *of,
                       struct sd_box box, const char *quantity)
{
    struct panel p = {
        .canvas = canvas,
        .of = of,
        .box = box,
        .area = { box.x + LEFT, box.y + ABOVE, box.w - LEFT - RIGHT,
                  box.h - ABOVE - BELOW },
    };
    struct sd_colour colour = SD_RGB(of->is_flagged ? flagged_colour : plain_colour);
    struct sd_font title = font(13, SD_INK, SD_ANCHOR_START);
    struct sd_font subtitle = font(11.5, colour, SD_ANCHOR_START);

    title.is_bold = true;
    find_axes(&p);
    sd_canvas_text(canvas, p.area.x, box.y + 18,
                   sd_canvas_fit(canvas, of->title, &title, p.area.w), &title);
    sd_canvas_text(canvas, p.area.x, box.y + 36,
                   sd_canvas_fit(canvas, of->subtitle, &subtitle, p.area.w), &subtitle);
    draw_x_axis(&p);
    draw_y_axis(&p, quantity);
    sd_canvas_clip(canvas, p.area);
    draw_curve(&p, colour);
    for (size_t i = 0; i < of->n_points; i++)
        sd_canvas_dot(canvas, x_of(&p, of->points[i].n), y_of(&p, of->points[i].ns), 3,
                      SD_INK);
    sd_canvas_unclip(canvas);
}

/* --- The sheet */

static void draw(struct sd_canvas *canvas, const struct sd_view_growth *g, double width,
                 double height, unsigned n_columns)
{
    struct sd_font title = font(16, SD_INK, SD_ANCHOR_START);
    struct sd_font note = font(11.5, SD_GREY, SD_ANCHOR_START);
    double w = (width - 2 * MARGIN) / n_columns;

    sd_canvas_fill_box(canvas, (struct sd_box){ 0, 0, width, height },
                       SD_RGB(0xffffff));
    sd_canvas_text(canvas, MARGIN, 30,
                   sd_canvas_fit(canvas, g->title, &title, width - 2 * MARGIN), &title);
    for (size_t i = 0; i < g->n_panels; i++)
        draw_panel(canvas, &g->panels[i],
                   (struct sd_box){ MARGIN + (double)(i % n_columns) * w,
                                    TITLE + (double)(i / n_columns) * PANEL, w, PANEL },
                   g->quantity);
    sd_canvas_text(canvas, MARGIN, height - 10,
                   g->note ? g->note
                           : "dots: measured; curve: fitted, broken where nothing was "
                             "measured; thin dashes: linear",
                   &note);
}

int sd_report_growth(struct sd_out *out, enum sd_picture kind,
                     const struct sd_view_growth *g, unsigned width)
{
    unsigned n_columns = g->n_panels > 1 && width >= 700 ? COLUMNS : 1;
    unsigned rows = ((unsigned)g->n_panels + n_columns - 1) / n_columns;
    unsigned height = TITLE + rows * PANEL + NOTE;
    struct sd_canvas *canvas = NULL;
    int rc;

    rc = sd_canvas_check_width(width, MIN_PIXELS);
    if (rc < 0)
        return rc;
    rc = sd_canvas_open(kind, width, height, g->title, &canvas);
    if (rc < 0)
        return rc;
    draw(canvas, g, width, height, n_columns);
    return sd_canvas_close(canvas, 0, out);
}
#endif
