/* SPDX-License-Identifier: MIT */
#include "analyse/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/table.h"

enum { NONE = UINT32_MAX };
enum {
    WHOLE = -1, /* of a variable: not one side of it */
    VARIABLES_MAX = 16,
    COMBINED_MAX = 3, /* arguments of which two are added or multiplied */
};
#define SHARE_MIN 0.0005    /* of the time: less is not fitted */
#define SHARE_THEN_MIN 0.05 /* to be flagged */
#define LARGER 10.0         /* sizes, in the forecast */
#define CLEARLY 0.7         /* of the cost: what a complicated explanation may have */
#define COST_FINE 0.02      /* better than that is no better */

/* --- What was measured, by stack */

struct gather {
    const struct sd_profile *p;
    struct sd_arena *arena;
    int64_t *own, *total, *starts; /* owned; by stack */
    uint32_t *first_child, *next;  /* owned; by stack: the tree downwards */
    uint32_t first_root;
    /* Owned; by site: of signatures, and total_of of functions (outermost calls). */
    int64_t *sums, *own_sums, *counts, *total_of;
    struct sd_table below; /* function << 32 | function it called: place in `spent` */
    int64_t *spent;        /* owned */
    size_t n_spent, cap_spent;
    int64_t whole; /* ns */
};

static uint32_t function_of(const struct sd_profile *p, uint32_t site)
{
    return sd_profile_function_of(p, (sd_site_id){ site }).at;
}

static int make_room(struct gather *g)
{
    size_t stacks = g->p->n_stacks + 1, sites = g->p->n_sites + 1;

    g->own = sd_zalloc(stacks * sizeof *g->own);
    g->total = sd_zalloc(stacks * sizeof *g->total);
    g->starts = sd_zalloc(stacks * sizeof *g->starts);
    g->first_child = sd_alloc(stacks * sizeof *g->first_child);
    g->next = sd_alloc(stacks * sizeof *g->next);
    g->sums = sd_zalloc(sites * sizeof *g->sums);
    g->own_sums = sd_zalloc(sites * sizeof *g->own_sums);
    g->counts = sd_zalloc(sites * sizeof *g->counts);
    g->total_of = sd_zalloc(sites * sizeof *g->total_of);
    return g->own && g->total && g->starts && g->first_child && g->next && g->sums &&
                   g->own_sums && g->counts && g->total_of
               ? 0
               : sd_no_memory();
}

static void release(struct gather *g)
{
    sd_free(g->own);
    sd_free(g->total);
    sd_free(g->starts);
    sd_free(g->first_child);
    sd_free(g->next);
    sd_free(g->sums);
    sd_free(g->own_sums);
    sd_free(g->counts);
    sd_free(g->total_of);
    sd_free(g->spent);
    sd_table_release(&g->below);
}

static int64_t value(const struct sd_stack_totals *t, uint32_t metric, size_t i)
{
    return metric == NONE ? 0 : t->values[metric][i];
}

static int read_times(struct gather *g, const struct sd_traced_wish *wish)
{
    const struct sd_stack_totals *t = &g->p->calls;
    uint32_t starts = sd_totals_metric(g->p, t, "starts");
    uint32_t time = sd_totals_metric(g->p, t, wish->is_cpu ? "cpu_time" : "time");
    uint32_t cost = wish->is_raw ? sd_totals_metric(g->p, t, "tracing") : NONE;

    if (time == NONE)
        return sd_fail(SD_EABSENT,
                       "CPU time was not measured; record with: sonde calls --scaling "
                       "--cpu");
    for (size_t i = 0; i < t->n; i++) {
        uint32_t at = t->items[i].stack.at;
        int64_t ns = sd_sum_i64(value(t, time, i), value(t, cost, i));

        if (at == NONE || !sd_sample_is_chosen(&wish->choice, &t->items[i]))
            continue;
        g->own[at] = sd_sum_i64(g->own[at], ns);
        g->starts[at] = sd_sum_i64(g->starts[at], value(t, starts, i));
        g->whole = sd_sum_i64(g->whole, ns);
    }
    return 0;
}

/* Children have larger numbers than their parents. */
static void sum_up(struct gather *g)
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

/* --- By signature and by function */

