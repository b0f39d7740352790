/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_REPORT_H
#define SD_REPORT_REPORT_H
/* report: views for the eye.  Each writes to an sd_out and knows nothing of captures.
 */
#include <stdbool.h>

#include "analyse/view.h"
#include "base/encoding/json.h"
#include "base/out.h"

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
/* "name": [ {column: value, ...}, ... ] inside an open object: raw integers (ns,
 * bytes). */
void sd_report_table_json(struct sd_json *j, const struct sd_view_table *t);

/* What a suffix asks for (outputs.def). */
enum sd_output_what {
    SD_OUTPUT_CAPTURE,
    SD_OUTPUT_FORMAT, /* formats/ knows it */
    SD_OUTPUT_PSTATS, /* of traced calls */
    SD_OUTPUT_LPROF,  /* of lines */
    SD_OUTPUT_GRAPH,  /* of functions and callers */
    SD_OUTPUT_TABLE,
    SD_OUTPUT_PICTURE_SVG,
    SD_OUTPUT_PICTURE_PNG,
    SD_OUTPUT_PICTURE_JPEG,
    SD_OUTPUT_PICTURE_PDF,
};
struct sd_output {
    const char *suffix;
    enum sd_output_what what;
    const char *summary;
};
extern const struct sd_output sd_outputs[];              /* ended by a NULL suffix */
const struct sd_output *sd_output_for(const char *path); /* longest suffix, or NULL */

enum sd_picture { SD_PICTURE_SVG, SD_PICTURE_PNG, SD_PICTURE_JPEG, SD_PICTURE_PDF };
/* By the suffix of a file name; false when it is none of them. */
bool sd_picture_of(const char *path, enum sd_picture *kind);
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
