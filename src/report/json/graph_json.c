/* SPDX-License-Identifier: MIT */
/* graph_json: writes a call graph as JSON: functions as nodes, and who calls whom as
 * edges between their places.  Shares are of the whole, 0 to 1; amounts are in `unit`.
 * Of a comparison, what the other graph has stands behind "other_". */
#include "report/json/shape_json.h"

static void put_node(struct sd_json *j, const struct sd_view_graph *g,
                     const struct sd_graph_node *n)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", n->name);
    sd_json_key_string(j, "function", n->function);
    sd_json_key_string(j, "file", n->file);
    sd_json_key_int(j, "line", n->line);
    if (g->has_calls)
        sd_json_key_int(j, "calls", n->calls);
    sd_json_key_real(j, "self", n->self);
    sd_json_key_real(j, "total", n->total);
    sd_json_key_real(j, "self_amount", n->self_amount);
    sd_json_key_real(j, "total_amount", n->total_amount);
    if (g->is_compared) {
        sd_json_key_bool(j, "is_in_other", n->is_in_other);
        sd_json_key_real(j, "other_self", n->other_self);
        sd_json_key_real(j, "other_total", n->other_total);
        sd_json_key_int(j, "other_calls", n->other_calls);
    }
    sd_json_end(j);
}

static void put_edge(struct sd_json *j, const struct sd_view_graph *g,
                     const struct sd_graph_edge *e)
{
    sd_json_object(j);
    sd_json_key_uint(j, "from", e->from);
    sd_json_key_uint(j, "to", e->to);
    if (g->has_calls)
        sd_json_key_int(j, "calls", e->calls);
    sd_json_key_real(j, "total", e->total);
    if (g->is_compared) {
        sd_json_key_bool(j, "is_in_other", e->is_in_other);
        sd_json_key_real(j, "other_total", e->other_total);
        sd_json_key_int(j, "other_calls", e->other_calls);
    }
    sd_json_end(j);
}

void sd_report_graph_json(struct sd_json *j, const struct sd_view_graph *g)
{
    sd_report_words_json(j, g->title, g->subtitle, NULL);
    sd_json_key_string(j, "search", g->search);
    sd_json_key_string(j, "unit", g->unit);
    sd_json_key_uint(j, "all_nodes", g->n_all_nodes);
    sd_json_key_uint(j, "all_edges", g->n_all_edges);
    sd_json_key_array(j, "nodes");
    for (size_t i = 0; i < g->n_nodes; i++)
        put_node(j, g, &g->nodes[i]);
    sd_json_end(j);
    sd_json_key_array(j, "edges");
    for (size_t i = 0; i < g->n_edges; i++)
        put_edge(j, g, &g->edges[i]);
    sd_json_end(j);
}
