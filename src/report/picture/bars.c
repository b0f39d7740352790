/* SPDX-License-Identifier: MIT */
/* bars: draws horizontal bars, one below the other, so that their names can be read
 * however many there are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "report/picture/axis.h"
#include "report/picture/canvas.h"
#include "report/report.h"

#ifndef HAVE_CAIRO
int sd_report_bars(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_bars *b, unsigned width)
{
    (void)out;
    (void)kind;
    (void)b;
    (void)width;
    return sd_canvas_lacks_cairo();
}
#else

enum {
    MIN_PIXELS = 300,
    MARGIN = 18,
    TITLE = 34, /* pixels above the axis for each of title, subtitle, legend */
    LINE = 22,
    AXIS = 26,  /* for the ticks, above the bars */
    ROW = 22,   /* height of a row with one bar */
    SECOND = 8, /* more of it with two */
    NOTE = 26,
    VALUE = 8,  /* behind the longest bar, beside its number */
    BARS = 120, /* at least, whatever the names are: two ticks have room there */
    TICKS = 5,
    APART = 5,   /* pixels between the words of two ticks */
    LEGEND = 15, /* before the words of a series: its colour */
    NEXT = 24,   /* between two series */
};

static const unsigned colours[SD_BARS_SERIES] = { 0x0b5394, 0xd98032 };

struct sheet {
    struct sd_canvas *canvas;
    const struct sd_view_bars *of;
    size_t n; /* bars that are drawn */
    double width, top, row, from, to;
    double most; /* the largest value */
};

static struct sd_font font(double size, struct sd_colour colour, enum sd_anchor anchor)
{
    return (struct sd_font){ .size = size, .colour = colour, .anchor = anchor };
}

static void value_text(char out[SD_TEXT_MAX], enum sd_cell_kind kind, double v)
{
    if (kind == SD_CELL_NS)
        sd_text_duration(out, (int64_t)llround(v));
    else if (kind == SD_CELL_BYTES)
        sd_text_bytes(out, (int64_t)llround(v));
    else if (kind == SD_CELL_PERCENT)
        snprintf(out, SD_TEXT_MAX, "%.1f %%", v);
    else
        sd_text_scaled(out, v);
}

/* The same of a round number: "500K", not "500.00K". */
static void tick_text(char out[SD_TEXT_MAX], enum sd_cell_kind kind, double v)
{
    char *point, *end;

    value_text(out, kind, v);
    point = strchr(out, '.');
    if (!point)
        return;
    end = point + 1 + strspn(point + 1, "0123456789");
    for (char *at = end; at > point; at--)
        if (at[-1] != '0' && at[-1] != '.') {
            memmove(at, end, strlen(end) + 1);
            return;
        }
    memmove(point, end, strlen(end) + 1);
}

static double most_of(const struct sd_view_bars *b, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b->n_series; k++)
            if (isfinite(b->bars[i].values[k]))
                most = fmax(most, b->bars[i].values[k]);
    return most;
}

/* Behind the bars, for their numbers. */
static double room_for_values(struct sheet *s)
{
    struct sd_font f = font(11, SD_INK, SD_ANCHOR_START);
    double widest = 0;
    char text[SD_TEXT_MAX];

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->of->n_series; k++) {
            if (!isfinite(s->of->bars[i].values[k]))
                continue;
            value_text(text, s->of->kind, s->of->bars[i].values[k]);
            widest = fmax(widest, sd_canvas_measure(s->canvas, text, &f));
        }
    return widest + VALUE;
}

/* Names have the room that the longest needs, up to two fifths of the picture. */
static double room_for_names(struct sheet *s)
{
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_END);
    double widest = 0;

    for (size_t i = 0; i < s->n; i++)
        widest = fmax(widest, sd_canvas_measure(s->canvas, s->of->bars[i].name, &name));
    return fmin(widest, s->width * 0.4);
}

static double room_for_abouts(struct sheet *s)
{
    struct sd_font about = font(11, SD_GREY, SD_ANCHOR_START);
    double widest = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->of->bars[i].about)
            widest = fmax(widest,
                          sd_canvas_measure(s->canvas, s->of->bars[i].about, &about));
    return fmin(widest, s->width * 0.2);
}

