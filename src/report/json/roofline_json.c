/* SPDX-License-Identifier: MIT */
/* roofline_json: writes a roofline as JSON: the two limits of the machine and a point
 * for each layer.  The rate of what was not timed is null. */
#include "report/json/shape_json.h"

void sd_report_roofline_json(struct sd_json *j, const struct sd_view_roofline *r)
{
    sd_report_words_json(j, r->title, r->subtitle, r->note);
    sd_json_key_real(j, "peak_per_s", r->peak);
    sd_json_key_real(j, "bytes_per_s", r->bandwidth);
    sd_json_key_array(j, "points");
    for (size_t i = 0; i < r->n_points; i++) {
        const struct sd_roofline_point *p = &r->points[i];

        sd_json_object(j);
        sd_json_key_string(j, "name", p->name);
        sd_json_key_real(j, "operations_per_byte", p->intensity);
        sd_json_key(j, "operations_per_s");
        if (p->rate > 0)
            sd_json_real(j, p->rate);
        else
            sd_json_null(j);
        sd_json_key_real(j, "share", p->share);
        sd_json_end(j);
    }
    sd_json_end(j);
}
