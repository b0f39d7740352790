/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/call_counts.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/losses.h"

enum { NONE = UINT32_MAX };

/* --- From the tree to nodes that can be counted */

static uint32_t column(const struct sd_call_counts *t, const char *metric)
{
    return sd_totals_metric(t->tree.p, t->tree.totals, metric);
}

/* What the node did itself, of the metric in this column. */
static int64_t self(const struct sd_call_counts *t, size_t node, uint32_t at)
{
    return at == NONE ? 0 : t->tree.self[node * t->tree.n_metrics + at];
}

/* Is this no function, but calls that are known by their pairs? */
static bool is_beyond(const struct sd_call_counts *t, uint32_t callee)
{
    uint32_t site = t->tree.callees[callee].site.at;

    return t->tree.pairs && site != NONE && t->tree.p->sites[site].is_beyond;
}

const char *sd_call_counts_unit(const struct sd_profile *p,
                                const struct sd_stacks_request *request)
{
    enum sd_evidence e = sd_sample_choice_evidence(p, &request->choice);
    const struct sd_stack_totals *t = &p->evidence[e].stacks;
    const char *metric = request->choice.metric;
    uint32_t at;

    if (!request->is_sampled)
        return "s";
    at = sd_totals_metric(p, t, metric ? metric : sd_evidence_metric(p, e));
    if (at == NONE)
        return sd_evidence[e].name;
    return p->metrics[t->metrics[at].at].unit == SD_UNIT_NANOSECONDS
               ? "s"
               : p->metrics[t->metrics[at].at].name;
}

static int choose_times(struct sd_call_counts *t,
                        const struct sd_stacks_request *request)
{
    uint32_t time = request->is_sampled
                        ? t->tree.metric
                        : column(t, request->is_cpu ? "cpu_time" : "time");
    uint32_t tracing = request->is_raw ? column(t, "tracing") : NONE;

    if (time == NONE)
        return sd_fail(SD_EABSENT,
                       "CPU time was not measured; record with: sonde calls "
                       "--cpu");
    t->own = sd_alloc((t->tree.n_nodes + 1) * sizeof *t->own);
    if (!t->own)
        return sd_no_memory();
    for (size_t i = 0; i < t->tree.n_nodes; i++)
        t->own[i] = sd_sum_i64(self(t, i, time), self(t, i, tracing));
    return 0;
}

static int64_t pair_time(const struct sd_pair_total *total,
                         const struct sd_stacks_request *request,
                         enum sd_pair_value clock, enum sd_pair_value cpu,
                         enum sd_pair_value tracing)
{
    return sd_sum_i64(total->values[request->is_cpu ? cpu : clock],
                      request->is_raw ? total->values[tracing] : 0);
}

/* What a module calls in itself is no call.  Which calls were outermost, and how long
 * all was that they called, would take their paths. */
static struct sd_pair pair_of_modules(const struct sd_callee_pair *p,
                                      const struct sd_stacks_request *request)
{
    bool is_call = p->caller != p->callee;

    return (struct sd_pair){
        .caller = is_call && p->caller != NONE ? p->caller : SD_NO_NODE,
        .function = p->callee,
        .calls = is_call ? (uint64_t)p->total->values[SD_PAIR_CALLS] : 0,
        .own = pair_time(p->total, request, SD_PAIR_TIME, SD_PAIR_CPU, SD_PAIR_TRACING),
    };
}

static struct sd_pair pair_of(const struct sd_callee_pair *p,
                              const struct sd_stacks_request *request)
{
    const int64_t *v = p->total->values;

    if (request->by == SD_CALLS_BY_MODULE)
        return pair_of_modules(p, request);
    return (struct sd_pair){
        .caller = p->caller == NONE ? SD_NO_NODE : p->caller,
        .function = p->callee,
        .calls = (uint64_t)v[SD_PAIR_CALLS],
        .primitive = (uint64_t)v[SD_PAIR_PRIMITIVE],
        .pair_primitive = (uint64_t)v[SD_PAIR_PRIMITIVE_OF_PAIR],
        .own = pair_time(p->total, request, SD_PAIR_TIME, SD_PAIR_CPU, SD_PAIR_TRACING),
        .total = pair_time(p->total, request, SD_PAIR_TOTAL, SD_PAIR_CPU_TOTAL,
                           SD_PAIR_TOTAL_TRACING),
        .pair_total = pair_time(p->total, request, SD_PAIR_PAIR_TOTAL,
                                SD_PAIR_CPU_PAIR_TOTAL, SD_PAIR_PAIR_TRACING),
    };
}

