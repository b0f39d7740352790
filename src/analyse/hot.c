/* SPDX-License-Identifier: MIT */
/* hot: where samples were taken, as tables. */
#include <math.h>
#include <string.h>

#include "analyse/analyse.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "profile/triples.h"

enum { NONE = UINT32_MAX, MAX_COLUMNS = 16 + 2 * SD_SAMPLE_METRICS };

/* --- Columns */

struct layout {
    struct sd_column columns[MAX_COLUMNS];
    size_t n;
    size_t self, cum;   /* the shares */
    size_t amounts;     /* the first of self and cum of each metric, in turns */
    size_t margins;     /* of the two shares; 0: none */
    size_t name, where; /* function, and short file:line */
    size_t file, line;  /* in full */
};

static size_t add_column(struct layout *l, const char *name, const char *meaning,
                         enum sd_cell_kind kind, bool is_hidden, uint8_t rank)
{
    l->columns[l->n] = (struct sd_column){ name, meaning, kind, is_hidden, rank };
    return l->n++;
}

/* How soon a narrow terminal goes without a metric's columns; the counts behind the
 * shares are for programs. */
static uint8_t rank_of(const struct sd_metric *m)
{
    return strcmp(m->name, "wall") == 0 ? 1 : 3;
}

static int add_amounts(struct layout *l, const struct sd_calltree *t,
                       struct sd_arena *arena)
{
    l->amounts = l->n;
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        const struct sd_metric *m = &t->p->metrics[t->totals->metrics[k].at];
        const char *self = sd_arena_printf(arena, "self_%s", m->name);
        const char *cum = sd_arena_printf(arena, "cum_%s", m->name);
        bool is_hidden = strcmp(m->name, "samples") == 0;

        if (!self || !cum)
            return sd_no_memory();
        add_column(l, self, m->meaning, sd_cell_kind_of(m->unit), is_hidden,
                   rank_of(m));
        add_column(l, cum, m->meaning, sd_cell_kind_of(m->unit), is_hidden, rank_of(m));
    }
    return 0;
}

static void add_shares(struct layout *l)
{
    l->self = add_column(l, "self%", "share of samples taken in the function itself",
                         SD_CELL_PERCENT, false, 0);
    l->cum = add_column(l, "cum%", "share of samples in it or in what it called",
                        SD_CELL_PERCENT, false, 0);
}

static void add_place(struct layout *l, const char *line_meaning)
{
    l->name = add_column(l, "function", "its name", SD_CELL_TEXT, false, 0);
    l->where =
        add_column(l, "where", "file, shortened, and line", SD_CELL_TEXT, false, 0);
    l->file =
        add_column(l, "file", "as the interpreter names it", SD_CELL_TEXT, true, 0);
    l->line = add_column(l, "line", line_meaning, SD_CELL_COUNT, true, 0);
}

static void add_margins(struct layout *l)
{
    l->margins = add_column(l, "self_margin",
                            "self% is this near the truth, in percent, 95 times of "
                            "100",
                            SD_CELL_REAL, true, 0);
    add_column(l, "cum_margin", "the same of cum%", SD_CELL_REAL, true, 0);
}

/* --- Cells */

/* Half of the 95 % interval around a share of n independent samples. */
static double margin(const struct sd_calltree *t, double percent)
{
    double p = percent / 100;

    if (t->n_samples <= 0)
        return 100;
    return 100 * 1.96 * sqrt(p * (1 - p) / (double)t->n_samples);
}

static int put_place(struct sd_view *v, struct sd_view_table *t, const struct layout *l,
                     size_t row, const struct sd_calltree *tree,
                     const struct sd_callee *c)
{
    const struct sd_site nobody = { .name = "" };
    const struct sd_site *s =
        c->site.at == NONE ? &nobody : &tree->p->sites[c->site.at];
    bool is_module = tree->by == SD_CALLS_BY_MODULE;
    uint32_t line = is_module ? 0 : c->line ? c->line : s->line;
    const char *name = c->import
                           ? sd_arena_string(&v->arena, c->import, strlen(c->import))
                           : sd_callee_name(&v->arena, s, tree->by);
    const char *file = s->file ? sd_site_short_file(s) : "";
    const char *where = line ? sd_arena_printf(&v->arena, "%s:%u", file, line)
                             : sd_arena_string(&v->arena, file, strlen(file));
    const char *whole =
        s->file ? sd_arena_string(&v->arena, s->file, strlen(s->file)) : NULL;

    if (!name || !where || (s->file && !whole))
        return sd_no_memory();
    *sd_view_cell(t, row, l->name) = sd_cell_text(name);
    *sd_view_cell(t, row, l->where) = sd_cell_text(*where ? where : NULL);
    *sd_view_cell(t, row, l->file) = sd_cell_text(whole);
    if (line)
        *sd_view_cell(t, row, l->line) = sd_cell_number(SD_CELL_COUNT, line);
    return 0;
}

