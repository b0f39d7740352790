/* SPDX-License-Identifier: MIT */
/* model_tensor_tables: the tensors that a model keeps, and what their elements are.
 *
 * A tensor that is tied to an earlier one has a row but no elements and no bytes: it is
 * the same memory under another name, and sums count it once. */
#include "analyse/model/model_tables.h"
#include "analyse/views.h"
#include "base/mem.h"

int sd_model_table_of_tensors(const struct sd_model_costs *c, struct sd_view *v)
{
    static const struct sd_column columns[] = {
        { "tensor", "its name in the model", SD_CELL_TEXT, false, 0 },
        { "shape", "its axes", SD_CELL_TEXT, false, 0 },
        { "dtype", "what its elements are", SD_CELL_TEXT, false, 0 },
        { "params", "elements of a parameter", SD_CELL_COUNT, false, 0 },
        { "buffers", "elements of a buffer", SD_CELL_COUNT, true, 5 },
        { "bytes", "as stored", SD_CELL_BYTES, false, 1 },
        { "kind", "parameter, frozen, buffer, or tied to an earlier one", SD_CELL_TEXT,
          false, 2 },
    };
    const struct sd_model *m = c->model;
    struct sd_view_table *t = sd_views_add(
        v, "tensors", columns, sizeof columns / sizeof *columns, m->n_tensors);

    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *x = &m->tensors[i];
        struct sd_operand o = { .dims = x->dims, .dtype = x->dtype };
        bool is_buffer = x->flags & SD_TENSOR_BUFFER,
             is_tied = x->flags & SD_TENSOR_TIED;
        int64_t n = is_tied ? 0 : sd_dims_elements(x->dims);

        *sd_view_cell(t, i, 0) = sd_model_column_text(sd_model_text(m, x->name));
        *sd_view_cell(t, i, 1) =
            sd_model_column_text(sd_model_words_operands(&v->arena, &o, 1));
        *sd_view_cell(t, i, 2) = sd_model_column_text(sd_dtype_about(x->dtype)->name);
        *sd_view_cell(t, i, 3) = sd_cell_number(SD_CELL_COUNT, is_buffer ? 0 : n);
        *sd_view_cell(t, i, 4) = sd_cell_number(SD_CELL_COUNT, is_buffer ? n : 0);
        *sd_view_cell(t, i, 5) =
            sd_cell_number(SD_CELL_BYTES, is_tied ? 0 : sd_model_tensor_bytes(x));
        *sd_view_cell(t, i, 6) = sd_model_column_text(
            is_tied     ? "tied"
            : is_buffer ? "buffer"
            : x->flags & SD_TENSOR_TRAINABLE || !sd_model_knows_training(m)
                ? "parameter"
                : "frozen");
    }
    return 0;
}

int sd_model_table_of_dtypes(const struct sd_model_costs *c, struct sd_view *v)
{
    static const struct sd_column columns[] = {
        { "dtype", "what elements are", SD_CELL_TEXT, false, 0 },
        { "tensors", "how many have it", SD_CELL_COUNT, false, 0 },
        { "elements", "of parameters and buffers", SD_CELL_COUNT, false, 0 },
        { "bytes", "as stored", SD_CELL_BYTES, false, 0 },
    };
    const struct sd_model *m = c->model;
    int64_t n[256] = { 0 }, elements[256] = { 0 }, bytes[256] = { 0 };
    struct sd_view_table *t;
    size_t n_rows = 0, at = 0;

    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *x = &m->tensors[i];

        if (x->flags & SD_TENSOR_TIED)
            continue;
        n_rows += n[x->dtype]++ == 0;
        elements[x->dtype] = sd_plus(elements[x->dtype], sd_dims_elements(x->dims));
        bytes[x->dtype] = sd_plus(bytes[x->dtype], sd_model_tensor_bytes(x));
    }
    t = sd_views_add(v, "dtypes", columns, sizeof columns / sizeof *columns, n_rows);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < 256; i++) {
        if (n[i] == 0)
            continue;
        *sd_view_cell(t, at, 0) =
            sd_model_column_text(sd_dtype_about((uint8_t)i)->name);
        *sd_view_cell(t, at, 1) = sd_cell_number(SD_CELL_COUNT, n[i]);
        *sd_view_cell(t, at, 2) = sd_cell_number(SD_CELL_COUNT, elements[i]);
        *sd_view_cell(t, at++, 3) = sd_cell_number(SD_CELL_BYTES, bytes[i]);
    }
    return 0;
}
