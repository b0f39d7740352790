/* SPDX-License-Identifier: MIT */
#include "analyse/growth/scaling_times.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* --- What was measured, by stack */

uint32_t sd_scaling_function_of(const struct sd_profile *p, uint32_t site)
{
    return sd_profile_function_of(p, (sd_site_id){ site }).at;
}

static int make_room(struct sd_scaling_times *g)
{
    size_t stacks = g->p->n_stacks + 1, sites = g->p->n_sites + 1;

    g->own = sd_zalloc(stacks * sizeof *g->own);
    g->total = sd_zalloc(stacks * sizeof *g->total);
    g->starts = sd_zalloc(stacks * sizeof *g->starts);
    g->first_child = sd_alloc(stacks * sizeof *g->first_child);
    g->next = sd_alloc(stacks * sizeof *g->next);
    g->edge = sd_alloc(stacks * sizeof *g->edge);
    g->sums = sd_zalloc(sites * sizeof *g->sums);
    g->own_sums = sd_zalloc(sites * sizeof *g->own_sums);
    g->counts = sd_zalloc(sites * sizeof *g->counts);
    g->total_of = sd_zalloc(sites * sizeof *g->total_of);
    return g->own && g->total && g->starts && g->first_child && g->next && g->edge &&
                   g->sums && g->own_sums && g->counts && g->total_of
               ? 0
               : sd_no_memory();
}

void sd_scaling_times_release(struct sd_scaling_times *g)
{
    sd_free(g->own);
    sd_free(g->total);
    sd_free(g->starts);
    sd_free(g->first_child);
    sd_free(g->next);
    sd_free(g->edge);
    sd_free(g->sums);
    sd_free(g->own_sums);
    sd_free(g->counts);
    sd_free(g->total_of);
    sd_free(g->spent);
    sd_table_release(&g->below);
    sd_free(g->import_ns);
    sd_import_rows_release(&g->imports);
    *g = (struct sd_scaling_times){ .p = g->p };
}

static int64_t value(const struct sd_stack_totals *t, uint32_t metric, size_t i)
{
    return metric == NONE ? 0 : t->values[metric][i];
}

static int read_times(struct sd_scaling_times *g,
                      const struct sd_stacks_request *request)
{
    const struct sd_stack_totals *t = &g->p->evidence[SD_CALLS].stacks;
    uint32_t starts = sd_totals_metric(g->p, t, "starts");
    uint32_t time = sd_totals_metric(g->p, t, request->is_cpu ? "cpu_time" : "time");
    uint32_t cost = request->is_raw ? sd_totals_metric(g->p, t, "tracing") : NONE;

    if (time == NONE && t->n > 0)
        return sd_fail(SD_EABSENT,
                       "CPU time was not measured; record with: sonde calls --scaling "
                       "--cpu");
    for (size_t i = 0; i < t->n; i++) {
        uint32_t at = t->items[i].stack.at;
        int64_t ns = sd_sum_i64(value(t, time, i), value(t, cost, i));

        if (at == NONE || !sd_sample_choice_takes(&request->choice, &t->items[i]))
            continue;
        g->own[at] = sd_sum_i64(g->own[at], ns);
        g->starts[at] = sd_sum_i64(g->starts[at], value(t, starts, i));
        g->whole = sd_sum_i64(g->whole, ns);
    }
    return 0;
}

/* Children have larger numbers than their parents. */
static void sum_up(struct sd_scaling_times *g)
{
    g->first_root = NONE;
    memset(g->first_child, 0xff, (g->p->n_stacks + 1) * sizeof *g->first_child);
    for (size_t i = g->p->n_stacks; i-- > 0;) {
        uint32_t parent = g->p->stacks[i].parent.at;
        uint32_t *first = parent == NONE ? &g->first_root : &g->first_child[parent];

        g->total[i] = sd_sum_i64(g->total[i], g->own[i]);
        if (parent != NONE)
            g->total[parent] = sd_sum_i64(g->total[parent], g->total[i]);
        g->next[i] = *first;
        *first = (uint32_t)i;
    }
}

/* --- Imports */

static bool is_in_import(const struct sd_scaling_times *g, size_t stack)
{
    return g->imports.row_of && g->imports.row_of[stack] != NONE;
}

