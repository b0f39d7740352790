/* SPDX-License-Identifier: MIT */
/* plot: draws readings over time.
 *
 * From top to bottom: title, the sections as a strip of lanes (outer ones above), the
 * curves over the same time axis with the outermost sections shaded behind them, the
 * axis, the legend.  The y axis begins at 0, so that heights can be compared.  Where a
 * pixel holds several readings the curve is a band from the smallest to the largest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/picture/axis.h"
#include "report/picture/canvas.h"
#include "report/report.h"

enum { MIN_PIXELS = 200, MAX_PIXELS = 10000 };

#ifndef HAVE_CAIRO
int sd_report_plot(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_series *s, unsigned width, unsigned height)
{
    (void)out;
    (void)kind;
    (void)s;
    (void)width;
    (void)height;
    return sd_canvas_lacks_cairo();
}
#else

enum {
    MARGIN = 18,
    LANE = 19, /* pixels, gap included */
    MAX_LANES = 6,
    LEGEND_ROW = 20,
    MAX_LEGEND_ROWS = 3,
};

/* Okabe and Ito's colours, which the colour-blind can tell apart; yellow is too faint
 * on white and stays out.  Blue is that of the whole. */
static const unsigned whole_colour = 0x0b5394;
static const unsigned curve_colours[] = { 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9,
                                          0xd55e00, 0x7b61a8, 0x8a8a8a, 0x8c6d1f };
/* Of marks on a curve, in the order of the names' colours. */
static const unsigned mark_colours[] = { 0x1f5fa8, 0xb96d00, 0x1f7f3f, 0x8a45a3,
                                         0xb0391f, 0x85760a, 0x5c5c5c, 0x0f706b };
/* As of mprof's: red and orange by turns, paler from level to level. */
static const unsigned box_colours[] = { 0xff3b30, 0xff9f1a };
/* Light enough to write on. */
static const unsigned band_colours[] = { 0xbcd6ee, 0xfbd9a6, 0xbfe3c6, 0xe3cdea,
                                         0xf7c9bd, 0xf3eab0, 0xd6d6d6, 0xb9e4e2 };
enum {
    N_CURVE_COLOURS = sizeof curve_colours / sizeof curve_colours[0],
    N_BAND_COLOURS = sizeof band_colours / sizeof band_colours[0],
    MAX_NAMES = 256, /* of bands that get a colour of their own */
    MAX_MARKED = 60, /* bands: more marks would hide the curve */
    MARK_WIDTH = 5,
    MARK_HEIGHT = 8,
};

static const struct sd_colour frame = { 0.62, 0.64, 0.67, 1 };
static const struct sd_colour warning = { 0.75, 0.22, 0.17, 1 };

struct plot {
    const struct sd_view_series *series;
    struct sd_canvas *canvas;
    double width, height;
    struct sd_box area; /* where the curves are */
    struct sd_axis x, y;
    uint8_t *lanes;   /* owned; by band; MAX_LANES: not drawn */
    size_t max_lanes; /* that there is room for */
    uint8_t *tints;   /* owned; by band: its colour */
    size_t n_lanes;
    bool has_more_lanes;
    double legend_height, title_width;
};

static struct sd_font font(double size, struct sd_colour colour, enum sd_anchor anchor)
{
    return (struct sd_font){ .size = size, .colour = colour, .anchor = anchor };
}

static double x_of(const struct plot *p, double t)
{
    return p->area.x + (t - p->x.from) / (p->x.to - p->x.from) * p->area.w;
}

static double y_of(const struct plot *p, double value)
{
    return p->area.y + p->area.h - value / p->y.to * p->area.h;
}

/* --- Sections: which lane, which colour */

/* Bands come by depth, then by time.  A lane holds bands of one depth that do not
 * overlap; sections of several threads at one depth need several lanes. */
