/* SPDX-License-Identifier: MIT */
#include "report/json/shape_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/encoding/json_in.h"
#include "base/out.h"
#include "base/test.h"

/* A drawing as JSON, and what stands at a path of it. */
struct written {
    struct sd_out out;
    struct sd_json_in in;
};

static void write(struct written *w, const struct sd_drawing *d)
{
    struct sd_json j;

    sd_out_to_memory(&w->out);
    sd_json_init(&j, &w->out, false);
    sd_json_object(&j);
    sd_report_drawing_json(&j, d);
    sd_json_end(&j);
    sd_json_in_init(&w->in, "", 0);
}

static void drop(struct written *w)
{
    sd_json_in_release(&w->in);
    sd_out_release(&w->out);
}

/* At the first token of a value: goes on to that of a member or an item of it. */
static void enter(struct sd_json_in *j, const char *step)
{
    bool is_object = j->kind == SD_JSON_OBJECT;

    CHECK(is_object || j->kind == SD_JSON_ARRAY);
    for (long left = is_object ? 0 : strtol(step, NULL, 10);; left--) {
        bool is_it = !is_object && left == 0;

        CHECK(sd_json_in_next(j) != SD_JSON_CLOSE && j->kind != SD_JSON_BAD);
        if (is_object) {
            is_it = sd_json_in_is(j, step);
            sd_json_in_next(j);
        }
        if (is_it)
            return;
        sd_json_in_skip(j);
    }
}

/* "flame.boxes.1.total"; the whole text is read to its end, too. */
static const struct sd_json_in *at(struct written *w, const char *path)
{
    struct sd_json_in all;
    char step[64];

    sd_json_in_init(&all, w->out.pending.p, w->out.pending.n);
    sd_json_in_next(&all);
    sd_json_in_skip(&all);
    CHECK(sd_json_in_next(&all) == SD_JSON_STOP);
    sd_json_in_release(&all);
    sd_json_in_release(&w->in);
    sd_json_in_init(&w->in, w->out.pending.p, w->out.pending.n);
    sd_json_in_next(&w->in);
    for (; *path; path += strspn(path, ".")) {
        size_t n = strcspn(path, ".");

        memcpy(step, path, n);
        step[n] = 0;
        enter(&w->in, step);
        path += n;
    }
    return &w->in;
}

static double number(struct written *w, const char *path)
{
    const struct sd_json_in *j = at(w, path);

    CHECK(j->kind == SD_JSON_WHOLE || j->kind == SD_JSON_REAL);
    return j->kind == SD_JSON_WHOLE ? (double)j->whole : j->real;
}

static bool is_text(struct written *w, const char *path, const char *text)
{
    return at(w, path)->kind == SD_JSON_TEXT && sd_json_in_is(&w->in, text);
}

static bool is_null(struct written *w, const char *path)
{
    return at(w, path)->kind == SD_JSON_NULL;
}

TEST(flame_json_has_every_box_with_its_parent_and_amounts)
{
    struct sd_flame_box boxes[] = {
        { "all", NULL, SD_FLAME_ALL, UINT32_MAX, 0, 0, 100, 0, 7, 0 },
        { "f<\"", "a.py:3", SD_FLAME_OWN, 0, 1, 40, 60, 53, 7, 7 },
    };
    const struct sd_drawing d = { .name = "flame",
                                  .shape = SD_SHAPE_FLAME,
                                  .flame = { .title = "python a.py",
                                             .unit = "samples",
                                             .boxes = boxes,
                                             .n_boxes = 2 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "flame.shape", "flame") && is_text(&w, "flame.unit", "samples"));
    CHECK(is_null(&w, "flame.note") && is_null(&w, "flame.boxes.0.parent"));
    CHECK(is_text(&w, "flame.boxes.1.name", "f<\"") &&
          is_text(&w, "flame.boxes.1.kind", "own") &&
          is_text(&w, "flame.boxes.1.where", "a.py:3"));
    CHECK(number(&w, "flame.boxes.1.parent") == 0 &&
          number(&w, "flame.boxes.1.depth") == 1 &&
          number(&w, "flame.boxes.1.from") == 40 &&
          number(&w, "flame.boxes.1.total") == 60 &&
          number(&w, "flame.boxes.1.self") == 53 &&
          number(&w, "flame.boxes.1.idle") == 7 &&
          number(&w, "flame.boxes.1.waited") == 7);
    drop(&w);
}