static int sum_imports(struct sd_scaling_times *g)
{
    int rc = sd_import_rows_make(g->p, true, &g->imports);

    if (rc < 0)
        return rc;
    g->import_ns = sd_zalloc((g->imports.n + 1) * sizeof *g->import_ns);
    if (!g->import_ns)
        return sd_no_memory();
    for (size_t i = 0; i < g->p->n_stacks; i++)
        if (is_in_import(g, i)) {
            int64_t *ns = &g->import_ns[g->imports.row_of[i]];

            *ns = sd_sum_i64(*ns, g->own[i]);
        }
    return 0;
}

/* --- By signature and by function */

static int add_edge(struct sd_scaling_times *g, uint32_t caller, uint32_t callee,
                    uint32_t *out)
{
    uint64_t key = (uint64_t)caller << 32 | callee, at;
    int64_t *spent;

    if (!sd_table_get(&g->below, key, &at)) {
        spent = sd_grow_array(g->spent, &g->cap_spent, g->n_spent + 1, sizeof *spent);
        if (!spent)
            return sd_no_memory();
        g->spent = spent;
        g->spent[g->n_spent] = 0;
        at = g->n_spent++;
        if (sd_table_put(&g->below, key, at) < 0)
            return SD_ENOMEM;
    }
    *out = (uint32_t)at;
    return 0;
}

static int sum_signatures(struct sd_scaling_times *g)
{
    const struct sd_profile *p = g->p;
    int rc = 0;

    memset(g->edge, 0xff, (p->n_stacks + 1) * sizeof *g->edge);
    for (size_t i = 0; i < p->n_stacks && rc == 0; i++) {
        uint32_t site = p->stacks[i].site.at, parent = p->stacks[i].parent.at;

        if ((g->total[i] == 0 && g->starts[i] == 0) || is_in_import(g, i))
            continue;
        g->sums[site] = sd_sum_i64(g->sums[site], g->total[i]);
        g->own_sums[site] = sd_sum_i64(g->own_sums[site], g->own[i]);
        g->counts[site] = sd_sum_i64(g->counts[site], g->starts[i]);
        if (parent != NONE)
            rc = add_edge(g, sd_scaling_function_of(p, p->stacks[parent].site.at),
                          sd_scaling_function_of(p, site), &g->edge[i]);
    }
    return rc;
}

/* How often each function, and each call of one by another, is on the way from the
 * root. */
struct open {
    uint32_t *functions; /* owned; by site */
    uint32_t *edges;     /* owned; as `spent` */
};

/* The stack after this one, children first. */
static uint32_t walk_on(const struct sd_scaling_times *g, uint32_t at,
                        struct open *open)
{
    if (g->first_child[at] != NONE)
        return g->first_child[at];
    while (at != NONE) {
        open->functions[sd_scaling_function_of(g->p, g->p->stacks[at].site.at)]--;
        if (g->edge[at] != NONE)
            open->edges[g->edge[at]]--;
        if (g->next[at] != NONE)
            return g->next[at];
        at = g->p->stacks[at].parent.at;
    }
    return NONE;
}

/* What a function called itself for is in its outermost call already, and what two call
 * each other for in the outermost call of the one by the other. */
static int sum_functions(struct sd_scaling_times *g)
{
    struct open open = {
        .functions = sd_zalloc((g->p->n_sites + 1) * sizeof *open.functions),
        .edges = sd_zalloc((g->n_spent + 1) * sizeof *open.edges),
    };
    bool has_room = open.functions && open.edges;

    for (uint32_t at = has_room ? g->first_root : NONE; at != NONE;
         at = walk_on(g, at, &open)) {
        uint32_t function = sd_scaling_function_of(g->p, g->p->stacks[at].site.at);
        uint32_t edge = g->edge[at];

        if (open.functions[function]++ == 0 && !is_in_import(g, at))
            g->total_of[function] = sd_sum_i64(g->total_of[function], g->total[at]);
        if (edge != NONE && open.edges[edge]++ == 0)
            g->spent[edge] = sd_sum_i64(g->spent[edge], g->total[at]);
    }
    sd_free(open.functions);
    sd_free(open.edges);
    return has_room ? 0 : sd_no_memory();
}

/* --- Beyond the trees */

/* Imports are rows of their own, and Sonde's start is none: by the path, as far as that
 * is known, and here by the function. */
