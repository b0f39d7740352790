/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PICTURE_CANVAS_H
#define SD_REPORT_PICTURE_CANVAS_H
/* canvas: a sheet to draw on, whatever file it becomes.
 *
 * Everything is drawn through cairo, in pixels of 1/96 inch, y downwards.  Only text on
 * an SVG sheet is not: cairo would turn it into outlines, which nobody can select,
 * search or read aloud, so it is measured by cairo and written as <text> over the
 * drawing.
 *
 * Texts may come from strangers: they are escaped here, once for all kinds of files. */
#include "base/error.h"
#include "base/out.h"
#include "report/report.h"

struct sd_canvas;

struct sd_colour {
    double r, g, b, a;
};
#define SD_RGB(hex)                                                                    \
    ((struct sd_colour){ (double)((hex) >> 16 & 255) / 255,                            \
                         (double)((hex) >> 8 & 255) / 255, (double)((hex)&255) / 255,  \
                         1 })
#define SD_RGBA(hex, alpha)                                                            \
    ((struct sd_colour){ (double)((hex) >> 16 & 255) / 255,                            \
                         (double)((hex) >> 8 & 255) / 255, (double)((hex)&255) / 255,  \
                         (alpha) })

/* What every picture is written with: words, lesser words, the lines behind the data.
 */
#define SD_INK ((struct sd_colour){ 0.13, 0.14, 0.16, 1 })
#define SD_GREY ((struct sd_colour){ 0.40, 0.42, 0.45, 1 })
#define SD_GRID ((struct sd_colour){ 0.45, 0.48, 0.52, 0.2 })

enum sd_anchor { SD_ANCHOR_START, SD_ANCHOR_MIDDLE, SD_ANCHOR_END };
struct sd_font {
    double size;
    bool is_bold;
    struct sd_colour colour;
    enum sd_anchor anchor;
    bool is_upwards; /* turned by a quarter, as beside a y axis */
};

struct sd_box {
    double x, y, w, h;
};

/* What every picture says where there is nothing to draw with. */
static inline int sd_canvas_lacks_cairo(void)
{
    return sd_fail(SD_ELACKS, "this sonde was built without cairo, which plots need: "
                              "apt install libcairo2-dev, and build it again");
}

/* SD_EUSAGE with a sentence: wider than anybody looks at, or too narrow for what is in
 * every picture of its kind. */
int sd_canvas_check_width(unsigned width, unsigned least);
/* `title` is what a reader of the picture is told it shows. */
int sd_canvas_open(enum sd_picture kind, unsigned width, unsigned height,
                   const char *title, struct sd_canvas **out);
void sd_canvas_fill_box(struct sd_canvas *c, struct sd_box box,
                        struct sd_colour colour);
void sd_canvas_line(struct sd_canvas *c, double x0, double y0, double x1, double y1,
                    double width, struct sd_colour colour);
void sd_canvas_dashed(struct sd_canvas *c, double x0, double y0, double x1, double y1,
                      double width, struct sd_colour colour);
void sd_canvas_dot(struct sd_canvas *c, double x, double y, double radius,
                   struct sd_colour colour);
/* A path: the first point moves, later ones draw; then fill it or stroke it. */
void sd_canvas_begin(struct sd_canvas *c, double x, double y);
void sd_canvas_to(struct sd_canvas *c, double x, double y);
void sd_canvas_fill(struct sd_canvas *c, struct sd_colour colour);
void sd_canvas_stroke(struct sd_canvas *c, double width, struct sd_colour colour);
/* What is drawn until unclip stays inside the box (text does not care). */
void sd_canvas_clip(struct sd_canvas *c, struct sd_box box);
void sd_canvas_unclip(struct sd_canvas *c);

/* Width in pixels. */
double sd_canvas_measure(struct sd_canvas *c, const char *text,
                         const struct sd_font *font);
/* y is the base line. */
void sd_canvas_text(struct sd_canvas *c, double x, double y, const char *text,
                    const struct sd_font *font);
/* The text, or its beginning and "…", so that it fits; "" when nothing readable does.
 * Borrowed until the next call. */
const char *sd_canvas_fit(struct sd_canvas *c, const char *text,
                          const struct sd_font *font, double width);

/* Writes the file into `out` and frees the canvas (rc < 0: only frees it). */
int sd_canvas_close(struct sd_canvas *c, int rc, struct sd_out *out);
#endif
