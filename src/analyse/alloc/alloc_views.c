/* SPDX-License-Identifier: MIT */
/* alloc_views: makes the tables of allocations. */
#include <math.h>
#include <string.h>

#include "analyse/alloc/alloc_rows.h"
#include "analyse/alloc/alloc_request.h"
#include "analyse/processes.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"

enum { NONE = UINT32_MAX, COLUMNS_MAX = 16 };

struct table {
    const struct sd_profile *p;
    const struct sd_view_request *r;
    struct sd_view *v;
    struct sd_alloc_rows rows;
    struct sd_column columns[COLUMNS_MAX];
    size_t n_columns;
};

/* --- What a cell says */

typedef int put_cell(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to);

static const struct sd_site *site_of(const struct table *t,
                                     const struct sd_alloc_row *row)
{
    uint32_t frame = sd_alloc_frame(t->p, row->stack, t->r->stacks.choice.is_mine);

    return frame == NONE ? NULL : &t->p->sites[t->p->stacks[frame].site.at];
}

static bool has_function(const struct table *t)
{
    enum sd_alloc_by by = t->r->alloc.by;

    return by == SD_ROWS_BY_LINE || by == SD_ROWS_BY_FUNCTION || by == SD_ROWS_BY_STACK;
}

static int put_text(struct table *t, const char *text, struct sd_cell *to)
{
    const char *copy = text ? sd_arena_string(&t->v->arena, text, strlen(text)) : NULL;

    *to = sd_cell_text(copy);
    return text && !copy ? sd_no_memory() : 0;
}

static const struct sd_import_row *import_of(const struct table *t,
                                             const struct sd_alloc_row *row)
{
    return row->import == NONE ? NULL : &t->rows.imports.rows[row->import];
}

/* For eyes, who allocated what no Python function did. */
static const char *nobody(const struct table *t)
{
    return t->r->stacks.choice.is_mine ? "[not the program's own]"
                                       : "[no Python frame]";
}

/* Before 3.12 a comprehension is a function of its own, whose name says nothing: its
 * caller is the function that it stands in. */
static bool is_comprehension(const char *name)
{
    return strcmp(name, "<listcomp>") == 0 || strcmp(name, "<dictcomp>") == 0 ||
           strcmp(name, "<setcomp>") == 0;
}

static int put_comprehension(struct table *t, const struct sd_alloc_row *row,
                             const char *name, struct sd_cell *to)
{
    uint32_t frame = sd_alloc_frame(t->p, row->stack, t->r->stacks.choice.is_mine);
    uint32_t caller = sd_alloc_frame(t->p, t->p->stacks[frame].parent.at, false);
    struct sd_buf words = { 0 };
    int rc;

    if (caller == NONE)
        return put_text(t, name, to);
    sd_buf_printf(&words, "%s.%s", t->p->sites[t->p->stacks[caller].site.at].name,
                  name);
    rc = words.bad ? sd_no_memory() : put_text(t, sd_buf_string(&words), to);
    sd_buf_release(&words);
    return rc;
}

static int put_function(struct table *t, const struct sd_alloc_row *row,
                        struct sd_cell *to)
{
    const struct sd_import_row *import = import_of(t, row);
    const struct sd_site *s = has_function(t) ? site_of(t, row) : NULL;

    if (import)
        return put_text(t, import->name, to);
    if (s && t->r->is_for_eyes && is_comprehension(s->name))
        return put_comprehension(t, row, s->name, to);
    return put_text(t, s ? s->name : t->r->is_for_eyes ? nobody(t) : NULL, to);
}

static int put_file(struct table *t, const struct sd_alloc_row *row, struct sd_cell *to)
{
    bool has_file = has_function(t) || t->r->alloc.by == SD_ROWS_BY_FILE;
    const struct sd_site *s = has_file ? site_of(t, row) : NULL;

    return put_text(t, s ? s->file : NULL, to);
}

/* Of a function its first. */
static uint32_t line_of(const struct table *t, const struct sd_alloc_row *row)
{
    uint32_t frame = sd_alloc_frame(t->p, row->stack, t->r->stacks.choice.is_mine);

    if (frame == NONE || !has_function(t))
        return 0;
    return t->r->alloc.by == SD_ROWS_BY_FUNCTION ? site_of(t, row)->line
                                                 : t->p->stacks[frame].line;
}

static int put_line(struct table *t, const struct sd_alloc_row *row, struct sd_cell *to)
{
    uint32_t line = line_of(t, row);

    if (line)
        *to = sd_cell_number(SD_CELL_COUNT, line);
    return 0;
}

