/* SPDX-License-Identifier: MIT */
#include "report/picture/canvas.h"

#ifdef HAVE_CAIRO
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/picture/cairo.h"
#include "report/picture/jpeg.h"

enum { TEXT_MAX = 240 }; /* bytes of one text; no picture has room for more */

#define FAMILY "DejaVu Sans"

struct sd_canvas {
    enum sd_picture kind;
    unsigned width, height;
    struct sd_cairo lib;
    cairo_surface_t *surface; /* owned */
    cairo_t *cr;              /* owned */
    struct sd_buf file;       /* SVG and PDF: what cairo has written */
    struct sd_buf words;      /* SVG: our own text */
    struct sd_buf title;
    struct sd_buf escaped, fitted;
    bool is_bad; /* out of memory */
};

/* --- Opening and closing */

static cairo_status_t keep_bytes(void *closure, const unsigned char *p, unsigned n)
{
    struct sd_buf *b = closure;

    sd_buf_add(b, p, n);
    return b->bad ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *new_surface(struct sd_canvas *c)
{
    double w = c->width, h = c->height;
    cairo_surface_t *s;

    switch (c->kind) {
    case SD_PICTURE_SVG:
        s = c->lib.cairo_svg_surface_create_for_stream(keep_bytes, &c->file, w, h);
        c->lib.cairo_svg_surface_set_document_unit(s, CAIRO_SVG_UNIT_PX);
        return s;
    case SD_PICTURE_PDF: /* in points, of which an inch has 72 */
        s = c->lib.cairo_pdf_surface_create_for_stream(keep_bytes, &c->file, w * 0.75,
                                                       h * 0.75);
        c->lib.cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_TITLE,
                                              sd_buf_string(&c->title));
        c->lib.cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATOR, "Sonde");
        return s;
    case SD_PICTURE_PNG:
    case SD_PICTURE_JPEG:
        break;
    }
    return c->lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)c->width,
                                             (int)c->height);
}

static void free_canvas(struct sd_canvas *c)
{
    if (!c)
        return;
    if (c->cr)
        c->lib.cairo_destroy(c->cr);
    if (c->surface)
        c->lib.cairo_surface_destroy(c->surface);
    sd_cairo_close(&c->lib);
    sd_buf_release(&c->file);
    sd_buf_release(&c->words);
    sd_buf_release(&c->title);
    sd_buf_release(&c->escaped);
    sd_buf_release(&c->fitted);
    sd_free(c);
}

static int fail_cairo(struct sd_canvas *c, cairo_status_t status)
{
    return status == CAIRO_STATUS_NO_MEMORY
               ? sd_no_memory()
               : sd_fail(SD_EIO, "cairo could not draw the picture: %s",
                         c->lib.cairo_status_to_string(status));
}

int sd_canvas_check_width(unsigned width, unsigned least)
{
    enum { MOST_PIXELS = 10000 };

    if (width >= least && width <= MOST_PIXELS)
        return 0;
    return sd_fail(SD_EUSAGE, "a picture must be %u to %d pixels wide", least,
                   MOST_PIXELS);
}

int sd_canvas_open(enum sd_picture kind, unsigned width, unsigned height,
                   const char *title, struct sd_canvas **out)
{
    struct sd_canvas *c = sd_zalloc(sizeof *c);
    int rc = c ? sd_cairo_open(&c->lib) : sd_no_memory();

    *out = NULL;
    if (rc < 0)
        goto out;
    c->kind = kind;
    c->width = width;
    c->height = height;
    sd_text_escape(&c->title, title, strlen(title));
    c->surface = new_surface(c);
    c->cr = c->lib.cairo_create(c->surface);
    if (c->lib.cairo_status(c->cr) != CAIRO_STATUS_SUCCESS) {
        rc = fail_cairo(c, c->lib.cairo_status(c->cr));
        goto out;
    }
    if (kind == SD_PICTURE_PDF)
        c->lib.cairo_scale(c->cr, 0.75, 0.75);
    c->lib.cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
    *out = c;
    c = NULL;
out:
    free_canvas(c);
    return rc;
}

