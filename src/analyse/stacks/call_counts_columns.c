/* SPDX-License-Identifier: MIT */
/* call_counts_columns: shows functions, the tree and callers of traced calls by
 * cProfile's numbers. */
#include <string.h>

#include "analyse/stacks/stack_tables.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static int64_t whole_of(const struct sd_call_counts *t)
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

static int64_t amount(const struct sd_call_counts *t, const int64_t *rows, size_t i,
                      const char *metric)
{
    uint32_t at = sd_totals_metric(t->tree.p, t->tree.totals, metric);

    return at == NONE ? 0 : rows[i * t->tree.n_metrics + at];
}

static bool has_cpu(const struct sd_call_counts *t)
{
    return sd_totals_metric(t->tree.p, t->tree.totals, "cpu_time") != NONE;
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
};

static void put_function(const struct sd_stack_rows *rows, size_t i,
                         struct sd_cell *cells)
{
    const struct sd_call_counts *t = &rows->traced;
    const struct sd_calls_sum *sum = &t->calls.functions[i];
    const int64_t *self = t->tree.callee_self;

    cells[F_CALLS] = count(sum->calls);
    cells[F_PRIMITIVE] = count(sum->primitive);
    cells[F_STARTS] = count((uint64_t)amount(t, self, i, "starts"));
    cells[F_OWN_SHARE] = share(sum->own, rows->whole);
    cells[F_TOTAL_SHARE] = share(sum->total, rows->whole);
    cells[F_OWN] = ns(sum->own);
    cells[F_TOTAL] = ns(sum->total);
    if (sum->calls)
        cells[F_PER_CALL] = ns(sum->own / (int64_t)sum->calls);
    if (t->has_awaited)
        cells[F_ELAPSED] = ns(sd_sum_i64(sum->total, t->awaited[i]));
    if (has_cpu(t))
        cells[F_CPU] = ns(amount(t, self, i, "cpu_time"));
    cells[F_TRACING] = ns(amount(t, self, i, "tracing"));
}

/* --- The tree */

enum tree_column { T_TOTAL_SHARE, T_OWN_SHARE, T_TOTAL, T_OWN, T_CALLS, T_COLUMNS };

static const struct sd_column tree_columns[T_COLUMNS] = {
    [T_TOTAL_SHARE] = { "cum%", "total as share of all time traced", SD_CELL_PERCENT,
                        false, 0 },
    [T_OWN_SHARE] = { "self%", "own as share of all time traced", SD_CELL_PERCENT,
                      false, 1 },
    [T_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, false, 0 },
    [T_OWN] = { "own", "time in the function itself", SD_CELL_NS, false, 1 },
    [T_CALLS] = { "calls", "along this path", SD_CELL_COUNT, false, 0 },
};

/* Of each node, own and all below; NULL: no memory. */
static int64_t *sum_up(const struct sd_call_counts *t)
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

static void put_node(const struct sd_stack_rows *rows, size_t i, struct sd_cell *cells)
{
    const struct sd_call_counts *t = &rows->traced;

    cells[T_TOTAL_SHARE] = share(rows->totals[i], rows->whole);
    cells[T_OWN_SHARE] = share(t->own[i], rows->whole);
    cells[T_TOTAL] = ns(rows->totals[i]);
    cells[T_OWN] = ns(t->own[i]);
    cells[T_CALLS] = count((uint64_t)amount(t, t->tree.self, i, "calls"));
}

static double node_share(const struct sd_stack_rows *rows, size_t i)
{
    return percent(rows->totals[i], rows->whole);
}

/* --- Callers and callees */

enum edge_column { E_CALLS, E_PRIMITIVE, E_OWN, E_TOTAL, E_COLUMNS };

static const struct sd_column edge_columns[E_COLUMNS] = {
    [E_CALLS] = { "calls", "of the one by the other", SD_CELL_COUNT, false, 0 },
    [E_PRIMITIVE] = { "primitive", "calls that were not made below such a call",
                      SD_CELL_COUNT, false, 2 },
    [E_OWN] = { "own", "time in the function called, of these calls", SD_CELL_NS, false,
                1 },
    [E_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, false, 0 },
};

static void put_edge(const struct sd_stack_rows *rows, size_t i, struct sd_cell *cells)
{
    const struct sd_calls_sum *sum = &rows->traced.calls.edges[i].sum;

    cells[E_CALLS] = count(sum->calls);
    cells[E_PRIMITIVE] = count(sum->primitive);
    cells[E_OWN] = ns(sum->own);
    cells[E_TOTAL] = ns(sum->total);
}

static void ends(const struct sd_stack_rows *rows, size_t i, uint32_t *caller,
                 uint32_t *callee)
{
    *caller = rows->traced.calls.edges[i].caller;
    *callee = rows->traced.calls.edges[i].callee;
}

/* --- All of them */

static const struct {
    const struct sd_column *columns;
    size_t n;
    void (*put)(const struct sd_stack_rows *rows, size_t i, struct sd_cell *cells);
} tables[] = {
    [SD_STACK_FUNCTIONS] = { function_columns, F_COLUMNS, put_function },
    [SD_STACK_TREE] = { tree_columns, T_COLUMNS, put_node },
    [SD_STACK_PAIRS] = { edge_columns, E_COLUMNS, put_edge },
};

void sd_call_counts_columns_add(struct sd_stack_rows *rows)
{
    sd_stack_rows_add(rows, tables[rows->table].columns, tables[rows->table].n);
}

static int make_nodes(const struct sd_profile *p,
                      const struct sd_stacks_request *request,
                      struct sd_stack_rows *rows)
{
    int rc = sd_call_counts_make(p, request, &rows->traced);

    if (rc < 0)
        return rc;
    rows->n = rows->traced.tree.n_nodes;
    rows->totals = sum_up(&rows->traced);
    return rows->totals ? 0 : sd_no_memory();
}

static int make(const struct sd_profile *p, const struct sd_stacks_request *request,
                struct sd_arena *a, struct sd_stack_rows *rows)
{
    struct sd_call_counts *t = &rows->traced;
    int rc = rows->table == SD_STACK_TREE
                 ? make_nodes(p, request, rows)
                 : sd_call_counts_make_functions(p, request, t);

    (void)a;
    if (rc < 0)
        return rc;
    if (rows->table != SD_STACK_TREE)
        rows->n =
            rows->table == SD_STACK_PAIRS ? t->calls.n_edges : t->calls.n_functions;
    rows->whole = whole_of(t);
    sd_call_counts_columns_add(rows);
    if (rows->table == SD_STACK_FUNCTIONS) { /* what was not measured is for nobody */
        rows->columns[F_ELAPSED].is_hidden_in_text = !t->has_awaited;
        rows->columns[F_CPU].is_hidden_in_text = !has_cpu(t);
    }
    return 0;
}

static void put(const struct sd_stack_rows *rows, size_t i, struct sd_cell *front,
                struct sd_cell *back)
{
    (void)back;
    tables[rows->table].put(rows, i, front);
}

static void remark(struct sd_buf *to, const struct sd_stack_rows *rows,
                   const struct sd_stacks_request *request)
{
    sd_call_counts_caption(to, rows->traced.tree.p, request->is_raw);
}

const struct sd_columns_of sd_call_counts_columns = {
    .has_module_pairs = true,
    .orders = { "own", "total", "total", "total" },
    .where = "file, shortened, and first line",
    .line = "its first",
    .module = "module",
    .make = make,
    .node_share = node_share,
    .ends = ends,
    .put = put,
    .remark = remark,
};