static int add_spent(struct gather *g, uint32_t caller, uint32_t callee, int64_t ns)
{
    uint64_t key = (uint64_t)caller << 32 | callee, at;
    int64_t *spent;

    if (sd_table_get(&g->below, key, &at)) {
        g->spent[at] = sd_sum_i64(g->spent[at], ns);
        return 0;
    }
    spent = sd_grow_array(g->spent, &g->cap_spent, g->n_spent + 1, sizeof *spent);
    if (!spent)
        return sd_no_memory();
    g->spent = spent;
    g->spent[g->n_spent] = ns;
    return sd_table_put(&g->below, key, g->n_spent++);
}

static int sum_signatures(struct gather *g)
{
    const struct sd_profile *p = g->p;
    int rc = 0;

    for (size_t i = 0; i < p->n_stacks && rc == 0; i++) {
        uint32_t site = p->stacks[i].site.at, parent = p->stacks[i].parent.at;

        if (g->total[i] == 0 && g->starts[i] == 0)
            continue;
        g->sums[site] = sd_sum_i64(g->sums[site], g->total[i]);
        g->own_sums[site] = sd_sum_i64(g->own_sums[site], g->own[i]);
        g->counts[site] = sd_sum_i64(g->counts[site], g->starts[i]);
        if (parent != NONE)
            rc = add_spent(g, function_of(p, p->stacks[parent].site.at),
                           function_of(p, site), g->total[i]);
    }
    return rc;
}

/* The stack after this one, children first; *open counts how often each function is
 * on the way from the root. */
static uint32_t walk_on(const struct gather *g, uint32_t at, uint32_t *open)
{
    if (g->first_child[at] != NONE)
        return g->first_child[at];
    while (at != NONE) {
        open[function_of(g->p, g->p->stacks[at].site.at)]--;
        if (g->next[at] != NONE)
            return g->next[at];
        at = g->p->stacks[at].parent.at;
    }
    return NONE;
}

/* What a function called itself for is in its outermost call already. */
static int sum_functions(struct gather *g)
{
    uint32_t *open = sd_zalloc((g->p->n_sites + 1) * sizeof *open);

    if (!open)
        return sd_no_memory();
    for (uint32_t at = g->first_root; at != NONE; at = walk_on(g, at, open)) {
        uint32_t function = function_of(g->p, g->p->stacks[at].site.at);

        if (open[function]++ == 0)
            g->total_of[function] = sd_sum_i64(g->total_of[function], g->total[at]);
    }
    sd_free(open);
    return 0;
}

static int gather_all(struct gather *g, const struct sd_traced_wish *wish)
{
    int rc = make_room(g);

    if (rc == 0)
        rc = read_times(g, wish);
    if (rc < 0)
        return rc;
    sum_up(g);
    rc = sum_signatures(g);
    return rc < 0 ? rc : sum_functions(g);
}

/* --- Sizes */

/* Something of an argument that has a size.  Names are interned: the same pointer. */
struct variable {
    const char *name;
    enum sd_size_kind kind;
    int side; /* of a shape, or WHOLE */
};

/* One variable, or two put together. */
struct candidate {
    struct variable a, b;
    char with; /* 0, '+' or '*' */
};

static double size_of(const struct sd_size *s, int side)
{
    double product = 1;

    if (side != WHOLE)
        return side < (int)s->n_dims ? (double)s->dims[side] : NAN;
    for (uint32_t i = 0; i < s->n_dims; i++)
        product *= (double)s->dims[i];
    return product;
}

/* NAN: this signature has none. */
static double variable_at(const struct sd_site *s, const struct variable *v)
{
    for (uint32_t i = 0; i < s->n_sizes; i++)
        if (s->sizes[i].name == v->name && s->sizes[i].kind == v->kind)
            return size_of(&s->sizes[i], v->side);
    return NAN;
}

static double candidate_at(const struct sd_site *s, const struct candidate *c)
{
    double a = variable_at(s, &c->a);

    if (!c->with)
        return a;
    return c->with == '+' ? a + variable_at(s, &c->b) : a * variable_at(s, &c->b);
}

/* A function and its signatures, as places in the profile's sites. */
struct subject {
    const struct gather *g;
    uint32_t function;
    const uint32_t *sites;
    size_t n;
    struct variable variables[VARIABLES_MAX];
    size_t n_variables;
};

