/* SPDX-License-Identifier: MIT */
#include "report/json/shape_json.h"

#include "base/assert.h"

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
