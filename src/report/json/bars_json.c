/* SPDX-License-Identifier: MIT */
/* bars_json: writes bars as JSON; `values` has one number for each of `series`. */
#include "report/json/shape_json.h"

void sd_report_bars_json(struct sd_json *j, const struct sd_view_bars *b)
{
    sd_report_words_json(j, b->title, b->subtitle, b->note);
    sd_json_key_string(j, "unit", sd_cell_unit(b->kind));
    sd_json_key_array(j, "series");
    for (size_t i = 0; i < b->n_series; i++)
        sd_json_string(j, b->series[i]);
    sd_json_end(j);
    sd_json_key_array(j, "bars");
    for (size_t i = 0; i < b->n_bars; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "name", b->bars[i].name);
        sd_json_key_string(j, "about", b->bars[i].about);
        sd_json_key_array(j, "values");
        for (size_t k = 0; k < b->n_series; k++)
            sd_json_real(j, b->bars[i].values[k]);
        sd_json_end(j);
        sd_json_end(j);
    }
    sd_json_end(j);
}
