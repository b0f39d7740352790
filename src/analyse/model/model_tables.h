/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_TABLES_H
#define SD_ANALYSE_MODEL_MODEL_TABLES_H
/* model_tables: what the files that make model_view's tables share.
 *
 * Layers, types and operators have the same kinds of numbers, so they share one list of
 * columns (model_columns.def).  A table takes those of its own that say something of
 * this model: no times where nothing was timed, no MACs of a file of weights.  What is
 * true but dull (every layer was called once) stays in CSV and JSON, and out of the
 * way of a person. */
#include "analyse/model/model_view.h"

enum { SD_MODEL_COLUMNS_MAX = 32 };

enum sd_model_columns_of {
    SD_COLUMNS_OF_LAYERS,
    SD_COLUMNS_OF_TYPES,
    SD_COLUMNS_OF_OPERATORS,
};

/* The columns of one table. */
struct sd_model_columns {
    const char *first;                  /* heading of the first */
    uint8_t at[SD_MODEL_COLUMNS_MAX];   /* places in model_columns.def */
    bool is_dull[SD_MODEL_COLUMNS_MAX]; /* true, but nothing that a person looks for */
    size_t n;
};

/* What the cells of a row are made of. */
struct sd_model_line {
    const struct sd_model_costs *costs;
    const struct sd_view_request *request;
    struct sd_arena *arena;
    uint32_t layer; /* UINT32_MAX: of a type or operator */
    const char *name;
    const struct sd_model_sum *sum;
    enum sd_op_coverage known;
};

void sd_model_columns(const struct sd_model_costs *c, const struct sd_view_request *w,
                      enum sd_model_columns_of of, struct sd_model_columns *to);
/* A new table of the view with these columns, or NULL without memory. */
struct sd_view_table *sd_model_columns_add(const struct sd_model_columns *from,
                                           struct sd_view *v, const char *name,
                                           size_t n_rows);
void sd_model_columns_fill(const struct sd_model_columns *columns,
                           struct sd_view_table *t, size_t row,
                           const struct sd_model_line *line);
/* What the shares of the rows add up to, from the first row on. */
void sd_model_columns_add_up(struct sd_view_table *t);

/* A cell with this text, or an empty one. */
struct sd_cell sd_model_column_text(const char *text);

/* model_layer_tables.c: 0, SD_ENOMEM, or SD_EUSAGE: no layer is of the type asked for.
 */
int sd_model_table_of_layers(const struct sd_model_costs *c,
                             const struct sd_view_request *w, struct sd_view *v);
int sd_model_table_of_tree(const struct sd_model_costs *c,
                           const struct sd_view_request *w, struct sd_view *v);
/* model_tensor_tables.c */
int sd_model_table_of_tensors(const struct sd_model_costs *c, struct sd_view *v);
int sd_model_table_of_dtypes(const struct sd_model_costs *c, struct sd_view *v);
#endif