static bool counts_beyond(const struct sd_scaling_times *g,
                          const struct sd_stacks_request *request,
                          const struct sd_pair_total *pair)
{
    const struct sd_site *s = &g->p->sites[sd_scaling_function_of(g->p, pair->callee)];
    enum sd_import_part part =
        s->is_native ? SD_IMPORT_NO_PART : sd_import_part_of(s->name, s->file);

    if (request->choice.has_track && pair->track != request->choice.track.at)
        return false;
    return part == SD_IMPORT_NO_PART || (!g->import_ns && part != SD_IMPORT_STARTUP);
}

static int64_t time_of(const struct sd_pair_total *pair,
                       const struct sd_stacks_request *request,
                       enum sd_pair_value clock, enum sd_pair_value cpu,
                       enum sd_pair_value tracing)
{
    return sd_sum_i64(pair->values[request->is_cpu ? cpu : clock],
                      request->is_raw ? pair->values[tracing] : 0);
}

/* The time with all it called is known of calls that were not made below the same
 * signature, and so stands for that part of the calls. */
static void add_signature(struct sd_scaling_times *g,
                          const struct sd_stacks_request *request,
                          const struct sd_pair_total *pair)
{
    const int64_t *v = pair->values;
    double outermost = v[SD_PAIR_CALLS] > 0 && v[SD_PAIR_PRIMITIVE] < v[SD_PAIR_CALLS]
                           ? (double)v[SD_PAIR_PRIMITIVE] / (double)v[SD_PAIR_CALLS]
                           : 1;
    int64_t own = time_of(pair, request, SD_PAIR_TIME, SD_PAIR_CPU, SD_PAIR_TRACING);
    uint32_t at = pair->callee;

    g->sums[at] =
        sd_sum_i64(g->sums[at], time_of(pair, request, SD_PAIR_TOTAL, SD_PAIR_CPU_TOTAL,
                                        SD_PAIR_TOTAL_TRACING));
    g->own_sums[at] = sd_sum_i64(g->own_sums[at], (int64_t)((double)own * outermost));
    g->counts[at] = sd_sum_i64(g->counts[at],
                               (int64_t)((double)v[SD_PAIR_STARTS] * outermost + 0.5));
}

static int add_function(struct sd_scaling_times *g,
                        const struct sd_stacks_request *request,
                        const struct sd_pair_total *pair)
{
    int64_t *total = &g->total_of[pair->callee];
    uint32_t edge;
    int rc;

    *total = sd_sum_i64(*total, time_of(pair, request, SD_PAIR_TOTAL, SD_PAIR_CPU_TOTAL,
                                        SD_PAIR_TOTAL_TRACING));
    if (pair->caller == NONE)
        return 0;
    rc = add_edge(g, pair->caller, pair->callee, &edge);
    if (rc == 0)
        g->spent[edge] = sd_sum_i64(
            g->spent[edge], time_of(pair, request, SD_PAIR_PAIR_TOTAL,
                                    SD_PAIR_CPU_PAIR_TOTAL, SD_PAIR_PAIR_TRACING));
    return rc;
}

static int add_beyond(struct sd_scaling_times *g,
                      const struct sd_stacks_request *request)
{
    const struct sd_pair_totals *pairs = &g->p->pairs, *wholes = &g->p->whole_pairs;
    int rc = 0;

    for (size_t i = 0; i < pairs->n; i++)
        if (counts_beyond(g, request, &pairs->items[i]))
            add_signature(g, request, &pairs->items[i]);
    for (size_t i = 0; i < wholes->n && rc == 0; i++)
        if (counts_beyond(g, request, &wholes->items[i]))
            rc = add_function(g, request, &wholes->items[i]);
    return rc;
}

int sd_scaling_times_make(struct sd_scaling_times *g,
                          const struct sd_stacks_request *request)
{
    int rc = make_room(g);

    if (rc == 0)
        rc = read_times(g, request);
    if (rc < 0)
        return rc;
    sum_up(g);
    if (request->choice.folds_imports && !request->choice.is_mine)
        rc = sum_imports(g);
    if (rc == 0)
        rc = sum_signatures(g);
    if (rc == 0)
        rc = sum_functions(g);
    return rc < 0 ? rc : add_beyond(g, request);
}