static int put_where(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    bool has_file = has_function(t) || t->r->alloc.by == SD_ROWS_BY_FILE;
    const struct sd_import_row *import = import_of(t, row);
    const struct sd_site *s = has_file && !import ? site_of(t, row) : NULL;
    uint32_t line = import ? import->line : line_of(t, row);
    const char *file;

    if (import && import->importer.at != NONE)
        s = &t->p->sites[import->importer.at];
    file = s && s->file ? sd_site_short_file(s) : NULL;
    if (!s && !import && t->r->alloc.by == SD_ROWS_BY_FILE)
        file = nobody(t);
    if (!file || !line)
        return put_text(t, file, to);
    *to = sd_cell_text(sd_arena_printf(&t->v->arena, "%s:%u", file, line));
    return to->text ? 0 : sd_no_memory();
}

static int put_count(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    (void)t;
    *to = sd_cell_number(SD_CELL_COUNT, row->count);
    return 0;
}

static int put_bytes(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    (void)t;
    *to = sd_cell_number(SD_CELL_BYTES, row->bytes);
    return 0;
}

static int put_error(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    (void)t;
    *to = sd_cell_number(SD_CELL_BYTES, sd_round_i64(sqrt(row->variance)));
    return 0;
}

static int put_growth(struct table *t, const struct sd_alloc_row *row,
                      struct sd_cell *to)
{
    (void)t;
    *to = sd_cell_number(SD_CELL_BYTES, row->growth);
    return 0;
}

static int put_share(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    if (t->rows.bytes > 0)
        *to = sd_cell_real(SD_CELL_PERCENT,
                           100 * (double)row->bytes / (double)t->rows.bytes);
    return 0;
}

/* --- Stacks */

static size_t depth_of(const struct sd_profile *p, uint32_t stack)
{
    size_t n = 0;

    for (; stack != NONE; stack = p->stacks[stack].parent.at)
        n++;
    return n;
}

static int fill_frame(struct table *t, uint32_t stack, struct sd_cell_frame *to)
{
    const struct sd_site *s = &t->p->sites[t->p->stacks[stack].site.at];
    struct sd_cell name, file;

    to->line = t->p->stacks[stack].line;
    if (put_text(t, s->name, &name) < 0 || put_text(t, s->file, &file) < 0)
        return SD_ENOMEM;
    to->function = name.text;
    to->file = file.text;
    to->short_file = s->file ? sd_site_short_file(s) : NULL;
    return 0;
}

/* "main (a.py:9) > work (a.py:5)" */
static void put_words(struct sd_buf *to, const struct sd_cell_frame *f)
{
    sd_buf_printf(to, "%s%s", to->n ? " > " : "", f->function ? f->function : "");
    if (f->short_file && f->line)
        sd_buf_printf(to, " (%s:%u)", f->short_file, f->line);
    else if (f->short_file)
        sd_buf_printf(to, " (%s)", f->short_file);
}

static int put_stack(struct table *t, const struct sd_alloc_row *row,
                     struct sd_cell *to)
{
    size_t n = depth_of(t->p, row->stack), i = n;
    struct sd_cell_frames *all = sd_arena_alloc(&t->v->arena, sizeof *all);
    struct sd_buf words = { 0 };
    int rc = 0;

    if (!all)
        return sd_no_memory();
    all->n = n;
    all->items = sd_arena_alloc(&t->v->arena, (n + 1) * sizeof *all->items);
    if (!all->items)
        return sd_no_memory();
    for (uint32_t at = row->stack; at != NONE && rc == 0;
         at = t->p->stacks[at].parent.at)
        rc = fill_frame(t, at, &all->items[--i]);
    for (i = 0; i < n && rc == 0; i++)
        put_words(&words, &all->items[i]);
    if (rc == 0)
        rc = words.bad ? sd_no_memory() : put_text(t, sd_buf_string(&words), to);
    to->frames = all;
    sd_buf_release(&words);
    return rc;
}

/* --- Whose */

static uint32_t process_of(const struct table *t, const struct sd_alloc_row *row)
{
    return sd_profile_process_of(t->p, (sd_track_id){ row->track }).at;
}

static int put_pid(struct table *t, const struct sd_alloc_row *row, struct sd_cell *to)
{
    uint32_t process = process_of(t, row);

    if (process != NONE)
        *to = sd_cell_number(SD_CELL_COUNT,
                             (int64_t)(t->p->tracks[process].number & INT64_MAX));
    return 0;
}

static int put_process(struct table *t, const struct sd_alloc_row *row,
                       struct sd_cell *to)
{
    uint32_t process = process_of(t, row);

