/* SPDX-License-Identifier: MIT */
#include "analyse/source_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/sum.h"

void sd_source_rows_init(struct sd_source_rows *s)
{
    *s = (struct sd_source_rows){ 0 };
    s->files.arena = &s->arena;
}

void sd_source_rows_release(struct sd_source_rows *s)
{
    sd_intern_release(&s->files);
    sd_triples_release(&s->lines);
    sd_arena_release(&s->arena);
    sd_free(s->sites);
    sd_source_rows_init(s);
}

static int file_of(struct sd_source_rows *s, const struct sd_site *site, uint32_t *file)
{
    const struct sd_site **sites;
    int rc = sd_intern(&s->files, site->file, strlen(site->file), file);

    if (rc < 0)
        return rc;
    sites = sd_grow_array(s->sites, &s->cap_sites, s->files.n, sizeof *sites);
    if (!sites)
        return sd_no_memory();
    s->sites = sites;
    sites[*file] = site;
    return 0;
}

int sd_source_row(struct sd_source_rows *s, const struct sd_site *site, uint32_t line,
                  uint32_t *row)
{
    struct sd_triple key = { 0, line, 0 };
    int rc;

    *row = UINT32_MAX;
    if (!site->file || site->is_native || line == 0)
        return 0;
    rc = file_of(s, site, &key.a);
    return rc < 0 ? rc : sd_triples_add(&s->lines, key, row);
}

/* --- In order */

struct place {
    const char *name; /* of its file */
    int64_t weight;   /* of that */
    uint32_t file, line, row;
};

static int by_weight(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    int order;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    order = a->file == b->file ? 0 : strcmp(a->name, b->name);
    return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static struct place *list_places(const struct sd_source_rows *s, const int64_t *weights)
{
    int64_t *of_file = sd_zalloc((s->files.n + 1) * sizeof *of_file);
    struct place *places = sd_alloc((s->lines.n + 1) * sizeof *places);

    for (size_t i = 0; of_file && i < s->lines.n; i++) {
        int64_t *sum = &of_file[s->lines.items[i].a];

        *sum = sd_sum_i64(*sum, weights[i]);
    }
    for (size_t i = 0; of_file && places && i < s->lines.n; i++) {
        struct sd_triple key = s->lines.items[i];

        places[i] = (struct place){ s->files.items[key.a].p, of_file[key.a], key.a,
                                    key.b, (uint32_t)i };
    }
    if (!of_file) {
        sd_free(places);
        places = NULL;
    }
    sd_free(of_file);
    if (places)
        qsort(places, s->lines.n, sizeof *places, by_weight);
    return places;
}

static void put_place(const struct sd_source_rows *s, const struct place *place,
                      struct sd_view_source *out, uint32_t *lines,
                      struct sd_cell *cells)
{
    struct sd_source_file *f = out->n_files ? &out->files[out->n_files - 1] : NULL;
    const struct sd_site *site = s->sites[place->file];

    if (!f || strcmp(f->file, site->file) != 0) {
        f = &out->files[out->n_files++];
        *f = (struct sd_source_file){ .file = site->file,
                                      .short_file = sd_site_short_file(site),
                                      .is_library = sd_site_is_library(site),
                                      .lines = lines,
                                      .cells = cells };
    }
    f->lines[f->n_lines++] = place->line;
}

int sd_source_rows_settle(const struct sd_source_rows *s, const int64_t *weights,
                          struct sd_arena *a, struct sd_view_source *out,
                          struct sd_cell ***cells)
{
    size_t n = s->lines.n;
    struct place *places = list_places(s, weights);
    struct sd_cell *all = sd_arena_alloc(a, (n * out->n_columns + 1) * sizeof *all);
    uint32_t *lines = sd_arena_alloc(a, (n + 1) * sizeof *lines);

    out->files = sd_arena_alloc(a, (s->files.n + 1) * sizeof *out->files);
    *cells = sd_arena_alloc(a, (n + 1) * sizeof **cells);
    if (!places || !all || !lines || !out->files || !*cells) {
        sd_free(places);
        return sd_no_memory();
    }
    for (size_t i = 0; i < n; i++) {
        (*cells)[places[i].row] = all + i * out->n_columns;
        put_place(s, &places[i], out, lines + i, all + i * out->n_columns);
    }
    sd_assert(out->n_files == s->files.n);
    sd_free(places);
    return 0;
}
