/* SPDX-License-Identifier: MIT */
/* growth_json: writes how times of functions grow with size as JSON: for each function
 * the points that were measured, and the curve through them. */
#include "report/json/shape_json.h"

static void put_marks(struct sd_json *j, const char *key,
                      const struct sd_growth_mark *marks, size_t n)
{
    sd_json_key_array(j, key);
    for (size_t i = 0; i < n; i++) {
        sd_json_object(j);
        sd_json_key_real(j, "n", marks[i].n);
        sd_json_key_real(j, "ns", marks[i].ns);
        sd_json_end(j);
    }
    sd_json_end(j);
}

void sd_report_growth_json(struct sd_json *j, const struct sd_view_growth *g)
{
    sd_report_words_json(j, g->title, NULL, g->note);
    sd_json_key_string(j, "quantity", g->quantity);
    sd_json_key_array(j, "panels");
    for (size_t i = 0; i < g->n_panels; i++) {
        const struct sd_growth_panel *p = &g->panels[i];

        sd_json_object(j);
        sd_json_key_string(j, "title", p->title);
        sd_json_key_string(j, "subtitle", p->subtitle);
        sd_json_key_string(j, "argument", p->argument);
        sd_json_key_bool(j, "is_flagged", p->is_flagged);
        sd_json_key_real(j, "measured_to", p->measured_to);
        sd_json_key_real(j, "linear_slope", p->linear_slope);
        put_marks(j, "points", p->points, p->n_points);
        put_marks(j, "curve", p->curve, p->n_curve);
        sd_json_end(j);
    }
    sd_json_end(j);
}