static void put_amounts(struct sd_view_table *v, const struct layout *l, size_t row,
                        const struct sd_calltree *t, const int64_t *self,
                        const int64_t *total)
{
    double self_share = sd_calltree_share(t, self);
    double cum_share = sd_calltree_share(t, total);

    *sd_view_cell(v, row, l->self) = sd_cell_real(SD_CELL_PERCENT, self_share);
    *sd_view_cell(v, row, l->cum) = sd_cell_real(SD_CELL_PERCENT, cum_share);
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        size_t at = l->amounts + 2 * k;

        *sd_view_cell(v, row, at) = sd_cell_number(l->columns[at].kind, self[k]);
        *sd_view_cell(v, row, at + 1) = sd_cell_number(l->columns[at].kind, total[k]);
    }
    if (!l->margins)
        return;
    *sd_view_cell(v, row, l->margins) =
        sd_cell_real(SD_CELL_REAL, margin(t, self_share));
    *sd_view_cell(v, row, l->margins + 1) =
        sd_cell_real(SD_CELL_REAL, margin(t, cum_share));
}

/* --- Functions and lines */

/* What the rows do not show by themselves. */
static int add_remarks(const struct sd_calltree *t, struct sd_view *v,
                       struct sd_view_table *table)
{
    uint32_t wall = sd_totals_metric(t->p, t->totals, "wall");
    char time[SD_TEXT_MAX];
    struct sd_buf text = { 0 };
    int rc = 0;

    for (size_t i = 0; i < t->n_callees && text.n == 0; i++)
        if (t->callees[i].import)
            sd_buf_text(&text, "an import is one row (--all shows what it does)");
    if (wall != NONE && t->startup[wall] > 0)
        sd_buf_printf(&text, "%sSonde's own start took %s and is left out",
                      text.n ? "; " : "", sd_text_duration(time, t->startup[wall]));
    if (text.bad)
        rc = sd_no_memory();
    else if (text.n > 0)
        table->note = sd_arena_string(&v->arena, (const char *)text.p, text.n);
    if (rc == 0 && text.n > 0 && !table->note)
        rc = sd_no_memory();
    sd_buf_release(&text);
    return rc;
}

static int callee_table(const struct sd_calltree *t, struct sd_view *v,
                        const char *name, const char *title, const char *line_meaning)
{
    struct layout l = { .n = 0 };
    struct sd_view_table *table;
    uint32_t n = t->n_metrics;
    int rc;

    add_shares(&l);
    rc = add_amounts(&l, t, &v->arena);
    if (rc < 0)
        return rc;
    add_place(&l, line_meaning);
    add_margins(&l);
    table = sd_view_add(v, name, title, l.columns, l.n, t->n_callees);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < t->n_callees && rc == 0; i++) {
        put_amounts(table, &l, i, t, t->callee_self + i * n, t->callee_total + i * n);
        rc = put_place(v, table, &l, i, t, &t->callees[i]);
    }
    if (rc == 0)
        rc = add_remarks(t, v, table);
    /* Equal ones stay in the order of the sort before. */
    if (rc == 0)
        rc = sd_view_table_sort(v, table, "cum%", 0);
    return rc < 0 ? rc : sd_view_table_sort(v, table, "self%", 0);
}

int sd_analyse_functions(const struct sd_profile *p,
                         const struct sd_sample_choice *choice, struct sd_view *v)
{
    struct sd_calltree t;
    int rc = sd_calltree_make(p, choice, SD_CALLS_BY_FUNCTION, &t);

    if (rc == 0)
        rc = callee_table(&t, v, "functions", "Functions", "its first");
    sd_calltree_release(&t);
    return rc;
}

int sd_analyse_modules(const struct sd_profile *p,
                       const struct sd_sample_choice *choice, struct sd_view *v)
{
    struct sd_calltree t;
    int rc = sd_calltree_make(p, choice, SD_CALLS_BY_MODULE, &t);

    if (rc == 0)
        rc = callee_table(&t, v, "modules", "Modules", "none");
    sd_calltree_release(&t);
    return rc;
}

int sd_analyse_lines(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     struct sd_view *v)
{
    struct sd_calltree t;
    int rc = sd_calltree_make(p, choice, SD_CALLS_BY_LINE, &t);

    if (rc == 0)
        rc = callee_table(&t, v, "lines", "Lines", "that was executed");
    sd_calltree_release(&t);
    return rc;
}

