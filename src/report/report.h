/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_REPORT_H
#define SD_REPORT_REPORT_H
/* report: draws views.  Each writes to an sd_out and knows nothing of captures. */
#include <stdbool.h>

#include "analyse/view.h"
#include "base/out.h"
#include "report/json/shape_json.h"

struct sd_text_style {
    bool colour;
    size_t width;  /* columns of the terminal; 0: no limit */
    size_t indent; /* spaces before every row */
};

void sd_report_heading(struct sd_out *out, const struct sd_text_style *style,
                       const char *text);
void sd_report_table_text(struct sd_out *out, const struct sd_view_table *t,
                          const struct sd_text_style *style);
void sd_report_table_csv(struct sd_out *out, const struct sd_view_table *t);

enum sd_picture { SD_PICTURE_SVG, SD_PICTURE_PNG, SD_PICTURE_JPEG, SD_PICTURE_PDF };
/* Draws the series through cairo, opened when first used.  SD_ELACKS names the package
 * to install. */
int sd_report_plot(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_series *s, unsigned width, unsigned height);

/* Time over size, both by their logarithms, a panel for each function.  The same
 * machinery. */
int sd_report_growth(struct sd_out *out, enum sd_picture kind,
                     const struct sd_view_growth *g, unsigned width);

/* Bars from left to right, one below the other: as high as they are many. */
int sd_report_bars(struct sd_out *out, enum sd_picture kind,
                   const struct sd_view_bars *b, unsigned width);
/* Operations a second over operations for each byte, both by their logarithms, under
 * the roof of the machine. */
int sd_report_roofline(struct sd_out *out, enum sd_picture kind,
                       const struct sd_view_roofline *r, unsigned width);
/* Boxes from top to bottom as the links go (layers.h); as large as it needs to be, and
 * refused where nobody could look at that. */
int sd_report_map(struct sd_out *out, enum sd_picture kind,
                  const struct sd_view_map *m);
/* 1: it is small enough for that; 0: it is not; or a failure. */
int sd_report_map_fits(const struct sd_view_map *m);

/* A flame graph as one SVG file with its own script: it opens from any disk, asks the
 * network for nothing, and is a picture where no script runs.  Text of strangers stands
 * in it as text only. */
void sd_report_flame(struct sd_out *out, const struct sd_view_flame *f, unsigned width);
#endif