/* Behind a root, which the tree does not have: nodes are numbered from 1. */
static int derive(struct sd_call_counts *t, const struct sd_stacks_request *request)
{
    uint32_t calls = column(t, "calls");
    struct sd_node *nodes = sd_zalloc((t->tree.n_nodes + 1) * sizeof *nodes);
    struct sd_pair *pairs = sd_zalloc((t->tree.n_pairs + 1) * sizeof *pairs);
    struct sd_call_forest forest = { nodes, t->tree.n_nodes + 1, NULL, pairs,
                                     t->tree.n_pairs };
    int rc = nodes && pairs ? 0 : sd_no_memory();

    if (rc < 0)
        goto out;
    for (size_t i = 0; i < t->tree.n_pairs; i++)
        pairs[i] = pair_of(&t->tree.pairs[i], request);
    nodes[0].parent = SD_NO_NODE;
    for (size_t i = 0; i < t->tree.n_nodes; i++) {
        const struct sd_call_node *n = &t->tree.nodes[i];

        nodes[i + 1] =
            (struct sd_node){ .parent = n->parent == NONE ? 0 : n->parent + 1,
                              .function = n->callee,
                              .calls = (uint64_t)self(t, i, calls),
                              .own = t->own[i],
                              .is_beyond = is_beyond(t, n->callee) };
    }
    rc = sd_calls_derive(&forest, t->tree.n_callees, &t->calls);
out:
    sd_free(nodes);
    sd_free(pairs);
    return rc;
}

/* A coroutine that awaits another is suspended as long as that one, so of what is
 * nested only the outermost counts. */
static int sum_awaited(struct sd_call_counts *t)
{
    uint32_t awaited = column(t, "awaited");
    uint32_t *open = sd_zalloc((t->tree.n_callees + 1) * sizeof *open);
    uint32_t at = t->tree.first_root, next, n_left;

    t->awaited = sd_zalloc((t->tree.n_callees + 1) * sizeof *t->awaited);
    if (!open || !t->awaited) {
        sd_free(open);
        return sd_no_memory();
    }
    for (; at != NONE; at = next) {
        uint32_t callee = t->tree.nodes[at].callee;

        if (open[callee]++ == 0)
            t->awaited[callee] = sd_sum_i64(t->awaited[callee], self(t, at, awaited));
        next = sd_calltree_next(&t->tree, at, &n_left);
        for (; n_left > 0; n_left--, at = t->tree.nodes[at].parent)
            open[t->tree.nodes[at].callee]--;
    }
    for (size_t i = 0; t->tree.by != SD_CALLS_BY_MODULE && i < t->tree.n_pairs; i++) {
        int64_t *of = &t->awaited[t->tree.pairs[i].callee];

        *of = sd_sum_i64(*of, t->tree.pairs[i].total->values[SD_PAIR_AWAITED]);
    }
    t->has_awaited =
        awaited != NONE || sd_pair_totals_sum(&t->tree.p->pairs, SD_PAIR_AWAITED) > 0;
    sd_free(open);
    return 0;
}

/* What a function did itself, in the rows of callees: pairs add to it, and what stands
 * for them in the tree is none of it. */