static void assign_lanes(struct plot *p)
{
    double ends[MAX_LANES];
    size_t first = 0; /* lane of the present depth */
    double room = (p->height - 260) / LANE;

    p->max_lanes = room < 0 ? 0 : room > MAX_LANES ? MAX_LANES : (size_t)room;
    for (size_t i = 0; i < p->series->n_bands; i++) {
        const struct sd_band *b = &p->series->bands[i];
        size_t lane;

        if (i > 0 && b->depth != p->series->bands[i - 1].depth)
            first = p->n_lanes;
        for (lane = first; lane < p->n_lanes && ends[lane] > b->from; lane++)
            continue;
        if (lane >= p->max_lanes) {
            p->lanes[i] = MAX_LANES;
            p->has_more_lanes = true;
            continue;
        }
        if (lane == p->n_lanes)
            p->n_lanes++;
        ends[lane] = b->to;
        p->lanes[i] = (uint8_t)lane;
    }
}

/* A name keeps its colour; names that appear one after the other differ. */
static void assign_tints(struct plot *p)
{
    const char *names[MAX_NAMES];
    size_t n = 0;

    for (size_t i = 0; i < p->series->n_bands; i++) {
        const char *name = p->series->bands[i].name;
        size_t k = 0;

        while (k < n && strcmp(names[k], name) != 0)
            k++;
        if (k == n && n < MAX_NAMES)
            names[n++] = name;
        p->tints[i] = (uint8_t)(k % N_BAND_COLOURS);
    }
}

static void band_label(const struct sd_band *b, char *out, size_t n)
{
    int cut = (int)(strlen(b->name) > 200 ? sd_text_whole(b->name, 200) : 200);

    if (b->n > 1)
        snprintf(out, n, "%.*s ×%llu", cut, b->name, (unsigned long long)b->n);
    else
        snprintf(out, n, "%.*s", cut, b->name);
}

/* The label, or where it does not fit what stands behind the last point of a name such
 * as "module.function"; "" when nothing readable does. */
static const char *fit_label(struct plot *p, const struct sd_band *b, double width,
                             const struct sd_font *f)
{
    struct sd_band last = *b;
    const char *dot = strrchr(b->name, '.');
    char label[256];

    band_label(b, label, sizeof label);
    if (dot && dot[1] && sd_canvas_measure(p->canvas, label, f) > width) {
        last.name = dot + 1;
        band_label(&last, label, sizeof label);
    }
    return sd_canvas_fit(p->canvas, label, f, width);
}

/* True when there was room for its name. */
static bool draw_band(struct plot *p, const struct sd_band *b, unsigned lane,
                      unsigned tint)
{
    struct sd_font f = font(11, SD_INK, SD_ANCHOR_START);
    double top = p->area.y - 8 - (double)(p->n_lanes - lane) * LANE;
    double from = x_of(p, b->from), to = x_of(p, b->to);
    double width = to - from < 1 ? 1 : to - from;
    const char *fitted;

    sd_canvas_fill_box(
        p->canvas,
        (struct sd_box){ from, top, width > 2 ? width - 0.7 : width, LANE - 3 },
        SD_RGB(band_colours[tint]));
    if (width < 24)
        return false;
    fitted = fit_label(p, b, width - 8, &f);
    if (*fitted)
        sd_canvas_text(p->canvas, from + 4, top + 12, fitted, &f);
    return *fitted != 0;
}

/* Behind the curves: only the outermost sections, or it would be a carpet. */
static bool is_shaded(const struct plot *p, size_t i)
{
    return p->lanes[i] == 0 &&
           x_of(p, p->series->bands[i].to) - x_of(p, p->series->bands[i].from) >= 1.5;
}

static void shade_sections(struct plot *p)
{
    for (size_t i = 0; i < p->series->n_bands; i++) {
        double from = x_of(p, p->series->bands[i].from);
        double to = x_of(p, p->series->bands[i].to);

        if (is_shaded(p, i))
            sd_canvas_fill_box(p->canvas,
                               (struct sd_box){ from, p->area.y, to - from, p->area.h },
                               SD_RGBA(band_colours[p->tints[i]], 0.3));
    }
}

