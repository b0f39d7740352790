/* SPDX-License-Identifier: MIT */
#include "analyse/stacks/stack_tables.h"

#include <string.h>

#include "analyse/views.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { NONE = UINT32_MAX, PLACE = 4, ALL_COLUMNS = SD_STACK_COLUMNS + PLACE };

/* --- Rows */

void sd_stack_rows_add(struct sd_stack_rows *rows, const struct sd_column *columns,
                       size_t n)
{
    sd_assert(rows->n_columns + n <= SD_STACK_COLUMNS);
    memcpy(rows->columns + rows->n_columns, columns, n * sizeof *columns);
    rows->n_columns += n;
}

static void release_rows(struct sd_stack_rows *rows)
{
    sd_call_counts_release(&rows->traced);
    sd_free(rows->totals);
    sd_triples_release(&rows->pairs);
    sd_free(rows->pair_totals);
}

static enum sd_calls_by by_of(const struct sd_columns_of *how,
                              enum sd_stack_table table, enum sd_calls_by by)
{
    if (by == SD_CALLS_BY_LINE && (!how->has_lines || table == SD_STACK_PAIRS))
        return SD_CALLS_BY_FUNCTION;
    if (by == SD_CALLS_BY_MODULE && table == SD_STACK_PAIRS && !how->has_module_pairs)
        return SD_CALLS_BY_FUNCTION;
    return by;
}

/* Evidence that is not here is shown by shares. */
static const struct sd_columns_of *columns_of(enum sd_evidence e)
{
    static const struct sd_columns_of *const own[SD_EVIDENCES] = {
        [SD_CALLS] = &sd_call_counts_columns,
    };

    sd_assert(sd_evidence_has_stacks(e));
    return own[e] ? own[e] : &sd_share_columns;
}

static int make_rows(const struct sd_profile *p,
                     const struct sd_stacks_request *request, enum sd_stack_table table,
                     struct sd_view *v, struct sd_stack_rows *rows)
{
    const struct sd_columns_of *how =
        columns_of(sd_sample_choice_evidence(p, &request->choice));
    struct sd_stacks_request one = *request;
    int rc;

    one.by = by_of(how, table, request->by);
    *rows = (struct sd_stack_rows){ .how = how, .table = table, .by = one.by };
    rc = how->make(p, &one, &v->arena, rows);
    if (rc == 0 && rows->n_front == 0)
        rows->n_front = rows->n_columns;
    return rc;
}

/* --- Places */

static const struct sd_column tree_name = { "function",
                                            "its name, under the one that called it",
                                            SD_CELL_TEXT, false, 0 };

/* function, where, file, line: in columns that follow each other. */
static void fill_place(const struct sd_stack_rows *rows, struct sd_column place[PLACE])
{
    static const char *const lines[] = { "its first", "that was executed", "none" };
    bool is_tree = rows->table == SD_STACK_TREE;
    const char *module = rows->by == SD_CALLS_BY_MODULE ? rows->how->module : NULL;
    const char *line = rows->how->line || is_tree ? "its first" : lines[rows->by];
    const struct sd_column all[PLACE] = {
        { module ? module : "function", module ? "file, as it is imported" : "its name",
          SD_CELL_TEXT, false, 0 },
        { "where", is_tree ? "file, shortened, and first line" : rows->how->where,
          SD_CELL_TEXT, false, 0 },
        { "file", "as the interpreter names it", SD_CELL_TEXT, true, 0 },
        { "line", line, SD_CELL_COUNT, true, 0 },
    };

    memcpy(place, all, sizeof all);
}

static const struct sd_site *site_of(const struct sd_calltree *t, uint32_t callee)
{
    static const struct sd_site nobody = { .name = "" };
    uint32_t site = t->callees[callee].site.at;

    return site == NONE ? &nobody : &t->p->sites[site];
}

/* An import is named by its module, and stands where it was asked for. */
static int put_place(struct sd_view *v, const struct sd_stack_rows *rows,
                     uint32_t callee, struct sd_cell *name_at, struct sd_cell *place)
{
    const struct sd_callee *c = &rows->traced.tree.callees[callee];
    const struct sd_site *s = site_of(&rows->traced.tree, callee);
    uint32_t line = rows->by == SD_CALLS_BY_MODULE ? 0 : c->line ? c->line : s->line;
    const char *name = c->import
                           ? sd_arena_string(&v->arena, c->import, strlen(c->import))
                           : sd_callee_name(&v->arena, s, rows->by);
    const char *file = s->file ? sd_site_short_file(s) : "";
    const char *where = line ? sd_arena_printf(&v->arena, "%s:%u", file, line)
                             : sd_arena_string(&v->arena, file, strlen(file));
    const char *whole =
        s->file ? sd_arena_string(&v->arena, s->file, strlen(s->file)) : NULL;

    if (!name || !where || (s->file && !whole))
        return sd_no_memory();
    *name_at = sd_cell_text(name);
    place[0] = sd_cell_text(*where ? where : NULL);
    place[1] = sd_cell_text(whole);
    if (line)
        place[2] = sd_cell_number(SD_CELL_COUNT, line);
    return 0;
}

