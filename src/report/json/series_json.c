/* SPDX-License-Identifier: MIT */
/* series_json: writes readings over time as JSON: curves of points, sections as bands.
 * Times are seconds from the beginning of the run. */
#include "report/json/shape_json.h"

static void put_curve(struct sd_json *j, const struct sd_curve *c)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", c->name);
    sd_json_key_string(j, "unit", sd_cell_unit(c->kind));
    sd_json_key_bool(j, "is_total", c->is_total);
    if (c->has_trend) {
        sd_json_key_real(j, "slope", c->slope);
        sd_json_key_real(j, "start", c->start);
    }
    sd_json_key_array(j, "points");
    for (size_t i = 0; i < c->n_points; i++) {
        const struct sd_curve_point *p = &c->points[i];

        sd_json_object(j);
        sd_json_key_real(j, "t", p->t);
        sd_json_key_real(j, "min", p->min);
        sd_json_key_real(j, "max", p->max);
        sd_json_key_real(j, "last", p->last);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_end(j);
}

static void put_band(struct sd_json *j, const struct sd_band *b)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", b->name);
    sd_json_key_real(j, "from", b->from);
    sd_json_key_real(j, "to", b->to);
    sd_json_key_uint(j, "depth", b->depth);
    sd_json_key_uint(j, "sections", b->n);
    sd_json_end(j);
}

/* Below zero there is none. */
static void key_level(struct sd_json *j, const char *key, double v)
{
    sd_json_key(j, key);
    if (v < 0)
        sd_json_null(j);
    else
        sd_json_real(j, v);
}

void sd_report_series_json(struct sd_json *j, const struct sd_view_series *s)
{
    sd_report_words_json(j, s->title, s->subtitle, s->note);
    sd_json_key_string(j, "quantity", s->quantity);
    sd_json_key_real(j, "from", s->from);
    sd_json_key_real(j, "to", s->to);
    key_level(j, "peak", s->peak);
    key_level(j, "peak_t", s->peak < 0 ? -1 : s->peak_t);
    key_level(j, "mark", s->mark);
    sd_json_key_array(j, "curves");
    for (size_t i = 0; i < s->n_curves; i++)
        put_curve(j, &s->curves[i]);
    sd_json_end(j);
    sd_json_key_array(j, "bands");
    for (size_t i = 0; i < s->n_bands; i++)
        put_band(j, &s->bands[i]);
    sd_json_end(j);
}
