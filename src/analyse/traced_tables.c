/* SPDX-License-Identifier: MIT */
/* traced_tables: traced calls as our own tables. */
#include <string.h>

#include "analyse/processes.h"
#include "analyse/traced.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* --- What several tables show */

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static int64_t whole_of(const struct sd_traced *t)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->calls.n_functions; i++)
        sum = sd_sum_i64(sum, t->calls.functions[i].own);
    return sum;
}

static struct sd_cell ns(int64_t n) { return sd_cell_number(SD_CELL_NS, n); }

static struct sd_cell count(uint64_t n)
{
    return sd_cell_number(SD_CELL_COUNT, (int64_t)n);
}

static struct sd_cell share(int64_t part, int64_t whole)
{
    return sd_cell_real(SD_CELL_PERCENT, percent(part, whole));
}

static const struct sd_site *site_of(const struct sd_traced *t, uint32_t callee)
{
    return &t->tree.p->sites[t->tree.callees[callee].site.at];
}

static const char *where_of(struct sd_view *v, const struct sd_site *s,
                            enum sd_calls_by by)
{
    const char *file = s->file ? sd_site_short_file(s) : "";

    if (by != SD_CALLS_BY_MODULE && s->line)
        return sd_arena_printf(&v->arena, "%s:%u", file, s->line);
    return sd_arena_string(&v->arena, file, strlen(file));
}

/* name, where, file, line: in columns that follow each other. */
static int put_place(struct sd_view *v, struct sd_view_table *table, size_t row,
                     size_t name_at, size_t where_at, const struct sd_site *s,
                     enum sd_calls_by by)
{
    const char *name = sd_callee_name(&v->arena, s, by), *where = where_of(v, s, by);
    const char *file =
        s->file ? sd_arena_string(&v->arena, s->file, strlen(s->file)) : NULL;

    if (!name || !where || (s->file && !file))
        return sd_no_memory();
    *sd_view_cell(table, row, name_at) = sd_cell_text(name);
    *sd_view_cell(table, row, where_at) = sd_cell_text(*where ? where : NULL);
    *sd_view_cell(table, row, where_at + 1) = sd_cell_text(file);
    if (by != SD_CALLS_BY_MODULE && s->line)
        *sd_view_cell(table, row, where_at + 2) = count(s->line);
    return 0;
}

static int64_t amount(const struct sd_traced *t, const int64_t *rows, size_t i,
                      const char *metric)
{
    uint32_t at = sd_totals_metric(t->tree.p, t->tree.totals, metric);

    return at == NONE ? 0 : rows[i * t->tree.n_metrics + at];
}

static int add_remarks(struct sd_view *v, struct sd_view_table *table,
                       const struct sd_profile *p, bool is_raw)
{
    struct sd_buf text = { 0 };
    int rc = 0;

    sd_traced_caption(&text, p, is_raw);
    if (text.bad)
        rc = sd_no_memory();
    else if (text.n > 0) {
        table->note = sd_arena_string(&v->arena, (const char *)text.p, text.n);
        rc = table->note ? 0 : sd_no_memory();
    }
    sd_buf_release(&text);
    return rc;
}

/* --- Functions */

enum function_column {
    F_CALLS,
    F_PRIMITIVE,
    F_STARTS,
    F_OWN_SHARE,
    F_TOTAL_SHARE,
    F_OWN,
    F_TOTAL,
    F_PER_CALL,
    F_ELAPSED,
    F_CPU,
    F_TRACING,
    F_NAME,
    F_WHERE,
    F_FILE,
    F_LINE,
    F_COLUMNS
};

