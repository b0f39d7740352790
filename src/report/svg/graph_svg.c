/* SPDX-License-Identifier: MIT */
/* graph_svg: writes a call graph as an SVG file of its own.
 *
 * Every box and every line is a group: a title (what a pointer resting on it shows),
 * the shape, and its label.  Everything stands where it belongs, so the file is a
 * picture already; the script (graph.js) moves the whole, and marks what is asked for.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/layout/layers.h"
#include "report/svg/graph.h"
#include "report/svg/page_files.h"
#include "report/svg/xml.h"

/* Pixels; graph.js reads the first three from the attributes of the root. */
enum { PAD = 16, HEAD = 70, FOOT = 16, LEAST_WIDTH = 640 };
enum { BOX_PAD_X = 8, BOX_PAD_Y = 5, LOOP_ROOM = 26, NAME_COLUMNS = 64 };
enum { DART_WIDTH = 6 }; /* of the mark of what is slower or faster */
#define PIXELS_PER_POINT 1.1
#define COLUMN_PER_PIXEL 0.61 /* of letters that all have one width */
#define LINE_PER_PIXEL 1.25
#define EDGE_PART 0.92 /* labels of lines are a little smaller than those of boxes */

struct drawing {
    struct sd_out *out;
    const struct sd_view_graph *g;
    struct sd_graph_look look;
    struct sd_layers layers;
    struct sd_arena arena;  /* boxes, lines and labels */
    const char **box_label; /* by node */
    const char **line_label;
};

/* --- Numbers and text */

static void put_pixels(struct sd_out *out, const char *before, double v)
{
    long tenths = lround(v * 10);

    sd_out_printf(out, "%s%s%ld", before, tenths < 0 ? "-" : "", labs(tenths) / 10);
    if (tenths % 10)
        sd_out_printf(out, ".%ld", labs(tenths) % 10);
}

static void put_text(struct sd_out *out, const char *s)
{
    sd_xml_text(out, s, strlen(s));
}

static double font_of(const struct drawing *d, double weight)
{
    return sd_graph_font_size(&d->look, weight) * PIXELS_PER_POINT;
}

/* Yellow and light green carry no white text, and are none on white. */
#define INK "#24292f"
#define BRIGHT 0.42

/* How bright eyes find a colour, 0 to 1. */
static double brightness(const char colour[8])
{
    unsigned r = 0, g = 0, b = 0;

    sscanf(colour, "#%2x%2x%2x", &r, &g, &b);
    return (0.2126 * pow(r / 255.0, 2.2) + 0.7152 * pow(g / 255.0, 2.2) +
            0.0722 * pow(b / 255.0, 2.2));
}

struct measure {
    size_t columns, lines;
};

static struct measure measure(const char *label)
{
    struct measure m = { 0, 0 };

    for (const char *at = label;; at++) {
        size_t n = strcspn(at, "\n"), width = sd_text_width(at, n);

        width = width < NAME_COLUMNS ? width : NAME_COLUMNS;
        m.columns = width > m.columns ? width : m.columns;
        m.lines++;
        at += n;
        if (!*at)
            return m;
    }
}

/* --- The layout */

static const char *kept(struct drawing *d, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(&d->arena, sd_buf_string(text), text->n);

    sd_buf_release(text);
    return copy;
}

static int measure_box(struct drawing *d, size_t i)
{
    const struct sd_graph_node *n = &d->g->nodes[i];
    double font = font_of(d, sd_graph_node_weight(&d->look, d->g, n));
    double pad = BOX_PAD_X + (d->g->is_compared ? DART_WIDTH : 0);
    struct sd_buf text = { 0 };
    struct measure m;

    sd_graph_node_label(&d->look, d->g, n, &text);
    d->box_label[i] = kept(d, &text);
    if (!d->box_label[i])
        return sd_no_memory();
    m = measure(d->box_label[i]);
    d->layers.boxes[i] = (struct sd_layers_box){
        .width = (double)m.columns * font * COLUMN_PER_PIXEL + 2 * pad,
        .height = (double)m.lines * font * LINE_PER_PIXEL + 2 * BOX_PAD_Y,
        .weight = fmax(n->total, n->other_total),
    };
    return 0;
}