/* Over the areas too, so that one sees what the curve does where a section ends. */
static void draw_boundaries(struct plot *p)
{
    const struct sd_colour line = SD_RGBA(0x6f7780, 0.45);
    double low = p->area.y + p->area.h;

    for (size_t i = 0; i < p->series->n_bands; i++) {
        double from = x_of(p, p->series->bands[i].from);
        double to = x_of(p, p->series->bands[i].to);

        if (!is_shaded(p, i))
            continue;
        sd_canvas_line(p->canvas, from, p->area.y, from, low, 0.6, line);
        sd_canvas_line(p->canvas, to, p->area.y, to, low, 0.6, line);
    }
}

/* A lane whose bands are all too narrow to be named has its first name beside it. */
static void name_lane(struct plot *p, size_t lane, const char *name)
{
    struct sd_font f = font(10, SD_GREY, SD_ANCHOR_END);
    double top = p->area.y - 8 - (double)(p->n_lanes - lane) * LANE;

    sd_canvas_text(p->canvas, p->area.x - 8, top + 12,
                   sd_canvas_fit(p->canvas, name, &f, p->area.x - 10), &f);
}

/* Behind the curves, the outer ones below the inner ones, as mprof plot --flame draws
 * them. */
static void draw_boxes(struct plot *p)
{
    double height, pale;
    uint32_t deepest = 0;

    for (size_t i = 0; i < p->series->n_bands; i++)
        deepest =
            p->series->bands[i].depth > deepest ? p->series->bands[i].depth : deepest;
    height = p->area.h / (deepest + 2);
    for (size_t i = 0; i < p->series->n_bands; i++) {
        const struct sd_band *b = &p->series->bands[i];
        double from = x_of(p, b->from), to = x_of(p, b->to);
        double top = p->area.y + p->area.h - (b->depth + 1) * height;
        struct sd_font f = font(11, SD_INK, SD_ANCHOR_START);

        pale = 0.55 - 0.35 * b->depth / (deepest + 1);
        to = to - from < 1 ? from + 1 : to;
        sd_canvas_fill_box(p->canvas, (struct sd_box){ from, top, to - from, height },
                           SD_RGBA(box_colours[i % 2], pale));
        sd_canvas_line(p->canvas, from, top, from, top + height, 0.7,
                       SD_RGBA(0x7a1f10, 0.6));
        sd_canvas_line(p->canvas, from, top, to, top, 0.7, SD_RGBA(0x7a1f10, 0.6));
        if (to - from >= 24 && height >= 14)
            sd_canvas_text(p->canvas, from + 4, top + 13,
                           fit_label(p, b, to - from - 8, &f), &f);
    }
}

static void draw_sections(struct plot *p)
{
    bool is_named[MAX_LANES] = { false };
    const char *first[MAX_LANES] = { NULL };

    for (size_t i = 0; i < p->series->n_bands; i++) {
        unsigned lane = p->lanes[i];

        if (lane == MAX_LANES)
            continue;
        is_named[lane] |= draw_band(p, &p->series->bands[i], lane, p->tints[i]);
        if (!first[lane])
            first[lane] = p->series->bands[i].name;
    }
    for (size_t lane = 0; lane < p->n_lanes; lane++)
        if (!is_named[lane])
            name_lane(p, lane, first[lane]);
        else if (lane == 0)
            name_lane(p, 0, "sections");
}

/* --- Axes */