static int add_note(struct sd_view *v, struct sd_view_table *table, struct sd_buf *text)
{
    int rc = text->bad ? sd_no_memory() : 0;

    if (rc == 0 && text->n > 0) {
        table->note = sd_arena_string(&v->arena, (const char *)text->p, text->n);
        rc = table->note ? 0 : sd_no_memory();
    }
    sd_buf_release(text);
    return rc;
}

/* --- Functions, lines, modules */

static bool is_left_out(const struct sd_stack_rows *rows, size_t i)
{
    return rows->traced.is_twin && rows->traced.is_twin[i];
}

static struct sd_view_table *add_functions(const struct sd_stack_rows *rows,
                                           struct sd_view *v)
{
    struct sd_column columns[ALL_COLUMNS];
    size_t n_rows = 0, n = rows->n_front;

    memcpy(columns, rows->columns, n * sizeof *columns);
    fill_place(rows, columns + n);
    memcpy(columns + n + PLACE, rows->columns + n,
           (rows->n_columns - n) * sizeof *columns);
    for (size_t i = 0; i < rows->n; i++)
        n_rows += !is_left_out(rows, i);
    n = rows->n_columns + PLACE;
    if (rows->by == SD_CALLS_BY_MODULE) /* the view of functions, by another key */
        return sd_view_add(v, "modules", "Modules", columns, n, n_rows);
    return sd_views_add(v, rows->by == SD_CALLS_BY_LINE ? "lines" : "functions",
                        columns, n, n_rows);
}

static int function_table(const struct sd_stack_rows *rows,
                          const struct sd_stacks_request *request, struct sd_view *v)
{
    struct sd_view_table *table = add_functions(rows, v);
    struct sd_buf note = { 0 };
    size_t row = 0, n = rows->n_front;
    int rc = table ? 0 : SD_ENOMEM;

    for (uint32_t i = 0; i < rows->n && rc == 0; i++) {
        struct sd_cell *cells;

        if (is_left_out(rows, i))
            continue;
        cells = sd_view_cell(table, row++, 0);
        rows->how->put(rows, i, cells, cells + n + PLACE);
        rc = put_place(v, rows, i, cells + n, cells + n + 1);
    }
    if (rc < 0)
        return rc;
    rows->how->remark(&note, rows, request);
    rc = add_note(v, table, &note);
    /* Equal ones stay in the order of the sort before. */
    if (rc == 0)
        rc = sd_view_table_sort(v, table, rows->how->orders[0], 0);
    return rc < 0 ? rc : sd_view_table_sort(v, table, rows->how->orders[1], 0);
}

int sd_analyse_functions(const struct sd_profile *p,
                         const struct sd_stacks_request *request, struct sd_view *v)
{
    struct sd_stack_rows rows;
    int rc = make_rows(p, request, SD_STACK_FUNCTIONS, v, &rows);

    if (rc == 0)
        rc = function_table(&rows, request, v);
    release_rows(&rows);
    return rc;
}

/* --- The tree of calls */

/* A parent's total is at least its child's, so every row that is shown has its parent
 * above it. */
static size_t number_rows(const struct sd_stack_rows *rows, double least_percent,
                          int32_t *row_of)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        row_of[i] = rows->how->node_share(rows, i) >= least_percent ? (int32_t)n++ : -1;
    return n;
}

static struct sd_view_table *add_tree(const struct sd_stack_rows *rows, size_t n_rows,
                                      struct sd_view *v)
{
    struct sd_column columns[ALL_COLUMNS];
    struct sd_view_table *table;

    fill_place(rows, columns + rows->n_columns);
    columns[0] = tree_name;
    memcpy(columns + 1, rows->columns, rows->n_columns * sizeof *columns);
    table = sd_views_add(v, "calls", columns, rows->n_columns + PLACE, n_rows);
    if (!table)
        return NULL;
    table->parents = sd_arena_alloc(&v->arena, (n_rows + 1) * sizeof *table->parents);
    if (!table->parents)
        sd_no_memory();
    return table->parents ? table : NULL;
}

static int put_nodes(const struct sd_stack_rows *rows, const int32_t *row_of,
                     struct sd_view *v, struct sd_view_table *table)
{
    int rc = 0;

    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const struct sd_call_node *node = &rows->traced.tree.nodes[i];
        size_t row = (size_t)row_of[i];
        struct sd_cell *cells;

        if (row_of[i] < 0)
            continue;
        sd_assert(row < table->n_rows);
        cells = sd_view_cell(table, row, 0);
        table->parents[row] = node->parent == NONE ? -1 : row_of[node->parent];
        rows->how->put(rows, i, cells + 1, NULL);
        rc = put_place(v, rows, node->callee, cells, cells + 1 + rows->n_columns);
    }
    return rc;
}

static int tree_table(const struct sd_stack_rows *rows, double least_percent,
                      struct sd_view *v)
{
    int32_t *row_of = sd_arena_alloc(&v->arena, (rows->n + 1) * sizeof *row_of);
    size_t n_rows = row_of ? number_rows(rows, least_percent, row_of) : 0;
    struct sd_view_table *table = row_of ? add_tree(rows, n_rows, v) : NULL;
    int rc = table ? put_nodes(rows, row_of, v, table) : sd_no_memory();