/* Of a line to oneself the label stands beside the box. */
static int measure_line(struct drawing *d, size_t i)
{
    const struct sd_graph_edge *e = &d->g->edges[i];
    struct sd_layers_line *line = &d->layers.lines[i];
    double font = font_of(d, sd_graph_edge_weight(&d->look, e)) * EDGE_PART, width;
    bool has_label = d->g->n_edges <= SD_GRAPH_LABELS;
    struct sd_buf text = { 0 };
    struct measure m;

    sd_graph_edge_label(d->g, e, &text);
    d->line_label[i] = kept(d, &text);
    if (!d->line_label[i])
        return sd_no_memory();
    m = measure(d->line_label[i]);
    width = has_label ? (double)m.columns * font * COLUMN_PER_PIXEL + 2 : 0;
    *line = (struct sd_layers_line){
        .from = e->from,
        .to = e->to,
        .weight = fmax(e->total, e->other_total),
        .label_width = width,
        .label_height = has_label ? (double)m.lines * font * LINE_PER_PIXEL : 0,
    };
    if (e->from == e->to)
        d->layers.boxes[e->from].beside = LOOP_ROOM + width;
    return 0;
}

static int lay_out(struct drawing *d)
{
    const struct sd_view_graph *g = d->g;
    struct sd_layers *l = &d->layers;
    int rc = 0;

    l->n_boxes = g->n_nodes;
    l->n_lines = g->n_edges;
    l->boxes = sd_arena_alloc(&d->arena, (g->n_nodes + 1) * sizeof *l->boxes);
    l->lines = sd_arena_alloc(&d->arena, (g->n_edges + 1) * sizeof *l->lines);
    d->box_label = sd_arena_alloc(&d->arena, (g->n_nodes + 1) * sizeof *d->box_label);
    d->line_label = sd_arena_alloc(&d->arena, (g->n_edges + 1) * sizeof *d->line_label);
    if (!l->boxes || !l->lines || !d->box_label || !d->line_label)
        return sd_no_memory();
    for (size_t i = 0; i < g->n_nodes && rc == 0; i++)
        rc = measure_box(d, i);
    for (size_t i = 0; i < g->n_edges && rc == 0; i++)
        rc = measure_line(d, i);
    return rc < 0 ? rc : sd_layers_lay(l, &d->arena);
}

/* --- Labels */

static void put_fitted(struct sd_out *out, const char *s, size_t n)
{
    size_t fits;

    if (sd_text_width(s, n) <= NAME_COLUMNS) {
        sd_xml_text(out, s, n);
        return;
    }
    fits = sd_text_fit(s, n, NAME_COLUMNS - 1);
    sd_xml_text(out, s, fits);
    sd_out_text(out, "…");
}

/* Lines around the middle `y`, all at `x`. */
static void put_label(struct drawing *d, const char *label, double x, double y,
                      double font, const char *colour)
{
    double line = font * LINE_PER_PIXEL;
    size_t n_lines = measure(label).lines;

    y += line * (0.5 - (double)n_lines / 2) + font * 0.34;
    sd_out_printf(d->out, "<text fill=\"%s\"", colour);
    put_pixels(d->out, " font-size=\"", font);
    sd_out_text(d->out, "\">");
    for (const char *at = label;; at++, y += line) {
        size_t n = strcspn(at, "\n");

        put_pixels(d->out, "<tspan x=\"", x);
        put_pixels(d->out, "\" y=\"", y);
        sd_out_text(d->out, "\">");
        put_fitted(d->out, at, n);
        sd_out_text(d->out, "</tspan>");
        at += n;
        if (!*at)
            break;
    }
    sd_out_text(d->out, "</text>");
}

/* --- Lines */

static double arrow_length(double pen) { return 5 + 1.6 * pen; }

static void put_arrow(struct drawing *d, double x, double y, double dx, double dy,
                      double pen, const char *colour)
{
    double length = arrow_length(pen), half = length * 0.4;

    put_pixels(d->out, "<path class=\"a\" d=\"M", x);
    put_pixels(d->out, " ", y);
    put_pixels(d->out, "L", x - dx * length + dy * half);
    put_pixels(d->out, " ", y - dy * length + dx * half);
    put_pixels(d->out, "L", x - dx * length - dy * half);
    put_pixels(d->out, " ", y - dy * length - dx * half);
    sd_out_printf(d->out, "Z\" fill=\"%s\"/>", colour);
}