static void draw_y_axis(struct plot *p)
{
    struct sd_font f = font(11.5, SD_GREY, SD_ANCHOR_END);
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_MIDDLE);
    char text[96];
    double at;

    for (int i = 0; sd_axis_tick(&p->y, i, &at) && i < 100; i++) {
        double y = round(y_of(p, at)) + 0.5;

        sd_canvas_line(p->canvas, p->area.x, y, p->area.x + p->area.w, y, 1,
                       at > 0 ? SD_GRID : frame);
        sd_axis_text(&p->y, at, text, sizeof text);
        sd_canvas_text(p->canvas, p->area.x - 8, y + 4, text, &f);
    }
    name.is_upwards = true;
    snprintf(text, sizeof text, *p->y.unit ? "%.60s (%s)" : "%.60s",
             p->series->quantity ? p->series->quantity : "", p->y.unit);
    sd_canvas_text(p->canvas, MARGIN + 4, p->area.y + p->area.h / 2, text, &name);
}

static void draw_x_axis(struct plot *p)
{
    struct sd_font f = font(11.5, SD_GREY, SD_ANCHOR_MIDDLE);
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_MIDDLE);
    double low = p->area.y + p->area.h, at;
    char text[64];

    for (int i = 0; sd_axis_tick(&p->x, i, &at) && i < 200; i++) {
        double x = round(x_of(p, at)) + 0.5;

        sd_canvas_line(p->canvas, x, p->area.y, x, low, 1, SD_RGBA(0x7f8790, 0.15));
        sd_canvas_line(p->canvas, x, low, x, low + 4, 1, frame);
        sd_axis_text(&p->x, at, text, sizeof text);
        sd_canvas_text(p->canvas, x, low + 18, text, &f);
    }
    snprintf(text, sizeof text, "time (%s)", p->x.unit);
    sd_canvas_text(p->canvas, p->area.x + p->area.w / 2, low + 37, text, &name);
}

/* --- Curves */

/* The readings that fall on one column of pixels. */
struct column {
    double x, min, max;
};

static size_t to_columns(const struct plot *p, const struct sd_curve *c,
                         struct column *columns)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct sd_curve_point *q = &c->points[i];
        double x = x_of(p, q->t);

        if (n > 0 && floor(columns[n - 1].x) == floor(x)) {
            struct column *k = &columns[n - 1];

            k->min = fmin(k->min, q->min);
            k->max = fmax(k->max, q->max);
        } else {
            columns[n++] = (struct column){ x, q->min, q->max };
        }
    }
    return n;
}

static void fill_under(struct plot *p, const struct column *k, size_t n,
                       struct sd_colour colour)
{
    double low = p->area.y + p->area.h;

    sd_canvas_begin(p->canvas, k[0].x, low);
    for (size_t i = 0; i < n; i++)
        sd_canvas_to(p->canvas, k[i].x, y_of(p, k[i].max));
    sd_canvas_to(p->canvas, k[n - 1].x, low);
    sd_canvas_fill(p->canvas, colour);
}

/* From the smallest to the largest of each column; false when they are all the same. */
static bool fill_range(struct plot *p, const struct column *k, size_t n,
                       struct sd_colour colour)
{
    bool is_needed = false;

    for (size_t i = 0; i < n; i++)
        is_needed |= k[i].max > k[i].min;
    if (!is_needed)
        return false;
    sd_canvas_begin(p->canvas, k[0].x, y_of(p, k[0].max));
    for (size_t i = 1; i < n; i++)
        sd_canvas_to(p->canvas, k[i].x, y_of(p, k[i].max));
    for (size_t i = n; i-- > 0;)
        sd_canvas_to(p->canvas, k[i].x, y_of(p, k[i].min));
    sd_canvas_fill(p->canvas, colour);
    return true;
}

/* Through the largest of each column, so that a peak is as high as it was, or through
 * the smallest. */
static void stroke_edge(struct plot *p, const struct column *k, size_t n, bool is_upper,
                        double line_width, struct sd_colour colour)
{
    sd_canvas_begin(p->canvas, k[0].x, y_of(p, is_upper ? k[0].max : k[0].min));
    for (size_t i = 1; i < n; i++)
        sd_canvas_to(p->canvas, k[i].x, y_of(p, is_upper ? k[i].max : k[i].min));
    sd_canvas_stroke(p->canvas, line_width, colour);
}

