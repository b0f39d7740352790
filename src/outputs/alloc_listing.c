/* SPDX-License-Identifier: MIT */
#include "outputs/alloc_listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "outputs/source_age.h"
#include "profile/notebook/cell_names.h"
#include "outputs/tables.h"
#include "report/text/code_text.h"

enum { NONE = SIZE_MAX, MORE = 2, COLUMNS_MAX = 12 };

struct listing {
    const struct sd_profile *p;
    const struct sd_view_table *rows; /* of data */
    struct sd_view *v;
    int64_t bytes; /* of all rows, those that are not shown, too */
    const struct sd_remarks *remarks;
    const char *file; /* whose source is at hand, or NULL */
    struct sd_code_text text;
    bool has_text;
};

static const struct sd_column source_column = { "source",
                                                "the line, as it stands in the "
                                                "file",
                                                SD_CELL_TEXT, false, 0 };

static size_t column_of(const struct sd_view_table *t, const char *name)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (strcmp(t->columns[k].name, name) == 0)
            return k;
    return NONE;
}

static const struct sd_cell *cell_of(const struct listing *l, size_t row,
                                     const char *name)
{
    size_t k = column_of(l->rows, name);

    return k == NONE ? NULL : sd_view_cell(l->rows, row, k);
}

static const char *file_of(const struct listing *l, size_t row)
{
    const struct sd_cell *c = cell_of(l, row, "file");

    return c && c->kind == SD_CELL_TEXT ? c->text : NULL;
}

static int64_t line_of(const struct listing *l, size_t row)
{
    const struct sd_cell *c = cell_of(l, row, "line");

    return c && c->kind != SD_CELL_NONE ? c->number : 0;
}

/* --- Source */

/* The names of relative files begin where the program did. */
static const char *path_of(const struct listing *l, const char *file)
{
    const char *folder = sd_profile_meta(l->p, "cwd");

    return *file != '/' && folder ? sd_arena_printf(&l->v->arena, "%s/%s", folder, file)
                                  : file;
}

static int open_file(struct listing *l, const char *file)
{
    const char *path, *cell;
    int rc = 0;

    if (l->file && strcmp(l->file, file) == 0)
        return 0;
    sd_code_text_release(&l->text);
    l->text = (struct sd_code_text){ 0 };
    l->has_text = false;
    l->file = file;
    cell = sd_cell_names_source(l->p, file);
    if (cell) {
        rc = sd_code_text_take_utf8(&l->text, cell, strlen(cell));
        l->has_text = rc == 0;
        return rc;
    }
    if (*file == '<') /* code without a file */
        return 0;
    path = path_of(l, file);
    if (!path)
        return sd_no_memory();
    if (sd_source_has_changed(l->p, path)) {
        sd_remark(l->remarks, "%s has changed since it was run: its source is left out",
                  file);
        return 0;
    }
    rc = sd_code_text_read(&l->text, path);
    l->has_text = rc == 1;
    return rc < 0 ? rc : 0;
}

static int put_source(struct listing *l, size_t row, struct sd_cell *to)
{
    const char *file = file_of(l, row);
    int64_t line = line_of(l, row);
    struct sd_code_text_line found;
    const char *copy;
    int rc = file && line > 0 ? open_file(l, file) : 0;

    if (rc < 0 || !file || line <= 0 || !l->has_text)
        return rc;
    found = sd_code_text_line(&l->text, (uint64_t)line);
    copy = sd_arena_string(&l->v->arena, found.p ? found.p : "", found.n);
    *to = sd_cell_text(copy);
    return copy ? 0 : sd_no_memory();
}

/* --- For programs: one table */

/* Texts of the rows are those of the profile's or of a view that goes. */
static int keep(struct listing *l, const struct sd_cell *from, struct sd_cell *to)
{
    *to = *from;
    if (from->kind != SD_CELL_TEXT || !from->text)
        return 0;
    to->text = sd_arena_string(&l->v->arena, from->text, strlen(from->text));
    return to->text ? 0 : sd_no_memory();
}

static int list_as_data(struct listing *l)
{
    const struct sd_view_table *from = l->rows;
    struct sd_column columns[COLUMNS_MAX];
    struct sd_view_table *to;
    size_t n = from->n_columns;
    int rc = 0;

    sd_assert(n < COLUMNS_MAX);
    memcpy(columns, from->columns, n * sizeof *columns);
    columns[n] = source_column;
    to = sd_view_add(l->v, from->name, from->title, columns, n + 1, from->n_rows);
    if (!to)
        return SD_ENOMEM;
    for (size_t i = 0; i < from->n_rows && rc == 0; i++) {
        for (size_t k = 0; k < n && rc == 0; k++)
            rc = keep(l, sd_view_cell(from, i, k), sd_view_cell(to, i, k));
        if (rc == 0)
            rc = put_source(l, i, sd_view_cell(to, i, n));
    }
    return rc;
}

/* --- For eyes: a table for each file */

static const struct sd_column shown[] = {
    { "line", "that was executed", SD_CELL_COUNT, false, 0 },
    { "bytes", "how many bytes were asked for", SD_CELL_BYTES, false, 0 },
    { "share", "of all bytes here", SD_CELL_PERCENT, false, 0 },
    { "count", "how many blocks", SD_CELL_COUNT, false, 0 },
    { "bytes_error", "standard error of the bytes", SD_CELL_BYTES, false, 0 },
    { "growth", "from the first quarter of the run to the last", SD_CELL_BYTES, false,
      0 },
};
enum { N_SHOWN = sizeof shown / sizeof *shown };

