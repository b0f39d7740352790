/* SPDX-License-Identifier: MIT */
#include "report/json/shape_json.h"

#include "base/assert.h"

const char *sd_report_unit_json(enum sd_cell_kind kind)
{
    static const char *const units[] = {
        [SD_CELL_COUNT] = "count", [SD_CELL_NS] = "ns",
        [SD_CELL_BYTES] = "bytes", [SD_CELL_PERCENT] = "percent",
        [SD_CELL_REAL] = "real",
    };

    return units[kind];
}

void sd_report_words_json(struct sd_json *j, const char *title, const char *subtitle,
                          const char *note)
{
    sd_json_key_string(j, "title", title);
    sd_json_key_string(j, "subtitle", subtitle);
    sd_json_key_string(j, "note", note);
}

void sd_report_drawing_json(struct sd_json *j, const struct sd_drawing *d)
{
    sd_assert(d->name && d->shape != SD_SHAPE_TABLE);
    sd_json_key_object(j, d->name);
    switch (d->shape) {
#define SHAPE(id, name)                                                                \
    case SD_SHAPE_##id:                                                                \
        sd_json_key_string(j, "shape", #name);                                         \
        sd_report_##name##_json(j, &d->name);                                          \
        break;
#include "analyse/shapes.def"
#undef SHAPE
    case SD_SHAPES:
        break;
    }
    sd_json_end(j);
}