static const struct sd_column function_columns[F_COLUMNS] = {
    [F_CALLS] = { "calls", "starts, and resumes of generators and coroutines",
                  SD_CELL_COUNT, false, 0 },
    [F_PRIMITIVE] = { "primitive", "calls that were not made below the function itself",
                      SD_CELL_COUNT, false, 3 },
    [F_STARTS] = { "starts", "calls that began the function", SD_CELL_COUNT, true, 3 },
    [F_OWN_SHARE] = { "self%", "own as share of all time traced", SD_CELL_PERCENT,
                      false, 0 },
    [F_TOTAL_SHARE] = { "cum%", "total as share of all time traced", SD_CELL_PERCENT,
                        false, 0 },
    [F_OWN] = { "own", "time in the function itself", SD_CELL_NS, false, 1 },
    [F_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, false, 1 },
    [F_PER_CALL] = { "per_call", "own by calls", SD_CELL_NS, true, 2 },
    [F_ELAPSED] = { "elapsed", "total, and the time its coroutines were suspended",
                    SD_CELL_NS, false, 2 },
    [F_CPU] = { "own_cpu", "CPU time in the function itself", SD_CELL_NS, false, 2 },
    [F_TRACING] = { "tracing", "cost of tracing that was subtracted from own",
                    SD_CELL_NS, true, 3 },
    [F_NAME] = { "function", "its name", SD_CELL_TEXT, false, 0 },
    [F_WHERE] = { "where", "file, shortened, and first line", SD_CELL_TEXT, false, 0 },
    [F_FILE] = { "file", "as the interpreter names it", SD_CELL_TEXT, true, 0 },
    [F_LINE] = { "line", "its first", SD_CELL_COUNT, true, 0 },
};

/* An import is named by its module, and stands where it was asked for. */
static int put_callee(struct sd_view *v, struct sd_view_table *table, size_t row,
                      const struct sd_traced *t, size_t i, enum sd_calls_by by)
{
    const struct sd_callee *c = &t->tree.callees[i];
    struct sd_site site = { .name = "" };

    if (c->site.at != NONE)
        site = t->tree.p->sites[c->site.at];
    if (c->import) {
        site.name = c->import;
        site.line = c->line ? c->line : site.line;
    }
    return put_place(v, table, row, F_NAME, F_WHERE, &site, by);
}

static int put_function(struct sd_view *v, struct sd_view_table *table, size_t row,
                        const struct sd_traced *t, size_t i, int64_t whole,
                        enum sd_calls_by by)
{
    const struct sd_calls_sum *sum = &t->calls.functions[i];
    const int64_t *rows = t->tree.callee_self;

    *sd_view_cell(table, row, F_CALLS) = count(sum->calls);
    *sd_view_cell(table, row, F_PRIMITIVE) = count(sum->primitive);
    *sd_view_cell(table, row, F_STARTS) = count((uint64_t)amount(t, rows, i, "starts"));
    *sd_view_cell(table, row, F_OWN_SHARE) = share(sum->own, whole);
    *sd_view_cell(table, row, F_TOTAL_SHARE) = share(sum->total, whole);
    *sd_view_cell(table, row, F_OWN) = ns(sum->own);
    *sd_view_cell(table, row, F_TOTAL) = ns(sum->total);
    if (sum->calls)
        *sd_view_cell(table, row, F_PER_CALL) = ns(sum->own / (int64_t)sum->calls);
    if (t->has_awaited)
        *sd_view_cell(table, row, F_ELAPSED) =
            ns(sd_sum_i64(sum->total, t->awaited[i]));
    if (sd_totals_metric(t->tree.p, t->tree.totals, "cpu_time") != NONE)
        *sd_view_cell(table, row, F_CPU) = ns(amount(t, rows, i, "cpu_time"));
    *sd_view_cell(table, row, F_TRACING) = ns(amount(t, rows, i, "tracing"));
    return put_callee(v, table, row, t, i, by);
}

/* Columns of what was not measured are for nobody. */
static void hide_unmeasured(struct sd_column *columns, const struct sd_traced *t)
{
    memcpy(columns, function_columns, sizeof function_columns);
    columns[F_ELAPSED].is_hidden_in_text = !t->has_awaited;
    columns[F_CPU].is_hidden_in_text =
        sd_totals_metric(t->tree.p, t->tree.totals, "cpu_time") == NONE;
}