/* --- Shapes */

static void set_colour(struct sd_canvas *c, struct sd_colour colour)
{
    c->lib.cairo_set_source_rgba(c->cr, colour.r, colour.g, colour.b, colour.a);
}

void sd_canvas_fill_box(struct sd_canvas *c, struct sd_box box, struct sd_colour colour)
{
    set_colour(c, colour);
    c->lib.cairo_rectangle(c->cr, box.x, box.y, box.w, box.h);
    c->lib.cairo_fill(c->cr);
}

void sd_canvas_line(struct sd_canvas *c, double x0, double y0, double x1, double y1,
                    double width, struct sd_colour colour)
{
    sd_canvas_begin(c, x0, y0);
    sd_canvas_to(c, x1, y1);
    sd_canvas_stroke(c, width, colour);
}

void sd_canvas_dashed(struct sd_canvas *c, double x0, double y0, double x1, double y1,
                      double width, struct sd_colour colour)
{
    static const double dashes[] = { 6, 4 };

    c->lib.cairo_set_dash(c->cr, dashes, 2, 0);
    sd_canvas_line(c, x0, y0, x1, y1, width, colour);
    c->lib.cairo_set_dash(c->cr, NULL, 0, 0);
}

void sd_canvas_dot(struct sd_canvas *c, double x, double y, double radius,
                   struct sd_colour colour)
{
    set_colour(c, colour);
    c->lib.cairo_new_path(c->cr);
    c->lib.cairo_arc(c->cr, x, y, radius, 0, 2 * M_PI);
    c->lib.cairo_fill(c->cr);
}

void sd_canvas_begin(struct sd_canvas *c, double x, double y)
{
    c->lib.cairo_new_path(c->cr);
    c->lib.cairo_move_to(c->cr, x, y);
}

void sd_canvas_to(struct sd_canvas *c, double x, double y)
{
    c->lib.cairo_line_to(c->cr, x, y);
}

void sd_canvas_fill(struct sd_canvas *c, struct sd_colour colour)
{
    set_colour(c, colour);
    c->lib.cairo_close_path(c->cr);
    c->lib.cairo_fill(c->cr);
}

void sd_canvas_stroke(struct sd_canvas *c, double width, struct sd_colour colour)
{
    set_colour(c, colour);
    c->lib.cairo_set_line_width(c->cr, width);
    c->lib.cairo_stroke(c->cr);
}

void sd_canvas_clip(struct sd_canvas *c, struct sd_box box)
{
    c->lib.cairo_save(c->cr);
    c->lib.cairo_rectangle(c->cr, box.x, box.y, box.w, box.h);
    c->lib.cairo_clip(c->cr);
}

void sd_canvas_unclip(struct sd_canvas *c) { c->lib.cairo_restore(c->cr); }

/* --- Text */

/* Cut to a length that no picture has room for, then made harmless. */
static const char *escape(struct sd_canvas *c, const char *text)
{
    size_t n = strlen(text);

    sd_buf_clear(&c->escaped);
    sd_text_escape(&c->escaped, text, n > TEXT_MAX ? sd_text_whole(text, TEXT_MAX) : n);
    c->is_bad |= c->escaped.bad;
    return sd_buf_string(&c->escaped);
}

static double measure(struct sd_canvas *c, const char *escaped,
                      const struct sd_font *font)
{
    cairo_text_extents_t e;

    c->lib.cairo_select_font_face(c->cr, FAMILY, CAIRO_FONT_SLANT_NORMAL,
                                  font->is_bold ? CAIRO_FONT_WEIGHT_BOLD
                                                : CAIRO_FONT_WEIGHT_NORMAL);
    c->lib.cairo_set_font_size(c->cr, font->size);
    c->lib.cairo_text_extents(c->cr, escaped, &e);
    return e.x_advance;
}

