/* SPDX-License-Identifier: MIT */
#include "analyse/growth/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/growth/scaling_times.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    WHOLE = -1, /* of a variable: not one side of it */
    VARIABLES_MAX = 16,
    CONSTANTS_MAX = 64, /* sizes that are looked at and never vary */
    COMBINED_MAX = 3,   /* arguments of which two are added or multiplied */
};
#define SHARE_THEN_MIN 0.05 /* to be flagged */
#define LARGER 10.0         /* sizes, in the forecast */
#define CLEARLY 0.7         /* of the cost: what a complicated explanation may have */
#define COST_FINE 0.02      /* better than that is no better */
#define FEW 0.5 /* of the time: what explains no more of it does not count */

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

/* Does it stand for sizes near it, too? */
static bool is_rounded_at(const struct sd_site *s, const struct variable *v)
{
    for (uint32_t i = 0; i < s->n_sizes; i++) {
        const struct sd_size *size = &s->sizes[i];

        if (size->name != v->name || size->kind != v->kind || !size->is_rounded)
            continue;
        for (int k = 0; k < (int)size->n_dims; k++)
            if ((v->side == WHOLE || v->side == k) && size->dims[k] >= SD_ROUNDED_FROM)
                return true;
    }
    return false;
}

static double candidate_at(const struct sd_site *s, const struct candidate *c)
{
    double a = variable_at(s, &c->a);

    if (!c->with)
        return a;
    return c->with == '+' ? a + variable_at(s, &c->b) : a * variable_at(s, &c->b);
}

struct signature {
    uint32_t function, site;
    const struct sd_site *is;
};

/* A function and its signatures. */
struct subject {
    const struct sd_scaling_times *g;
    struct sd_arena *arena; /* of the answer */
    uint32_t function;
    struct signature *signatures; /* by when they were first called; then, where some
                                     are rounded, those that are alike together */
    size_t n;
    uint32_t first;  /* site of the one that was called first */
    bool is_rounded; /* some are */
    struct variable variables[VARIABLES_MAX]; /* that vary */
    struct variable constants[CONSTANTS_MAX]; /* that do not: they are asked once */
    size_t n_variables, n_constants;
};

static bool varies(const struct subject *s, const struct variable *v)
{
    double first = NAN;

    for (size_t i = 0; i < s->n; i++) {
        double n = variable_at(s->signatures[i].is, v);

        if (isnan(first))
            first = n;
        else if (!isnan(n) && n != first)
            return true;
    }
    return false;
}

static bool is_among(const struct variable *known, size_t n, const struct variable *v)
{
    for (size_t i = 0; i < n; i++)
        if (known[i].name == v->name && known[i].kind == v->kind &&
            known[i].side == v->side)
            return true;
    return false;
}

static void add_variable(struct subject *s, struct variable v)
{
    if (s->n_variables == VARIABLES_MAX || s->n_constants == CONSTANTS_MAX ||
        is_among(s->variables, s->n_variables, &v) ||
        is_among(s->constants, s->n_constants, &v))
        return;
    if (varies(s, &v))
        s->variables[s->n_variables++] = v;
    else
        s->constants[s->n_constants++] = v;
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
        const struct sd_site *site = s->signatures[i].is;

        for (uint32_t k = 0; k < site->n_sizes; k++) {
            find_variables_of(s, &site->sizes[k]);
            s->is_rounded |= site->sizes[k].is_rounded;
        }
    }
}

/* --- Signatures that are alike */

static int compare_sizes(const struct sd_size *a, const struct sd_size *b)
{
    int rc = a->argument != b->argument ? (a->argument < b->argument ? -1 : 1)
             : a->kind != b->kind       ? (a->kind < b->kind ? -1 : 1)
             : a->n_dims != b->n_dims   ? (a->n_dims < b->n_dims ? -1 : 1)
                                        : 0;

    for (uint32_t i = 0; rc == 0 && i < a->n_dims; i++) {
        uint64_t n = sd_size_rounded((uint64_t)a->dims[i]);
        uint64_t m = sd_size_rounded((uint64_t)b->dims[i]);

        rc = n != m ? (n < m ? -1 : 1) : 0;
    }
    return rc;
}

/* 0: they are one, once their sizes are rounded. */
static int compare(const struct sd_site *a, const struct sd_site *b)
{
    int rc = a->n_sizes != b->n_sizes ? (a->n_sizes < b->n_sizes ? -1 : 1) : 0;

    for (uint32_t i = 0; rc == 0 && i < a->n_sizes; i++)
        rc = compare_sizes(&a->sizes[i], &b->sizes[i]);
    return rc;
}

