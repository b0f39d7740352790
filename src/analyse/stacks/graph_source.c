/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/graph_source.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"

void sd_graph_source_init(struct sd_graph_source *s)
{
    *s = (struct sd_graph_source){ .unit = "s" };
    sd_call_stats_init(&s->made);
}

void sd_graph_source_release(struct sd_graph_source *s)
{
    sd_call_stats_release(&s->made);
    sd_arena_release(&s->arena);
    sd_graph_source_init(s);
}

static const char *words_of(struct sd_graph_source *s, enum sd_evidence e)
{
    char text[SD_TEXT_MAX];

    if (strcmp(s->unit, "s") != 0)
        return sd_arena_printf(&s->arena, "%s %s",
                               sd_text_count(text, sd_round_i64(s->stats->sum.own)),
                               s->unit);
    return sd_arena_printf(
        &s->arena, "%s %s",
        sd_text_duration(text, sd_round_i64(s->stats->sum.own * 1e9)),
        sd_evidence[e].verb);
}

/* Of calls a graph shows times; how many they were is at its lines anyway. */
static int check_metric(const struct sd_profile *p, const char *metric)
{
    struct sd_buf others = { 0 };
    int rc;

    if (!metric ||
        (sd_profile_carries(p, metric) && sd_profile_evidence(p, metric) != SD_CALLS) ||
        strcmp(metric, "time") == 0 || strcmp(metric, "cpu_time") == 0)
        return 0;
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        if (e != SD_CALLS && sd_evidence_has_stacks(e) && sd_profile_has(p, e)) {
            sd_buf_printf(&others, ", and of %s ", sd_evidence[e].name);
            sd_calltree_put_metrics(&others, p, e);
        }
    rc = sd_fail(SD_EUSAGE,
                 "a call graph cannot show the metric \"%s\"; --metric takes of traced "
                 "calls time and cpu_time%s",
                 metric, sd_buf_string(&others));
    sd_buf_release(&others);
    return rc;
}

int sd_graph_source_of_profile(struct sd_graph_source *s, const struct sd_profile *p,
                               const struct sd_stacks_request *request)
{
    const char *metric = request->choice.metric;
    enum sd_evidence evidence = sd_sample_choice_evidence(p, &request->choice);
    const char *command = sd_profile_meta(p, "command");
    struct sd_stacks_request all = *request;
    char commands[SD_EVIDENCE_TEXT];
    int rc;

    if (!sd_profile_has_stacks(p))
        return sd_fail(SD_EABSENT,
                       "nothing was sampled and no calls were traced, so there is no "
                       "call graph; record with: %s",
                       sd_evidence_commands(commands));
    rc = check_metric(p, metric);
    if (rc < 0)
        return rc;
    all.is_cpu = request->is_cpu || (metric && strcmp(metric, "cpu_time") == 0);
    all.is_sampled = evidence != SD_CALLS && !all.is_cpu &&
                     !request->is_raw; /* these are of calls */
    rc = sd_call_counts_stats(p, &all, &s->made);
    if (rc < 0)
        return rc;
    s->stats = &s->made;
    s->unit = sd_call_counts_unit(p, &all);
    s->unit = sd_arena_string(&s->arena, s->unit, strlen(s->unit));
    if (!s->unit)
        return sd_no_memory();
    s->title = command ? sd_arena_string(&s->arena, command, strlen(command)) : "sonde";
    s->what = words_of(s, all.is_sampled ? evidence : SD_CALLS);
    return s->title && s->what ? 0 : sd_no_memory();
}

int sd_graph_source_of_calls(struct sd_graph_source *s,
                             const struct sd_call_stats *calls, const char *title)
{
    s->stats = calls;
    s->title = sd_arena_string(&s->arena, title, strlen(title));
    s->what = words_of(s, SD_CALLS);
    return s->title && s->what ? 0 : sd_no_memory();
}

/* "12.4 s traced; 84 of 3,210 functions and 120 of 9,876 calls of one by another are
 * drawn: those of 0.5 % and 0.1 % or more" */
static int say(struct sd_view_graph *g, const struct sd_graph_source *s,
               const struct sd_graph_source *other,
               const struct sd_graph_request *request, struct sd_arena *a)
{
    char n[4][SD_TEXT_MAX], least[2][SD_TEXT_MAX];

    g->unit = sd_arena_string(a, s->unit, strlen(s->unit));
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
        sd_text_real(least[0], request->node_percent),
        sd_text_real(least[1], request->edge_percent));
    return g->unit && g->title && g->subtitle ? 0 : sd_no_memory();
}

int sd_graph_source_draw(const struct sd_graph_source *s,
                         const struct sd_graph_source *other,
                         const struct sd_graph_request *request, struct sd_arena *a,
                         struct sd_view_graph *out)
{
    int rc = other ? sd_graph_compare(s->stats, other->stats, request, a, out)
                   : sd_graph_make(s->stats, request, a, out);

    return rc < 0 ? rc : say(out, s, other, request, a);
}
