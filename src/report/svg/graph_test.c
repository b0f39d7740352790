/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "report/svg/graph.h"
#include "report/svg/page_files.h"

#define HOSTILE "a:1:]]></script><script>x('\"&\\"

static struct sd_graph_node nodes[] = {
    { .name = "app:1:<module>",
      .function = "<module>",
      .file = "/x/app.py",
      .line = 1,
      .calls = 1,
      .self = 0.1,
      .total = 1,
      .self_amount = 1,
      .total_amount = 10,
      .weight = 1 },
    { .name = HOSTILE,
      .function = "",
      .file = HOSTILE,
      .line = 2,
      .calls = 3997,
      .self = 0.7,
      .total = 0.8,
      .self_amount = 7,
      .total_amount = 8,
      .weight = 0.8 },
    { .name = "b:3:small",
      .function = "small",
      .file = "/x/b.py",
      .line = 3,
      .calls = 2,
      .self = 0.2,
      .total = 0.2,
      .self_amount = 2,
      .total_amount = 2,
      .weight = 0.2 },
};
static struct sd_graph_edge edges[] = {
    { .from = 0, .to = 1, .calls = 1, .total = 0.8 },
    { .from = 0, .to = 2, .calls = 2, .total = 0.2 },
    { .from = 1, .to = 1, .calls = 3996, .total = 0.7 },
};
static const struct sd_view_graph view = {
    .title = HOSTILE,
    .subtitle = HOSTILE,
    .search = HOSTILE,
    .unit = "s",
    .has_calls = true,
    .nodes = nodes,
    .n_nodes = 3,
    .n_all_nodes = 3,
    .edges = edges,
    .n_edges = 3,
    .n_all_edges = 3,
};

typedef int drawer(struct sd_out *, const struct sd_view_graph *,
                   const struct sd_graph_look *);

static const char *drawn(struct sd_out *out, drawer *draw,
                         const struct sd_graph_look *l)
{
    sd_out_to_memory(out);
    CHECK(draw(out, &view, l) == 0 && !out->pending.bad);
    return sd_buf_string(&out->pending);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void check_colour(const char *theme, double skew, double weight,
                         const char *wanted)
{
    struct sd_graph_look look = sd_graph_look_default();
    char got[8];

    look.theme = sd_graph_theme_named(theme);
    look.skew = skew;
    sd_graph_colour(&look, weight, got);
    CHECK(strcmp(got, wanted) == 0);
}

/* As gprof2dot 2025.4.14 gives them. */
TEST(graph_colours_are_those_of_gprof2dot)
{
    check_colour("color", 1, 0, "#0d0d73");
    check_colour("color", 1, 1, "#ff0000");
    check_colour("color", 1, 0.5, "#0ab60a");
    check_colour("color", 0.1, 0.5, "#dbd305");
    check_colour("pink", 1, 0.25, "#ff5353");
    check_colour("gray", 1, 0.1, "#8d8d8d");
    check_colour("bw", 1, 0.7, "#000000");
    check_colour("color", 1, 7, "#ff0000"); /* more than all is all */
    CHECK(!sd_graph_theme_named("blue"));
}

TEST(graph_labels_are_those_of_gprof2dot)
{
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_buf text = { 0 };

    sd_graph_node_label(&look, &view, &nodes[0], &text);
    CHECK(strcmp(sd_buf_string(&text), "app:1:<module>\n100.00%\n(10.00%)\n1\u00d7") ==
          0);
    sd_buf_clear(&text);
    sd_graph_edge_label(&view, &edges[2], &text);
    CHECK(strcmp(sd_buf_string(&text), "70.00%\n3996\u00d7") == 0);
    sd_buf_clear(&text);
    look.words[0] = SD_GRAPH_TOTAL_TIME;
    look.words[1] = SD_GRAPH_SELF_TIME;
    sd_graph_node_label(&look, &view, &nodes[0], &text);
    CHECK(strcmp(sd_buf_string(&text), "app:1:<module>\n10\n(1)\n1\u00d7") == 0);
    sd_buf_release(&text);
}

/* graphviz takes strings of 16,384 bytes, and sums of them. */
TEST(graph_names_of_any_length_are_strings_that_graphviz_reads)
{
    enum { LENGTH = 70000, MOST = 16384 };
    struct sd_graph_node long_named = nodes[0];
    struct sd_view_graph g = view;
    struct sd_graph_look look = sd_graph_look_default();
    char *name = sd_alloc(LENGTH + 1);
    struct sd_out out;
    const char *at;

    for (int i = 0; i < LENGTH; i += 2)
        memcpy(name + i, "\u00e9", 2);
    name[LENGTH] = '\0';
    long_named.name = long_named.file = name;
    g.nodes = &long_named;
    g.n_nodes = 1;
    g.n_edges = 0;
    sd_out_to_memory(&out);
    CHECK(sd_report_dot(&out, &g, &look) == 0);
    at = sd_buf_string(&out.pending);
    CHECK(count(at, "\u00e9") ==
          LENGTH); /* of the label and of the tooltip, none cut */
    CHECK(count(at, "\" + \"") > 2 * LENGTH / MOST);
    for (const char *next; (next = strchr(at, '"')); at = next + 1)
        CHECK(next - at < MOST);
    sd_out_release(&out);
    sd_free(name);
}

TEST(graph_names_are_stripped_and_wrapped)
{
    struct sd_graph_node n = { .name =
                                   "dot:7:dot(a:ndarray(dtype=float32, shape=(16,)))" };
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_buf text = { 0 };

    look.n_words = 0;
    look.wraps = true;
    sd_graph_node_label(&look, &(struct sd_view_graph){ 0 }, &n, &text);
    CHECK(strcmp(sd_buf_string(&text),
                 "dot:7:dot(a:ndarray(\ndtype=float32, shape=(16,)))") == 0);
    sd_buf_clear(&text);
    look.strips = true;
    sd_graph_node_label(&look, &(struct sd_view_graph){ 0 }, &n, &text);
    CHECK(strcmp(sd_buf_string(&text), "dot:7:dot") == 0);
    sd_buf_clear(&text);
    n.name = "a:1:f(never closed";
    sd_graph_node_label(&look, &(struct sd_view_graph){ 0 }, &n, &text);
    CHECK(strcmp(sd_buf_string(&text), "a:1:f(never closed") == 0);
    sd_buf_clear(&text);
    n.name = "f(a(b)c)d)e(g(h)";
    sd_graph_node_label(&look, &(struct sd_view_graph){ 0 }, &n, &text);
    CHECK(strcmp(sd_buf_string(&text), "fd)e(g") == 0);
    sd_buf_release(&text);
}

/* A million of them would take an hour if each were looked for the one that closes it.
 */
TEST(graph_names_of_parentheses_alone_take_no_time)
{
    enum { LENGTH = 1000000 };
    char *name = sd_alloc(LENGTH + 1);
    struct sd_graph_node n = { .name = name };
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_buf text = { 0 };

    memset(name, '(', LENGTH);
    name[LENGTH] = '\0';
    look.n_words = 0;
    look.strips = look.wraps = true;
    sd_graph_node_label(&look, &(struct sd_view_graph){ 0 }, &n, &text);
    CHECK(text.n == LENGTH + LENGTH / 32 - 1);
    sd_buf_release(&text);
    sd_free(name);
}

TEST(graph_comparison_says_how_much_and_which_way)
{
    struct sd_graph_node n = nodes[1];
    struct sd_view_graph g = view;
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_buf text = { 0 };

    g.is_compared = n.is_in_other = true;
    n.name = "f";
    n.other_total = 0.9;
    n.other_self = 0.45;
    n.other_calls = 4000;
    sd_graph_node_label(&look, &g, &n, &text);
    CHECK(strcmp(sd_buf_string(&text), "f\n80.00% + 10.000%\n(70.00%) - 25.000%\n"
                                       "3997\u00d7 / 4000\u00d7") == 0);
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_SLOWER);
    look.is_only_faster = true;
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_SAME);
    look.is_only_faster = false;
    look.tolerance = 11;
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_SAME);
    look.tolerance = 0.001;
    n.other_total = 0.5;
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_FASTER);
    look.is_only_slower = true;
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_SAME);
    sd_buf_release(&text);
}