static int by_likeness(const void *a, const void *b)
{
    const struct signature *s = a, *t = b;
    int rc = compare(s->is, t->is);

    return rc ? rc : s->site < t->site ? -1 : s->site > t->site;
}

/* One slow call of a hundred is in the mean of a rounded size, and stands alone among
 * exact ones, where it is taken for a disturbance: all are put together by the same
 * steps, else the larger sizes would be slower by this alone. */
static void put_together(struct subject *s)
{
    sd_assert(s->n > 0);
    s->first = s->signatures[0].site;
    if (s->is_rounded)
        qsort(s->signatures, s->n, sizeof *s->signatures, by_likeness);
}

static bool is_next_alike(const struct subject *s, size_t i)
{
    return s->is_rounded && i + 1 < s->n &&
           compare(s->signatures[i].is, s->signatures[i + 1].is) == 0;
}

/* --- The size that explains the times */

/* Adds a signature to a point: size and times are the means of all calls. */
static void add_to_point(const struct subject *s, const struct signature *of,
                         const struct candidate *c, struct sd_scaling_point *to)
{
    const struct sd_scaling_times *g = s->g;
    double size = candidate_at(of->is, c), calls = (double)g->counts[of->site], part;

    if (!(size >= 1 && calls >= 1))
        return;
    to->is_first |= of->site == s->first;
    to->is_rounded |= is_rounded_at(of->is, &c->a) ||
                      (c->with && is_rounded_at(of->is, &c->b)) ||
                      (to->calls > 0 && size != to->n);
    to->calls += (uint64_t)g->counts[of->site];
    sd_assert(to->calls > 0);
    part = calls / (double)to->calls;
    to->n += (size - to->n) * part;
    to->ns += ((double)g->sums[of->site] / calls - to->ns) * part;
    to->own_ns += ((double)g->own_sums[of->site] / calls - to->own_ns) * part;
}

static size_t read_points(const struct subject *s, const struct candidate *c,
                          struct sd_scaling_point *points)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        points[n] = (struct sd_scaling_point){ .n = 0 };
        while (is_next_alike(s, i))
            add_to_point(s, &s->signatures[i++], c, &points[n]);
        add_to_point(s, &s->signatures[i], c, &points[n]);
        if (points[n].is_rounded)
            points[n].n = round(points[n].n);
        n += points[n].calls > 0;
    }
    sd_assert(n <= s->n);
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
                                         (double)points[i].calls, points[i].is_first };
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

/* Is it worth a look?  What only few of the calls have explains little of them, and of
 * what is explained well nothing is better. */
static bool may_be_better(const struct choice *now, double covered)
{
    if (now->covered <= 0 || now->covered < FEW * covered)
        return true;
    return covered >= FEW * now->covered && (now->growth.answer != SD_GROWTH_FITTED ||
                                             COST_FINE < CLEARLY * now->growth.cost);
}

/* Of one that is worth it. */
static bool is_better(const struct choice *now, const struct sd_growth *g,
                      double covered)
{
    if (now->covered <= 0)
        return true;
    if (g->answer != SD_GROWTH_FITTED)
        return now->growth.answer != SD_GROWTH_FITTED &&
               g->n_sizes > now->growth.n_sizes;
    return now->growth.answer != SD_GROWTH_FITTED || now->covered < FEW * covered ||
           g->cost + COST_FINE < CLEARLY * now->growth.cost;
}

static int try_candidate(const struct subject *s, struct candidate c,
                         struct choice *now)
{
    size_t n = read_points(s, &c, now->points);
    struct sd_growth g;
    double covered = 1;
    int rc;

    for (size_t i = 0; i < n; i++)
        covered += now->points[i].ns * (double)now->points[i].calls;
    if (!may_be_better(now, covered))
        return 0;
    rc = fit(now->points, n, false, &g);
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
                       struct sd_scaling_row *out)
{
    out->n_points = read_points(s, &c->best, c->points);
    qsort(c->points, out->n_points, sizeof *c->points, by_size);
    out->points = sd_arena_copy(s->arena, c->points, out->n_points * sizeof *c->points);
    out->argument = name_candidate(s->arena, &c->best);
    out->degree = c->best.with == '*' ? 2 : 1;
    return out->points && out->argument ? 0 : sd_no_memory();
}

