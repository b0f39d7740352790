/* SPDX-License-Identifier: MIT */
#include "cli/graph.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "outputs/call_report.h"
#include "cli/path.h"
#include "formats/callgrind.h"

bool sd_graph_form_of(const char *path, enum sd_graph_form *form)
{
    static const struct {
        const char *suffix;
        enum sd_graph_form form;
    } known[] = { { ".svg", SD_GRAPH_SVG },
                  { ".dot", SD_GRAPH_DOT },
                  { ".callgrind", SD_GRAPH_CALLGRIND } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sd_path_has_suffix(path, known[i].suffix)) {
            *form = known[i].form;
            return true;
        }
    return false;
}

bool sd_graph_form_named(const char *word, enum sd_graph_form *form)
{
    static const char *const words[] = { [SD_GRAPH_SVG] = "graph",
                                         [SD_GRAPH_DOT] = "dot",
                                         [SD_GRAPH_CALLGRIND] = "callgrind" };

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *form = (enum sd_graph_form)i;
            return true;
        }
    return false;
}

/* --- Where it comes from */

void sd_graph_source_init(struct sd_graph_source *s)
{
    *s = (struct sd_graph_source){ .unit = "s" };
    sd_call_stats_init(&s->stats);
}

void sd_graph_source_release(struct sd_graph_source *s)
{
    sd_call_stats_release(&s->stats);
    sd_arena_release(&s->arena);
    sd_graph_source_init(s);
}

static const char *words_of(struct sd_graph_source *s, bool is_traced)
{
    char text[SD_TEXT_MAX];

    if (strcmp(s->unit, "s") != 0)
        return sd_arena_printf(&s->arena, "%s %s",
                               sd_text_count(text, sd_round_i64(s->stats.sum.own)),
                               s->unit);
    return sd_arena_printf(&s->arena, "%s %s",
                           sd_text_duration(text, sd_round_i64(s->stats.sum.own * 1e9)),
                           is_traced ? "traced" : "sampled");
}

/* Of calls a graph shows times; how many they were is at its lines anyway. */
static int check_metric(const struct sd_profile *p, const char *metric)
{
    if (!metric || sd_profile_sample_metric(p, metric) != UINT32_MAX ||
        strcmp(metric, "time") == 0 || strcmp(metric, "cpu_time") == 0)
        return 0;
    return sd_fail(SD_EUSAGE,
                   "a call graph is of time or cpu_time of calls, or of "
                   "what samples carry, not of \"%s\"",
                   metric);
}

int sd_graph_source_of_profile(struct sd_graph_source *s, const struct sd_profile *p,
                               const struct sd_traced_wish *wish)
{
    const char *metric = wish->choice.metric;
    const struct sd_stack_totals *totals = sd_profile_totals(p, metric);
    const char *command = sd_profile_meta(p, "command");
    struct sd_traced_wish all = *wish;
    int rc;

    if (p->samples.n == 0 && p->calls.n == 0)
        return sd_fail(SD_EABSENT,
                       "nothing was sampled and no calls were traced, so there is no "
                       "call graph; record with: sonde run --with sample, or sonde "
                       "calls");
    rc = check_metric(p, metric);
    if (rc < 0)
        return rc;
    all.is_cpu = wish->is_cpu || (metric && strcmp(metric, "cpu_time") == 0);
    all.is_sampled = p->samples.n > 0 && totals != &p->calls && !all.is_cpu &&
                     !wish->is_raw; /* these are of calls */
    rc = sd_traced_stats(p, &all, &s->stats);
    if (rc < 0)
        return rc;
    s->unit = sd_traced_unit(p, &all);
    s->unit = sd_arena_string(&s->arena, s->unit, strlen(s->unit));
    if (!s->unit)
        return sd_no_memory();
    s->title = command ? sd_arena_string(&s->arena, command, strlen(command)) : "sonde";
    s->what = words_of(s, !all.is_sampled);
    return s->title && s->what ? 0 : sd_no_memory();
}

int sd_graph_source_of_files(struct sd_graph_source *s, char *const *files, size_t n)
{
    int rc = sd_call_files_load(files, n, &s->stats);

    if (rc < 0)
        return rc;
    s->title = n > 1 ? sd_arena_printf(&s->arena, "%s and %zu more", files[0], n - 1)
                     : sd_arena_string(&s->arena, files[0], strlen(files[0]));
    s->what = words_of(s, true);
    return s->title && s->what ? 0 : sd_no_memory();
}

/* --- Where it goes */

struct sd_graph_order sd_graph_order_default(void)
{
    return (struct sd_graph_order){
        .wish = { .node_percent = SD_GRAPH_NODE_PERCENT,
                  .edge_percent = SD_GRAPH_EDGE_PERCENT },
        .look = sd_graph_look_default(),
    };
}

/* "12.4 s traced; 84 of 3,210 functions and 120 of 9,876 calls of one by another are
 * drawn: those of 0.5 % and 0.1 % or more" */
static int say(struct sd_view_graph *g, const struct sd_graph_source *s,
               const struct sd_graph_source *other, const struct sd_graph_order *order,
               struct sd_arena *a)
{
    char n[4][SD_TEXT_MAX], least[2][SD_TEXT_MAX];

    g->search = order->search;
    g->unit = s->unit;
    g->title = other
                   ? sd_arena_printf(a, "%s, compared with %s", s->title, other->title)
                   : sd_arena_string(a, s->title, strlen(s->title));
    g->subtitle = sd_arena_printf(
        a,
        "%s%s%s; %s of %s functions and %s of %s pairs of caller and callee are drawn: "
        "those with at least %s %% and %s %% of it",
        s->what, other ? " and " : "", other ? other->what : "",
        sd_text_count(n[0], (int64_t)g->n_nodes),
        sd_text_count(n[1], (int64_t)g->n_all_nodes),
        sd_text_count(n[2], (int64_t)g->n_edges),
        sd_text_count(n[3], (int64_t)g->n_all_edges),
        sd_text_real(least[0], order->wish.node_percent),
        sd_text_real(least[1], order->wish.edge_percent));
    return g->title && g->subtitle ? 0 : sd_no_memory();
}

static int draw(const struct sd_graph_source *s, const struct sd_graph_source *other,
                const struct sd_graph_order *order, enum sd_graph_form form,
                struct sd_arena *a, struct sd_out *out)
{
    struct sd_view_graph g;
    int rc = other ? sd_graph_compare(&s->stats, &other->stats, &order->wish, a, &g)
                   : sd_graph_make(&s->stats, &order->wish, a, &g);

    if (rc == 0)
        rc = say(&g, s, other, order, a);
    if (rc < 0)
        return rc;
    return form == SD_GRAPH_DOT ? sd_report_dot(out, &g, &order->look)
                                : sd_report_graph(out, &g, &order->look);
}

int sd_graph_put(const struct sd_graph_source *s, const struct sd_graph_source *other,
                 const struct sd_graph_order *order, enum sd_graph_form form,
                 struct sd_out *out)
{
    struct sd_arena arena = { 0 };
    int rc;

    if (form == SD_GRAPH_CALLGRIND) {
        bool is_time = strcmp(s->unit, "s") == 0;

        return sd_call_stats_write_callgrind(
            &s->stats,
            &(struct sd_callgrind_head){ .command = s->title,
                                         .event = is_time ? "ns" : s->unit,
                                         .per_unit = is_time ? 1e9 : 1 },
            out);
    }
    rc = draw(s, other, order, form, &arena, out);
    sd_arena_release(&arena);
    return rc;
}
