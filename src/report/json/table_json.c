/* SPDX-License-Identifier: MIT */
/* table_json: writes a table as a JSON array of objects.  Times are nanoseconds, sizes
 * bytes; in a tree every row has `depth`, and `parent`: the place of the row it is
 * inside. */
#include "report/json/shape_json.h"

static void put_frames(struct sd_json *j, const struct sd_cell_frames *f)
{
    sd_json_array(j);
    for (size_t i = 0; i < f->n; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "function", f->items[i].function);
        sd_json_key_string(j, "file", f->items[i].file);
        sd_json_key(j, "line");
        if (f->items[i].line)
            sd_json_int(j, f->items[i].line);
        else
            sd_json_null(j);
        sd_json_end(j);
    }
    sd_json_end(j);
}

void sd_report_cell_json(struct sd_json *j, const struct sd_cell *c)
{
    switch (c->kind) {
    case SD_CELL_TEXT:
        if (c->frames)
            put_frames(j, c->frames);
        else
            sd_json_string(j, c->text);
        return;
    case SD_CELL_COUNT:
    case SD_CELL_NS:
    case SD_CELL_BYTES:
        sd_json_int(j, c->number);
        return;
    case SD_CELL_PERCENT:
    case SD_CELL_REAL:
        sd_json_real(j, c->real);
        return;
    case SD_CELL_NONE:
        sd_json_null(j);
        return;
    }
}

static void put_place(struct sd_json *j, const struct sd_view_table *t, size_t row)
{
    int64_t depth = 0;

    for (int32_t at = t->parents[row]; at >= 0; at = t->parents[at])
        depth++;
    sd_json_key_int(j, "depth", depth);
    sd_json_key(j, "parent");
    if (t->parents[row] < 0)
        sd_json_null(j);
    else
        sd_json_int(j, t->parents[row]);
}

void sd_report_table_json(struct sd_json *j, const struct sd_view_table *t)
{
    sd_json_key_array(j, t->name);
    for (size_t i = 0; i < t->n_rows; i++) {
        sd_json_object(j);
        for (size_t k = 0; k < t->n_columns; k++) {
            sd_json_key(j, t->columns[k].name);
            sd_report_cell_json(j, sd_view_cell(t, i, k));
        }
        if (t->parents)
            put_place(j, t, i);
        sd_json_end(j);
    }
    sd_json_end(j);
}
