/* SPDX-License-Identifier: MIT */
/* map_json: writes parts and what goes from one to another as JSON: boxes, and links
 * between their places. */
#include "report/json/shape_json.h"

void sd_report_map_json(struct sd_json *j, const struct sd_view_map *m)
{
    sd_report_words_json(j, m->title, m->subtitle, m->note);
    sd_json_key_string(j, "quantity", m->quantity);
    sd_json_key_array(j, "boxes");
    for (size_t i = 0; i < m->n_boxes; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "name", m->boxes[i].name);
        sd_json_key_string(j, "about", m->boxes[i].about);
        sd_json_key_string(j, "value", m->boxes[i].value);
        sd_json_key_real(j, "share", m->boxes[i].share);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_key_array(j, "links");
    for (size_t i = 0; i < m->n_links; i++) {
        sd_json_object(j);
        sd_json_key_uint(j, "from", m->links[i].from);
        sd_json_key_uint(j, "to", m->links[i].to);
        sd_json_key_string(j, "about", m->links[i].about);
        sd_json_end(j);
    }
    sd_json_end(j);
}