static void add_pairs_to_callees(struct sd_call_counts *t)
{
    static const struct {
        const char *metric;
        enum sd_pair_value value;
        bool is_count;
    } values[] = {
        { "calls", SD_PAIR_CALLS, true },   { "starts", SD_PAIR_STARTS, true },
        { "time", SD_PAIR_TIME, false },    { "tracing", SD_PAIR_TRACING, false },
        { "cpu_time", SD_PAIR_CPU, false }, { "awaited", SD_PAIR_AWAITED, false },
    };
    bool is_module = t->tree.by == SD_CALLS_BY_MODULE;
    uint32_t n = t->tree.n_metrics;

    for (uint32_t i = 0; i < t->tree.n_callees; i++)
        if (is_beyond(t, i))
            memset(t->tree.callee_self + (size_t)i * n, 0, n * sizeof(int64_t));
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        uint32_t at = column(t, values[k].metric);

        for (size_t i = 0; i < t->tree.n_pairs && at != NONE; i++) {
            const struct sd_callee_pair *pair = &t->tree.pairs[i];
            int64_t *to = &t->tree.callee_self[(size_t)pair->callee * n + at];

            if (is_module && values[k].is_count && pair->caller == pair->callee)
                continue;
            *to = sd_sum_i64(*to, pair->total->values[values[k].value]);
        }
    }
}

int sd_call_counts_make(const struct sd_profile *p,
                        const struct sd_stacks_request *request,
                        struct sd_call_counts *out)
{
    struct sd_sample_choice choice = request->choice;
    int rc;

    *out = (struct sd_call_counts){ .has_awaited = false };
    if (!sd_profile_has(p, SD_CALLS) && !request->is_sampled)
        return sd_fail(SD_EABSENT, "no %s were %s; record with: %s",
                       sd_evidence[SD_CALLS].name, sd_evidence[SD_CALLS].verb,
                       sd_evidence[SD_CALLS].command);
    out->per_unit = strcmp(sd_call_counts_unit(p, request), "s") == 0 ? 1e9 : 1;
    if (!request->is_sampled) { /* what samples alone know chooses none of them */
        choice.evidence = &sd_evidence[SD_CALLS];
        choice.metric = NULL;
        choice.is_gil_only = false;
    }
    rc = sd_calltree_make(p, &choice, request->by, &out->tree);
    if (rc == 0)
        rc = choose_times(out, request);
    if (rc == 0)
        rc = derive(out, request);
    if (rc == 0)
        rc = sum_awaited(out);
    if (rc == 0)
        add_pairs_to_callees(out);
    if (rc < 0)
        sd_call_counts_release(out);
    return rc;
}

void sd_call_counts_release(struct sd_call_counts *t)
{
    sd_calltree_release(&t->tree);
    sd_calls_release(&t->calls);
    sd_free(t->own);
    sd_free(t->awaited);
    sd_free(t->is_twin);
    *t = (struct sd_call_counts){ .has_awaited = false };
}

/* --- As pstats */

static int name_function(struct sd_call_stats *s, const struct sd_site *site,
                         enum sd_calls_by by, sd_function_id *id)
{
    struct sd_buf module = { 0 };
    const char *file = site->file && !site->is_native ? site->file : "~";
    int rc;

    if (by != SD_CALLS_BY_MODULE)
        return sd_call_stats_function(s, file, strlen(file),
                                      *file == '~' ? 0 : site->line, site->name,
                                      strlen(site->name), id);
    sd_callee_module(&module, site);
    rc = module.bad ? sd_no_memory()
                    : sd_call_stats_function(s, "~", 1, 0, (const char *)module.p,
                                             module.n, id);
    sd_buf_release(&module);
    return rc;
}

static struct sd_call_numbers numbers_of(const struct sd_calls_sum *sum,
                                         double per_unit)
{
    return (struct sd_call_numbers){
        .calls = (int64_t)sum->calls,
        .primitive = (int64_t)sum->primitive,
        .own = (double)sum->own / per_unit,
        .total = (double)sum->total / per_unit,
    };
}

static int fill_stats(const struct sd_call_counts *t, sd_function_id *ids,
                      enum sd_calls_by by, struct sd_call_stats *out)
{
    int rc = 0;

