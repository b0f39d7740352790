/* SPDX-License-Identifier: MIT */
/* page_series: writes readings over time: curves with their points as columns, and
 * sections as bands. */
#include "base/mem.h"
#include "report/page/page_shapes.h"

/* Which member of a point, by its place in the struct. */
static void put_points(struct sd_payload *p, const struct sd_curve *c, const char *key,
                       size_t member)
{
    double *v = sd_alloc((c->n_points + 1) * sizeof *v);

    if (!v) {
        p->bad = true;
        return;
    }
    for (size_t i = 0; i < c->n_points; i++)
        v[i] = *(const double *)((const char *)&c->points[i] + member);
    sd_payload_put_reals(p, key, v, c->n_points);
    sd_free(v);
}

void sd_page_put_curves(struct sd_payload *p, const struct sd_curve *curves, size_t n)
{
    sd_json_key_array(&p->j, "curves");
    for (size_t i = 0; i < n; i++) {
        sd_json_object(&p->j);
        sd_json_key_string(&p->j, "name", curves[i].name);
        sd_json_key_bool(&p->j, "isTotal", curves[i].is_total);
        put_points(p, &curves[i], "t", offsetof(struct sd_curve_point, t));
        put_points(p, &curves[i], "min", offsetof(struct sd_curve_point, min));
        put_points(p, &curves[i], "max", offsetof(struct sd_curve_point, max));
        put_points(p, &curves[i], "last", offsetof(struct sd_curve_point, last));
        sd_json_end(&p->j);
    }
    sd_json_end(&p->j);
}

void sd_page_put_bands(struct sd_payload *p, const struct sd_band *bands, size_t n)
{
    sd_json_key_array(&p->j, "bands");
    for (size_t i = 0; i < n; i++) {
        char cut[SD_PAYLOAD_CUT];

        sd_json_object(&p->j);
        sd_json_key_string(&p->j, "name", sd_payload_cut(bands[i].name, cut));
        sd_json_key_real(&p->j, "from", bands[i].from);
        sd_json_key_real(&p->j, "to", bands[i].to);
        sd_json_key_uint(&p->j, "depth", bands[i].depth);
        sd_json_key_uint(&p->j, "n", bands[i].n);
        sd_json_end(&p->j);
    }
    sd_json_end(&p->j);
}

void sd_page_put_series(struct sd_payload *p, const struct sd_view_series *s)
{
    sd_json_key_string(&p->j, "title", s->title ? s->title : "");
    sd_json_key_string(&p->j, "subtitle", s->subtitle);
    sd_json_key_string(&p->j, "note", s->note);
    sd_json_key_string(&p->j, "quantity", s->quantity ? s->quantity : "");
    sd_json_key_string(&p->j, "unit",
                       sd_page_unit(s->n_curves ? s->curves[0].kind : SD_CELL_COUNT));
    sd_page_put_curves(p, s->curves, s->n_curves);
    sd_page_put_bands(p, s->bands, s->n_bands);
}