/* --- What stands above the bars */

/* Letters are measured by their columns where the height of the sheet, and so the sheet
 * itself, waits for them. */
static bool is_legend_in_one_line(const struct sd_view_bars *b, double width)
{
    double needed = 2 * MARGIN - NEXT;

    for (size_t k = 0; k < b->n_series; k++)
        needed += LEGEND + NEXT +
                  (double)sd_text_width(b->series[k], strlen(b->series[k])) * 12 * 0.6;
    return needed <= width;
}

/* From its first base line to its last. */
static double height_of_legend(const struct sd_view_bars *b, double width)
{
    return is_legend_in_one_line(b, width) ? 0 : LINE * (double)(b->n_series - 1);
}

static void draw_legend(struct sheet *s, double y)
{
    const struct sd_view_bars *b = s->of;
    struct sd_font small = font(12, SD_GREY, SD_ANCHOR_START);
    bool is_one_line = is_legend_in_one_line(b, s->width);
    double x = MARGIN;

    for (size_t k = 0; k < b->n_series; k++) {
        const char *text = sd_canvas_fit(s->canvas, b->series[k], &small,
                                         s->width - MARGIN - x - LEGEND);

        sd_canvas_fill_box(s->canvas, (struct sd_box){ x, y - 9, 10, 10 },
                           SD_RGB(colours[k]));
        sd_canvas_text(s->canvas, x + LEGEND, y, text, &small);
        if (is_one_line)
            x += LEGEND + sd_canvas_measure(s->canvas, text, &small) + NEXT;
        else
            y += LINE;
    }
}

static double draw_words(struct sheet *s)
{
    const struct sd_view_bars *b = s->of;
    struct sd_font title = font(16, SD_INK, SD_ANCHOR_START);
    struct sd_font small = font(12, SD_GREY, SD_ANCHOR_START);
    double y = 30, x = MARGIN, room = s->width - 2 * MARGIN;

    sd_canvas_text(s->canvas, x, y, sd_canvas_fit(s->canvas, b->title, &title, room),
                   &title);
    if (b->subtitle)
        sd_canvas_text(s->canvas, x, y += LINE,
                       sd_canvas_fit(s->canvas, b->subtitle, &small, room), &small);
    y += LINE;
    draw_legend(s, y);
    return y + height_of_legend(b, s->width) + 12;
}

static double height_of_words(const struct sd_view_bars *b, double width)
{
    return 30 + LINE + (b->subtitle ? LINE : 0) + height_of_legend(b, width) + 12;
}

/* --- The axis */

static double x_of(const struct sheet *s, double at)
{
    return s->from + (s->most > 0 ? at / s->most : 0) * (s->to - s->from);
}

static bool are_ticks_apart(struct sheet *s, const struct sd_axis *axis)
{
    struct sd_font f = font(11, SD_GREY, SD_ANCHOR_MIDDLE);
    double end = -INFINITY, at;
    char text[SD_TEXT_MAX];

    for (int i = 0; sd_axis_tick(axis, i, &at) && at <= s->most; i++) {
        double half;

        tick_text(text, s->of->kind, at);
        half = sd_canvas_measure(s->canvas, text, &f) / 2;
        if (x_of(s, at) - half < end + APART)
            return false;
        end = x_of(s, at) + half;
    }
    return true;
}

/* As many ticks as have room for their words. */
static struct sd_axis axis_of(struct sheet *s)
{
    struct sd_axis axis = { 0 };

    for (int n = TICKS; n > 0; n--) {
        axis = sd_axis_of_values(s->of->kind, s->most, n);
        if (are_ticks_apart(s, &axis))
            break;
    }
    return axis;
}

static void draw_axis(struct sheet *s)
{
    struct sd_axis axis = axis_of(s);
    struct sd_font f = font(11, SD_GREY, SD_ANCHOR_MIDDLE);
    double low = s->top + (double)s->n * s->row, at;
    char text[SD_TEXT_MAX];

    for (int i = 0; sd_axis_tick(&axis, i, &at) && at <= s->most; i++) {
        double x = x_of(s, at);

        tick_text(text, s->of->kind, at);
        sd_canvas_line(s->canvas, x, s->top - 4, x, low, 1, SD_GRID);
        sd_canvas_text(s->canvas, x, s->top - 9, text, &f);
    }
}