static size_t count_functions(const struct sd_traced *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->calls.n_functions; i++)
        n += !t->is_twin[i];
    return n;
}

static struct sd_view_table *add_functions(struct sd_view *v, enum sd_calls_by by,
                                           struct sd_column columns[F_COLUMNS],
                                           size_t n_rows)
{
    bool is_module = by == SD_CALLS_BY_MODULE;

    if (is_module)
        columns[F_NAME] = (struct sd_column){ "module", "file, as it is imported",
                                              SD_CELL_TEXT, false, 0 };
    return sd_view_add(v, is_module ? "modules" : "functions",
                       is_module ? "Modules" : "Functions", columns, F_COLUMNS, n_rows);
}

static int function_table(const struct sd_traced *t, const struct sd_traced_wish *wish,
                          struct sd_view *v)
{
    struct sd_column columns[F_COLUMNS];
    struct sd_view_table *table;
    int64_t whole = whole_of(t);
    size_t row = 0;
    int rc = 0;

    hide_unmeasured(columns, t);
    table = add_functions(v, wish->by, columns, count_functions(t));
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < t->calls.n_functions && rc == 0; i++)
        if (!t->is_twin[i])
            rc = put_function(v, table, row++, t, i, whole, wish->by);
    if (rc == 0)
        rc = add_remarks(v, table, t->tree.p, wish->is_raw);
    /* Equal ones stay in the order of the sort before. */
    if (rc == 0)
        rc = sd_view_table_sort(v, table, "own", 0);
    return rc < 0 ? rc : sd_view_table_sort(v, table, "total", 0);
}

int sd_traced_functions(const struct sd_profile *p, const struct sd_traced_wish *wish,
                        struct sd_view *v)
{
    struct sd_traced t;
    int rc = sd_traced_make_functions(p, wish, &t);

    if (rc == 0)
        rc = function_table(&t, wish, v);
    sd_traced_release(&t);
    return rc;
}

int sd_traced_no_functions(enum sd_calls_by by, struct sd_view *v)
{
    struct sd_column columns[F_COLUMNS];

    memcpy(columns, function_columns, sizeof function_columns);
    return add_functions(v, by, columns, 0) ? 0 : SD_ENOMEM;
}

/* --- The tree */

enum tree_column {
    T_NAME,
    T_TOTAL_SHARE,
    T_OWN_SHARE,
    T_TOTAL,
    T_OWN,
    T_CALLS,
    T_WHERE,
    T_FILE,
    T_LINE,
    T_COLUMNS
};

static const struct sd_column tree_columns[T_COLUMNS] = {
    [T_NAME] = { "function", "its name, under the one that called it", SD_CELL_TEXT,
                 false, 0 },
    [T_TOTAL_SHARE] = { "cum%", "total as share of all time traced", SD_CELL_PERCENT,
                        false, 0 },
    [T_OWN_SHARE] = { "self%", "own as share of all time traced", SD_CELL_PERCENT,
                      false, 1 },
    [T_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, false, 0 },
    [T_OWN] = { "own", "time in the function itself", SD_CELL_NS, false, 1 },
    [T_CALLS] = { "calls", "along this path", SD_CELL_COUNT, false, 0 },
    [T_WHERE] = { "where", "file, shortened, and first line", SD_CELL_TEXT, false, 0 },
    [T_FILE] = { "file", "as the interpreter names it", SD_CELL_TEXT, true, 0 },
    [T_LINE] = { "line", "its first", SD_CELL_COUNT, true, 0 },
};

/* Of each node, own and all below; NULL: no memory. */
static int64_t *sum_up(const struct sd_traced *t)
{
    int64_t *totals = sd_zalloc((t->tree.n_nodes + 1) * sizeof *totals);

    for (size_t i = t->tree.n_nodes; totals && i-- > 0;) {
        uint32_t parent = t->tree.nodes[i].parent;

        totals[i] = sd_sum_i64(totals[i], t->own[i]);
        if (parent != NONE)
            totals[parent] = sd_sum_i64(totals[parent], totals[i]);
    }
    return totals;
}

