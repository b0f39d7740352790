/* SPDX-License-Identifier: MIT */
#include "analyse/view.h"

#include <string.h>

#include "analyse/analyse.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

void sd_view_release(struct sd_view *v)
{
    sd_arena_release(&v->arena);
    *v = (struct sd_view){ 0 };
}

struct sd_drawing *sd_view_draw(struct sd_view *v, const char *name,
                                enum sd_shape shape)
{
    struct sd_drawing *all =
        sd_arena_alloc(&v->arena, (v->n_drawings + 1) * sizeof *all);

    sd_assert(shape != SD_SHAPE_TABLE);
    if (!all) {
        sd_no_memory();
        return NULL;
    }
    if (v->n_drawings)
        memcpy(all, v->drawings, v->n_drawings * sizeof *all);
    v->drawings = all;
    all[v->n_drawings] = (struct sd_drawing){ .name = name, .shape = shape };
    return &all[v->n_drawings++];
}

static const char *copy_text(struct sd_view *v, const char *s, bool *is_bad)
{
    const char *copy = s ? sd_arena_string(&v->arena, s, strlen(s)) : NULL;

    *is_bad |= s && !copy;
    return copy;
}

static bool fill_table(struct sd_view *v, struct sd_view_table *t,
                       const struct sd_column *columns)
{
    bool is_bad = false;

    t->columns = sd_arena_copy(&v->arena, columns, t->n_columns * sizeof *columns);
    t->cells =
        sd_arena_alloc(&v->arena, (t->n_rows * t->n_columns + 1) * sizeof *t->cells);
    if (!t->columns || !t->cells)
        return false;
    for (size_t i = 0; i < t->n_columns; i++) {
        sd_assert(columns[i].name); /* a table of columns has no gap */
        t->columns[i].name = copy_text(v, columns[i].name, &is_bad);
        t->columns[i].meaning = copy_text(v, columns[i].meaning, &is_bad);
    }
    return !is_bad;
}

struct sd_view_table *sd_view_add(struct sd_view *v, const char *name,
                                  const char *title, const struct sd_column *columns,
                                  size_t n_columns, size_t n_rows)
{
    struct sd_view_table *tables =
        sd_arena_alloc(&v->arena, (v->n_tables + 1) * sizeof *tables);
    struct sd_view_table *t;

    sd_assert(n_columns > 0);
    if (!tables)
        goto none;
    if (v->n_tables)
        memcpy(tables, v->tables, v->n_tables * sizeof *tables);
    t = &tables[v->n_tables];
    *t = (struct sd_view_table){
        .name = name, .title = title, .n_columns = n_columns, .n_rows = n_rows
    };
    if (!fill_table(v, t, columns))
        goto none;
    v->tables = tables;
    v->n_tables++;
    return t;
none:
    sd_no_memory();
    return NULL;
}

struct sd_cell sd_cell_number(enum sd_cell_kind kind, int64_t number)
{
    return (struct sd_cell){ .kind = kind, .number = number };
}

struct sd_cell sd_cell_real(enum sd_cell_kind kind, double real)
{
    return (struct sd_cell){ .kind = kind, .real = real };
}

const char *sd_cell_unit(enum sd_cell_kind kind)
{
    switch (kind) {
    case SD_CELL_COUNT:
        return "count";
    case SD_CELL_NS:
        return "ns";
    case SD_CELL_BYTES:
        return "bytes";
    case SD_CELL_PERCENT:
        return "percent";
    case SD_CELL_REAL:
        return "real";
    case SD_CELL_NONE:
    case SD_CELL_TEXT:
        break;
    }
    return NULL;
}

struct sd_cell sd_cell_text(const char *text)
{
    return (struct sd_cell){ .kind = text ? SD_CELL_TEXT : SD_CELL_NONE, .text = text };
}

enum sd_cell_kind sd_cell_kind_of(enum sd_unit unit)
{
    switch (unit) {
    case SD_UNIT_COUNT:
        return SD_CELL_COUNT;
    case SD_UNIT_NANOSECONDS:
        return SD_CELL_NS;
    case SD_UNIT_BYTES:
        return SD_CELL_BYTES;
    }
    return SD_CELL_COUNT;
}

/* --- Sorting */

static double number_of(const struct sd_cell *c)
{
    return c->kind == SD_CELL_PERCENT || c->kind == SD_CELL_REAL ? c->real
                                                                 : (double)c->number;
}