static bool is_strong(const struct plot *p, size_t i)
{
    return p->series->curves[i].is_total || p->series->n_curves == 1;
}

static struct sd_colour curve_colour(const struct plot *p, size_t i)
{
    return is_strong(p, i) ? SD_RGB(whole_colour)
                           : SD_RGB(curve_colours[i % N_CURVE_COLOURS]);
}

static void draw_line(struct plot *p, size_t i, const struct column *k, size_t n)
{
    struct sd_colour colour = curve_colour(p, i), light = colour;
    double line_width = p->series->n_curves == 1 ? 1.9 : is_strong(p, i) ? 3 : 1.5;

    light.a = 0.3;
    if (n == 1) { /* one reading is no line */
        sd_canvas_dot(p->canvas, k[0].x, y_of(p, k[0].max), line_width + 1, colour);
    } else if (fill_range(p, k, n, light)) {
        stroke_edge(p, k, n, false, 0.7, colour);
        stroke_edge(p, k, n, true, line_width - 0.5, colour);
    } else {
        stroke_edge(p, k, n, true, line_width, colour);
    }
}

/* Calls `how` with the columns of one curve. */
static int with_columns(struct plot *p, size_t i,
                        void (*how)(struct plot *p, size_t i, const struct column *k,
                                    size_t n))
{
    const struct sd_curve *c = &p->series->curves[i];
    struct column *k = sd_alloc((c->n_points + 1) * sizeof *k);
    size_t n;

    if (!k)
        return sd_no_memory();
    n = to_columns(p, c, k);
    if (n > 0)
        how(p, i, k, n);
    sd_free(k);
    return 0;
}

/* Opaque, so that the colours behind do not mix with it. */
static void draw_area(struct plot *p, size_t i, const struct column *k, size_t n)
{
    (void)i;
    fill_under(p, k, n, SD_RGB(0xdde8f3));
}

static void clip(struct plot *p)
{
    sd_canvas_clip(p->canvas, (struct sd_box){ p->area.x - 2, p->area.y - 4,
                                               p->area.w + 4, p->area.h + 6 });
}

static int draw_areas(struct plot *p)
{
    int rc = 0;

    clip(p);
    for (size_t i = 0; i < p->series->n_curves && rc == 0; i++)
        if (is_strong(p, i))
            rc = with_columns(p, i, draw_area);
    sd_canvas_unclip(p->canvas);
    return rc;
}

/* The whole comes first and wider, so that a part as large as the whole is seen on it.
 */
static int draw_curves(struct plot *p)
{
    int rc = 0;

    clip(p);
    for (size_t i = p->series->n_curves; i-- > 0 && rc == 0;)
        rc = with_columns(p, i, draw_line);
    sd_canvas_unclip(p->canvas);
    return rc;
}

static void draw_trends(struct plot *p)
{
    clip(p);
    for (size_t i = 0; i < p->series->n_curves; i++) {
        const struct sd_curve *c = &p->series->curves[i];
        double from, to;

        if (!c->has_trend || c->n_points == 0)
            continue;
        from = c->points[0].t;
        to = c->points[c->n_points - 1].t;
        sd_canvas_dashed(p->canvas, x_of(p, from), y_of(p, c->start + c->slope * from),
                         x_of(p, to), y_of(p, c->start + c->slope * to), 1.4,
                         curve_colour(p, i));
    }
    sd_canvas_unclip(p->canvas);
}

/* --- Where sections begin and end, on the curve */

/* Between two points on the straight line. */
static double value_at(const struct sd_curve *c, double t)
{
    size_t low = 0, high = c->n_points;
    const struct sd_curve_point *a, *b;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->points[middle].t < t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == c->n_points)
        return c->points[low == 0 ? 0 : c->n_points - 1].max;
    a = &c->points[low - 1];
    b = &c->points[low];
    return a->max + (b->max - a->max) * (t - a->t) / (b->t - a->t);
}

