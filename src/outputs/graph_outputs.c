/* SPDX-License-Identifier: MIT */
/* graph_outputs: functions and who calls whom: as a picture, for graphviz, and for
 * KCachegrind. */
#include "outputs/graph_report.h"
#include "outputs/outputs.h"

#define LOSES                                                                          \
    "paths of more than two functions, threads, the order of time, every metric but "  \
    "one, lines, sections, readings"

enum { NEEDS = SD_HOLDS_CALLS | SD_HOLDS_STACKS };

static int source_of(const struct sd_output_job *job, struct sd_graph_source *s)
{
    struct sd_stacks_request calls = { .by = SD_CALLS_BY_FUNCTION };

    if (job->calls)
        return sd_graph_source_of_calls(s, job->calls, job->from);
    if (job->style)
        calls.choice =
            (struct sd_sample_choice){ .metric = job->style->metric,
                                       .has_idle = job->style->has_idle,
                                       .is_gil_only = job->style->is_gil_only };
    return sd_graph_source_of_profile(s, job->profile, &calls);
}

static int write(const struct sd_output_job *job, enum sd_graph_form form,
                 struct sd_out *out)
{
    struct sd_graph_order order = sd_graph_report_order_default();
    struct sd_graph_source source;
    int rc;

    sd_graph_source_init(&source);
    rc = source_of(job, &source);
    if (rc == 0)
        rc = sd_graph_report_put(&source, NULL, &order, form, out);
    sd_graph_source_release(&source);
    return rc;
}

static int write_callgrind(const struct sd_output_job *job, struct sd_out *out)
{
    return write(job, SD_GRAPH_CALLGRIND, out);
}

static int write_dot(const struct sd_output_job *job, struct sd_out *out)
{
    return write(job, SD_GRAPH_DOT, out);
}

static int write_graph(const struct sd_output_job *job, struct sd_out *out)
{
    return write(job, SD_GRAPH_SVG, out);
}

const struct sd_output sd_output_callgrind = {
    .name = "callgrind",
    .suffixes = { ".callgrind" },
    .summary = "functions and calls for KCachegrind and callgrind_annotate",
    .loses = LOSES,
    .needs = NEEDS,
    .write = write_callgrind,
};

const struct sd_output sd_output_dot = {
    .name = "dot",
    .suffixes = { ".dot" },
    .summary = "the call graph for graphviz",
    .loses = LOSES ", functions and calls with a small share",
    .needs = NEEDS,
    .write = write_dot,
};

const struct sd_output sd_output_graph = {
    .name = "graph",
    .suffixes = { ".svg" },
    .summary = "the call graph as a picture",
    .loses = LOSES ", functions and calls with a small share",
    .needs = NEEDS,
    .write = write_graph,
};

bool sd_graph_form_of(const char *path, enum sd_graph_form *form)
{
    const struct sd_output *o = sd_output_for(path, SD_HOLDS_CALLS);

    *form = o == &sd_output_dot ? SD_GRAPH_DOT : SD_GRAPH_SVG;
    return o == &sd_output_dot || o == &sd_output_graph;
}
