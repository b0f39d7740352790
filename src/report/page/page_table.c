/* SPDX-License-Identifier: MIT */
/* page_table: writes a table by its columns: numbers as they are, texts as places in
 * the list of strings, one more for each, and 0 for an empty cell. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/page/page_shapes.h"

const char *sd_page_unit(enum sd_cell_kind kind)
{
    const char *unit = sd_cell_unit(kind);

    return unit ? unit : "text";
}

/* Cells may say more than their column: those of a column of counts may be times. */
static enum sd_cell_kind kind_of(const struct sd_view_table *t, size_t column, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sd_view_cell(t, i, column)->kind != SD_CELL_NONE)
            return sd_view_cell(t, i, column)->kind;
    return t->columns[column].kind;
}

/* In a column of several kinds each cell is a text, beside its number. */
static bool is_mixed(const struct sd_view_table *t, size_t column, size_t n)
{
    enum sd_cell_kind kind = kind_of(t, column, n);

    for (size_t i = 0; i < n; i++)
        if (sd_view_cell(t, i, column)->kind != SD_CELL_NONE &&
            sd_view_cell(t, i, column)->kind != kind)
            return true;
    return false;
}

static double number_of(const struct sd_cell *c)
{
    switch (c->kind) {
    case SD_CELL_COUNT:
    case SD_CELL_NS:
    case SD_CELL_BYTES:
        return (double)c->number;
    case SD_CELL_PERCENT:
    case SD_CELL_REAL:
        return c->real;
    case SD_CELL_TEXT:
    case SD_CELL_NONE:
        break;
    }
    return (double)NAN;
}

static const char *text_of(const struct sd_cell *c, char text[SD_TEXT_MAX])
{
    switch (c->kind) {
    case SD_CELL_TEXT:
        return c->text;
    case SD_CELL_COUNT:
        return sd_text_count(text, c->number);
    case SD_CELL_NS:
        return sd_text_duration(text, c->number);
    case SD_CELL_BYTES:
        return sd_text_bytes(text, c->number);
    case SD_CELL_PERCENT:
        snprintf(text, SD_TEXT_MAX, "%.2f", c->real);
        return text;
    case SD_CELL_REAL:
        return sd_text_real(text, c->real);
    case SD_CELL_NONE:
        break;
    }
    return NULL;
}

static void put_texts(struct sd_payload *p, const struct sd_view_table *t,
                      size_t column, size_t n)
{
    int64_t *cells = sd_payload_column(p, n);
    char text[SD_TEXT_MAX];

    for (size_t i = 0; cells && i < n; i++)
        cells[i] = sd_payload_name_or_0(p, text_of(sd_view_cell(t, i, column), text));
    sd_payload_put_column(p, "cells", n, SD_PAYLOAD_PLAIN);
}

static void put_numbers(struct sd_payload *p, const char *key,
                        const struct sd_view_table *t, size_t column, size_t n)
{
    double *cells = sd_alloc((n + 1) * sizeof *cells);

    if (!cells) {
        p->bad = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        cells[i] = number_of(sd_view_cell(t, i, column));
    sd_payload_put_reals(p, key, cells, n);
    sd_free(cells);
}

static void put_column(struct sd_payload *p, const struct sd_view_table *t,
                       size_t column, size_t n)
{
    const struct sd_column *c = &t->columns[column];
    bool mixed = is_mixed(t, column, n);
    enum sd_cell_kind kind = mixed ? SD_CELL_TEXT : kind_of(t, column, n);

    sd_json_object(&p->j);
    sd_json_key_string(&p->j, "name", c->name);
    sd_json_key_string(&p->j, "meaning", c->meaning ? c->meaning : "");
    sd_json_key_string(&p->j, "unit", sd_page_unit(kind));
    sd_json_key_bool(&p->j, "isHidden", c->is_hidden_in_text);
    if (kind == SD_CELL_TEXT || kind == SD_CELL_NONE)
        put_texts(p, t, column, n);
    else
        put_numbers(p, "cells", t, column, n);
    if (mixed)
        put_numbers(p, "values", t, column, n);
    sd_json_end(&p->j);
}

static void put_parents(struct sd_payload *p, const struct sd_view_table *t, size_t n)
{
    int64_t *parents;

    if (!t->parents) {
        sd_json_key(&p->j, "parents");
        sd_json_null(&p->j);
        return;
    }
    parents = sd_payload_column(p, n);
    for (size_t i = 0; parents && i < n; i++)
        parents[i] = t->parents[i] + 1;
    sd_payload_put_column(p, "parents", n, SD_PAYLOAD_PLAIN);
}

static void put_note(struct sd_payload *p, const struct sd_view_table *t, size_t n)
{
    struct sd_buf note = { 0 };
    char left_out[SD_TEXT_MAX];

    if (n == t->n_rows) {
        sd_json_key_string(&p->j, "note", t->note);
        return;
    }
    sd_buf_printf(&note,
                  "%s%s%s more rows are not in this page, so that it stays small; "
                  "sonde report has them",
                  t->note ? t->note : "", t->note ? "; " : "",
                  sd_text_count(left_out, (int64_t)(t->n_rows - n)));
    p->bad |= note.bad;
    sd_json_key_string(&p->j, "note", sd_buf_string(&note));
    sd_buf_release(&note);
}

void sd_page_put_columns(struct sd_payload *p, const struct sd_view_table *t, size_t n)
{
    sd_json_key_array(&p->j, "columns");
    for (size_t k = 0; k < t->n_columns; k++)
        put_column(p, t, k, n);
    sd_json_end(&p->j);
}

void sd_page_put_table(struct sd_payload *p, const struct sd_view_table *t,
                       size_t n_most)
{
    size_t n = t->n_rows < n_most ? t->n_rows : n_most;

    sd_page_put_columns(p, t, n);
    sd_json_key_uint(&p->j, "n", n);
    put_parents(p, t, n);
    put_note(p, t, n);
}