/* Where most of its time is spent, if in one function that it calls. */
static void find_through(const struct sd_scaling_times *g, struct sd_scaling_row *out)
{
    int64_t most = 0;
    uint64_t key, at;
    size_t place = 0;

    while (sd_table_next(&g->below, &place, &key, &at)) {
        uint32_t callee = (uint32_t)key;

        if (key >> 32 != out->site.at || callee == out->site.at)
            continue;
        if (g->spent[at] > most || (g->spent[at] == most && callee < out->through.at)) {
            most = g->spent[at];
            out->through.at = callee;
        }
    }
    if ((double)most < 0.5 * (double)out->total_ns)
        out->through = SD_NO_SITE;
}

/* The mean of all its calls. */
static double measured_at_largest(const struct sd_scaling_row *f)
{
    double ns = 0, calls = 0;

    for (size_t i = f->n_points; i-- > 0 && f->points[i].n == f->total.to;) {
        ns += f->points[i].ns * (double)f->points[i].calls;
        calls += (double)f->points[i].calls;
    }
    return calls > 0 ? ns / calls : 0;
}

static void look_ahead(const struct sd_scaling_times *g, struct sd_scaling_row *out)
{
    const struct sd_growth_curve *c = &out->total.curve;
    double larger = pow(LARGER, out->degree), share, growth;

    out->at_largest_ns = measured_at_largest(out);
    out->at_ten_ns = sd_growth_at(c, larger * out->total.to);
    growth = out->at_ten_ns / sd_growth_at(c, out->total.to);
    share = out->share * growth;
    out->share_then =
        isfinite(growth) ? share / (share + fmax(1 - out->share, 0) * LARGER) : 1;
    out->is_flagged = sd_growth_is_fast(&out->total, out->degree) &&
                      out->share_then >= SHARE_THEN_MIN;
    if (out->is_flagged)
        find_through(g, out);
}

static int fit_subject(const struct subject *s, struct sd_scaling_row *out)
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

static int scale(const struct sd_scaling_times *g, struct subject *s,
                 struct sd_scaling_row *out)
{
    *out = (struct sd_scaling_row){ .site.at = s->function,
                                    .through = SD_NO_SITE,
                                    .is_library =
                                        sd_site_is_library(&g->p->sites[s->function]),
                                    .total_ns = g->total_of[s->function] };
    for (size_t i = 0; i < s->n; i++)
        out->calls += (uint64_t)g->counts[s->signatures[i].site];
    out->share = g->whole > 0 ? (double)out->total_ns / (double)g->whole : 0;
    if (out->share >= SD_GROWTH_SHARE_MIN)
        return fit_subject(s, out);
    out->total.answer = out->own.answer = SD_GROWTH_LITTLE;
    return 0;
}

/* --- All of them */

/* The program's own come first: who asks can change these. */
static int rank(const struct sd_scaling_row *f)
{
    int interest = f->is_flagged ? 0 : f->total.answer == SD_GROWTH_FITTED ? 1 : 2;

    return interest + (f->is_library ? 3 : 0);
}

static int by_interest(const void *a, const void *b)
{
    const struct sd_scaling_row *f = a, *g = b;

    if (rank(f) != rank(g))
        return rank(f) - rank(g);
    if (f->is_flagged && f->share_then != g->share_then)
        return f->share_then > g->share_then ? -1 : 1;
    if (f->total_ns != g->total_ns)
        return f->total_ns > g->total_ns ? -1 : 1;
    return f->site.at < g->site.at ? -1 : f->site.at > g->site.at;
}

static int by_function(const void *a, const void *b)
{
    const struct signature *s = a, *t = b;

    if (s->function != t->function)
        return s->function < t->function ? -1 : 1;
    return s->site < t->site ? -1 : s->site > t->site;
}

/* Every signature with sizes, those of one function together. */
static size_t list_signatures(const struct sd_scaling_times *g, struct signature *list)
{
    size_t n = 0;

    for (uint32_t i = 0; i < g->p->n_sites; i++)
        if (g->p->sites[i].n_sizes > 0 && g->counts[i] > 0)
            list[n++] = (struct signature){ sd_scaling_function_of(g->p, i), i,
                                            &g->p->sites[i] };
    qsort(list, n, sizeof *list, by_function);
    return n;
}

/* Has one of a function's arguments been seen, in this signature of it? */
static bool has_arguments(const struct sd_site *s)
{
    const char *label = s->label ? strchr(s->label, '(') : NULL;

    return label && label[1] != ')';
}