static bool varies(const struct subject *s, const struct variable *v)
{
    double first = NAN;

    for (size_t i = 0; i < s->n; i++) {
        double n = variable_at(&s->g->p->sites[s->sites[i]], v);

        if (isnan(first))
            first = n;
        else if (!isnan(n) && n != first)
            return true;
    }
    return false;
}

static void add_variable(struct subject *s, struct variable v)
{
    for (size_t i = 0; i < s->n_variables; i++)
        if (s->variables[i].name == v.name && s->variables[i].kind == v.kind &&
            s->variables[i].side == v.side)
            return;
    if (s->n_variables < VARIABLES_MAX && varies(s, &v))
        s->variables[s->n_variables++] = v;
}

/* Sides stand before elements: of a square one says n³, not n^1.5. */
static void find_variables_of(struct subject *s, const struct sd_size *size)
{
    struct variable v = { .name = size->name, .kind = size->kind };

    for (; size->n_dims > 1 && v.side < (int)size->n_dims; v.side++)
        add_variable(s, v);
    v.side = WHOLE;
    add_variable(s, v);
}

static void find_variables(struct subject *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct sd_site *site = &s->g->p->sites[s->sites[i]];

        for (uint32_t k = 0; k < site->n_sizes; k++)
            find_variables_of(s, &site->sizes[k]);
    }
}

/* --- The size that explains the times */

static size_t read_points(const struct subject *s, const struct candidate *c,
                          struct sd_scaling_point *points)
{
    const struct gather *g = s->g;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        uint32_t site = s->sites[i];
        double size = candidate_at(&g->p->sites[site], c);
        double calls = (double)g->counts[site];

        if (size >= 1 && calls >= 1)
            points[n++] =
                (struct sd_scaling_point){ size, (uint64_t)g->counts[site],
                                           (double)g->sums[site] / calls,
                                           (double)g->own_sums[site] / calls };
    }
    return n;
}

static int fit(const struct sd_scaling_point *points, size_t n, bool is_own,
               struct sd_growth *out)
{
    struct sd_growth_point *p = sd_alloc((n + 1) * sizeof *p);
    int rc;

    if (!p)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        p[i] = (struct sd_growth_point){ points[i].n,
                                         is_own ? points[i].own_ns : points[i].ns,
                                         (double)points[i].calls };
    rc = sd_growth_fit(p, n, out);
    sd_free(p);
    return rc;
}

struct choice {
    struct candidate best;
    struct sd_growth growth;
    double covered; /* ns that its points stand for; 0: nothing was tried yet */
    struct sd_scaling_point *points; /* room for all, to try with */
};

/* What only few of the calls have is no better explanation of them. */
static bool is_better(const struct choice *now, const struct sd_growth *g,
                      double covered)
{
    if (now->covered <= 0 || covered < 0.5 * now->covered)
        return now->covered <= 0;
    if (g->answer != SD_GROWTH_FITTED)
        return now->growth.answer != SD_GROWTH_FITTED &&
               g->n_sizes > now->growth.n_sizes;
    return now->growth.answer != SD_GROWTH_FITTED ||
           g->cost + COST_FINE < CLEARLY * now->growth.cost;
}

static int try_candidate(const struct subject *s, struct candidate c,
                         struct choice *now)
{
    size_t n = read_points(s, &c, now->points);
    struct sd_growth g;
    double covered = 1;
    int rc = fit(now->points, n, false, &g);

    for (size_t i = 0; i < n; i++)
        covered += now->points[i].ns * (double)now->points[i].calls;
    if (rc == 0 && is_better(now, &g, covered))
        *now = (struct choice){ c, g, covered, now->points };
    return rc;
}

static int try_pairs(const struct subject *s, struct choice *now)
{
    struct variable whole[COMBINED_MAX];
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < s->n_variables && n < COMBINED_MAX; i++)
        if (s->variables[i].side == WHOLE)
            whole[n++] = s->variables[i];
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && rc == 0; k++) {
            rc = try_candidate(s, (struct candidate){ whole[i], whole[k], '*' }, now);
            if (rc == 0)
                rc = try_candidate(s, (struct candidate){ whole[i], whole[k], '+' },
                                   now);
        }
    return rc;
}

