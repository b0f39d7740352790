/* SPDX-License-Identifier: MIT */
#include "outputs/graph_report.h"

#include <string.h>

#include "formats/callgrind.h"

struct sd_graph_order sd_graph_report_order_default(void)
{
    return (struct sd_graph_order){
        .request = SD_GRAPH_USUAL,
        .look = sd_graph_look_default(),
    };
}

static int draw(const struct sd_graph_source *s, const struct sd_graph_source *other,
                const struct sd_graph_order *order, enum sd_graph_form form,
                struct sd_arena *a, struct sd_out *out)
{
    struct sd_view_graph g;
    int rc = sd_graph_source_draw(s, other, &order->request, a, &g);

    if (rc < 0)
        return rc;
    g.search = order->search;
    return form == SD_GRAPH_DOT ? sd_report_dot(out, &g, &order->look)
                                : sd_report_graph(out, &g, &order->look);
}

int sd_graph_report_put(const struct sd_graph_source *s,
                        const struct sd_graph_source *other,
                        const struct sd_graph_order *order, enum sd_graph_form form,
                        struct sd_out *out)
{
    struct sd_arena arena = { 0 };
    int rc;

    if (form == SD_GRAPH_CALLGRIND) {
        bool is_time = strcmp(s->unit, "s") == 0;

        return sd_call_stats_write_callgrind(
            s->stats,
            &(struct sd_callgrind_head){ .command = s->title,
                                         .event = is_time ? "ns" : s->unit,
                                         .per_unit = is_time ? 1e9 : 1 },
            out);
    }
    rc = draw(s, other, order, form, &arena, out);
    sd_arena_release(&arena);
    return rc;
}
