/* SPDX-License-Identifier: MIT */
/* call_counts_twins: counts functions that look the same apart and shows them as one.
 *
 * Constructors of dataclasses all stand in one line of <string>, and code that is made
 * again by exec() is where it was before.  One that calls another is no recursion, so
 * the numbers are derived of each by itself.  Tables and files of pstats know a
 * function by file, line and name alone: there they add up, as they do in
 * Profile.stats. */
#include "analyse/stacks/call_counts.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/table.h"
#include "profile/triples.h"

struct look { /* what a reader sees of a function; texts of a profile are interned */
    const char *name, *file;
    uint64_t line;
};

static void add_sum(struct sd_calls_sum *to, const struct sd_calls_sum *from)
{
    to->calls = sd_sum_u64(to->calls, from->calls);
    to->primitive = sd_sum_u64(to->primitive, from->primitive);
    to->own = sd_sum_i64(to->own, from->own);
    to->total = sd_sum_i64(to->total, from->total);
}

/* `first[i]` is the callee that the ith looks like; itself when there is none before.
 */
static int find_first(const struct sd_call_counts *t, uint32_t *first, bool *has_twins)
{
    struct sd_arena arena = { 0 };
    struct sd_intern looks = { .arena = &arena };
    uint32_t *callee_of = sd_alloc((t->tree.n_callees + 1) * sizeof *callee_of);
    uint32_t n = 0, id = 0;
    int rc = callee_of ? 0 : sd_no_memory();

    *has_twins = false;
    for (uint32_t i = 0; i < t->tree.n_callees && rc == 0; i++) {
        const struct sd_callee *c = &t->tree.callees[i];
        struct look look = { c->import, NULL, UINT64_MAX };

        if (!c->import) {
            const struct sd_site *s = &t->tree.p->sites[c->site.at];

            look = (struct look){ s->name, s->file, s->line };
        }

        rc = sd_intern(&looks, &look, sizeof look, &id);
        if (rc == 0 && id == n)
            callee_of[n++] = i;
        if (rc == 0)
            first[i] = callee_of[id];
        *has_twins |= rc == 0 && first[i] != i;
    }
    sd_intern_release(&looks);
    sd_arena_release(&arena);
    sd_free(callee_of);
    return rc;
}

static void join_functions(struct sd_call_counts *t, const uint32_t *first)
{
    uint32_t n = t->tree.n_metrics;

    for (uint32_t i = 0; i < t->tree.n_callees; i++) {
        int64_t *to = t->tree.callee_self + (size_t)first[i] * n;
        int64_t *from = t->tree.callee_self + (size_t)i * n;

        if (first[i] == i)
            continue;
        add_sum(&t->calls.functions[first[i]], &t->calls.functions[i]);
        t->calls.functions[i] = (struct sd_calls_sum){ 0 };
        t->awaited[first[i]] = sd_sum_i64(t->awaited[first[i]], t->awaited[i]);
        t->awaited[i] = 0;
        for (uint32_t k = 0; k < n; k++) {
            to[k] = sd_sum_i64(to[k], from[k]);
            from[k] = 0;
        }
        t->is_twin[i] = true;
    }
}

static int join_edges(struct sd_call_counts *t, const uint32_t *first)
{
    struct sd_table places = { 0 };
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < t->calls.n_edges && rc == 0; i++) {
        struct sd_calls_edge e = t->calls.edges[i];
        uint64_t key, at;

        e.caller = first[e.caller];
        e.callee = first[e.callee];
        key = (uint64_t)e.caller << 32 | e.callee;
        if (sd_table_get(&places, key, &at)) {
            add_sum(&t->calls.edges[at].sum, &e.sum);
            continue;
        }
        rc = sd_table_put(&places, key, n);
        t->calls.edges[n++] = e;
    }
    t->calls.n_edges = n;
    sd_table_release(&places);
    return rc;
}

static int join_twins(struct sd_call_counts *t)
{
    uint32_t *first = sd_alloc((t->tree.n_callees + 1) * sizeof *first);
    bool has_twins = false;
    int rc;

    t->is_twin = sd_zalloc(t->tree.n_callees + 1);
    for (uint32_t i = 0; t->is_twin && t->tree.pairs && i < t->tree.n_callees; i++)
        t->is_twin[i] = t->tree.by == SD_CALLS_BY_FUNCTION &&
                        t->tree.callees[i].site.at != UINT32_MAX &&
                        t->tree.p->sites[t->tree.callees[i].site.at].is_beyond;
    rc = first && t->is_twin ? find_first(t, first, &has_twins) : sd_no_memory();
    if (rc == 0 && has_twins) {
        join_functions(t, first);
        rc = join_edges(t, first);
    }
    sd_free(first);
    return rc;
}

int sd_call_counts_make_functions(const struct sd_profile *p,
                                  const struct sd_stacks_request *request,
                                  struct sd_call_counts *out)
{
    struct sd_stacks_request apart = *request;
    int rc;

    apart.choice.has_twins = true;
    /* Folded libraries need paths. */
    apart.choice.has_pairs = !request->is_sampled && !request->choice.is_mine;
    rc = sd_call_counts_make(p, &apart, out);
    if (rc == 0 && request->by == SD_CALLS_BY_MODULE && out->tree.n_pairs > 0)
        rc = sd_call_counts_bound_modules(p, &apart, out);
    if (rc == 0)
        rc = join_twins(out);
    if (rc < 0)
        sd_call_counts_release(out);
    return rc;
}
