/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_STACK_TABLES_H
#define SD_ANALYSE_STACKS_STACK_TABLES_H
/* stack_tables: makes the tables of functions, the tree of calls and the tables of
 * callers of any evidence with stacks.
 *
 * Which rows there are, where a function stands, the order and the notes are made here.
 * The numbers of a row come from one of two sets of columns: those of traced calls
 * (call_counts_columns.c), which are cProfile's, and those of all other evidence
 * (share_columns.c), which are shares and one amount for each metric. */
#include "analyse/analyse.h"
#include "analyse/stacks/call_counts.h"

enum sd_stack_table { SD_STACK_FUNCTIONS, SD_STACK_TREE, SD_STACK_PAIRS };
enum { SD_STACK_COLUMNS = 16 + 2 * SD_SAMPLE_METRICS };

/* One table before it has cells.  Its items are callees (of a table of functions),
 * nodes (of the tree) or pairs (of callers). */
struct sd_stack_rows {
    const struct sd_columns_of *how;
    enum sd_stack_table table;
    enum sd_calls_by by;
    struct sd_call_counts traced; /* owned: the tree, and of calls all of it */
    size_t n;                     /* items */
    /* The columns with numbers; in a table of functions those from n_front on stand
     * behind the name and the place. */
    struct sd_column columns[SD_STACK_COLUMNS];
    size_t n_columns, n_front;
    int64_t whole, *totals; /* of calls: all time; owned, by node: with all below */
    /* Of other evidence in a table of callers: caller (UINT32_MAX: nobody), callee, 0,
     * and by pair, in rows of all metrics, what was seen below that call; owned. */
    struct sd_triples pairs;
    int64_t *pair_totals;
};

/* The numbers of an evidence. */
struct sd_columns_of {
    bool has_lines;        /* stacks know which line was executed */
    bool has_module_pairs; /* pairs may be of modules, not only of functions */
    /* Columns to sort by: of functions first one, then the other; of the tree, of
     * pairs. */
    const char *orders[4];
    const char *where;  /* what the column means */
    const char *line;   /* the same; NULL: what it means depends on what a row is */
    const char *module; /* heading of names of modules; NULL: "function" */
    /* Makes the tree and adds the columns, with texts in the arena.  What it has made
     * is released with the rows, also when it fails. */
    int (*make)(const struct sd_profile *p, const struct sd_stacks_request *request,
                struct sd_arena *a, struct sd_stack_rows *rows);
    /* Of a node with all below it, in percent. */
    double (*node_share)(const struct sd_stack_rows *rows, size_t i);
    /* Of a pair: callees; caller UINT32_MAX: nobody. */
    void (*ends)(const struct sd_stack_rows *rows, size_t i, uint32_t *caller,
                 uint32_t *callee);
    /* Fills the cells of an item; `back` has those from n_front on. */
    void (*put)(const struct sd_stack_rows *rows, size_t i, struct sd_cell *front,
                struct sd_cell *back);
    /* Writes the note of a table of functions, or nothing. */
    void (*remark)(struct sd_buf *to, const struct sd_stack_rows *rows,
                   const struct sd_stacks_request *request);
};
extern const struct sd_columns_of sd_share_columns, sd_call_counts_columns;

/* Adds columns with numbers behind those that there are. */
void sd_stack_rows_add(struct sd_stack_rows *rows, const struct sd_column *columns,
                       size_t n);
/* The columns of calls alone, of the table that `rows` says. */
void sd_call_counts_columns_add(struct sd_stack_rows *rows);
#endif
