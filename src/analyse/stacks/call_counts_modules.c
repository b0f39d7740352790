/* SPDX-License-Identifier: MIT */
/* call_counts_modules: bounds the total times of modules where some calls have no path.
 */
#include "analyse/stacks/call_counts.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* Texts of a profile are interned: those of one module have the same pointer. */
static const char *module_of(const struct sd_site *s)
{
    return s->file ? s->file : s->is_native && !s->is_beyond ? "" : s->name;
}

static void lift(int64_t *total, int64_t least)
{
    if (*total < least)
        *total = least;
}

/* Of many calls the first was outermost, at least. */
static void bound(struct sd_calls_sum *sum)
{
    lift(&sum->total, sum->own);
    if (sum->primitive == 0 && sum->calls > 0)
        sum->primitive = 1;
}

/* All that lies beyond the tree, in a row of its own. */
static void sum_beyond(struct sd_call_counts *t)
{
    for (size_t i = 0; i < t->tree.n_nodes; i++) {
        uint32_t callee = t->tree.nodes[i].callee,
                 site = t->tree.callees[callee].site.at;
        int64_t *total = &t->calls.functions[callee].total;

        if (site != NONE && t->tree.p->sites[site].is_beyond)
            *total = sd_sum_i64(*total, t->own[i]);
    }
}

/* While a function runs, its module does. */
static int bound_by_functions(struct sd_call_counts *t,
                              const struct sd_call_counts *functions)
{
    struct sd_arena arena = { 0 };
    struct sd_intern names = { .arena = &arena };
    uint32_t *module_at = sd_alloc((t->tree.n_callees + 1) * sizeof *module_at);
    const struct sd_site *sites = t->tree.p->sites;
    int rc = module_at ? 0 : sd_no_memory();

    for (uint32_t i = 0; i < t->tree.n_callees && rc == 0; i++) {
        const char *name = module_of(&sites[t->tree.callees[i].site.at]);
        uint32_t id;

        rc = sd_intern(&names, &name, sizeof name, &id);
        if (rc == 0)
            module_at[id] = i;
    }
    for (size_t i = 0; i < functions->tree.n_callees && rc == 0; i++) {
        const char *name = module_of(&sites[functions->tree.callees[i].site.at]);
        uint32_t id = sd_intern_find(&names, &name, sizeof name);

        if (id != NONE)
            lift(&t->calls.functions[module_at[id]].total,
                 functions->calls.functions[i].total);
    }
    sd_intern_release(&names);
    sd_arena_release(&arena);
    sd_free(module_at);
    return rc;
}

int sd_call_counts_bound_modules(const struct sd_profile *p,
                                 const struct sd_stacks_request *request,
                                 struct sd_call_counts *t)
{
    struct sd_stacks_request of_functions = *request;
    struct sd_call_counts functions;
    int rc;

    of_functions.by = SD_CALLS_BY_FUNCTION;
    of_functions.choice.folds_imports = false;
    rc = sd_call_counts_make(p, &of_functions, &functions);
    if (rc < 0)
        return rc;
    sum_beyond(t);
    for (size_t i = 0; i < t->calls.n_functions; i++)
        bound(&t->calls.functions[i]);
    for (size_t i = 0; i < t->calls.n_edges; i++)
        bound(&t->calls.edges[i].sum);
    rc = bound_by_functions(t, &functions);
    sd_call_counts_release(&functions);
    return rc;
}