    return process == NONE ? 0 : put_text(t, t->p->tracks[process].name, to);
}

static int put_thread(struct table *t, const struct sd_alloc_row *row,
                      struct sd_cell *to)
{
    bool is_thread = t->p->tracks[row->track].kind != SD_TRACK_PROCESS;

    return is_thread ? put_text(t, t->p->tracks[row->track].name, to) : 0;
}

static int put_tid(struct table *t, const struct sd_alloc_row *row, struct sd_cell *to)
{
    if (t->p->tracks[row->track].kind != SD_TRACK_PROCESS)
        *to = sd_cell_number(SD_CELL_COUNT,
                             (int64_t)(t->p->tracks[row->track].number & INT64_MAX));
    return 0;
}

static int put_allocator(struct table *t, const struct sd_alloc_row *row,
                         struct sd_cell *to)
{
    return put_text(t, sd_alloc_total_allocator(row->flags), to);
}

static int put_size(struct table *t, const struct sd_alloc_row *row, struct sd_cell *to)
{
    unsigned class = (row->flags & SD_ALLOCS_CLASSES) / SD_ALLOCS_CLASS;

    (void)t;
    if (class > 0) /* they are numbered from 1 */
        *to = sd_cell_number(SD_CELL_BYTES, class == 1 ? 0 : INT64_C(1) << (class - 2));
    return 0;
}

/* --- Columns */

static const struct {
    struct sd_column column;
    put_cell *put;
} known[] = {
#define COLUMN(name, meaning, kind, put)                                               \
    {                                                                                  \
        { name, meaning, SD_CELL_##kind, false, 0 }, put                               \
    }
    COLUMN("function", "the innermost Python function", TEXT, put_function),
    COLUMN("where", "file, shortened, and line", TEXT, put_where),
    COLUMN("file", "as the interpreter names it", TEXT, put_file),
    COLUMN("line", "that was executed; of a function its first", COUNT, put_line),
    COLUMN("count", "how many blocks", COUNT, put_count),
    COLUMN("bytes", "how many bytes were asked for", BYTES, put_bytes),
    COLUMN("share", "of all bytes here", PERCENT, put_share),
    COLUMN("bytes_error", "standard error of the bytes", BYTES, put_error),
    COLUMN("growth", "from the first quarter of the run to the last", BYTES,
           put_growth),
    COLUMN("stack", "its frames, outermost first", TEXT, put_stack),
    COLUMN("thread", "its name", TEXT, put_thread),
    COLUMN("tid", "its number", COUNT, put_tid),
    COLUMN("pid", "of the process", COUNT, put_pid),
    COLUMN("process", "its name", TEXT, put_process),
    COLUMN("allocator", "by what the blocks were allocated", TEXT, put_allocator),
    COLUMN("size", "of a block, from this to less than twice it", BYTES, put_size),
#undef COLUMN
};
enum { N_KNOWN = sizeof known / sizeof *known };

static size_t number_of(const char *name)
{
    size_t i = 0;

    while (strcmp(known[i].column.name, name) != 0)
        i++;
    sd_assert(i < N_KNOWN);
    return i;
}

static void add_column(struct table *t, const char *name)
{
    sd_assert(t->n_columns < COLUMNS_MAX);
    t->columns[t->n_columns++] = known[number_of(name)].column;
}

static void add_columns(struct table *t, const char *const *names)
{
    for (; *names; names++)
        add_column(t, *names);
}

/* What names a row besides its line. */
static void add_keys(struct table *t)
{
    static const char *const keys[][4] = {
        [SD_ROWS_BY_LINE] = { NULL },
        [SD_ROWS_BY_FUNCTION] = { NULL },
        [SD_ROWS_BY_FILE] = { NULL },
        [SD_ROWS_BY_STACK] = { "stack", NULL },
        [SD_ROWS_BY_THREAD] = { "thread", "tid", "pid", NULL },
        [SD_ROWS_BY_PROCESS] = { "pid", "process", NULL },
        [SD_ROWS_BY_ALLOCATOR] = { "allocator", NULL },
        [SD_ROWS_BY_SIZE] = { "size", NULL },
    };

    add_columns(t, keys[t->r->alloc.by]);
}

/* For eyes the amounts stand in front and the place is short; for programs everything
 * has its key. */
static void choose_columns(struct table *t)
{
    static const char *const amounts[] = { "bytes", "share", "count", NULL };
    static const char *const place[] = { "function", "where", NULL };
    static const char *const data[] = { "function", "file",  "line",
                                        "count",    "bytes", NULL };
    bool is_sampled = t->p->allocs.mode == SD_ALLOCS_SAMPLE;
    bool is_growing = t->r->alloc.which == SD_WHICH_GROWING;

    add_columns(t, t->r->is_for_eyes ? amounts : data);
    if (is_sampled)
        add_column(t, "bytes_error");
    if (is_growing)
        add_column(t, "growth");
    if (t->r->is_for_eyes && has_function(t))
        add_columns(t, place);
    else if (t->r->is_for_eyes && t->r->alloc.by == SD_ROWS_BY_FILE)
        add_column(t, "where");
    add_keys(t);
}

static int fill(struct table *t, struct sd_view_table *table)
{
    int rc = 0;

    for (size_t k = 0; k < table->n_columns; k++) {
        size_t at = number_of(table->columns[k].name);

        for (size_t i = 0; i < table->n_rows && rc == 0; i++)
            rc = known[at].put(t, &t->rows.items[i], sd_view_cell(table, i, k));
    }
    return rc;
}

/* "Never freed" */
static const char *title_of(const struct table *t)
{
    char text[SD_TEXT_MAX];

    switch (t->r->alloc.which) {
    case SD_WHICH_PEAK:
        return "Live at the peak";
    case SD_WHICH_LEAKS:
        return t->p->window.is_set ? "Live at the end of this part" : "Never freed";
    case SD_WHICH_TEMPORARY:
        return "Temporary: freed soon";
    case SD_WHICH_TOTAL:
        return "Allocated in all";
    case SD_WHICH_GROWING:
        return "Growing over the whole run";
    case SD_WHICH_LIVE:
        break;
    }
    sd_text_duration(text, (int64_t)t->p->allocs.choice.at_ns);
    return sd_arena_printf(&t->v->arena, "Live at %s", text);
}

static const char *note_of(const struct table *t)
{
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.items[i].import != NONE)
            return "an import is one row (--all shows what it does)";
    if (t->rows.n > 0)
        return NULL;
    return t->r->alloc.which == SD_WHICH_GROWING ? "nothing keeps growing" : "nothing";
}

