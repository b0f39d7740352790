/* SPDX-License-Identifier: MIT */
/* stack_source: the lines that stacks executed, as figures beside the source. */
#include "analyse/analyse.h"
#include "analyse/source_rows.h"
#include "base/mem.h"
#include "base/sum.h"

enum { NONE = UINT32_MAX };

/* Amounts in rows of as many metrics as the tree has, by the number of a line. */
struct sums {
    const struct sd_calltree *t;
    uint32_t *row_of; /* owned; by callee; NONE: it has no source */
    int64_t *self, *cum;
};

static int number_rows(struct sums *m, struct sd_source_rows *rows)
{
    const struct sd_calltree *t = m->t;
    int rc = 0;

    m->row_of = sd_alloc((t->n_callees + 1) * sizeof *m->row_of);
    if (!m->row_of)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_callees && rc == 0; i++)
        rc = sd_source_row(rows, &t->p->sites[t->callees[i].site.at],
                           t->callees[i].line, &m->row_of[i]);
    return rc;
}

static void add(const struct sums *m, int64_t *to, uint32_t row, const int64_t *from)
{
    for (uint32_t k = 0; k < m->t->n_metrics; k++) {
        int64_t *sum = &to[(size_t)row * m->t->n_metrics + k];

        *sum = sd_sum_i64(*sum, from[k]);
    }
}

/* However often a line is on a stack, by whatever function, the stack counts once. */
static void add_nodes(const struct sums *m, uint32_t *open)
{
    const struct sd_calltree *t = m->t;
    uint32_t at = t->first_root, n_left, next;

    for (; at != NONE; at = next) {
        uint32_t row = m->row_of[t->nodes[at].callee];

        if (row != NONE) {
            add(m, m->self, row, t->self + (size_t)at * t->n_metrics);
            if (open[row]++ == 0)
                add(m, m->cum, row, t->total + (size_t)at * t->n_metrics);
        }
        next = sd_calltree_next(t, at, &n_left);
        for (; n_left > 0; n_left--, at = t->nodes[at].parent)
            if (m->row_of[t->nodes[at].callee] != NONE)
                open[m->row_of[t->nodes[at].callee]]--;
    }
}

static int sum_up(struct sums *m, size_t n_rows)
{
    size_t size = (n_rows * m->t->n_metrics + 1) * sizeof(int64_t);
    uint32_t *open = sd_zalloc((n_rows + 1) * sizeof *open);

    m->self = sd_zalloc(size);
    m->cum = sd_zalloc(size);
    if (open && m->self && m->cum)
        add_nodes(m, open);
    sd_free(open);
    return open && m->self && m->cum ? 0 : sd_no_memory();
}

static void add_column(struct sd_view_source *out, const char *name,
                       const char *meaning, enum sd_cell_kind kind)
{
    out->columns[out->n_columns++] =
        (struct sd_column){ .name = name, .meaning = meaning, .kind = kind };
}

/* As tables of lines have them. */
static int make_columns(const struct sums *m, struct sd_arena *a,
                        struct sd_view_source *out)
{
    const struct sd_calltree *t = m->t;

    out->columns = sd_arena_alloc(a, 2 * (t->n_metrics + 1) * sizeof *out->columns);
    if (!out->columns)
        return sd_no_memory();
    add_column(out, "self%", "share of what was seen in the line itself",
               SD_CELL_PERCENT);
    add_column(out, "cum%", "in it or in what it called", SD_CELL_PERCENT);
    for (uint32_t k = 0; k < t->n_metrics; k++) {
        const struct sd_metric *metric = &t->p->metrics[t->totals->metrics[k].at];
        const char *self = sd_arena_printf(a, "self_%s", metric->name);
        const char *cum = sd_arena_printf(a, "cum_%s", metric->name);

        if (!self || !cum)
            return sd_no_memory();
        add_column(out, self, metric->meaning, sd_cell_kind_of(metric->unit));
        add_column(out, cum, metric->meaning, sd_cell_kind_of(metric->unit));
    }
    return 0;
}

static void put_cells(const struct sums *m, const struct sd_view_source *out,
                      size_t row, struct sd_cell *cells)
{
    const int64_t *self = m->self + row * m->t->n_metrics;
    const int64_t *cum = m->cum + row * m->t->n_metrics;

    *cells++ = sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(m->t, self));
    *cells++ = sd_cell_real(SD_CELL_PERCENT, sd_calltree_share(m->t, cum));
    for (uint32_t k = 0; k < m->t->n_metrics; k++) {
        *cells++ = sd_cell_number(out->columns[2 + 2 * k].kind, self[k]);
        *cells++ = sd_cell_number(out->columns[2 + 2 * k].kind, cum[k]);
    }
}

static int lay_out(const struct sums *m, const struct sd_source_rows *rows,
                   struct sd_arena *a, struct sd_view_source *out)
{
    int64_t *weights = sd_zalloc((rows->lines.n + 1) * sizeof *weights);
    struct sd_cell **cells;
    int rc = weights ? make_columns(m, a, out) : sd_no_memory();

    for (size_t i = 0; rc == 0 && i < rows->lines.n && m->t->n_metrics > 0; i++)
        weights[i] = m->self[i * m->t->n_metrics + m->t->metric];
    if (rc == 0)
        rc = sd_source_rows_settle(rows, weights, a, out, &cells);
    for (size_t i = 0; rc == 0 && i < rows->lines.n; i++)
        put_cells(m, out, i, cells[i]);
    sd_free(weights);
    return rc;
}

int sd_source_of_stacks(const struct sd_profile *p, const struct sd_stacks_request *r,
                        struct sd_arena *a, struct sd_view_source *out)
{
    struct sd_calltree tree;
    struct sd_source_rows rows;
    struct sums m = { .t = &tree };
    int rc = sd_calltree_make(p, &r->choice, SD_CALLS_BY_LINE, &tree);

    if (rc < 0)
        return rc;
    sd_source_rows_init(&rows);
    out->evidence = sd_evidence[tree.evidence].name;
    out->verb = sd_evidence[tree.evidence].verb;
    rc = number_rows(&m, &rows);
    if (rc == 0)
        rc = sum_up(&m, rows.lines.n);
    if (rc == 0)
        rc = lay_out(&m, &rows, a, out);
    sd_free(m.row_of);
    sd_free(m.self);
    sd_free(m.cum);
    sd_source_rows_release(&rows);
    sd_calltree_release(&tree);
    return rc;
}