    if (rc == 0)
        rc = sd_view_table_sort(v, table, rows->how->orders[2], 0);
    if (rc == 0 && n_rows < rows->n) {
        table->note = sd_arena_printf(&v->arena, "%zu more, each under %.3g %%",
                                      rows->n - n_rows, least_percent);
        rc = table->note ? 0 : sd_no_memory();
    }
    return rc;
}

int sd_analyse_call_tree(const struct sd_profile *p,
                         const struct sd_stacks_request *request, double least_percent,
                         struct sd_view *v)
{
    struct sd_stack_rows rows;
    int rc = make_rows(p, request, SD_STACK_TREE, v, &rows);

    if (rc == 0)
        rc = tree_table(&rows, least_percent, v);
    release_rows(&rows);
    return rc;
}

/* --- Callers and callees */

/* "name (file.py:3)", or what stands for nobody; NULL: no memory. */
static const char *label_of(struct sd_view *v, const struct sd_stack_rows *rows,
                            uint32_t callee)
{
    const struct sd_site *s;
    const char *name;

    if (callee == NONE)
        return "(outermost)";
    s = site_of(&rows->traced.tree, callee);
    name = sd_callee_name(&v->arena, s, rows->by);
    if (!name || !s->file || rows->by == SD_CALLS_BY_MODULE)
        return name;
    return sd_arena_printf(&v->arena, "%s (%s:%u)", name, sd_site_short_file(s),
                           s->line);
}

/* `matching` is by callee; NULL: all, those that nobody called too. */
static bool is_wanted(const struct sd_stack_rows *rows, size_t i,
                      enum sd_calls_side side, const bool *matching)
{
    uint32_t caller, callee, asked;

    rows->how->ends(rows, i, &caller, &callee);
    asked = side == SD_CALLERS ? callee : caller;
    return !matching || (asked != NONE && matching[asked]);
}

static int put_pair(struct sd_view *v, const struct sd_stack_rows *rows, size_t i,
                    struct sd_cell *cells)
{
    uint32_t caller, callee;

    rows->how->ends(rows, i, &caller, &callee);
    cells[0] = sd_cell_text(label_of(v, rows, caller));
    cells[1] = sd_cell_text(label_of(v, rows, callee));
    rows->how->put(rows, i, cells + 2, NULL);
    return cells[0].text && cells[1].text ? 0 : sd_no_memory();
}

static int pair_table(const struct sd_stack_rows *rows, enum sd_calls_side side,
                      const bool *matching, struct sd_view *v)
{
    struct sd_column columns[2 + SD_STACK_COLUMNS] = {
        { "caller", "the function that calls", SD_CELL_TEXT, false, 0 },
        { "callee", "the function that is called", SD_CELL_TEXT, false, 0 },
    };
    struct sd_view_table *table;
    size_t n_rows = 0, row = 0;
    int rc = 0;

    memcpy(columns + 2, rows->columns, rows->n_columns * sizeof *columns);
    for (size_t i = 0; i < rows->n; i++)
        n_rows += is_wanted(rows, i, side, matching);
    table = sd_views_add(v, side == SD_CALLERS ? "callers" : "callees", columns,
                         2 + rows->n_columns, n_rows);
    if (!table)
        return SD_ENOMEM;
    for (size_t i = 0; i < rows->n && rc == 0; i++)
        if (is_wanted(rows, i, side, matching))
            rc = put_pair(v, rows, i, sd_view_cell(table, row++, 0));
    return rc < 0 ? rc : sd_view_table_sort(v, table, rows->how->orders[3], 0);
}

int sd_analyse_calls(const struct sd_profile *p,
                     const struct sd_stacks_request *request, enum sd_calls_side side,
                     const struct sd_matcher *match, struct sd_view *v)
{
    struct sd_stack_rows rows;
    bool *matching = NULL;
    int rc = make_rows(p, request, SD_STACK_PAIRS, v, &rows);

    if (rc == 0)
        rc = sd_callees_match(&rows.traced.tree, match, &matching);
    if (rc == 0)
        rc = pair_table(&rows, side, matching, v);
    release_rows(&rows);
    sd_free(matching);
    return rc;
}

/* --- The columns alone */

int sd_call_counts_no_functions(enum sd_calls_by by, struct sd_view *v)
{
    struct sd_stack_rows rows = { .how = &sd_call_counts_columns, .by = by };

    sd_call_counts_columns_add(&rows);
    rows.n_front = rows.n_columns;
    return add_functions(&rows, v) ? 0 : SD_ENOMEM;
}

int sd_call_counts_no_calls(struct sd_view *v)
{
    struct sd_stack_rows rows = { .how = &sd_call_counts_columns,
                                  .table = SD_STACK_PAIRS };

    sd_call_counts_columns_add(&rows);
    return pair_table(&rows, SD_CALLERS, NULL, v);
}