double sd_canvas_measure(struct sd_canvas *c, const char *text,
                         const struct sd_font *font)
{
    return measure(c, escape(c, text), font);
}

static void put_xml(struct sd_buf *to, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<':
            sd_buf_text(to, "&lt;");
            break;
        case '>':
            sd_buf_text(to, "&gt;");
            break;
        case '&':
            sd_buf_text(to, "&amp;");
            break;
        case '"':
            sd_buf_text(to, "&quot;");
            break;
        default:
            sd_buf_u8(to, (uint8_t)*s);
        }
}

/* One decimal of a pixel is more than anyone sees; integers only, so that no locale's
 * decimal comma gets in. */
static void put_length(struct sd_buf *to, double v)
{
    long tenths = lround(v * 10);

    sd_buf_printf(to, "%s%ld.%ld", tenths < 0 ? "-" : "", labs(tenths) / 10,
                  labs(tenths) % 10);
}

static unsigned part(double v) { return (unsigned)lround(v * 255) & 255; }

static void put_word(struct sd_canvas *c, double x, double y, const char *escaped,
                     const struct sd_font *font)
{
    static const char *const anchors[] = {
        [SD_ANCHOR_START] = "start",
        [SD_ANCHOR_MIDDLE] = "middle",
        [SD_ANCHOR_END] = "end",
    };
    struct sd_buf *w = &c->words;

    sd_buf_text(w, font->is_upwards ? "<text transform=\"translate(" : "<text x=\"");
    put_length(w, x);
    sd_buf_text(w, font->is_upwards ? " " : "\" y=\"");
    put_length(w, y);
    sd_buf_text(w, font->is_upwards ? ") rotate(-90)\"" : "\"");
    sd_buf_text(w, " font-size=\"");
    put_length(w, font->size);
    sd_buf_printf(w, "\" text-anchor=\"%s\" fill=\"#%02x%02x%02x\"%s>",
                  anchors[font->anchor], part(font->colour.r), part(font->colour.g),
                  part(font->colour.b), font->is_bold ? " font-weight=\"bold\"" : "");
    put_xml(w, escaped);
    sd_buf_text(w, "</text>\n");
}

static void draw_word(struct sd_canvas *c, double x, double y, const char *escaped,
                      const struct sd_font *font)
{
    static const double part_before[] = {
        [SD_ANCHOR_START] = 0,
        [SD_ANCHOR_MIDDLE] = 0.5,
        [SD_ANCHOR_END] = 1,
    };
    double back = measure(c, escaped, font) * part_before[font->anchor];

    set_colour(c, font->colour);
    c->lib.cairo_save(c->cr);
    c->lib.cairo_translate(c->cr, x, y);
    if (font->is_upwards)
        c->lib.cairo_rotate(c->cr, -M_PI / 2);
    c->lib.cairo_move_to(c->cr, -back, 0);
    c->lib.cairo_show_text(c->cr, escaped);
    c->lib.cairo_restore(c->cr);
    c->lib.cairo_new_path(c->cr);
}

void sd_canvas_text(struct sd_canvas *c, double x, double y, const char *text,
                    const struct sd_font *font)
{
    const char *escaped = escape(c, text);

    if (c->kind == SD_PICTURE_SVG)
        put_word(c, x, y, escaped, font);
    else
        draw_word(c, x, y, escaped, font);
}