/* --- The tree of calls */

static bool is_shown(const struct sd_calltree *t, size_t node, double least_percent)
{
    return sd_calltree_share(t, t->total + node * t->n_metrics) >= least_percent;
}

static int put_node(struct sd_view *v, struct sd_view_table *table,
                    const struct layout *l, const struct sd_calltree *t, size_t node,
                    const int32_t *rows)
{
    const struct sd_call_node *one = &t->nodes[node];
    size_t row = (size_t)rows[node];

    table->parents[row] = one->parent == NONE ? -1 : rows[one->parent];
    put_amounts(table, l, row, t, t->self + node * t->n_metrics,
                t->total + node * t->n_metrics);
    return put_place(v, table, l, row, t, &t->callees[one->callee]);
}

/* A parent's total is no less than its child's, so what is shown hangs together. */
static int tree_table(const struct sd_calltree *t, double least_percent,
                      struct sd_view *v)
{
    struct layout l = { .n = 0 };
    struct sd_view_table *table;
    int32_t *rows = sd_arena_alloc(&v->arena, (t->n_nodes + 1) * sizeof *rows);
    size_t n_rows = 0;
    int rc = rows ? 0 : sd_no_memory();

    if (rc == 0) {
        l.name = add_column(&l, "function", "its name, under the one that called it",
                            SD_CELL_TEXT, false, 0);
        add_shares(&l);
        rc = add_amounts(&l, t, &v->arena);
    }
    if (rc < 0)
        return rc;
    l.where = add_column(&l, "where", "file, shortened, and first line", SD_CELL_TEXT,
                         false, 0);
    l.file =
        add_column(&l, "file", "as the interpreter names it", SD_CELL_TEXT, true, 0);
    l.line = add_column(&l, "line", "its first", SD_CELL_COUNT, true, 0);
    for (size_t i = 0; i < t->n_nodes; i++)
        rows[i] = is_shown(t, i, least_percent) ? (int32_t)n_rows++ : -1;
    table = sd_view_add(v, "calls", "Calls", l.columns, l.n, n_rows);
    if (!table)
        return SD_ENOMEM;
    table->parents = sd_arena_alloc(&v->arena, (n_rows + 1) * sizeof *table->parents);
    if (!table->parents)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_nodes && rc == 0; i++)
        if (rows[i] >= 0)
            rc = put_node(v, table, &l, t, i, rows);
    if (rc == 0)
        rc = sd_view_table_sort(v, table, "cum%", 0);
    if (rc == 0 && n_rows < t->n_nodes) {
        table->note = sd_arena_printf(&v->arena, "%zu more, each under %.3g %%",
                                      t->n_nodes - n_rows, least_percent);
        rc = table->note ? 0 : sd_no_memory();
    }
    return rc;
}

int sd_analyse_call_tree(const struct sd_profile *p,
                         const struct sd_sample_choice *choice, enum sd_calls_by by,
                         double least_percent, struct sd_view *v)
{
    struct sd_calltree t;
    int rc = sd_calltree_make(p, choice, by, &t);

    if (rc == 0)
        rc = tree_table(&t, least_percent, v);
    sd_calltree_release(&t);
    return rc;
}

/* --- Callers and callees */

struct calls {
    const struct sd_calltree *t;
    struct sd_triples pairs; /* caller (NONE: nobody), callee, 0 */
    uint32_t *pair_of;       /* owned; by node */
    int64_t *totals;         /* owned; by pair, in rows */
};

static int find_pairs(struct calls *c)
{
    const struct sd_calltree *t = c->t;
    size_t row = (t->n_metrics ? t->n_metrics : 1) * sizeof(int64_t);
    int rc = 0;

    c->pair_of = sd_alloc((t->n_nodes + 1) * sizeof *c->pair_of);
    if (!c->pair_of)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_nodes && rc == 0; i++) {
        const struct sd_call_node *n = &t->nodes[i];
        uint32_t caller = n->parent == NONE ? NONE : t->nodes[n->parent].callee;
        struct sd_triple key = { caller, n->callee, 0 };

        rc = sd_triples_add(&c->pairs, key, &c->pair_of[i]);
    }
    if (rc < 0)
        return rc;
    c->totals = sd_zalloc((c->pairs.n + 1) * row);
    return c->totals ? 0 : sd_no_memory();
}