/* Vertical through the layers, a curve between them; from above and to below. */
static void put_way(struct drawing *d, const struct sd_layers_line *e)
{
    const struct sd_layers_point *p = e->points;

    put_pixels(d->out, "M", p[0].x);
    put_pixels(d->out, " ", p[0].y);
    for (size_t i = 1; i < e->n_points; i++) {
        if (i % 2 == 1 || p[i].x == p[i - 1].x) {
            if (i + 1 == e->n_points || p[i + 1].x != p[i].x)
                put_pixels(d->out, "V", p[i].y);
            continue;
        }
        put_pixels(d->out, "C", p[i - 1].x);
        put_pixels(d->out, " ", (p[i - 1].y + p[i].y) / 2);
        put_pixels(d->out, " ", p[i].x);
        put_pixels(d->out, " ", (p[i - 1].y + p[i].y) / 2);
        put_pixels(d->out, " ", p[i].x);
        put_pixels(d->out, " ", p[i].y);
    }
}

/* The line ends where its arrow begins. */
static void shorten(struct sd_layers_line *e, double by)
{
    struct sd_layers_point *last = &e->points[e->n_points - 1];

    last->y += e->is_turned ? by : -by;
    for (size_t i = e->n_points - 1; i-- > 1;)
        if (e->is_turned ? e->points[i].y < last->y : e->points[i].y > last->y)
            e->points[i].y = last->y;
}

static void put_stroke(struct drawing *d, const char *colour, double pen)
{
    sd_out_printf(d->out, "\" stroke=\"%s\"", colour);
    put_pixels(d->out, " stroke-width=\"", pen);
    sd_out_text(d->out, "\"/>");
}

static void put_loop(struct drawing *d, size_t i, double pen, const char *colour)
{
    const struct sd_layers_box *b = &d->layers.boxes[d->layers.lines[i].from];
    double x = b->x + b->width / 2, up = fmin(10, b->height / 3);

    sd_out_text(d->out, "<path d=\"");
    put_pixels(d->out, "M", x);
    put_pixels(d->out, " ", b->y - up);
    put_pixels(d->out, "C", x + LOOP_ROOM);
    put_pixels(d->out, " ", b->y - 1.8 * up);
    put_pixels(d->out, " ", x + LOOP_ROOM);
    put_pixels(d->out, " ", b->y + up);
    put_pixels(d->out, " ", x + arrow_length(pen));
    put_pixels(d->out, " ", b->y + up);
    put_stroke(d, colour, pen);
    put_arrow(d, x, b->y + up, -1, 0, pen, colour);
}

static void put_line(struct drawing *d, size_t i, double pen, const char *colour)
{
    struct sd_layers_line *e = &d->layers.lines[i];
    struct sd_layers_point end = e->points[e->n_points - 1];

    shorten(e, arrow_length(pen));
    sd_out_text(d->out, "<path d=\"");
    put_way(d, e);
    put_stroke(d, colour, pen);
    put_arrow(d, end.x, end.y, 0, e->is_turned ? -1 : 1, pen, colour);
}

static void put_edge(struct drawing *d, size_t i)
{
    const struct sd_graph_edge *e = &d->g->edges[i];
    const struct sd_layers_line *line = &d->layers.lines[i];
    const struct sd_layers_box *b = &d->layers.boxes[e->from];
    double weight = sd_graph_edge_weight(&d->look, e);
    double pen = sd_graph_pen_width(&d->look, weight);
    char colour[8];

    sd_graph_colour(&d->look, weight, colour);
    sd_out_printf(d->out, "<g data-v=\"%u %u\"><title>", e->from, e->to);
    put_text(d->out, d->g->nodes[e->from].name);
    sd_out_text(d->out, " → ");
    put_text(d->out, d->g->nodes[e->to].name);
    for (const char *at = d->line_label[i]; *at; at += strcspn(at, "\n")) {
        at += *at == '\n';
        sd_out_text(d->out, "\n");
        sd_xml_text(d->out, at, strcspn(at, "\n"));
    }
    sd_out_text(d->out, "</title>");
    if (e->from == e->to)
        put_loop(d, i, pen, colour);
    else
        put_line(d, i, pen, colour);
    if (line->label_height > 0)
        put_label(
            d, d->line_label[i],
            e->from == e->to ? b->x + b->width / 2 + LOOP_ROOM - 4 : line->label_x,
            e->from == e->to ? b->y : line->label_y, font_of(d, weight) * EDGE_PART,
            brightness(colour) > BRIGHT / 2 ? INK : colour);
    sd_out_text(d->out, "</g>\n");
}