/* < 0 when `a` goes first: text upwards, numbers downwards, empty cells last. */
static int compare(const struct sd_cell *a, const struct sd_cell *b)
{
    double x, y;

    if (a->kind == SD_CELL_NONE || b->kind == SD_CELL_NONE)
        return (a->kind == SD_CELL_NONE) - (b->kind == SD_CELL_NONE);
    if (a->kind == SD_CELL_TEXT && b->kind == SD_CELL_TEXT)
        return strcmp(a->text, b->text);
    x = number_of(a);
    y = number_of(b);
    return (x < y) - (x > y);
}

struct order {
    const struct sd_view_table *table;
    size_t column;
    bool is_reversed;
    uint32_t *rows; /* to be put in order */
    uint32_t *spare;
};

static bool goes_after(const struct order *o, uint32_t a, uint32_t b)
{
    const struct sd_cell *x = sd_view_cell(o->table, a, o->column);
    const struct sd_cell *y = sd_view_cell(o->table, b, o->column);
    int c = compare(x, y);

    /* Empty cells stay at the end whichever way round. */
    if (o->is_reversed && x->kind != SD_CELL_NONE && y->kind != SD_CELL_NONE)
        c = -c;
    return c > 0;
}

/* Merge sort from the bottom up: equal rows keep their order, which the C library's
 * qsort does not promise. */
static void sort_rows(const struct order *o, size_t n)
{
    uint32_t *from = o->rows, *to = o->spare, *other;

    for (size_t run = 1; run < n; run *= 2) {
        for (size_t low = 0; low < n; low += 2 * run) {
            size_t mid = low + run < n ? low + run : n;
            size_t end = mid + run < n ? mid + run : n;
            size_t a = low, b = mid;

            for (size_t i = low; i < end; i++)
                to[i] = a < mid && (b == end || !goes_after(o, from[a], from[b]))
                            ? from[a++]
                            : from[b++];
        }
        other = from;
        from = to;
        to = other;
    }
    sd_assert_slow(n < 2 || !goes_after(o, from[0], from[n - 1]));
    if (from != o->rows)
        memcpy(o->rows, from, n * sizeof *from);
}

/* A tree's rows come parents first.  Sorted rows are put down again depth first: each
 * row is followed by its children, in the order just found. */
static int tree_order(const struct sd_view_table *t, uint32_t *rows, uint32_t *spare)
{
    size_t n = t->n_rows, n_done = 0, depth = 0;
    /* For row r: first child and next sibling in sorted order; -1 ends. */
    int32_t *first = sd_alloc((2 * n + 1) * sizeof *first);
    int32_t *next = first ? first + n + 1 : NULL;
    uint32_t *stack = spare;

    if (!first)
        return sd_no_memory();
    for (size_t i = 0; i <= n; i++)
        first[i] = -1;
    for (size_t i = n; i-- > 0;) {
        size_t parent = t->parents[rows[i]] < 0 ? n : (size_t)t->parents[rows[i]];

        next[rows[i]] = first[parent];
        first[parent] = (int32_t)rows[i];
    }
    for (int32_t at = first[n]; at >= 0 || depth > 0;) {
        if (at < 0) {
            at = next[stack[--depth]];
            continue;
        }
        rows[n_done++] = (uint32_t)at;
        stack[depth++] = (uint32_t)at;
        at = first[at];
    }
    sd_assert(n_done == n); /* every row hangs on one that is there */
    sd_free(first);
    return 0;
}

static int apply_order(struct sd_view *v, struct sd_view_table *t, const uint32_t *rows)
{
    size_t n_cells = t->n_rows * t->n_columns;
    struct sd_cell *cells = sd_arena_alloc(&v->arena, (n_cells + 1) * sizeof *cells);
    int32_t *place = sd_arena_alloc(&v->arena, (t->n_rows + 1) * sizeof *place);
    int32_t *parents = sd_arena_alloc(&v->arena, (t->n_rows + 1) * sizeof *parents);

    if (!cells || !place || !parents)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_rows; i++) {
        sd_assert(rows[i] < t->n_rows);
        memcpy(cells + i * t->n_columns, sd_view_cell(t, rows[i], 0),
               t->n_columns * sizeof *cells);
        place[rows[i]] = (int32_t)i;
    }
    for (size_t i = 0; t->parents && i < t->n_rows; i++)
        parents[i] = t->parents[rows[i]] < 0 ? -1 : place[t->parents[rows[i]]];
    t->cells = cells;
    t->parents = t->parents ? parents : NULL;
    return 0;
}