/* As with functions: of one call inside itself only the outermost counts. */
static int sum_pairs(struct calls *c)
{
    const struct sd_calltree *t = c->t;
    uint32_t *open = sd_zalloc((c->pairs.n + 1) * sizeof *open);
    uint32_t at = t->first_root, next, n_left;

    if (!open)
        return sd_no_memory();
    for (; at != NONE; at = next) {
        size_t pair = c->pair_of[at];

        for (uint32_t k = 0; open[pair] == 0 && k < t->n_metrics; k++)
            c->totals[pair * t->n_metrics + k] =
                sd_sum_i64(c->totals[pair * t->n_metrics + k],
                           t->total[(size_t)at * t->n_metrics + k]);
        open[pair]++;
        next = sd_calltree_next(t, at, &n_left);
        for (; n_left > 0; n_left--, at = t->nodes[at].parent)
            open[c->pair_of[at]]--;
    }
    sd_free(open);
    return 0;
}

/* `matching` is by callee; NULL: all, those that nobody called too. */
static bool is_wanted(const bool *matching, uint32_t callee)
{
    return !matching || (callee != NONE && matching[callee]);
}

/* "name (file.py:3)", or what stands for nobody. */
static struct sd_cell function_cell(struct sd_view *v, const struct calls *c,
                                    uint32_t callee)
{
    const struct sd_site *s;

    if (callee == NONE)
        return sd_cell_text("(outermost)");
    s = &c->t->p->sites[c->t->callees[callee].site.at];
    if (!s->file)
        return sd_cell_text(sd_arena_string(&v->arena, s->name, strlen(s->name)));
    return sd_cell_text(sd_arena_printf(&v->arena, "%s (%s:%u)", s->name,
                                        sd_site_short_file(s), s->line));
}

static int calls_table(const struct calls *c, enum sd_calls_side side,
                       const bool *matching, struct sd_view *v)
{
    const struct sd_calltree *t = c->t;
    struct sd_column columns[3 + SD_SAMPLE_METRICS] = {
        { "caller", "the function that calls", SD_CELL_TEXT, false, 0 },
        { "callee", "the function that is called", SD_CELL_TEXT, false, 0 },
        { "cum%", "share of samples below this call", SD_CELL_PERCENT, false, 0 },
    };
    struct sd_view_table *table;
    size_t n_rows = 0, row = 0;

    for (uint32_t k = 0; k < t->n_metrics; k++) {
        const struct sd_metric *m = &t->p->metrics[t->totals->metrics[k].at];

        columns[3 + k] =
            (struct sd_column){ m->name, m->meaning, sd_cell_kind_of(m->unit), false,
                                rank_of(m) };
    }
    for (size_t i = 0; i < c->pairs.n; i++)
        n_rows += is_wanted(matching, side == SD_CALLERS ? c->pairs.items[i].b
                                                         : c->pairs.items[i].a);
    table = sd_view_add(v, side == SD_CALLERS ? "callers" : "callees",
                        side == SD_CALLERS ? "Callers" : "Callees", columns,
                        3 + t->n_metrics, n_rows);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < c->pairs.n; i++) {
        struct sd_triple pair = c->pairs.items[i];
        const int64_t *total = c->totals + i * t->n_metrics;

        if (!is_wanted(matching, side == SD_CALLERS ? pair.b : pair.a))
            continue;
        *sd_view_cell(table, row, 0) = function_cell(v, c, pair.a);
        *sd_view_cell(table, row, 1) = function_cell(v, c, pair.b);
        if (!sd_view_cell(table, row, 0)->text || !sd_view_cell(table, row, 1)->text)
            return sd_no_memory();
        *sd_view_cell(table, row, 2) =
            sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(t, total));
        for (uint32_t k = 0; k < t->n_metrics; k++)
            *sd_view_cell(table, row, 3 + k) =
                sd_cell_number(columns[3 + k].kind, total[k]);
        row++;
    }
    return sd_view_table_sort(v, table, "cum%", 0);
}

int sd_analyse_calls(const struct sd_profile *p, const struct sd_sample_choice *choice,
                     enum sd_calls_side side, const struct sd_matcher *match,
                     struct sd_view *v)
{
    struct sd_calltree t;
    struct calls c = { .t = &t };
    bool *matching = NULL;
    int rc = sd_calltree_make(p, choice, SD_CALLS_BY_FUNCTION, &t);

    if (rc == 0)
        rc = sd_callees_match(&t, match, &matching);
    if (rc == 0)
        rc = find_pairs(&c);
    if (rc == 0)
        rc = sum_pairs(&c);
    if (rc == 0)
        rc = calls_table(&c, side, matching, v);
    sd_triples_release(&c.pairs);
    sd_free(c.pair_of);
    sd_free(c.totals);
    sd_calltree_release(&t);
    sd_free(matching);
    return rc;
}
