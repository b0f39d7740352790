/* SPDX-License-Identifier: MIT */
/* share_columns: shows functions, the tree and callers by their shares, and by one
 * amount for each metric that the evidence carries. */
#include <math.h>
#include <string.h>

#include "analyse/stacks/stack_tables.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"

enum { NONE = UINT32_MAX };

/* --- Columns */

static int add_column(struct sd_stack_rows *rows, const char *name, const char *meaning,
                      enum sd_cell_kind kind, bool is_hidden, uint8_t rank)
{
    const struct sd_column one = { name, meaning, kind, is_hidden, rank };

    if (!name)
        return sd_no_memory();
    sd_stack_rows_add(rows, &one, 1);
    return 0;
}

/* How soon a narrow terminal goes without a metric's columns; the counts behind the
 * shares are for programs. */
static uint8_t rank_of(const struct sd_metric *m)
{
    return strcmp(m->name, "wall") == 0 ? 1 : 3;
}

static const struct sd_metric *metric_of(const struct sd_stack_rows *rows, uint32_t k)
{
    const struct sd_calltree *t = &rows->traced.tree;

    return &t->p->metrics[t->totals->metrics[k].at];
}

static int add_share(struct sd_stack_rows *rows, const char *name, const char *what,
                     struct sd_arena *a)
{
    const char *of = sd_evidence[rows->traced.tree.evidence].name;
    const char *meaning = sd_arena_printf(a, "share of %s %s", of, what);

    return add_column(rows, meaning ? name : NULL, meaning, SD_CELL_PERCENT, false, 0);
}

/* Of allocations there are so many amounts that only those are shown which the shares
 * are of: bytes, and how many blocks. */
static bool is_hidden(const struct sd_stack_rows *rows, uint32_t k)
{
    const struct sd_calltree *t = &rows->traced.tree;

    if (t->evidence == SD_ALLOCATIONS)
        return k / 2 != t->metric / 2;
    return strcmp(metric_of(rows, k)->name, "samples") == 0;
}

static int add_amounts(struct sd_stack_rows *rows, struct sd_arena *a)
{
    static const char *const kinds[] = { "self_%s", "cum_%s" };
    int rc = 0;

    for (uint32_t k = 0; k < 2 * rows->traced.tree.n_metrics && rc == 0; k++) {
        const struct sd_metric *m = metric_of(rows, k / 2);

        rc = add_column(rows, sd_arena_printf(a, kinds[k % 2], m->name), m->meaning,
                        sd_cell_kind_of(m->unit), is_hidden(rows, k / 2), rank_of(m));
    }
    return rc;
}

static int add_columns(struct sd_stack_rows *rows, struct sd_arena *a)
{
    static const struct sd_column margins[] = {
        { "self_margin",
          "self% is this near the truth, in percent, 95 times of "
          "100",
          SD_CELL_REAL, true, 0 },
        { "cum_margin", "the same of cum%", SD_CELL_REAL, true, 0 },
    };
    int rc = add_share(rows, "self%", "taken in the function itself", a);

    if (rc == 0)
        rc = add_share(rows, "cum%", "in it or in what it called", a);
    if (rc == 0)
        rc = add_amounts(rows, a);
    rows->n_front = rows->n_columns;
    if (rc == 0 && rows->table == SD_STACK_FUNCTIONS &&
        rows->traced.tree.evidence == SD_SAMPLES)
        sd_stack_rows_add(rows, margins, 2);
    return rc;
}

static int add_pair_columns(struct sd_stack_rows *rows, struct sd_arena *a)
{
    int rc = add_share(rows, "cum%", "below this call", a);

    for (uint32_t k = 0; k < rows->traced.tree.n_metrics && rc == 0; k++) {
        const struct sd_metric *m = metric_of(rows, k);

        rc = add_column(rows, m->name, m->meaning, sd_cell_kind_of(m->unit), false,
                        rank_of(m));
    }
    return rc;
}

/* --- Pairs */

static int find_pairs(struct sd_stack_rows *rows, uint32_t *pair_of)
{
    const struct sd_calltree *t = &rows->traced.tree;
    size_t row = (t->n_metrics ? t->n_metrics : 1) * sizeof(int64_t);
    int rc = 0;

    for (size_t i = 0; i < t->n_nodes && rc == 0; i++) {
        const struct sd_call_node *n = &t->nodes[i];
        uint32_t caller = n->parent == NONE ? NONE : t->nodes[n->parent].callee;
        struct sd_triple key = { caller, n->callee, 0 };

        rc = sd_triples_add(&rows->pairs, key, &pair_of[i]);
    }
    if (rc < 0)
        return rc;
    rows->n = rows->pairs.n;
    rows->pair_totals = sd_zalloc((rows->n + 1) * row);
    return rows->pair_totals ? 0 : sd_no_memory();
}

