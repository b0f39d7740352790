/* SPDX-License-Identifier: MIT */
/* page_source: writes source files, with columns of figures beside their lines unless
 * the page derives these by itself. */
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "report/page/page_shapes.h"

static void put_lines(struct sd_payload *p, const struct sd_source_file *f)
{
    int64_t *lines = sd_payload_column(p, f->n_lines);

    for (size_t i = 0; lines && i < f->n_lines; i++)
        lines[i] = f->lines[i];
    sd_payload_put_column(p, "lines", f->n_lines, SD_PAYLOAD_DELTA);
}

/* A file's figures are a table without a name. */
static void put_columns(struct sd_payload *p, const struct sd_view_source *s,
                        const struct sd_source_file *f, bool is_derived)
{
    const struct sd_view_table rows = { .columns = s->columns,
                                        .n_columns = is_derived ? 0 : s->n_columns,
                                        .cells = f->cells,
                                        .n_rows = f->n_lines };

    sd_page_put_columns(p, &rows, f->n_lines);
}

static void put_text(struct sd_payload *p, const struct sd_source_file *f)
{
    sd_json_key(&p->j, "text");
    if (f->text)
        sd_json_text(&p->j, f->text, f->n_text);
    else
        sd_json_null(&p->j);
    sd_json_key_string(&p->j, "note", f->note);
}

static void put_file(struct sd_payload *p, const struct sd_view_source *s,
                     const struct sd_source_file *f, bool is_derived)
{
    sd_json_object(&p->j);
    sd_json_key_uint(&p->j, "file", sd_payload_name(p, f->file));
    sd_json_key_uint(&p->j, "short", sd_payload_name(p, f->short_file));
    put_text(p, f);
    put_lines(p, f);
    put_columns(p, s, f, is_derived);
    sd_json_end(&p->j);
}

/* The files that functions of these stacks are in. */
static void gather_files(struct sd_payload *p, const struct sd_view_stacks *stacks,
                         struct sd_intern *files)
{
    uint32_t at;

    for (size_t i = 0; i < stacks->n_functions && !p->bad; i++) {
        const char *file = stacks->functions[i].file;

        p->bad = file && sd_intern(files, file, strlen(file), &at) < 0;
    }
}

void sd_page_put_source(struct sd_payload *p, const struct sd_view_source *s,
                        const struct sd_view_stacks *stacks, size_t n_most)
{
    struct sd_arena arena = { 0 };
    struct sd_intern files = { .arena = &arena };
    size_t n = 0;

    if (stacks)
        gather_files(p, stacks, &files);
    sd_json_key_array(&p->j, "files");
    for (size_t i = 0; i < s->n_files; i++) {
        const struct sd_source_file *f = &s->files[i];
        bool is_seen =
            stacks ? sd_intern_find(&files, f->file, strlen(f->file)) != UINT32_MAX
                   : n < n_most;

        if (f->text || is_seen) {
            put_file(p, s, f, stacks != NULL);
            n++;
        }
    }
    sd_json_end(&p->j);
    sd_intern_release(&files);
    sd_arena_release(&arena);
}