static int find_column(const struct sd_view_table *t, const char *key, size_t *column)
{
    struct sd_buf known = { 0 };
    int rc;

    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, key) == 0) {
            *column = i;
            return 0;
        }
    for (size_t i = 0; i < t->n_columns; i++)
        sd_buf_printf(&known, "%s%s", i ? ", " : "", t->columns[i].name);
    rc = sd_fail(SD_EUSAGE, "there is no column \"%s\" in %s; its columns are %s", key,
                 t->name, sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

static int sort(struct sd_view *v, struct sd_view_table *t, const char *key)
{
    struct order o = { .table = t, .is_reversed = *key == '-' };
    int rc = find_column(t, o.is_reversed ? key + 1 : key, &o.column);

    if (rc < 0)
        return rc;
    o.rows = sd_alloc((2 * t->n_rows + 1) * sizeof *o.rows);
    if (!o.rows)
        return sd_no_memory();
    o.spare = o.rows + t->n_rows;
    for (size_t i = 0; i < t->n_rows; i++)
        o.rows[i] = (uint32_t)i;
    sort_rows(&o, t->n_rows);
    if (t->parents)
        rc = tree_order(t, o.rows, o.spare);
    if (rc == 0)
        rc = apply_order(v, t, o.rows);
    sd_free(o.rows);
    return rc;
}

/* The first rows of a tree are a tree too, as parents come before what is in them. */
static int cut(struct sd_view *v, struct sd_view_table *t, size_t limit)
{
    size_t n = t->n_rows - limit;

    sd_assert(limit < t->n_rows);
    t->note = sd_arena_printf(&v->arena, "%s%s%zu more row%s", t->note ? t->note : "",
                              t->note ? "; " : "", n, n == 1 ? "" : "s");
    t->n_rows = limit;
    return t->note ? 0 : sd_no_memory();
}

int sd_view_table_sort(struct sd_view *v, struct sd_view_table *t, const char *key,
                       size_t limit)
{
    int rc = key ? sort(v, t, key) : 0;

    if (rc < 0 || limit == 0 || t->n_rows <= limit)
        return rc;
    return cut(v, t, limit);
}

/* --- Matching */

/* 1, 0 or negative. */
static int row_matches(const struct sd_view_table *t, size_t row,
                       const struct sd_matcher *match)
{
    int rc = 0;

    for (size_t k = 0; k < t->n_columns && rc == 0; k++) {
        const struct sd_cell *c = sd_view_cell(t, row, k);

        if (c->kind == SD_CELL_TEXT)
            rc = sd_matcher_find(match, c->text);
    }
    return rc;
}

/* Rows move up to the places of those that go; *place is where each row is then. */
static size_t keep_rows(struct sd_view_table *t, const bool *is_kept, int32_t *place)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        if (!is_kept[i])
            continue;
        sd_assert(!t->parents || t->parents[i] < (int32_t)i); /* parents first */
        place[i] = (int32_t)kept;
        memmove(sd_view_cell(t, kept, 0), sd_view_cell(t, i, 0),
                t->n_columns * sizeof *t->cells);
        if (t->parents)
            t->parents[kept] = t->parents[i] < 0 ? -1 : place[t->parents[i]];
        kept++;
    }
    return kept;
}

/* What a row of a tree hangs on is kept with it. */
static int choose_rows(const struct sd_view_table *t, const struct sd_matcher *match,
                       bool *is_kept)
{
    for (size_t i = t->n_rows; i-- > 0;) {
        int found = is_kept[i] ? 1 : row_matches(t, i, match);

        if (found < 0)
            return found;
        is_kept[i] = found;
        if (found && t->parents && t->parents[i] >= 0)
            is_kept[t->parents[i]] = true;
    }
    return 0;
}

int sd_view_table_match(struct sd_view *v, struct sd_view_table *t,
                        const struct sd_matcher *match)
{
    bool *is_kept = sd_arena_alloc(&v->arena, t->n_rows + 1);
    int32_t *place = sd_arena_alloc(&v->arena, (t->n_rows + 1) * sizeof *place);
    size_t kept, n_gone;
    int rc;

    if (!is_kept || !place)
        return sd_no_memory();
    rc = choose_rows(t, match, is_kept);
    if (rc < 0)
        return rc;
    kept = keep_rows(t, is_kept, place);
    sd_assert(kept <= t->n_rows);
    n_gone = t->n_rows - kept;
    t->n_rows = kept;
    if (n_gone == 0)
        return 0;
    t->note = sd_arena_printf(&v->arena, "%s%s%zu row%s that %s not match",
                              t->note ? t->note : "", t->note ? "; " : "", n_gone,
                              n_gone == 1 ? "" : "s", n_gone == 1 ? "does" : "do");
    return t->note ? 0 : sd_no_memory();
}
