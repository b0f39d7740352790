/* SPDX-License-Identifier: MIT */
/* flame_json: writes a flame graph as JSON: its boxes, parents first.  `parent` is the
 * place of the box below; amounts are in the unit that stands beside them. */
#include "report/json/shape_json.h"

static const char *const kinds[SD_FLAME_KINDS] = {
    [SD_FLAME_ALL] = "all",         [SD_FLAME_PROCESS] = "process",
    [SD_FLAME_THREAD] = "thread",   [SD_FLAME_OWN] = "own",
    [SD_FLAME_LIBRARY] = "library", [SD_FLAME_NATIVE] = "native",
    [SD_FLAME_MARK] = "mark",       [SD_FLAME_IDLE] = "idle",
    [SD_FLAME_FOLDED] = "folded",
};

static void put_box(struct sd_json *j, const struct sd_flame_box *b)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", b->name);
    sd_json_key_string(j, "where", b->where);
    sd_json_key_string(j, "kind", kinds[b->kind]);
    sd_json_key(j, "parent");
    if (b->parent == UINT32_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, b->parent);
    sd_json_key_uint(j, "depth", b->depth);
    sd_json_key_int(j, "from", b->from);
    sd_json_key_int(j, "total", b->total);
    sd_json_key_int(j, "self", b->self);
    sd_json_key_int(j, "idle", b->idle);
    sd_json_key_int(j, "waited", b->waited);
    sd_json_end(j);
}

void sd_report_flame_json(struct sd_json *j, const struct sd_view_flame *f)
{
    sd_report_words_json(j, f->title, f->subtitle, f->note);
    sd_json_key_string(j, "search", f->search);
    sd_json_key_string(j, "unit", f->unit ? f->unit : sd_cell_unit(f->kind));
    sd_json_key_array(j, "boxes");
    for (size_t i = 0; i < f->n_boxes; i++)
        put_box(j, &f->boxes[i]);
    sd_json_end(j);
}