static int make_table(struct table *t, const char *name)
{
    const char *order = t->r->alloc.which == SD_WHICH_GROWING ? "growth" : "bytes";
    struct sd_view_table *table;
    int rc;

    choose_columns(t);
    table = sd_views_add(t->v, name, t->columns, t->n_columns, t->rows.n);
    if (!table)
        return SD_ENOMEM;
    rc = fill(t, table);
    if (rc == 0)
        rc = sd_view_table_sort(t->v, table, order, 0);
    if (rc == 0 && t->r->is_for_eyes) {
        table->title = title_of(t);
        table->note = note_of(t);
        rc = table->title ? 0 : sd_no_memory();
    }
    return rc;
}

/* A table of views.def that is of these blocks. */
static int make_view(const struct sd_profile *p, const struct sd_view_request *r,
                     const char *name, enum sd_alloc_which which, struct sd_view *v)
{
    struct sd_view_request own = *r;
    struct table t = { .p = p, .r = &own, .v = v };
    unsigned flags = (r->stacks.choice.is_mine ? SD_ROWS_MINE : 0) |
                     (r->folds_imports ? SD_ROWS_IMPORTS : 0);
    int rc = sd_alloc_request_check_which(p, which);

    own.alloc.which = which;
    if (rc == 0)
        rc = sd_alloc_rows_make(&t.rows, p, &own.alloc, flags);
    if (rc == 0)
        rc = make_table(&t, name);
    sd_alloc_rows_release(&t.rows);
    return rc;
}

int sd_alloc_view_allocations(const struct sd_profile *p,
                              const struct sd_view_request *r, struct sd_view *v)
{
    return make_view(p, r, "allocations", r->alloc.which, v);
}

int sd_alloc_view_leaks(const struct sd_profile *p, const struct sd_view_request *r,
                        struct sd_view *v)
{
    return make_view(p, r, "leaks", SD_WHICH_LEAKS, v);
}

int sd_alloc_view_temporary(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v)
{
    return make_view(p, r, "temporary", SD_WHICH_TEMPORARY, v);
}

int sd_alloc_view_allocated(const struct sd_profile *p, const struct sd_view_request *r,
                            struct sd_view *v)
{
    return make_view(p, r, "allocated", SD_WHICH_TOTAL, v);
}

int sd_alloc_view_growing(const struct sd_profile *p, const struct sd_view_request *r,
                          struct sd_view *v)
{
    return make_view(p, r, "growing", SD_WHICH_GROWING, v);
}