static int choose(const struct subject *s, struct choice *now)
{
    int rc = 0;

    for (size_t i = 0; i < s->n_variables && rc == 0; i++)
        rc = try_candidate(s, (struct candidate){ .a = s->variables[i] }, now);
    return rc < 0 ? rc : try_pairs(s, now);
}

static const char *name_of(struct sd_arena *a, const struct variable *v)
{
    if (v->side != WHOLE)
        return sd_arena_printf(a, "%s.shape[%d]", v->name, v->side);
    if (v->kind == SD_SIZE_VALUE)
        return v->name;
    return sd_arena_printf(a, v->kind == SD_SIZE_LENGTH ? "len(%s)" : "%s.size",
                           v->name);
}

static const char *name_candidate(struct sd_arena *a, const struct candidate *c)
{
    const char *first = name_of(a, &c->a), *second;

    if (!c->with || !first)
        return first;
    second = name_of(a, &c->b);
    return second ? sd_arena_printf(a, c->with == '+' ? "%s + %s" : "%s · %s", first,
                                    second)
                  : NULL;
}

/* --- A function */

static int by_size(const void *a, const void *b)
{
    const struct sd_scaling_point *p = a, *q = b;

    if (p->n != q->n)
        return p->n < q->n ? -1 : 1;
    return p->ns < q->ns ? -1 : p->ns > q->ns;
}

static int take_points(const struct subject *s, const struct choice *c,
                       struct sd_scaled *out)
{
    out->n_points = read_points(s, &c->best, c->points);
    qsort(c->points, out->n_points, sizeof *c->points, by_size);
    out->points =
        sd_arena_copy(s->g->arena, c->points, out->n_points * sizeof *c->points);
    out->argument = name_candidate(s->g->arena, &c->best);
    out->degree = c->best.with == '*' ? 2 : 1;
    return out->points && out->argument ? 0 : sd_no_memory();
}

/* Where most of its time is spent, if in one function that it calls. */
static void find_through(const struct gather *g, struct sd_scaled *out)
{
    int64_t most = 0, all = 0;
    uint64_t key, at;
    size_t place = 0;

    while (sd_table_next(&g->below, &place, &key, &at)) {
        uint32_t callee = (uint32_t)key;

        if (key >> 32 != out->site.at || callee == out->site.at)
            continue;
        all = sd_sum_i64(all, g->spent[at]);
        if (g->spent[at] > most || (g->spent[at] == most && callee < out->through.at)) {
            most = g->spent[at];
            out->through.at = callee;
        }
    }
    if ((double)most < 0.5 * (double)out->total_ns)
        out->through = SD_NO_SITE;
}

static void look_ahead(const struct gather *g, struct sd_scaled *out)
{
    const struct sd_growth_curve *c = &out->total.curve;
    double larger = pow(LARGER, out->degree), share, growth;

    out->at_largest_ns = sd_growth_at(c, out->total.to);
    out->at_ten_ns = sd_growth_at(c, larger * out->total.to);
    growth = out->at_ten_ns / out->at_largest_ns;
    share = out->share * growth;
    out->share_then =
        isfinite(growth) ? share / (share + fmax(1 - out->share, 0) * LARGER) : 1;
    out->is_flagged = sd_growth_is_fast(&out->total, out->degree) &&
                      out->share_then >= SHARE_THEN_MIN;
    if (out->is_flagged)
        find_through(g, out);
}

static int fit_subject(const struct subject *s, struct sd_scaled *out)
{
    struct choice now = { .points = sd_alloc((s->n + 1) * sizeof *now.points) };
    int rc = now.points ? choose(s, &now) : sd_no_memory();

    if (rc == 0)
        rc = take_points(s, &now, out);
    if (rc == 0) {
        out->total = now.growth;
        rc = fit(out->points, out->n_points, true, &out->own);
    }
    sd_free(now.points);
    if (rc == 0 && out->total.answer == SD_GROWTH_FITTED)
        look_ahead(s->g, out);
    return rc;
}