/* "[", or with a negative width "]". */
static void draw_bracket(struct plot *p, double x, double y, double width,
                         struct sd_colour colour)
{
    sd_canvas_begin(p->canvas, x + width, y - MARK_HEIGHT);
    sd_canvas_to(p->canvas, x, y - MARK_HEIGHT);
    sd_canvas_to(p->canvas, x, y + MARK_HEIGHT);
    sd_canvas_to(p->canvas, x + width, y + MARK_HEIGHT);
    sd_canvas_stroke(p->canvas, 2, colour);
}

static void draw_marks(struct plot *p)
{
    size_t last = p->series->n_curves - 1;
    const struct sd_curve *c;

    if (p->series->n_curves == 0 || p->series->n_bands > MAX_MARKED)
        return;
    c = &p->series->curves[p->series->curves[last].is_total ? last : 0];
    if (c->n_points == 0)
        return;
    for (size_t i = 0; i < p->series->n_bands; i++) {
        const struct sd_band *b = &p->series->bands[i];
        struct sd_colour colour = SD_RGB(mark_colours[p->tints[i]]);

        draw_bracket(p, x_of(p, b->from), y_of(p, value_at(c, b->from)), MARK_WIDTH,
                     colour);
        draw_bracket(p, x_of(p, b->to), y_of(p, value_at(c, b->to)), -MARK_WIDTH,
                     colour);
    }
}

/* --- What to look at */

/* Text on a light ground of its own, so that it can be read over curves. */
static void draw_tag(struct plot *p, double x, double y, const char *text,
                     const struct sd_font *f)
{
    double w = sd_canvas_measure(p->canvas, text, f), left = x;

    if (f->anchor == SD_ANCHOR_END)
        left = x - w;
    if (f->anchor == SD_ANCHOR_MIDDLE)
        left = x - w / 2;
    sd_canvas_fill_box(p->canvas,
                       (struct sd_box){ left - 4, y - f->size, w + 8, f->size + 5 },
                       SD_RGBA(0xffffff, 0.82));
    sd_canvas_text(p->canvas, x, y, text, f);
}

/* Where the peak's label is; no width: nowhere. */
static struct sd_box draw_peak(struct plot *p)
{
    struct sd_font f = font(12, SD_INK, SD_ANCHOR_MIDDLE);
    double x = x_of(p, p->series->peak_t), y = y_of(p, p->series->peak), half;

    if (p->series->peak < 0 || !p->series->peak_label)
        return (struct sd_box){ 0 };
    f.is_bold = true;
    sd_canvas_dot(p->canvas, x, y, 5.5, SD_RGB(0xffffff));
    sd_canvas_dot(p->canvas, x, y, 4, SD_RGB(0xd55e00));
    half = sd_canvas_measure(p->canvas, p->series->peak_label, &f) / 2 + 4;
    if (x - half < p->area.x)
        x = p->area.x + half;
    if (x + half > p->area.x + p->area.w)
        x = p->area.x + p->area.w - half;
    draw_tag(p, x, y - 10, p->series->peak_label, &f);
    return (struct sd_box){ x - half, y - 24, 2 * half, 20 };
}

/* Its label stands at the end farther from the peak's, or nowhere when that would still
 * cover it. */
static void draw_mark(struct plot *p, struct sd_box peak)
{
    struct sd_font f = font(11, warning, SD_ANCHOR_END);
    double y = round(y_of(p, p->series->mark)) + 0.5, x, w;
    bool is_right = x_of(p, p->series->peak_t) < p->area.x + p->area.w / 2;

    if (p->series->mark < 0 || !p->series->mark_label)
        return;
    sd_canvas_dashed(p->canvas, p->area.x, y, p->area.x + p->area.w, y, 1.2, warning);
    w = sd_canvas_measure(p->canvas, p->series->mark_label, &f) + 10;
    x = is_right ? p->area.x + p->area.w - 6 : p->area.x + 6;
    if (is_right ? peak.x + peak.w > x - w : peak.x < x + w)
        return;
    f.anchor = is_right ? SD_ANCHOR_END : SD_ANCHOR_START;
    draw_tag(p, x, y - 5, p->series->mark_label, &f);
}