TEST(graph_json_has_nodes_and_edges_between_their_places)
{
    struct sd_graph_node nodes[] = {
        { .name = "a:1:f",
          .function = "f",
          .line = 1,
          .calls = 3,
          .self = .25,
          .total = 1,
          .self_amount = .5,
          .total_amount = 2,
          .is_in_other = true,
          .other_total = .75 },
        { .name = "a:5:g", .function = "g", .line = 5, .calls = 9, .total = .75 },
    };
    struct sd_graph_edge edges[] = { { .from = 0, .to = 1, .calls = 9, .total = .75 } };
    struct sd_drawing d = { .name = "graph",
                            .shape = SD_SHAPE_GRAPH,
                            .graph = { .unit = "s",
                                       .has_calls = true,
                                       .nodes = nodes,
                                       .n_nodes = 2,
                                       .n_all_nodes = 8,
                                       .edges = edges,
                                       .n_edges = 1,
                                       .n_all_edges = 11 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "graph.nodes.1.function", "g") &&
          number(&w, "graph.nodes.0.self") == .25 &&
          number(&w, "graph.nodes.0.total_amount") == 2 &&
          number(&w, "graph.nodes.1.calls") == 9);
    CHECK(number(&w, "graph.edges.0.from") == 0 &&
          number(&w, "graph.edges.0.to") == 1 &&
          number(&w, "graph.edges.0.total") == .75);
    CHECK(number(&w, "graph.all_nodes") == 8 && number(&w, "graph.all_edges") == 11);
    CHECK(!strstr(sd_buf_string(&w.out.pending), "other"));
    drop(&w);
    d.graph.is_compared = true;
    write(&w, &d);
    CHECK(number(&w, "graph.nodes.0.other_total") == .75 &&
          at(&w, "graph.nodes.0.is_in_other")->kind == SD_JSON_TRUE);
    drop(&w);
}

TEST(series_json_has_points_bands_and_no_peak_where_there_is_none)
{
    struct sd_curve_point points[] = { { .5, 1, 3, 2 }, { 1.5, 4, 4, 4 } };
    struct sd_curve curve = { .name = "rss of 7",
                              .kind = SD_CELL_BYTES,
                              .is_total = true,
                              .points = points,
                              .n_points = 2,
                              .has_trend = true,
                              .slope = 2.5 };
    struct sd_band band = { "train", .25, 1.25, 1, 12 };
    struct sd_drawing d = { .name = "plot",
                            .shape = SD_SHAPE_SERIES,
                            .series = { .curves = &curve,
                                        .n_curves = 1,
                                        .bands = &band,
                                        .n_bands = 1,
                                        .to = 2,
                                        .peak = 4,
                                        .peak_t = 1.5,
                                        .mark = -1 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "plot.curves.0.unit", "bytes") &&
          number(&w, "plot.curves.0.points.0.max") == 3 &&
          number(&w, "plot.curves.0.points.1.t") == 1.5 &&
          number(&w, "plot.curves.0.slope") == 2.5);
    CHECK(number(&w, "plot.bands.0.sections") == 12 &&
          number(&w, "plot.bands.0.to") == 1.25);
    CHECK(number(&w, "plot.peak") == 4 && number(&w, "plot.peak_t") == 1.5 &&
          is_null(&w, "plot.mark"));
    drop(&w);
    d.series.peak = -1;
    write(&w, &d);
    CHECK(is_null(&w, "plot.peak") && is_null(&w, "plot.peak_t"));
    drop(&w);
}