struct tree {
    const struct sd_traced *t;
    enum sd_calls_by by;
    int64_t whole;
    int64_t *totals; /* owned; by node */
    int32_t *rows;   /* owned; by node, -1: not shown */
    size_t n_rows;
};

static int put_node(const struct tree *tree, struct sd_view *v,
                    struct sd_view_table *table, size_t i)
{
    const struct sd_call_node *node = &tree->t->tree.nodes[i];
    size_t row = (size_t)tree->rows[i];

    table->parents[row] = node->parent == NONE ? -1 : tree->rows[node->parent];
    *sd_view_cell(table, row, T_TOTAL_SHARE) = share(tree->totals[i], tree->whole);
    *sd_view_cell(table, row, T_OWN_SHARE) = share(tree->t->own[i], tree->whole);
    *sd_view_cell(table, row, T_TOTAL) = ns(tree->totals[i]);
    *sd_view_cell(table, row, T_OWN) = ns(tree->t->own[i]);
    *sd_view_cell(table, row, T_CALLS) =
        count((uint64_t)amount(tree->t, tree->t->tree.self, i, "calls"));
    return put_place(v, table, row, T_NAME, T_WHERE, site_of(tree->t, node->callee),
                     tree->by);
}

static int choose_rows(struct tree *tree, double least_percent)
{
    size_t n = tree->t->tree.n_nodes;

    tree->totals = sum_up(tree->t);
    tree->rows = sd_alloc((n + 1) * sizeof *tree->rows);
    if (!tree->totals || !tree->rows)
        return sd_no_memory();
    tree->whole = whole_of(tree->t);
    for (size_t i = 0; i < n; i++) {
        bool is_shown = percent(tree->totals[i], tree->whole) >= least_percent;

        tree->rows[i] = is_shown ? (int32_t)tree->n_rows++ : -1;
    }
    return 0;
}

static int tree_table(const struct tree *tree, double least_percent, struct sd_view *v)
{
    size_t n = tree->t->tree.n_nodes;
    struct sd_view_table *table =
        sd_view_add(v, "calls", "Calls", tree_columns, T_COLUMNS, tree->n_rows);
    int rc = 0;

    if (!table)
        return SD_ENOMEM;
    table->parents =
        sd_arena_alloc(&v->arena, (tree->n_rows + 1) * sizeof *table->parents);
    if (!table->parents)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        if (tree->rows[i] >= 0)
            rc = put_node(tree, v, table, i);
    if (rc == 0)
        rc = sd_view_table_sort(v, table, "total", 0);
    if (rc == 0 && tree->n_rows < n) {
        table->note = sd_arena_printf(&v->arena, "%zu more, each under %.3g %%",
                                      n - tree->n_rows, least_percent);
        rc = table->note ? 0 : sd_no_memory();
    }
    return rc;
}

int sd_traced_tree(const struct sd_profile *p, const struct sd_traced_wish *wish,
                   double least_percent, struct sd_view *v)
{
    struct sd_traced t;
    struct tree tree = { .t = &t, .by = wish->by };
    int rc = sd_traced_make(p, wish, &t);

    if (rc == 0)
        rc = choose_rows(&tree, least_percent);
    if (rc == 0)
        rc = tree_table(&tree, least_percent, v);
    sd_free(tree.totals);
    sd_free(tree.rows);
    sd_traced_release(&t);
    return rc;
}

/* --- Callers and callees */

enum edge_column {
    E_CALLER,
    E_CALLEE,
    E_CALLS,
    E_PRIMITIVE,
    E_OWN,
    E_TOTAL,
    E_COLUMNS
};