/* --- Words around it */

static bool has_subtitle(const struct plot *p)
{
    return p->series->subtitle && p->height >= 300;
}

static void draw_title(struct plot *p)
{
    struct sd_font title = font(17, SD_INK, SD_ANCHOR_START);
    struct sd_font under = font(12, SD_GREY, SD_ANCHOR_START);
    double room = p->width - 2 * MARGIN;
    const char *fitted;

    title.is_bold = true;
    fitted = sd_canvas_fit(p->canvas, p->series->title ? p->series->title : "", &title,
                           room);
    p->title_width = sd_canvas_measure(p->canvas, fitted, &title);
    sd_canvas_text(p->canvas, MARGIN, MARGIN + 14, fitted, &title);
    if (has_subtitle(p))
        sd_canvas_text(p->canvas, MARGIN, MARGIN + 34,
                       sd_canvas_fit(p->canvas, p->series->subtitle, &under, room),
                       &under);
}

/* "1234 python, slope 1.25000 MiB/s": with as many digits as mprof's. */
static const char *entry(const struct sd_curve *c, char *text, size_t n)
{
    if (!c->has_trend)
        return c->name;
    snprintf(text, n, "%.150s, slope %.5f%s/s", c->name,
             c->kind == SD_CELL_BYTES ? c->slope / (1 << 20)
             : c->kind == SD_CELL_NS  ? c->slope / 1e9
                                      : c->slope,
             c->kind == SD_CELL_BYTES     ? " MiB"
             : c->kind == SD_CELL_NS      ? " s"
             : c->kind == SD_CELL_PERCENT ? " %"
                                          : "");
    return text;
}

/* Places or draws the entries; returns the height they take.  The whole comes first. */
static double legend(struct plot *p, double top, bool is_drawn)
{
    struct sd_font f = font(11.5, SD_INK, SD_ANCHOR_START);
    double x = MARGIN + 4, y = top, right = p->width - MARGIN, most = (right - x) / 2;
    size_t n = p->series->n_curves;

    if (n < 2 && !(n == 1 && p->series->curves[0].has_trend))
        return 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = (k + n - 1) % n; /* the last one is the whole */
        char text[256];
        const char *name = sd_canvas_fit(
            p->canvas, entry(&p->series->curves[i], text, sizeof text), &f, most);
        double w = 26 + sd_canvas_measure(p->canvas, name, &f) + 18;

        if (x + w - 18 > right && x > MARGIN + 4) {
            x = MARGIN + 4;
            y += LEGEND_ROW;
        }
        if (y - top >= MAX_LEGEND_ROWS * LEGEND_ROW)
            return y - top;
        if (is_drawn) {
            sd_canvas_line(p->canvas, x, y + 6, x + 20, y + 6,
                           is_strong(p, i) ? 3.4 : 2.2, curve_colour(p, i));
            sd_canvas_text(p->canvas, x + 26, y + 10, name, &f);
        }
        x += w;
    }
    return y - top + LEGEND_ROW;
}

static void draw_foot(struct plot *p)
{
    struct sd_font f = font(10.5, SD_GREY, SD_ANCHOR_END);
    char text[256];

    legend(p, p->height - p->legend_height - 10, true);
    snprintf(text, sizeof text, "%.200s%s%s", p->series->note ? p->series->note : "",
             p->series->note && p->has_more_lanes ? "; " : "",
             p->has_more_lanes ? "deeper sections are not drawn" : "");
    if (*text &&
        sd_canvas_measure(p->canvas, text, &f) + p->title_width + 3 * MARGIN < p->width)
        sd_canvas_text(p->canvas, p->width - MARGIN, MARGIN + 14, text, &f);
}