TEST(graph_comparison_shows_what_the_second_lacks_as_less)
{
    struct sd_graph_node n = nodes[1];
    struct sd_view_graph g = view;
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_buf text = { 0 };

    g.is_compared = true;
    n.name = "f";
    sd_graph_node_label(&look, &g, &n, &text);
    CHECK(strcmp(sd_buf_string(&text), "f\n80.00% - 80.000%\n(70.00%) - 70.000%\n"
                                       "3997\u00d7 / 0\u00d7") == 0);
    CHECK(sd_graph_change_of(&look, &g, &n) == SD_GRAPH_FASTER);
    sd_buf_release(&text);
}

TEST(graph_svg_is_one_script_whatever_names_say)
{
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_out out;
    const char *svg = drawn(&out, sd_report_graph, &look);

    CHECK(count(svg, "<script") == 1 && count(svg, "</script>") == 1);
    CHECK(count(svg, "]]>") == 1 && count(svg, "<![CDATA[") == 1);
    CHECK(count(svg, "http") == count(svg, "http://www.w3.org/"));
    CHECK(!strstr(svg, "url(") && !strstr(svg, "@import") && !strstr(svg, "href"));
    CHECK(count(svg, "<g data-v=") == 3 && count(svg, "<rect x=") == 3);
    CHECK(strstr(svg, "<tspan x=\"0\"") && strstr(svg, ">3997\u00d7</tspan>"));
    CHECK(strstr(svg, "total 80.00%, 8.0 s\nself 70.00%, 7.0 s\ncalls 3,997</title>"));
    CHECK(!strstr(sd_picture_js, "]]>"));
    CHECK(!strstr(sd_graph_js, "]]>") && !strstr(sd_graph_css, "<"));
    CHECK(strlen(sd_graph_js) < 20000);
    sd_out_release(&out);
}

TEST(graph_dot_quotes_what_names_say)
{
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_out out;
    const char *dot = drawn(&out, sd_report_dot, &look);

    CHECK(strncmp(dot, "digraph {", 9) == 0 && count(dot, " -> ") == 3);
    CHECK(strstr(dot, "label=\"a:1:]]></script><script>x('\\\"&amp;\\\\\\n80.00%\\n"));
    CHECK(strstr(dot, "0 -> 1 [color=\"#"));
    sd_out_release(&out);
}

TEST(graph_of_no_function_is_a_picture)
{
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_view_graph empty = { .title = "x", .subtitle = "y", .unit = "s" };
    struct sd_out out;

    sd_out_to_memory(&out);
    CHECK(sd_report_graph(&out, &empty, &look) == 0);
    CHECK(strstr(sd_buf_string(&out.pending), "</svg>"));
    sd_out_release(&out);
}

TEST(graph_pictures_survive_every_allocation_that_fails)
{
    struct sd_graph_look look = sd_graph_look_default();

    EACH_FAILURE(nth)
    {
        struct sd_out out;
        int rc;

        sd_out_to_memory(&out);
        rc = sd_report_graph(&out, &view, &look);
        if (rc == 0)
            rc = sd_report_dot(&out, &view, &look);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_out_release(&out);
    }
}