/* Functions of which some signature has arguments, but none a size. */
static int find_unsized(const struct sd_scaling_times *g, const struct signature *list,
                        size_t n, struct sd_scaling *out)
{
    const struct sd_profile *p = g->p;
    bool *is_known = sd_zalloc((p->n_sites + 1) * sizeof *is_known);

    if (!is_known)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        is_known[list[i].function] = true;
    for (uint32_t i = 0; i < p->n_sites; i++) {
        uint32_t f = sd_scaling_function_of(p, i);

        if (f == i || is_known[f] || g->counts[i] <= 0 ||
            !has_arguments(&p->sites[i]) ||
            (out->is_mine && sd_site_is_library(&p->sites[f])))
            continue;
        is_known[f] = true;
        if (out->n_unsized++ == 0 || g->total_of[f] > g->total_of[out->unsized.at])
            out->unsized.at = f;
    }
    if (out->n_unsized && g->whole > 0)
        out->unsized_share = (double)g->total_of[out->unsized.at] / (double)g->whole;
    sd_free(is_known);
    return 0;
}

static int scale_all(const struct sd_scaling_times *g, struct signature *list, size_t n,
                     struct sd_scaling *out)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0;) {
        struct subject s = { .g = g,
                             .arena = &out->arena,
                             .function = list[i].function,
                             .signatures = list + i };

        for (; i < n && list[i].function == s.function; i++)
            s.n++;
        if (out->is_mine && sd_site_is_library(&g->p->sites[s.function]))
            continue;
        find_variables(&s);
        put_together(&s);
        if (s.n_variables == 0)
            out->n_one_size++;
        else
            rc = scale(g, &s, &out->functions[out->n++]);
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct sd_scaling_import *i = a, *k = b;

    return i->ns > k->ns ? -1 : i->ns < k->ns ? 1 : strcmp(i->name, k->name);
}

static int list_imports(const struct sd_scaling_times *g, struct sd_scaling *out)
{
    out->imports =
        sd_arena_alloc(&out->arena, (g->imports.n + 1) * sizeof *out->imports);
    for (size_t i = 0; out->imports && i < g->imports.n; i++) {
        const struct sd_import_row *row = &g->imports.rows[i];
        const char *name = sd_arena_string(&out->arena, row->name, strlen(row->name));

        if (!name)
            return sd_no_memory();
        if (g->import_ns[i] > 0)
            out->imports[out->n_imports++] = (struct sd_scaling_import){
                name, row->importer, g->import_ns[i],
                g->whole > 0 ? (double)g->import_ns[i] / (double)g->whole : 0
            };
    }
    if (!out->imports)
        return sd_no_memory();
    qsort(out->imports, out->n_imports, sizeof *out->imports, by_time);
    return 0;
}

static int make(struct sd_scaling_times *g, bool has_sizes, struct sd_scaling *out)
{
    struct signature *list = sd_alloc((g->p->n_sites + 1) * sizeof *list);
    size_t n = list ? list_signatures(g, list) : 0;
    int rc = list ? 0 : sd_no_memory();

    if (rc == 0 && n == 0 && !has_sizes)
        rc = sd_fail(
            SD_EABSENT,
            "no argument has a size (a length, a shape, an integer from 1 on), or "
            "sizes were not recorded; record them with: sonde calls --scaling");
    if (rc == 0) {
        out->functions = sd_arena_alloc(&out->arena, (n + 1) * sizeof *out->functions);
        rc = out->functions ? scale_all(g, list, n, out) : sd_no_memory();
    }
    if (rc == 0) {
        qsort(out->functions, out->n, sizeof *out->functions, by_interest);
        rc = find_unsized(g, list, n, out);
    }
    if (rc == 0)
        rc = list_imports(g, out);
    sd_free(list);
    return rc;
}

int sd_scaling_make(const struct sd_profile *p, const struct sd_stacks_request *request,
                    struct sd_scaling *out)
{
    struct sd_scaling_times g = { .p = p };
    int rc;

    *out = (struct sd_scaling){ .is_cpu = request->is_cpu,
                                .is_mine = request->choice.is_mine };
    if (!sd_profile_has(p, SD_CALLS) && !request->has_sizes)
        return sd_fail(SD_EABSENT, "no calls were traced; record them with: sonde "
                                   "calls --scaling");
    if (p->has_calls_cut)
        return sd_fail(SD_EUSAGE,
                       "how time grows with size is found from whole calls, not from "
                       "parts of them: drop --from, --to and --section");
    rc = sd_scaling_times_make(&g, request);
    if (rc == 0)
        rc = make(&g, request->has_sizes, out);
    sd_scaling_times_release(&g);
    if (rc < 0)
        sd_scaling_release(out);
    return rc;
}

void sd_scaling_release(struct sd_scaling *s)
{
    sd_arena_release(&s->arena);
    *s = (struct sd_scaling){ .n = 0 };
}
