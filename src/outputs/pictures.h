/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_PICTURES_H
#define SD_OUTPUTS_PICTURES_H
/* pictures: draws views into files; the outputs `flamegraph` and `plot`. */
#include "analyse/views.h"
#include "base/out.h"
#include "profile/profile.h"
#include "report/report.h"

/* By the suffix of a file name; false when it is no picture. */
bool sd_picture_of(const char *path, enum sd_picture *kind);

/* How large it is, in pixels; 0: the usual. */
struct sd_picture_size {
    unsigned width, height;
};

/* Draws what is no table and no call graph (outputs/graph_report.h).  A flame graph is
 * an SVG file. */
int sd_picture_write_drawing(const struct sd_drawing *d, enum sd_picture kind,
                             struct sd_picture_size size, struct sd_out *out);
/* The views of a profile that are pictures.  A plot needs the name of a picture; growth
 * goes to "-" as SVG. */
int sd_picture_write_flame(const struct sd_profile *p, const struct sd_view_request *r,
                           struct sd_picture_size size, struct sd_out *out);
int sd_picture_write_plot(const struct sd_profile *p, const struct sd_view_request *r,
                          const char *path, struct sd_picture_size size,
                          struct sd_out *out);
int sd_picture_write_growth(const struct sd_profile *p, const struct sd_view_request *r,
                            const char *path, struct sd_picture_size size,
                            struct sd_out *out);
#endif