static int scale(const struct gather *g, struct subject *s, struct sd_scaled *out)
{
    *out = (struct sd_scaled){ .site.at = s->function,
                               .through = SD_NO_SITE,
                               .total_ns = g->total_of[s->function] };
    for (size_t i = 0; i < s->n; i++)
        out->calls += (uint64_t)g->counts[s->sites[i]];
    out->share = g->whole > 0 ? (double)out->total_ns / (double)g->whole : 0;
    if (out->share >= SHARE_MIN)
        return fit_subject(s, out);
    out->total.answer = out->own.answer = SD_GROWTH_SHORT;
    return 0;
}

/* --- All of them */

static int rank(const struct sd_scaled *f)
{
    return f->is_flagged ? 0 : f->total.answer == SD_GROWTH_FITTED ? 1 : 2;
}

static int by_interest(const void *a, const void *b)
{
    const struct sd_scaled *f = a, *g = b;

    if (rank(f) != rank(g))
        return rank(f) - rank(g);
    if (f->is_flagged && f->share_then != g->share_then)
        return f->share_then > g->share_then ? -1 : 1;
    if (f->total_ns != g->total_ns)
        return f->total_ns > g->total_ns ? -1 : 1;
    return f->site.at < g->site.at ? -1 : f->site.at > g->site.at;
}

struct signature {
    uint32_t function, site;
};

static int by_function(const void *a, const void *b)
{
    const struct signature *s = a, *t = b;

    if (s->function != t->function)
        return s->function < t->function ? -1 : 1;
    return s->site < t->site ? -1 : s->site > t->site;
}

/* Every signature with sizes, those of one function together. */
static size_t list_signatures(const struct gather *g, struct signature *list)
{
    size_t n = 0;

    for (uint32_t i = 0; i < g->p->n_sites; i++)
        if (g->p->sites[i].n_sizes > 0 && g->counts[i] > 0)
            list[n++] = (struct signature){ function_of(g->p, i), i };
    qsort(list, n, sizeof *list, by_function);
    return n;
}

static int scale_all(const struct gather *g, const struct signature *list, size_t n,
                     uint32_t *sites, struct sd_scaling *out)
{
    int rc = 0;

    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        struct subject s = { .g = g, .function = list[i].function, .sites = sites + i };

        for (end = i; end < n && list[end].function == s.function; end++)
            sites[end] = list[end].site;
        s.n = end - i;
        find_variables(&s);
        if (s.n_variables == 0)
            out->n_one_size++;
        else
            rc = scale(g, &s, &out->functions[out->n++]);
    }
    return rc;
}

static int make(struct gather *g, struct sd_scaling *out)
{
    struct signature *list = sd_alloc((g->p->n_sites + 1) * sizeof *list);
    uint32_t *sites = sd_alloc((g->p->n_sites + 1) * sizeof *sites);
    size_t n = list && sites ? list_signatures(g, list) : 0;
    int rc = list && sites ? 0 : sd_no_memory();

    if (rc == 0 && n == 0)
        rc = sd_fail(SD_EABSENT, "no sizes of arguments were recorded; record them "
                                 "with: sonde calls --scaling");
    if (rc == 0) {
        out->functions = sd_arena_alloc(&out->arena, n * sizeof *out->functions);
        rc = out->functions ? scale_all(g, list, n, sites, out) : sd_no_memory();
    }
    if (rc == 0)
        qsort(out->functions, out->n, sizeof *out->functions, by_interest);
    sd_free(list);
    sd_free(sites);
    return rc;
}

int sd_scaling_make(const struct sd_profile *p, const struct sd_traced_wish *wish,
                    struct sd_scaling *out)
{
    struct gather g = { .p = p, .arena = &out->arena };
    int rc;

    *out = (struct sd_scaling){ .is_cpu = wish->is_cpu };
    if (p->calls.n == 0)
        return sd_fail(SD_EABSENT, "no calls were traced; growth is seen in what is "
                                   "recorded with: sonde calls --scaling");
    rc = gather_all(&g, wish);
    if (rc == 0)
        rc = make(&g, out);
    release(&g);
    if (rc < 0)
        sd_scaling_release(out);
    return rc;
}

void sd_scaling_release(struct sd_scaling *s)
{
    sd_arena_release(&s->arena);
    *s = (struct sd_scaling){ .n = 0 };
}