static const struct sd_column edge_columns[E_COLUMNS] = {
    [E_CALLER] = { "caller", "the function that calls", SD_CELL_TEXT, false, 0 },
    [E_CALLEE] = { "callee", "the function that is called", SD_CELL_TEXT, false, 0 },
    [E_CALLS] = { "calls", "of the one by the other", SD_CELL_COUNT, false, 0 },
    [E_PRIMITIVE] = { "primitive", "calls that were not made below such a call",
                      SD_CELL_COUNT, false, 2 },
    [E_OWN] = { "own", "time in the function called, of these calls", SD_CELL_NS, false,
                1 },
    [E_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, false, 0 },
};

static const char *label_of(struct sd_view *v, const struct sd_traced *t,
                            uint32_t callee, enum sd_calls_by by)
{
    const struct sd_site *s = site_of(t, callee);
    const char *name = sd_callee_name(&v->arena, s, by);

    if (!name || !s->file || by == SD_CALLS_BY_MODULE)
        return name;
    return sd_arena_printf(&v->arena, "%s (%s:%u)", name, sd_site_short_file(s),
                           s->line);
}

/* `matching` is by function; NULL: all of them. */
static bool is_wanted(const struct sd_calls_edge *e, enum sd_calls_side side,
                      const bool *matching)
{
    return !matching || matching[side == SD_CALLERS ? e->callee : e->caller];
}

static int put_edge(struct sd_view *v, struct sd_view_table *table, size_t row,
                    const struct sd_traced *t, const struct sd_calls_edge *e,
                    enum sd_calls_by by)
{
    const char *caller = label_of(v, t, e->caller, by);
    const char *callee = label_of(v, t, e->callee, by);

    if (!caller || !callee)
        return sd_no_memory();
    *sd_view_cell(table, row, E_CALLER) = sd_cell_text(caller);
    *sd_view_cell(table, row, E_CALLEE) = sd_cell_text(callee);
    *sd_view_cell(table, row, E_CALLS) = count(e->sum.calls);
    *sd_view_cell(table, row, E_PRIMITIVE) = count(e->sum.primitive);
    *sd_view_cell(table, row, E_OWN) = ns(e->sum.own);
    *sd_view_cell(table, row, E_TOTAL) = ns(e->sum.total);
    return 0;
}

static int edge_table(const struct sd_traced *t, const struct sd_traced_wish *wish,
                      enum sd_calls_side side, const bool *matching, struct sd_view *v)
{
    struct sd_view_table *table;
    size_t n_rows = 0, row = 0;
    int rc = 0;

    for (size_t i = 0; i < t->calls.n_edges; i++)
        n_rows += is_wanted(&t->calls.edges[i], side, matching);
    table = sd_view_add(v, side == SD_CALLERS ? "callers" : "callees",
                        side == SD_CALLERS ? "Callers" : "Callees", edge_columns,
                        E_COLUMNS, n_rows);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < t->calls.n_edges && rc == 0; i++) {
        const struct sd_calls_edge *e = &t->calls.edges[i];

        if (is_wanted(e, side, matching))
            rc = put_edge(v, table, row++, t, e, wish->by);
    }
    return rc < 0 ? rc : sd_view_table_sort(v, table, "total", 0);
}

int sd_traced_calls(const struct sd_profile *p, const struct sd_traced_wish *wish,
                    enum sd_calls_side side, const struct sd_matcher *match,
                    struct sd_view *v)
{
    struct sd_traced t;
    bool *matching = NULL;
    int rc = sd_traced_make_functions(p, wish, &t);

    if (rc == 0)
        rc = sd_callees_match(&t.tree, match, &matching);
    if (rc == 0)
        rc = edge_table(&t, wish, side, matching, v);
    sd_traced_release(&t);
    sd_free(matching);
    return rc;
}

int sd_traced_no_calls(struct sd_view *v)
{
    return sd_view_add(v, "callers", "Callers", edge_columns, E_COLUMNS, 0) ? 0
                                                                            : SD_ENOMEM;
}
