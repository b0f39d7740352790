/* SPDX-License-Identifier: MIT */
/* report_graph: makes the call graph, with gprof2dot's options. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/idle_samples.h"
#include "cli/read/command_captures.h"
#include "cli/read/verb_report.h"
#include "cli/say.h"
#include "outputs/graph_report.h"

/* --- What was asked for */

static int read_real(const struct sd_report_request *a, enum sd_report_option option,
                     double most, double *out)
{
    const char *text = a->v[option].text;
    char *end;
    double v;

    if (!text)
        return 0;
    v = strtod(text, &end);
    if (end == text || *end || !(v >= 0 && v <= most))
        return sd_fail(SD_EUSAGE, "--%s takes a number from 0 to %g, not \"%s\"",
                       a->command->verb->options[option].name, most, text);
    *out = v;
    return 0;
}

static int read_words(const struct sd_report_request *a, struct sd_graph_look *look)
{
    const char *const *typed = a->v[SD_REPORT_NODE_LABEL].words;

    if (!a->v[SD_REPORT_NODE_LABEL].is_given)
        return 0;
    for (look->n_words = 0; *typed && look->n_words < SD_GRAPH_WORDS; typed++)
        if (!sd_graph_word_named(*typed, &look->words[look->n_words++]))
            return sd_fail(SD_EUSAGE,
                           "--node-label takes self-time, self-time-percentage, "
                           "total-time or total-time-percentage, not \"%s\"",
                           *typed);
    return 0;
}

static int read_order(const struct sd_report_request *a, struct sd_graph_order *o)
{
    const struct sd_option_value *v = a->v;
    int rc;

    *o = sd_graph_report_order_default();
    o->request.root = v[SD_REPORT_ROOT].text;
    o->request.leaf = v[SD_REPORT_LEAF].text;
    o->request.has_depth = v[SD_REPORT_DEPTH].is_given;
    o->request.depth = v[SD_REPORT_DEPTH].number;
    o->request.paths = v[SD_REPORT_PATH].is_given ? v[SD_REPORT_PATH].words : NULL;
    o->request.is_coloured_by_self = v[SD_REPORT_BY_SELF].number != 0;
    o->look.theme = sd_graph_theme_named(v[SD_REPORT_COLORMAP].text);
    o->look.strips = v[SD_REPORT_STRIP].number != 0;
    o->look.wraps = v[SD_REPORT_WRAP].number != 0;
    o->look.is_only_slower = v[SD_REPORT_ONLY_SLOWER].number != 0;
    o->look.is_only_faster = v[SD_REPORT_ONLY_FASTER].number != 0;
    o->look.is_coloured_by_difference = v[SD_REPORT_BY_DIFFERENCE].number != 0;
    o->search = v[SD_REPORT_MATCH].text;
    rc = read_real(a, SD_REPORT_NODE_THRES, 100, &o->request.node_percent);
    if (rc == 0)
        rc = read_real(a, SD_REPORT_EDGE_THRES, 100, &o->request.edge_percent);
    if (rc == 0)
        rc = read_real(a, SD_REPORT_SKEW, 1000, &o->look.skew);
    if (rc == 0)
        rc = read_real(a, SD_REPORT_TOLERANCE, 100, &o->look.tolerance);
    return rc < 0 ? rc : read_words(a, &o->look);
}

static int check(const struct sd_report_request *a, enum sd_graph_form *form)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text;

    *form = SD_GRAPH_DOT; /* for a pipe into graphviz */
    if (to && strcmp(to, "-") != 0 && !sd_graph_form_of(to, form))
        return sd_fail(SD_EUSAGE,
                       "a call graph can be written as .svg or .dot, not as %s", to);
    if (a->v[SD_REPORT_COMPARE].number && a->n_words != 2)
        return sd_fail(SD_EUSAGE, "--compare needs two files: sonde report --graph "
                                  "--compare before.pstats after.pstats -o graph.svg");
    return 0;
}

/* Those of the graph itself stand together. */
static bool is_for_graph(size_t option)
{
    return (option >= SD_REPORT_GRAPH && option <= SD_REPORT_BY_DIFFERENCE) ||
           option == SD_REPORT_MATCH || option == SD_REPORT_OUTPUT ||
           option == SD_REPORT_FORCE;
}

/* They choose what counts. */
static bool is_for_captures(size_t option)
{
    static const size_t known[] = {
        SD_REPORT_FILTER, SD_REPORT_TRACK, SD_REPORT_SECTION,   SD_REPORT_FROM,
        SD_REPORT_TO,     SD_REPORT_BY,    SD_REPORT_MINE,      SD_REPORT_SIGNATURES,
        SD_REPORT_RAW,    SD_REPORT_CPU,   SD_REPORT_QUALIFIED, SD_REPORT_IDLE,
        SD_REPORT_GIL,    SD_REPORT_METRIC
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == option)
            return true;
    return false;
}

/* What would change nothing in the picture is refused, not ignored. */
static int check_options(const struct sd_report_request *a,
                         const struct sd_input *input, const char *file)
{
    const struct sd_option *options = a->command->verb->options;

    for (size_t i = 0; options[i].name; i++) {
        if (!a->v[i].is_given || is_for_graph(i))
            continue;
        if (!is_for_captures(i))
            return sd_fail(SD_EUSAGE,
                           "--%s has no effect on a call graph; drop it or --graph",
                           options[i].name);
        if (!sd_input_gives_profile(input))
            return sd_report_stats_refuse(a, i, input, file);
    }
    if (strcmp(a->v[SD_REPORT_BY].text, "line") == 0)
        return sd_fail(SD_EUSAGE, "a call graph shows functions or modules, not lines");
    return 0;
}

