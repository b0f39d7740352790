/* SPDX-License-Identifier: MIT */
/* profile_views: the functions of views.def that make the views of a profile, where a
 * request is all that an analysis lacks. */
#include <string.h>

#include "analyse/growth/scaling.h"
#include "analyse/source_rows.h"
#include "analyse/stacks/graph_source.h"
#include "analyse/views.h"
#include "base/error.h"

/* --- Stacks */

int sd_profile_view_functions(const struct sd_profile *p,
                              const struct sd_view_request *r, struct sd_view *v)
{
    struct sd_stacks_request folded = r->stacks;

    folded.choice.folds_imports = r->folds_imports;
    return sd_analyse_functions(p, &folded, v);
}

int sd_profile_view_calls(const struct sd_profile *p, const struct sd_view_request *r,
                          struct sd_view *v)
{
    return sd_analyse_call_tree(p, &r->stacks, r->least_percent, v);
}

int sd_profile_view_callers(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v)
{
    return sd_analyse_calls(p, &r->stacks, SD_CALLERS, r->match, v);
}

int sd_profile_view_callees(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v)
{
    return sd_analyse_calls(p, &r->stacks, SD_CALLEES, r->match, v);
}

/* Traced calls know no lines. */
int sd_profile_view_lines(const struct sd_profile *p, const struct sd_view_request *r,
                          struct sd_view *v)
{
    const struct sd_stacks_request lines = { .choice = r->stacks.choice,
                                             .by = SD_CALLS_BY_LINE };

    return sd_views_are_traced(p, r) ? 0 : sd_analyse_functions(p, &lines, v);
}

static bool has_several_processes(const struct sd_profile *p, const char *metric)
{
    const struct sd_stack_totals *t =
        &p->evidence[sd_profile_evidence(p, metric)].stacks;

    for (size_t i = 1; i < t->n; i++)
        if (sd_profile_process_of(p, t->items[i].track).at !=
            sd_profile_process_of(p, t->items[0].track).at)
            return true;
    return false;
}

int sd_profile_view_flame(const struct sd_profile *p, const struct sd_view_request *r,
                          struct sd_view *v)
{
    struct sd_drawing *d = sd_view_draw(v, "flame", SD_SHAPE_FLAME);
    struct sd_view_request boxes = *r;
    struct sd_sample_choice *choice = &boxes.stacks.choice;

    if (!choice->metric && (r->stacks.is_cpu || r->stacks.is_raw)) /* of calls */
        choice->metric = r->stacks.is_cpu ? "cpu_time" : "time";
    if (r->has_thread_boxes && r->may_have_process_boxes)
        boxes.has_process_boxes = has_several_processes(p, choice->metric);
    return d ? sd_analyse_flame(p, &boxes, &v->arena, &d->flame) : SD_ENOMEM;
}

int sd_profile_view_call_graph(const struct sd_profile *p,
                               const struct sd_view_request *r, struct sd_view *v)
{
    static const struct sd_graph_request usual = SD_GRAPH_USUAL;
    struct sd_drawing *d = sd_view_draw(v, "graph", SD_SHAPE_GRAPH);
    struct sd_graph_source source;
    int rc = d ? 0 : SD_ENOMEM;

    sd_graph_source_init(&source);
    if (rc == 0)
        rc = sd_graph_source_of_profile(&source, p, &r->stacks);
    if (rc == 0)
        rc = sd_graph_source_draw(&source, NULL, r->graph ? r->graph : &usual,
                                  &v->arena, &d->graph);
    if (rc == 0)
        d->graph.search = r->search;
    sd_graph_source_release(&source);
    return rc;
}

/* Lines of stacks, then counted ones, which come behind their verb where both are. */
int sd_profile_view_source(const struct sd_profile *p, const struct sd_view_request *r,
                           struct sd_view *v)
{
    bool has_stacks = sd_profile_has_stacks(p) && !sd_views_are_traced(p, r);
    bool has_lines = sd_profile_has(p, SD_LINES) && !r->stacks.choice.evidence;
    struct sd_drawing *d;
    int rc = 0;

    if (has_stacks) {
        d = sd_view_draw(v, "source", SD_SHAPE_SOURCE);
        rc = d ? sd_source_of_stacks(p, &r->stacks, &v->arena, &d->source) : SD_ENOMEM;
    }
    if (has_lines && rc == 0) {
        d = sd_view_draw(v, has_stacks ? "counted_source" : "source", SD_SHAPE_SOURCE);
        rc = d ? sd_source_of_lines(p, &r->stacks, &v->arena, &d->source) : SD_ENOMEM;
    }
    return rc;
}

/* --- Growth */

/* Of CPU time where it was measured, unless the metric is "time".  What takes longer is
 * interrupted more often, and so would grow by itself on a busy machine. */
static struct sd_stacks_request growth_request(const struct sd_profile *p,
                                               const struct sd_view_request *r)
{
    struct sd_stacks_request traced = r->stacks;
    const char *metric = traced.choice.metric ? traced.choice.metric : "cpu_time";

    if (strcmp(metric, "cpu_time") == 0 &&
        sd_totals_metric(p, &p->evidence[SD_CALLS].stacks, metric) != UINT32_MAX)
        traced.is_cpu = true;
    return traced;
}

int sd_profile_view_scaling(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v)
{
    struct sd_stacks_request traced = growth_request(p, r);
    bool has_points = sd_views_have(p, r, "scaling_points");

    traced.choice.folds_imports = r->folds_imports;
    return sd_scaling_tables(
        p, &traced, SD_SCALING_FUNCTIONS | (has_points ? SD_SCALING_POINTS : 0), v);
}

/* With the table of functions they have been made already. */
int sd_profile_view_scaling_points(const struct sd_profile *p,
                                   const struct sd_view_request *r, struct sd_view *v)
{
    const struct sd_stacks_request traced = growth_request(p, r);

    return sd_views_have(p, r, "scaling")
               ? 0
               : sd_scaling_tables(p, &traced, SD_SCALING_POINTS, v);
}

int sd_profile_view_growth_curves(const struct sd_profile *p,
                                  const struct sd_view_request *r, struct sd_view *v)
{
    const struct sd_stacks_request traced = growth_request(p, r);
    struct sd_drawing *d = sd_view_draw(v, "growth", SD_SHAPE_GROWTH);

    return d ? sd_scaling_picture(p, &traced, r->rows, &v->arena, &d->growth)
             : SD_ENOMEM;
}

/* --- Readings over time */

/* Memory, or what else was read of a process. */
static const char *usual_metric(const struct sd_profile *p)
{
    const char *first = NULL;

    for (size_t i = 0; i < p->n_series; i++) {
        const struct sd_series *s = &p->series[i];
        const char *name = p->metrics[s->metric.at].name;

        if (s->n_buckets == 0 || p->tracks[s->track.at].kind != SD_TRACK_PROCESS)
            continue;
        if (strcmp(name, "rss") == 0)
            return name;
        first = first ? first : name;
    }
    return first ? first : "rss";
}

int sd_profile_view_plot(const struct sd_profile *p, const struct sd_view_request *r,
                         struct sd_view *v)
{
    struct sd_drawing *d = sd_view_draw(v, "plot", SD_SHAPE_SERIES);

    return d ? sd_analyse_curves_as(p, r->metric ? r->metric : usual_metric(p),
                                    &r->plot, &v->arena, &d->series)
             : SD_ENOMEM;
}