TEST(growth_json_has_points_and_curve_of_each_function)
{
    struct sd_growth_mark points[] = { { 10, 100 }, { 20, 400 } },
                          curve[] = { { 40, 1600 } };
    struct sd_growth_panel panel = { .title = "pairs",
                                     .argument = "len(rows)",
                                     .is_flagged = true,
                                     .points = points,
                                     .n_points = 2,
                                     .curve = curve,
                                     .n_curve = 1,
                                     .measured_to = 20,
                                     .linear_slope = 1 };
    const struct sd_drawing d = { .name = "growth",
                                  .shape = SD_SHAPE_GROWTH,
                                  .growth = { .panels = &panel, .n_panels = 1 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "growth.panels.0.argument", "len(rows)") &&
          number(&w, "growth.panels.0.points.1.ns") == 400 &&
          number(&w, "growth.panels.0.curve.0.n") == 40 &&
          number(&w, "growth.panels.0.measured_to") == 20 &&
          at(&w, "growth.panels.0.is_flagged")->kind == SD_JSON_TRUE);
    drop(&w);
}

TEST(bars_json_has_a_value_for_each_series)
{
    struct sd_bar bars[] = { { "conv1", "Conv2d", { 3, 5 } },
                             { "fc", NULL, { 7, 0 } } };
    const struct sd_drawing d = { .name = "memory_bars",
                                  .shape = SD_SHAPE_BARS,
                                  .bars = { .series = { "read", "written" },
                                            .n_series = 2,
                                            .kind = SD_CELL_COUNT,
                                            .bars = bars,
                                            .n_bars = 2 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "memory_bars.shape", "bars") &&
          is_text(&w, "memory_bars.unit", "count") &&
          is_text(&w, "memory_bars.series.1", "written"));
    CHECK(number(&w, "memory_bars.bars.0.values.1") == 5 &&
          number(&w, "memory_bars.bars.1.values.0") == 7 &&
          is_null(&w, "memory_bars.bars.1.about"));
    drop(&w);
}

TEST(roofline_json_has_limits_and_points_and_no_rate_of_what_was_not_timed)
{
    struct sd_roofline_point points[] = { { "conv1", 12.5, 3e9, .75 },
                                          { "fc", .5, 0, .25 } };
    const struct sd_drawing d = {
        .name = "roofline",
        .shape = SD_SHAPE_ROOFLINE,
        .roofline = { .peak = 5e10, .bandwidth = 1e10, .points = points, .n_points = 2 }
    };
    struct written w;

    write(&w, &d);
    CHECK(number(&w, "roofline.peak_per_s") == 5e10 &&
          number(&w, "roofline.bytes_per_s") == 1e10);
    CHECK(number(&w, "roofline.points.0.operations_per_byte") == 12.5 &&
          number(&w, "roofline.points.0.operations_per_s") == 3e9 &&
          number(&w, "roofline.points.1.share") == .25 &&
          is_null(&w, "roofline.points.1.operations_per_s"));
    drop(&w);
}

TEST(map_json_has_boxes_and_links_between_their_places)
{
    struct sd_map_box boxes[] = { { "conv1", "Conv2d", "1M MACs", .75 },
                                  { "fc", "Linear", "", .25 } };
    struct sd_map_link link = { 0, 1, NULL };
    const struct sd_drawing d = {
        .name = "map",
        .shape = SD_SHAPE_MAP,
        .map = { .boxes = boxes, .n_boxes = 2, .links = &link, .n_links = 1 }
    };
    struct written w;

    write(&w, &d);
    CHECK(number(&w, "map.boxes.0.share") == .75 &&
          is_text(&w, "map.boxes.1.about", "Linear"));
    CHECK(number(&w, "map.links.0.from") == 0 && number(&w, "map.links.0.to") == 1 &&
          is_null(&w, "map.links.0.about"));
    drop(&w);
}