const char *sd_canvas_fit(struct sd_canvas *c, const char *text,
                          const struct sd_font *font, double width)
{
    const char *whole = escape(c, text);
    size_t n = strlen(whole), low = 0, high = n;

    sd_buf_clear(&c->fitted);
    if (measure(c, whole, font) <= width) {
        sd_buf_text(&c->fitted, whole);
        return sd_buf_string(&c->fitted);
    }
    while (low < high) { /* the longest beginning that fits with its dots */
        size_t mid = low + (high - low + 1) / 2;
        size_t cut = sd_text_whole(whole, mid);

        sd_buf_clear(&c->fitted);
        sd_buf_add(&c->fitted, whole, cut);
        sd_buf_text(&c->fitted, "…");
        if (measure(c, sd_buf_string(&c->fitted), font) <= width)
            low = mid;
        else
            high = mid - 1;
    }
    low = sd_text_whole(whole, low);
    sd_buf_clear(&c->fitted);
    if (low < 3)
        return "";
    sd_buf_add(&c->fitted, whole, low);
    sd_buf_text(&c->fitted, "…");
    return sd_buf_string(&c->fitted);
}

/* --- Writing */

/* cairo's drawing, with a title behind its first tag and our words before its last. */
static int write_svg(struct sd_canvas *c, struct sd_out *out)
{
    const char *text = sd_buf_string(&c->file);
    const char *root = strstr(text, "<svg");
    const char *inside = root ? strchr(root, '>') : NULL;
    const char *end = inside ? strstr(inside, "</svg>") : NULL;
    struct sd_buf title = { 0 };

    for (const char *next = end; next; next = strstr(next + 1, "</svg>"))
        end = next;
    if (!end)
        return sd_fail(SD_EIO,
                       "cairo wrote a picture that is not SVG; .png and .pdf may work");
    put_xml(&title, sd_buf_string(&c->title));
    sd_out_write(out, text, (size_t)(inside + 1 - text));
    sd_out_printf(out, "\n<title>%s</title>\n", sd_buf_string(&title));
    sd_out_write(out, inside + 1, (size_t)(end - inside - 1));
    sd_out_text(out, "<g font-family=\"'" FAMILY "', Verdana, sans-serif\" "
                     "xml:space=\"preserve\">\n");
    sd_out_write(out, c->words.p, c->words.n);
    sd_out_text(out, "</g>\n");
    sd_out_text(out, end);
    sd_buf_release(&title);
    return 0;
}

static int write_file(struct sd_canvas *c, struct sd_out *out)
{
    const struct sd_pixels pixels = {
        c->kind == SD_PICTURE_JPEG ? c->lib.cairo_image_surface_get_data(c->surface)
                                   : NULL,
        c->width, c->height,
        c->kind == SD_PICTURE_JPEG ? c->lib.cairo_image_surface_get_stride(c->surface)
                                   : 0
    };
    cairo_status_t status;

    switch (c->kind) {
    case SD_PICTURE_SVG:
        return write_svg(c, out);
    case SD_PICTURE_PDF:
        sd_out_write(out, c->file.p, c->file.n);
        return 0;
    case SD_PICTURE_JPEG:
        return sd_jpeg_write(out, &pixels);
    case SD_PICTURE_PNG:
        status =
            c->lib.cairo_surface_write_to_png_stream(c->surface, keep_bytes, &c->file);
        if (status != CAIRO_STATUS_SUCCESS)
            return fail_cairo(c, status);
        sd_out_write(out, c->file.p, c->file.n);
        return 0;
    }
    return SD_EUSAGE;
}

int sd_canvas_close(struct sd_canvas *c, int rc, struct sd_out *out)
{
    cairo_status_t status = c->lib.cairo_status(c->cr);

    if (c->kind == SD_PICTURE_SVG || c->kind == SD_PICTURE_PDF)
        c->lib.cairo_surface_finish(c->surface);
    else
        c->lib.cairo_surface_flush(c->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = c->lib.cairo_surface_status(c->surface);
    if (rc == 0 && status != CAIRO_STATUS_SUCCESS)
        rc = fail_cairo(c, status);
    if (rc == 0 && (c->is_bad || c->words.bad || c->title.bad || c->fitted.bad))
        rc = sd_no_memory();
    if (rc == 0)
        rc = write_file(c, out);
    free_canvas(c);
    return rc;
}
#endif