static size_t choose_columns(const struct listing *l, struct sd_column *to)
{
    size_t n = 0;

    for (size_t i = 0; i < N_SHOWN; i++)
        if (strcmp(shown[i].name, "share") == 0 ||
            column_of(l->rows, shown[i].name) != NONE)
            to[n++] = shown[i];
    to[n++] = source_column;
    return n;
}

static int put_row(struct listing *l, size_t row, const struct sd_view_table *t,
                   size_t to)
{
    for (size_t k = 0; k + 1 < t->n_columns; k++) {
        const struct sd_cell *from = cell_of(l, row, t->columns[k].name);

        if (from)
            *sd_view_cell(t, to, k) = *from; /* numbers */
        else if (l->bytes > 0)
            *sd_view_cell(t, to, k) = sd_cell_real(
                SD_CELL_PERCENT,
                100 * (double)cell_of(l, row, "bytes")->number / (double)l->bytes);
    }
    return put_source(l, row, sd_view_cell(t, to, t->n_columns - 1));
}

/* A row, by its file in order of their most bytes. */
struct place {
    uint32_t file;
    size_t row;
    int64_t line;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows come with most bytes first, and so do files. */
static int place_rows(const struct listing *l, struct place *places)
{
    struct sd_arena arena = { 0 };
    struct sd_intern files = { .arena = &arena };
    int rc = 0;

    for (size_t i = 0; i < l->rows->n_rows && rc >= 0; i++) {
        const char *file = file_of(l, i) ? file_of(l, i) : "";

        places[i] = (struct place){ .row = i, .line = line_of(l, i) };
        rc = sd_intern(&files, file, strlen(file), &places[i].file);
    }
    sd_intern_release(&files);
    sd_arena_release(&arena);
    qsort(places, l->rows->n_rows, sizeof *places, by_place);
    return rc < 0 ? rc : 0;
}

static const char *title_of(const struct listing *l, const char *file)
{
    const struct sd_site site = { .file = file };
    const char *name = file ? sd_site_short_file(&site) : "[no Python frame]";

    return name ? sd_arena_string(&l->v->arena, name, strlen(name)) : NULL;
}

static int list_file(struct listing *l, const struct place *places, size_t n)
{
    const char *title = title_of(l, file_of(l, places->row));
    struct sd_column columns[N_SHOWN + MORE];
    size_t n_columns = choose_columns(l, columns);
    struct sd_view_table *t;
    int rc = 0;

    if (!title)
        return sd_no_memory();
    t = sd_view_add(l->v, "lines", title, columns, n_columns, n);
    if (!t)
        return SD_ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = put_row(l, places[i].row, t, i);
    return rc;
}

static int add_note(struct listing *l)
{
    const char *note = l->rows->note;

    if (!note || l->v->n_tables == 0)
        return 0;
    note = sd_arena_string(&l->v->arena, note, strlen(note));
    l->v->tables[l->v->n_tables - 1].note = note;
    return note ? 0 : sd_no_memory();
}

static int list_for_eyes(struct listing *l)
{
    size_t n = l->rows->n_rows, from = 0, end;
    struct place *places = sd_alloc((n + 1) * sizeof *places);
    int rc = places ? place_rows(l, places) : sd_no_memory();

    for (; from < n && rc == 0; from = end) {
        for (end = from + 1; end < n && places[end].file == places[from].file; end++)
            continue;
        rc = list_file(l, places + from, end - from);
    }
    sd_free(places);
    return rc < 0 ? rc : add_note(l);
}

/* --- All of it */

static int sum_bytes(const struct sd_profile *p, const struct sd_view_request *data,
                     int64_t *bytes)
{
    struct sd_view_request whole = *data;
    struct sd_view v = { 0 };
    struct listing l = { 0 };
    int rc;

    whole.rows = NULL;
    whole.limit = 0;
    whole.fraction = 0;
    rc = sd_tables_of(p, &whole, &v);
    *bytes = 0;
    if (rc == 0) {
        l.rows = &v.tables[0];
        for (size_t i = 0; i < l.rows->n_rows; i++)
            *bytes = sd_sum_i64(*bytes, cell_of(&l, i, "bytes")->number);
    }
    sd_view_release(&v);
    return rc;
}

int sd_alloc_listing_of(const struct sd_profile *p, const struct sd_view_request *r,
                        const struct sd_remarks *remarks, struct sd_view *v)
{
    struct sd_view_request data = *r;
    struct sd_view rows = { 0 };
    struct listing l = { .p = p, .v = v, .remarks = remarks };
    int rc;

    data.views = "allocations";
    data.is_for_eyes = data.folds_imports = false;
    rc = sum_bytes(p, &data, &l.bytes);
    if (rc == 0)
        rc = sd_tables_of(p, &data, &rows);
    if (rc == 0) {
        l.rows = &rows.tables[0];
        rc = r->is_for_eyes ? list_for_eyes(&l) : list_as_data(&l);
    }
    sd_code_text_release(&l.text);
    sd_view_release(&rows);
    return rc;
}