TEST(stacks_are_written_as_columns_that_name_each_other_by_place)
{
    const char *modules[] = { "a" };
    struct sd_stacks_function functions[] = {
        { .name = "f", .file = "/x/app.py", .line = 3, .kind = SD_FLAME_OWN },
        { .name = "g", .kind = SD_FLAME_NATIVE }
    };
    struct sd_stacks_thread threads[] = { { .process = 7, .number = 8 } };
    struct sd_stacks_frame frames[] = {
        { .parent = UINT32_MAX, .line = 5, .is_startup = true }, { .function = 1 }
    };
    struct sd_stacks_place places[] = { { .frame = 1, .has_gil = true },
                                        { .frame = UINT32_MAX, .is_idle = true } };
    const char *sections[] = { "load", "train" };
    uint32_t starts[] = { 0, 0, 2 }, members[] = { 0, 1 };
    struct sd_stacks_entry entries[] = { { 0, 1, 0 }, { 9, 0, 1 } };
    const int64_t samples[] = { 4, 5 };
    struct sd_stacks_metric metrics[] = {
        { .name = "samples", .kind = SD_CELL_COUNT, .values = samples }
    };
    struct sd_drawing d = { .name = "stacks",
                            .shape = SD_SHAPE_STACKS,
                            .stacks = { .slice_ns = 2000000,
                                        .functions = functions,
                                        .modules = modules,
                                        .n_modules = 1,
                                        .n_functions = 2,
                                        .threads = threads,
                                        .n_threads = 1,
                                        .frames = frames,
                                        .n_frames = 2,
                                        .places = places,
                                        .n_places = 2,
                                        .sections = sections,
                                        .n_sections = 2,
                                        .set_starts = starts,
                                        .set_members = members,
                                        .n_sets = 2,
                                        .entries = entries,
                                        .n_entries = 2,
                                        .metrics = metrics,
                                        .n_metrics = 1 } };
    struct written w;

    write(&w, &d);
    CHECK(number(&w, "stacks.slice_ns") == 2000000);
    CHECK(is_text(&w, "stacks.functions.1.kind", "native"));
    CHECK(number(&w, "stacks.threads.0.tid") == 8);
    CHECK(is_null(&w, "stacks.frames.parent.0"));
    CHECK(number(&w, "stacks.frames.parent.1") == 0);
    CHECK(is_null(&w, "stacks.places.frame.1"));
    CHECK(is_text(&w, "stacks.sections.1", "train"));
    CHECK(number(&w, "stacks.sets.1.1") == 1);
    CHECK(number(&w, "stacks.entries.slice.1") == 9);
    CHECK(number(&w, "stacks.entries.samples.1") == 5);
    CHECK(is_text(&w, "stacks.units.samples", "count"));
    drop(&w);
}

TEST(source_json_has_the_lines_of_files_and_the_text_that_is_attached)
{
    struct sd_column columns[] = { { .name = "hits", .kind = SD_CELL_COUNT },
                                   { .name = "peak", .kind = SD_CELL_BYTES } };
    struct sd_cell cells[] = { { .kind = SD_CELL_COUNT, .number = 5 },
                               { .kind = SD_CELL_NONE } };
    uint32_t lines[] = { 7 };
    struct sd_source_file files[] = {
        { .file = "/x/a.py",
          .short_file = "a.py",
          .lines = lines,
          .n_lines = 1,
          .cells = cells,
          .text = "x = 1\n",
          .n_text = 6 },
        { .file = "/x/b.py", .short_file = "b.py", .note = "it has changed" }
    };
    const struct sd_drawing d = { .name = "source",
                                  .shape = SD_SHAPE_SOURCE,
                                  .source = { .evidence = "lines",
                                              .columns = columns,
                                              .n_columns = 2,
                                              .files = files,
                                              .n_files = 2 } };
    struct written w;

    write(&w, &d);
    CHECK(is_text(&w, "source.shape", "source") && is_null(&w, "source.note"));
    CHECK(is_text(&w, "source.files.0.short", "a.py") &&
          is_text(&w, "source.files.0.text", "x = 1\n"));
    CHECK(number(&w, "source.files.0.lines.0.line") == 7 &&
          number(&w, "source.files.0.lines.0.hits") == 5 &&
          is_null(&w, "source.files.0.lines.0.peak"));
    CHECK(is_text(&w, "source.files.1.note", "it has changed"));
    drop(&w);
}
