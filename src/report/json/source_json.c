/* SPDX-License-Identifier: MIT */
/* source_json: writes source files as JSON: of each the lines with figures, under the
 * names of the columns, and its text where that is attached. */
#include "report/json/shape_json.h"

static void put_line(struct sd_json *j, const struct sd_view_source *s,
                     const struct sd_source_file *f, size_t i)
{
    sd_json_object(j);
    sd_json_key_uint(j, "line", f->lines[i]);
    for (size_t k = 0; k < s->n_columns; k++) {
        sd_json_key(j, s->columns[k].name);
        sd_report_cell_json(j, &f->cells[i * s->n_columns + k]);
    }
    sd_json_end(j);
}

static void put_file(struct sd_json *j, const struct sd_view_source *s,
                     const struct sd_source_file *f)
{
    sd_json_object(j);
    sd_json_key_string(j, "file", f->file);
    sd_json_key_string(j, "short", f->short_file);
    sd_json_key_bool(j, "is_library", f->is_library);
    if (f->text) {
        sd_json_key(j, "text");
        sd_json_text(j, f->text, f->n_text);
    }
    if (f->note)
        sd_json_key_string(j, "note", f->note);
    sd_json_key_array(j, "lines");
    for (size_t i = 0; i < f->n_lines; i++)
        put_line(j, s, f, i);
    sd_json_end(j);
    sd_json_end(j);
}

void sd_report_source_json(struct sd_json *j, const struct sd_view_source *s)
{
    sd_json_key_string(j, "note", s->note);
    sd_json_key_string(j, "evidence", s->evidence);
    sd_json_key_array(j, "files");
    for (size_t i = 0; i < s->n_files; i++)
        put_file(j, s, &s->files[i]);
    sd_json_end(j);
}