/* --- Boxes */

static void put_amount(struct drawing *d, const char *word, double amount, double share)
{
    struct sd_buf text = { 0 };
    char duration[SD_TEXT_MAX];

    sd_graph_put_percent(&text, share);
    sd_out_printf(d->out, "\n%s %s, ", word, sd_buf_string(&text));
    if (strcmp(d->g->unit, "s") == 0)
        sd_out_text(d->out, sd_text_duration(duration, sd_round_i64(amount * 1e9)));
    else {
        sd_out_printf(d->out, "%s ", sd_text_count(duration, sd_round_i64(amount)));
        put_text(d->out, d->g->unit);
    }
    d->out->pending.bad |= text.bad;
    sd_buf_release(&text);
}

/* What it is in the file that this one is compared with. */
static void put_other(struct drawing *d, const struct sd_graph_node *n)
{
    struct sd_buf text = { 0 };
    char number[SD_TEXT_MAX];

    if (!n->is_in_other) {
        sd_out_text(d->out, "\nnot in the second file");
        return;
    }
    sd_buf_text(&text, "\nin the second file: total ");
    sd_graph_put_percent(&text, n->other_total);
    sd_buf_text(&text, ", self ");
    sd_graph_put_percent(&text, n->other_self);
    if (d->g->has_calls)
        sd_buf_printf(&text, ", calls %s", sd_text_count(number, n->other_calls));
    sd_out_text(d->out, sd_buf_string(&text));
    d->out->pending.bad |= text.bad;
    sd_buf_release(&text);
}

static void put_title(struct drawing *d, const struct sd_graph_node *n)
{
    char number[SD_TEXT_MAX];

    sd_out_text(d->out, "<title>");
    put_text(d->out, n->label ? n->label : n->name);
    if (n->label) {
        sd_out_text(d->out, "</title>");
        return;
    }
    if (strcmp(n->file, "~") != 0) {
        sd_out_text(d->out, "\n");
        put_text(d->out, n->file);
        sd_out_printf(d->out, ":%" PRId64, n->line);
    }
    put_amount(d, "total", n->total_amount, n->total);
    put_amount(d, "self", n->self_amount, n->self);
    if (d->g->has_calls)
        sd_out_printf(d->out, "\ncalls %s", sd_text_count(number, n->calls));
    if (d->g->is_compared)
        put_other(d, n);
    sd_out_text(d->out, "</title>");
}

/* Slower and faster are told by shape, too: a dart that points up or down. */
static void put_change(struct drawing *d, const struct sd_layers_box *b,
                       enum sd_graph_change change)
{
    double side = b->width / 2 - 3, sign = change == SD_GRAPH_SLOWER ? -1 : 1;

    if (change == SD_GRAPH_SAME)
        return;
    put_pixels(d->out, "<path class=\"c\" d=\"M", -side);
    put_pixels(d->out, " ", 4 * -sign);
    put_pixels(d->out, "l", DART_WIDTH);
    put_pixels(d->out, " 0l", -DART_WIDTH / 2.0);
    put_pixels(d->out, " ", 8 * sign);
    sd_out_printf(d->out, "Z\"><title>%s</title></path>",
                  change == SD_GRAPH_SLOWER ? "slower" : "faster");
}