/* --- The answer */

/* A box for each signature, under one name: whoever strips names wants one box. */
static void say_what_stripping_leaves(const struct sd_report_request *a,
                                      const struct sd_profile *p)
{
    if (!a->v[SD_REPORT_STRIP].number || !a->v[SD_REPORT_SIGNATURES].number)
        return;
    for (size_t i = 0; i < p->n_sites; i++)
        if (sd_site_is_signature(&p->sites[i])) {
            sd_say("each signature has its own box, and --strip gives all of them the "
                   "name of their function; --no-signatures draws one box for each "
                   "function");
            return;
        }
}

/* One of the graphs, and what it is drawn from. */
struct side {
    struct sd_contents loaded;
    struct sd_graph_source source;
};

static int load_captures(const struct sd_report_request *a, int first, int n,
                         struct sd_graph_source *s)
{
    const struct sd_stacks_request *request = &a->views.stacks;
    struct sd_profile *p = NULL;
    int rc = sd_load(a->command, (size_t)n, a->words + first, &a->views.selection,
                     SD_LOAD_TOTALS, &p);

    if (rc == 0)
        rc = sd_report_check_window(a, p);
    if (rc == 0)
        rc = sd_report_check_left(a, p);
    if (rc == 0)
        rc = sd_report_check_traced(a, p);
    if (rc == 0 && !a->v[SD_REPORT_SIGNATURES].number)
        rc = sd_profile_drop_signatures(p);
    if (rc == 0)
        say_what_stripping_leaves(a, p);
    if (rc == 0 && a->v[SD_REPORT_QUALIFIED].number)
        sd_profile_qualify(p);
    if (rc == 0)
        rc = sd_graph_source_of_profile(s, p, request);
    if (rc == 0 && !request->choice.has_idle && !request->choice.is_gil_only)
        sd_idle_samples_say(a->command, p, NULL);
    sd_profile_free(p);
    return rc;
}

/* A file with calls alone; they stay in `calls`. */
static int load_calls(const struct sd_report_request *a, const struct sd_input *input,
                      int first, int n, struct side *to)
{
    static const struct sd_loader how;
    struct sd_buf title = { 0 };
    int rc = input->load(&how, a->words + first, (size_t)n, &to->loaded);

    sd_buf_text(&title, a->words[first]);
    if (n > 1)
        sd_buf_printf(&title, " and %d more", n - 1);
    if (rc == 0)
        rc = title.bad ? sd_no_memory()
                       : sd_graph_source_of_calls(&to->source, &to->loaded.calls,
                                                  sd_buf_string(&title));
    sd_buf_release(&title);
    return rc;
}

static int load(const struct sd_report_request *a, int first, int n, struct side *to)
{
    const char *file = n > 0 ? a->words[first] : "";
    const struct sd_input *input =
        sd_input_of(file, SD_HOLDS_CALLS | SD_HOLDS_STACKS, &sd_input_capture);
    int rc = check_options(a, input, file);

    if (rc < 0)
        return rc;
    return sd_input_gives_profile(input) ? load_captures(a, first, n, &to->source)
                                         : load_calls(a, input, first, n, to);
}

static int write(const struct sd_report_request *a, const struct sd_graph_source *s,
                 const struct sd_graph_source *other, const struct sd_graph_order *o,
                 enum sd_graph_form form)
{
    struct sd_export_file file;
    int rc = sd_report_request_open(a, &file);

    if (rc < 0)
        return rc;
    return sd_export_close(&file, sd_graph_report_put(s, other, o, form, &file.out));
}

/* Two that are compared may be of the same program: their files tell them apart. */
static int name_by_files(const struct sd_report_request *a, struct side *sides)
{
    for (int i = 0; i < 2; i++) {
        struct sd_graph_source *s = &sides[i].source;

        s->title = sd_arena_string(&s->arena, a->words[i], strlen(a->words[i]));
        if (!s->title)
            return sd_no_memory();
    }
    return 0;
}

int sd_report_graph_of(const struct sd_report_request *a)
{
    bool is_compared = a->v[SD_REPORT_COMPARE].number != 0;
    struct side sides[2];
    struct sd_graph_order order;
    enum sd_graph_form form;
    int rc = check(a, &form);

    for (int i = 0; i < 2; i++) {
        sd_contents_init(&sides[i].loaded);
        sd_graph_source_init(&sides[i].source);
    }
    if (rc == 0)
        rc = read_order(a, &order);
    if (rc == 0)
        rc = load(a, 0, is_compared ? 1 : a->n_words, &sides[0]);
    if (rc == 0 && is_compared)
        rc = load(a, 1, 1, &sides[1]);
    if (rc == 0 && is_compared)
        rc = name_by_files(a, sides);
    if (rc == 0)
        rc = write(a, &sides[0].source, is_compared ? &sides[1].source : NULL, &order,
                   form);
    for (int i = 0; i < 2; i++) {
        sd_graph_source_release(&sides[i].source);
        sd_contents_release(&sides[i].loaded);
    }
    return rc;
}
