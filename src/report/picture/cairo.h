/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PICTURE_CAIRO_H
#define SD_REPORT_PICTURE_CAIRO_H
/* cairo: loads the functions of libcairo when the first picture is drawn.  Loading
 * cairo takes milliseconds that `sonde report` without a picture should not pay, and
 * the program runs where it is not installed. */
#ifdef HAVE_CAIRO
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#define SD_CAIRO_FUNCTIONS(F)                                                          \
    F(cairo_arc)                                                                       \
    F(cairo_clip)                                                                      \
    F(cairo_close_path)                                                                \
    F(cairo_create)                                                                    \
    F(cairo_destroy)                                                                   \
    F(cairo_fill)                                                                      \
    F(cairo_image_surface_create)                                                      \
    F(cairo_image_surface_get_data)                                                    \
    F(cairo_image_surface_get_stride)                                                  \
    F(cairo_line_to)                                                                   \
    F(cairo_move_to)                                                                   \
    F(cairo_new_path)                                                                  \
    F(cairo_pdf_surface_create_for_stream)                                             \
    F(cairo_pdf_surface_set_metadata)                                                  \
    F(cairo_rectangle)                                                                 \
    F(cairo_restore)                                                                   \
    F(cairo_rotate)                                                                    \
    F(cairo_save)                                                                      \
    F(cairo_scale)                                                                     \
    F(cairo_select_font_face)                                                          \
    F(cairo_set_dash)                                                                  \
    F(cairo_set_font_size)                                                             \
    F(cairo_set_line_join)                                                             \
    F(cairo_set_line_width)                                                            \
    F(cairo_set_source_rgba)                                                           \
    F(cairo_show_text)                                                                 \
    F(cairo_status)                                                                    \
    F(cairo_status_to_string)                                                          \
    F(cairo_stroke)                                                                    \
    F(cairo_surface_destroy)                                                           \
    F(cairo_surface_finish)                                                            \
    F(cairo_surface_flush)                                                             \
    F(cairo_surface_status)                                                            \
    F(cairo_surface_write_to_png_stream)                                               \
    F(cairo_svg_surface_create_for_stream)                                             \
    F(cairo_svg_surface_set_document_unit)                                             \
    F(cairo_text_extents)                                                              \
    F(cairo_translate)

struct sd_cairo {
    void *library; /* owned */
#define SD_CAIRO_MEMBER(name) __typeof__(name) *name;
    SD_CAIRO_FUNCTIONS(SD_CAIRO_MEMBER)
#undef SD_CAIRO_MEMBER
};

/* SD_ELACKS with a sentence that names the package. */
int sd_cairo_open(struct sd_cairo *c);
void sd_cairo_close(struct sd_cairo *c);
#endif
#endif