/* --- Bars */

static void draw_bar(struct sheet *s, size_t i, size_t k, double y, double height)
{
    double v = s->of->bars[i].values[k];
    double length = s->most > 0 && v > 0 ? v / s->most * (s->to - s->from) : 0;
    struct sd_font f = font(11, SD_INK, SD_ANCHOR_START);
    char text[SD_TEXT_MAX];

    if (!isfinite(v))
        return;
    value_text(text, s->of->kind, v);
    sd_canvas_fill_box(
        s->canvas, (struct sd_box){ s->from, y, fmax(length, v > 0 ? 1 : 0), height },
        SD_RGB(colours[k]));
    sd_canvas_text(s->canvas, s->from + length + 5, y + height / 2 + 4, text, &f);
}

static void draw_row(struct sheet *s, size_t i, double names, double abouts)
{
    const struct sd_bar *b = &s->of->bars[i];
    struct sd_font name = font(12, SD_INK, SD_ANCHOR_START);
    struct sd_font about = font(11, SD_GREY, SD_ANCHOR_START);
    double y = s->top + (double)i * s->row, middle = y + s->row / 2 + 4;
    double height = (s->row - 6) / (double)s->of->n_series;

    sd_canvas_text(s->canvas, MARGIN, middle,
                   sd_canvas_fit(s->canvas, b->name, &name, names), &name);
    if (b->about && abouts > 0)
        sd_canvas_text(s->canvas, MARGIN + names + 10, middle,
                       sd_canvas_fit(s->canvas, b->about, &about, abouts), &about);
    for (size_t k = 0; k < s->of->n_series; k++)
        draw_bar(s, i, k, y + 3 + (double)k * height, height - 1);
}

/* Bars come first: where there is too little for them, what stands beside the names
 * goes, and names are cut. */
static void divide(struct sheet *s, double *names, double *abouts)
{
    double room;

    s->to = s->width - MARGIN - room_for_values(s);
    room = s->to - BARS - MARGIN - 10;
    *names = fmin(room_for_names(s) + 1, room);
    *abouts = room_for_abouts(s) + 1;
    if (*abouts <= 1 || *names + *abouts + 12 > room)
        *abouts = 0;
    s->from = MARGIN + *names + 10 + (*abouts > 0 ? *abouts + 12 : 0);
}

static void draw(struct sheet *s, double height)
{
    struct sd_font note = font(11.5, SD_GREY, SD_ANCHOR_START);
    double names, abouts;

    sd_canvas_fill_box(s->canvas, (struct sd_box){ 0, 0, s->width, height },
                       SD_RGB(0xffffff));
    divide(s, &names, &abouts);
    s->top = draw_words(s) + AXIS;
    draw_axis(s);
    for (size_t i = 0; i < s->n; i++)
        draw_row(s, i, names, abouts);
    if (s->of->note)
        sd_canvas_text(s->canvas, MARGIN, height - 10, s->of->note, &note);
    else if (s->n < s->of->n_bars) {
        char text[2 * SD_TEXT_MAX], n[SD_TEXT_MAX];

        snprintf(text, sizeof text, "%s more are not drawn",
                 sd_text_count(n, (int64_t)(s->of->n_bars - s->n)));
        sd_canvas_text(s->canvas, MARGIN, height - 10, text, &note);
    }
}

int sd_report_bars(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_bars *b, unsigned width)
{
    struct sheet s = { .of = b, .width = width };
    unsigned height;
    int rc;

    rc = sd_canvas_check_width(width, MIN_PIXELS);
    if (rc < 0)
        return rc;
    s.n = b->n_bars < SD_BARS_MAX ? b->n_bars : SD_BARS_MAX;
    s.row = ROW + (b->n_series > 1 ? SECOND : 0);
    s.most = most_of(b, s.n);
    height =
        (unsigned)(height_of_words(b, s.width) + AXIS + (double)s.n * s.row + NOTE);
    rc = sd_canvas_open(kind, width, height, b->title, &s.canvas);
    if (rc < 0)
        return rc;
    draw(&s, height);
    return sd_canvas_close(s.canvas, 0, out);
}
#endif