/* --- Layout */

static double widest_tick(struct plot *p)
{
    struct sd_font f = font(11.5, SD_GREY, SD_ANCHOR_END);
    struct sd_font small = font(10, SD_GREY, SD_ANCHOR_END);
    double widest = p->n_lanes ? sd_canvas_measure(p->canvas, "sections", &small) : 0;
    char text[64];
    double at;

    for (int i = 0; sd_axis_tick(&p->y, i, &at) && i < 100; i++) {
        sd_axis_text(&p->y, at, text, sizeof text);
        widest = fmax(widest, sd_canvas_measure(p->canvas, text, &f));
    }
    return widest;
}

static double largest(const struct sd_view_series *s)
{
    double most = s->mark;

    for (size_t k = 0; k < s->n_curves; k++)
        for (size_t i = 0; i < s->curves[k].n_points; i++)
            most = fmax(most, s->curves[k].points[i].max);
    return most;
}

static void arrange(struct plot *p)
{
    double top, left, low;

    p->y = sd_axis_of_values(p->series->n_curves ? p->series->curves[0].kind
                                                 : SD_CELL_COUNT,
                             largest(p->series), p->height > 420 ? 6 : 4);
    p->x = sd_axis_of_time(p->series->from, p->series->to,
                           p->width > 1600  ? 16
                           : p->width > 700 ? 10
                                            : 6);
    p->legend_height = legend(p, 0, false);
    top = MARGIN + (has_subtitle(p) ? 50 : 30) +
          (p->n_lanes ? (double)p->n_lanes * LANE + 8 : 0);
    left = MARGIN + 16 + widest_tick(p) + 10;
    low = p->height - 54 - (p->legend_height > 0 ? p->legend_height + 2 : 0);
    /* A very small picture keeps a little of everything. */
    p->area = (struct sd_box){ left, top, fmax(p->width - MARGIN - left, 40),
                               fmax(low - top, 30) };
}

static int draw(struct plot *p)
{
    int rc;

    sd_canvas_fill_box(p->canvas, (struct sd_box){ 0, 0, p->width, p->height },
                       SD_RGB(0xffffff));
    draw_title(p);
    if (!p->series->has_boxes)
        shade_sections(p);
    rc = draw_areas(p);
    if (p->series->has_boxes)
        draw_boxes(p);
    draw_y_axis(p);
    draw_x_axis(p);
    if (!p->series->has_boxes) {
        draw_boundaries(p);
        draw_sections(p);
    }
    if (rc == 0)
        rc = draw_curves(p);
    draw_trends(p);
    if (!p->series->has_boxes)
        draw_marks(p);
    draw_mark(p, draw_peak(p));
    draw_foot(p);
    return rc;
}

int sd_report_plot(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_series *s, unsigned width, unsigned height)
{
    struct plot p = { .series = s, .width = width, .height = height };
    int rc;

    if (width < MIN_PIXELS || width > MAX_PIXELS || height < MIN_PIXELS ||
        height > MAX_PIXELS)
        return sd_fail(SD_EUSAGE, "a picture must be %d to %d pixels wide and high",
                       MIN_PIXELS, MAX_PIXELS);
    rc = sd_canvas_open(kind, width, height, s->title ? s->title : "", &p.canvas);
    if (rc < 0)
        return rc;
    p.lanes = sd_alloc(s->n_bands + 1);
    p.tints = sd_alloc(s->n_bands + 1);
    rc = p.lanes && p.tints ? 0 : sd_no_memory();
    if (rc == 0) {
        if (!s->has_boxes)
            assign_lanes(&p);
        assign_tints(&p);
        arrange(&p);
        rc = draw(&p);
    }
    sd_free(p.lanes);
    sd_free(p.tints);
    return sd_canvas_close(p.canvas, rc, out);
}
#endif