static void put_node(struct drawing *d, size_t i)
{
    const struct sd_graph_node *n = &d->g->nodes[i];
    const struct sd_layers_box *b = &d->layers.boxes[i];
    double weight = sd_graph_node_weight(&d->look, d->g, n);
    char colour[8], text[8];

    sd_graph_colour(&d->look, weight, colour);
    sd_graph_text_colour(&d->look, weight, text);
    put_pixels(d->out, "<g transform=\"translate(", b->x);
    put_pixels(d->out, ",", b->y);
    sd_out_text(d->out, ")\">");
    put_title(d, n);
    put_pixels(d->out, "<rect x=\"", -b->width / 2);
    put_pixels(d->out, "\" y=\"", -b->height / 2);
    put_pixels(d->out, "\" width=\"", b->width);
    put_pixels(d->out, "\" height=\"", b->height);
    sd_out_printf(d->out, "\" fill=\"%s\" stroke=\"%s\"/>",
                  sd_graph_is_filled(&d->look) ? colour : "#ffffff", colour);
    put_label(d, d->box_label[i], 0, 0, font_of(d, weight),
              sd_graph_is_filled(&d->look) && brightness(colour) > BRIGHT ? INK : text);
    put_change(d, b, sd_graph_change_of(&d->look, d->g, n));
    sd_out_text(d->out, "</g>\n");
}

/* --- The page */

static void put_head(struct drawing *d)
{
    double width = fmax(d->layers.width + 2 * PAD, LEAST_WIDTH);
    double height = HEAD + d->layers.height + FOOT;

    sd_out_text(d->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_pixels(d->out, " width=\"", width);
    put_pixels(d->out, "\" height=\"", height);
    put_pixels(d->out, "\" viewBox=\"0 0 ", width);
    put_pixels(d->out, " ", height);
    sd_out_printf(d->out, "\" class=\"sonde-graph\" data-pad=\"%d\" data-head=\"%d\"",
                  PAD, HEAD);
    put_pixels(d->out, " data-width=\"", d->layers.width);
    put_pixels(d->out, "\" data-height=\"", d->layers.height);
    sd_out_text(d->out, "\"");
    if (d->g->search) {
        sd_out_text(d->out, " data-search=\"");
        put_text(d->out, d->g->search);
        sd_out_text(d->out, "\"");
    }
    sd_out_text(d->out, ">\n<title>");
    put_text(d->out, d->g->title);
    sd_out_text(d->out, "</title>\n<style>\n");
    sd_out_text(d->out, sd_graph_css);
    sd_out_text(d->out, "</style>\n"
                        "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
}

static void put_words(struct drawing *d)
{
    sd_out_printf(d->out,
                  "<g class=\"head\"><rect width=\"100%%\" height=\"%d\"/>"
                  "<text class=\"title\" x=\"%d\" y=\"28\">",
                  HEAD - 12, PAD);
    put_text(d->out, d->g->title);
    sd_out_printf(d->out, "</text><text class=\"subtitle\" x=\"%d\" y=\"48\">", PAD);
    put_text(d->out, d->g->subtitle);
    sd_out_text(d->out, "</text></g>\n");
}

static void put_all(struct drawing *d)
{
    put_head(d);
    sd_out_printf(d->out, "<g class=\"graph\" transform=\"translate(%d,%d)\">\n", PAD,
                  HEAD);
    sd_out_text(d->out, "<g class=\"edges\">\n");
    for (size_t i = 0; i < d->g->n_edges; i++)
        put_edge(d, i);
    sd_out_text(d->out, "</g>\n<g class=\"nodes\">\n");
    for (size_t i = 0; i < d->g->n_nodes; i++)
        put_node(d, i);
    sd_out_text(d->out, "</g>\n</g>\n");
    put_words(d);
    sd_out_text(d->out, "<script><![CDATA[\n");
    sd_out_text(d->out, sd_picture_js);
    sd_out_text(d->out, sd_graph_js);
    sd_out_text(d->out, "]]></script>\n</svg>\n");
}

int sd_report_graph(struct sd_out *out, const struct sd_view_graph *g,
                    const struct sd_graph_look *look)
{
    struct drawing d = { .out = out, .g = g, .look = *look };
    int rc;

    sd_graph_look_measure(&d.look, g);
    rc = lay_out(&d);
    if (rc == 0)
        put_all(&d);
    sd_arena_release(&d.arena);
    return rc;
}