    for (size_t i = 0; i < t->calls.n_functions && rc == 0; i++) {
        const struct sd_site *site = &t->tree.p->sites[t->tree.callees[i].site.at];
        struct sd_call_numbers n = numbers_of(&t->calls.functions[i], t->per_unit);

        if (t->is_twin[i])
            continue;
        rc = name_function(out, site, by, &ids[i]);
        if (rc == 0) {
            sd_call_stats_at(out, ids[i])->is_own |= !sd_site_is_library(site);
            rc = sd_call_stats_count(out, ids[i], &n);
        }
    }
    for (size_t i = 0; i < t->calls.n_edges && rc == 0; i++) {
        const struct sd_calls_edge *e = &t->calls.edges[i];
        struct sd_call_numbers n = numbers_of(&e->sum, t->per_unit);

        rc = sd_call_stats_count_calls(out, ids[e->caller], ids[e->callee], &n);
    }
    return rc < 0 ? rc : sd_call_stats_sum(out);
}

int sd_call_counts_stats(const struct sd_profile *p,
                         const struct sd_stacks_request *request,
                         struct sd_call_stats *out)
{
    struct sd_call_counts t;
    sd_function_id *ids;
    int rc = sd_call_counts_make_functions(p, request, &t);

    if (rc < 0)
        return rc;
    ids = sd_alloc((t.calls.n_functions + 1) * sizeof *ids);
    rc = ids ? fill_stats(&t, ids, request->by, out) : sd_no_memory();
    sd_free(ids);
    sd_call_counts_release(&t);
    return rc;
}

/* --- Remarks */

static uint64_t fact(const struct sd_profile *p, const char *key)
{
    const char *text = sd_profile_meta(p, key);
    uint64_t n;

    return text && sd_text_parse_number(text, &n) ? n : 0;
}

static int64_t total_of(const struct sd_profile *p, const char *metric)
{
    const struct sd_stack_totals *calls = &p->evidence[SD_CALLS].stacks;
    uint32_t at = sd_totals_metric(p, calls, metric);
    int64_t sum = 0;

    for (size_t i = 0; at != NONE && i < calls->n; i++)
        sum = sd_sum_i64(sum, calls->values[at][i]);
    return sum;
}

/* "63.6 us of tracing subtracted, give or take 7.2 us (--raw keeps it)" */
static void remark_tracing(struct sd_buf *to, int64_t tracing, int64_t error,
                           bool is_raw)
{
    char text[SD_TEXT_MAX];

    sd_buf_printf(to, "%s of tracing %s", sd_text_duration(text, tracing),
                  is_raw ? "in these times" : "subtracted");
    if (error > 0)
        sd_buf_printf(to, ", give or take %s", sd_text_duration(text, error));
    if (!is_raw)
        sd_buf_text(to, " (--raw keeps it)");
}

void sd_call_counts_remarks(struct sd_buf *to, const struct sd_profile *p, bool is_raw)
{
    int64_t tracing = total_of(p, "tracing");
    uint64_t error = fact(p, "calls.trees_without_error")
                         ? 0                /* of a part it would say too little */
                     : p->has_calls_cut ? 0 /* of the whole run it would say too much */
                                        : fact(p, "calls.tracing_error_ns");

    if (tracing > 0)
        remark_tracing(to, tracing, (int64_t)error, is_raw);
    if (p->window.is_set && !p->has_calls_cut)
        sd_buf_printf(
            to, "%scalls cover the whole run: a window of time does not narrow them",
            to->n ? "; " : "");
}

void sd_call_counts_caption(struct sd_buf *to, const struct sd_profile *p, bool is_raw)
{
    struct sd_buf lost = { 0 };

    sd_call_counts_remarks(to, p, is_raw);
    sd_losses_put(&lost, p, SD_LOSSES_OF_CALLS);
    if (lost.n > 0)
        sd_buf_printf(to, "%s%s", to->n ? "; " : "", sd_buf_string(&lost));
    to->bad |= lost.bad;
    sd_buf_release(&lost);
}