/* As with functions: of one call inside itself only the outermost counts. */
static void sum_pairs(struct sd_stack_rows *rows, const uint32_t *pair_of,
                      uint32_t *open)
{
    const struct sd_calltree *t = &rows->traced.tree;
    uint32_t at = t->first_root, next, n_left;

    for (; at != NONE; at = next) {
        int64_t *sums = rows->pair_totals + (size_t)pair_of[at] * t->n_metrics;

        for (uint32_t k = 0; open[pair_of[at]] == 0 && k < t->n_metrics; k++)
            sums[k] = sd_sum_i64(sums[k], t->total[(size_t)at * t->n_metrics + k]);
        open[pair_of[at]]++;
        next = sd_calltree_next(t, at, &n_left);
        for (; n_left > 0; n_left--, at = t->nodes[at].parent)
            open[pair_of[at]]--;
    }
}

static int make_pairs(struct sd_stack_rows *rows)
{
    size_t n = rows->traced.tree.n_nodes + 1; /* and no more pairs */
    uint32_t *pair_of = sd_alloc(n * sizeof *pair_of);
    uint32_t *open = sd_zalloc(n * sizeof *open);
    int rc = pair_of && open ? find_pairs(rows, pair_of) : sd_no_memory();

    if (rc == 0)
        sum_pairs(rows, pair_of, open);
    sd_free(pair_of);
    sd_free(open);
    return rc;
}

static int make(const struct sd_profile *p, const struct sd_stacks_request *request,
                struct sd_arena *a, struct sd_stack_rows *rows)
{
    struct sd_calltree *t = &rows->traced.tree;
    int rc = sd_calltree_make(p, &request->choice, request->by, t);

    rows->n = rows->table == SD_STACK_TREE ? t->n_nodes : t->n_callees;
    if (rc == 0 && rows->table == SD_STACK_PAIRS)
        rc = make_pairs(rows);
    if (rc < 0)
        return rc;
    return rows->table == SD_STACK_PAIRS ? add_pair_columns(rows, a)
                                         : add_columns(rows, a);
}

/* --- Cells */

/* Half of the 95 % interval around a share of n independent samples. */
static double margin(const struct sd_calltree *t, double percent)
{
    double p = percent / 100;

    sd_assert(percent >= 0);
    if (t->n_samples <= 0)
        return 100;
    return 100 * 1.96 * sqrt(p * (1 - p) / (double)t->n_samples);
}

static void put_pair(const struct sd_stack_rows *rows, size_t i, struct sd_cell *cells)
{
    const struct sd_calltree *t = &rows->traced.tree;
    const int64_t *total = rows->pair_totals + i * t->n_metrics;

    cells[0] = sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(t, total));
    for (uint32_t k = 0; k < t->n_metrics; k++)
        cells[1 + k] = sd_cell_number(rows->columns[1 + k].kind, total[k]);
}

static void put(const struct sd_stack_rows *rows, size_t i, struct sd_cell *front,
                struct sd_cell *back)
{
    const struct sd_calltree *t = &rows->traced.tree;
    bool is_tree = rows->table == SD_STACK_TREE;
    const int64_t *self = (is_tree ? t->self : t->callee_self) + i * t->n_metrics;
    const int64_t *total = (is_tree ? t->total : t->callee_total) + i * t->n_metrics;

    if (rows->table == SD_STACK_PAIRS) {
        put_pair(rows, i, front);
        return;
    }
    front[0] = sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(t, self));
    front[1] = sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(t, total));
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        front[2 + 2 * k] = sd_cell_number(rows->columns[2 + 2 * k].kind, self[k]);
        front[3 + 2 * k] = sd_cell_number(rows->columns[3 + 2 * k].kind, total[k]);
    }
    for (size_t k = 0; k < rows->n_columns - rows->n_front; k++)
        back[k] = sd_cell_real(SD_CELL_REAL, margin(t, front[k].real));
}

static double node_share(const struct sd_stack_rows *rows, size_t i)
{
    const struct sd_calltree *t = &rows->traced.tree;

    return sd_calltree_share(t, t->total + i * t->n_metrics);
}

static void ends(const struct sd_stack_rows *rows, size_t i, uint32_t *caller,
                 uint32_t *callee)
{
    *caller = rows->pairs.items[i].a;
    *callee = rows->pairs.items[i].b;
}

/* What the rows do not show by themselves. */
static void remark(struct sd_buf *to, const struct sd_stack_rows *rows,
                   const struct sd_stacks_request *request)
{
    const struct sd_calltree *t = &rows->traced.tree;
    uint32_t wall = sd_totals_metric(t->p, t->totals, "wall");
    char time[SD_TEXT_MAX];

    (void)request;
    for (size_t i = 0; i < t->n_callees && to->n == 0; i++)
        if (t->callees[i].import)
            sd_buf_text(to, "an import is one row (--all shows what it does)");
    if (wall != NONE && t->startup[wall] > 0)
        sd_buf_printf(to, "%sSonde's own start took %s and is left out",
                      to->n ? "; " : "", sd_text_duration(time, t->startup[wall]));
}

const struct sd_columns_of sd_share_columns = {
    .has_lines = true,
    .orders = { "cum%", "self%", "cum%", "cum%" },
    .where = "file, shortened, and line",
    .make = make,
    .node_share = node_share,
    .ends = ends,
    .put = put,
    .remark = remark,
};
