/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_JSON_SHAPE_JSON_H
#define SD_REPORT_JSON_SHAPE_JSON_H
/* shape_json: writes a view of any shape as JSON, for web pages and programs.
 *
 * Numbers are raw: times in nanoseconds, sizes in bytes, as in tables, unless the name
 * or a unit beside them says otherwise.  What is not known is null. */
#include "analyse/view.h"
#include "base/encoding/json.h"

/* sd_report_flame_json and so on: each writes its members into an open object. */
#define SHAPE(id, name)                                                                \
    void sd_report_##name##_json(struct sd_json *j, const struct sd_view_##name *shape);
#include "analyse/shapes.def"
#undef SHAPE

/* What stands in a cell, or null. */
void sd_report_cell_json(struct sd_json *j, const struct sd_cell *c);
/* "name": { "shape": "flame", ... } inside an open object. */
void sd_report_drawing_json(struct sd_json *j, const struct sd_drawing *d);

/* Its title, subtitle and note, or null. */
void sd_report_words_json(struct sd_json *j, const char *title, const char *subtitle,
                          const char *note);
#endif
