/* SPDX-License-Identifier: MIT */
/* page_data: writes all that a page is given (web/src/types.ts) as a payload. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/json/shape_json.h"
#include "report/page/page_shapes.h"

enum { ROWS_MAX = 100000, ROWS_LEAST = 100, PAYLOAD_VERSION = 1 };

struct page_writer {
    struct sd_payload payload;
    const struct sd_page *page;
    struct sd_arena arena;         /* of pruned blocks, and of the sections */
    struct sd_intern kept;         /* paths of sections that are not folded */
    struct sd_intern sections;     /* paths of all blocks, as they are written */
    struct sd_intern names;        /* under which they are shown */
    struct sd_view_stacks *stacks; /* those that are written */
    double least;                  /* part of the whole; less is in "(pruned)" */
    size_t n_rows;                 /* of a table, at most */
};

/* --- Head */

/* What is not told apart is told. */
static void put_pruned_note(struct page_writer *w)
{
    struct sd_buf note = { 0 };

    if (w->least <= 0 || w->page->n_stacks == 0)
        return;
    sd_buf_printf(
        &note,
        "Stacks and sections with less than %.2g %% of the whole are shown as "
        "(pruned), so that this page stays small; sonde report has all of them.",
        100 * w->least);
    w->payload.bad |= note.bad;
    sd_json_string(&w->payload.j, sd_buf_string(&note));
    sd_buf_release(&note);
}

static void put_head(struct page_writer *w)
{
    struct sd_json *j = &w->payload.j;
    const struct sd_page *page = w->page;

    sd_json_key_object(j, "head");
    sd_json_key_string(j, "command", page->command);
    sd_json_key_array(j, "items");
    for (size_t i = 0; i < page->n_items; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "label", page->items[i].label);
        sd_json_key_string(j, "value", page->items[i].value);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_key_string(j, "complaint", page->complaint);
    sd_json_key_array(j, "notes");
    for (size_t i = 0; i < page->n_notes; i++)
        sd_json_string(j, page->notes[i]);
    put_pruned_note(w);
    sd_json_end(j);
    sd_json_end(j);
}

/* --- Findings */

static double number_of(const struct sd_cell *c)
{
    return c->kind == SD_CELL_PERCENT || c->kind == SD_CELL_REAL ? c->real
                                                                 : (double)c->number;
}

static void key_text(struct sd_json *j, const char *key, const char *text)
{
    if (text)
        sd_json_key_string(j, key, text);
}

/* How the page shows a section, wherever it names it. */
static const char *shown_section(const struct page_writer *w, const char *path)
{
    uint32_t at = sd_intern_find(&w->sections, path, strlen(path));

    if (at == UINT32_MAX)
        at = sd_intern_find(&w->sections, SD_PAGE_PRUNED, strlen(SD_PAGE_PRUNED));
    return at == UINT32_MAX ? path : w->names.items[at].p;
}

static void put_selection(struct page_writer *w, const struct sd_finding_selection *s)
{
    struct sd_json *j = &w->payload.j;

    sd_json_key(j, "selection");
    if (!s->to_ns && !s->section && !s->thread && !s->search && !s->metric) {
        sd_json_null(j);
        return;
    }
    sd_json_object(j);
    if (s->to_ns) {
        sd_json_key_uint(j, "from_ns", s->from_ns);
        sd_json_key_uint(j, "to_ns", s->to_ns);
    }
    key_text(j, "section", s->section ? shown_section(w, s->section) : NULL);
    key_text(j, "thread", s->thread);
    key_text(j, "search", s->search);
    key_text(j, "metric", s->metric);
    sd_json_end(j);
}

/* One without rows has no tab. */
static const char *view_of(const struct sd_page *page, const char *name)
{
    for (size_t i = 0; name && i < page->n_views; i++)
        if (strcmp(page->views[i].name, name) == 0)
            return name;
    return NULL;
}

static void put_findings(struct page_writer *w)
{
    const struct sd_profile_findings *f = w->page->findings;
    struct sd_json *j = &w->payload.j;

    sd_json_key_array(j, "findings");
    for (size_t i = 0; f && i < f->n; i++) {
        const struct sd_profile_finding *one = &f->items[i];

        sd_json_object(j);
        sd_json_key_string(j, "finding", one->rule);
        sd_json_key_string(j, "text", one->text);
        sd_json_key_real(j, "value", number_of(&one->value));
        sd_json_key_string(j, "unit", sd_page_unit(one->value.kind));
        sd_json_key_string(j, "view", view_of(w->page, one->view));
        put_selection(w, &one->selection);
        sd_json_end(j);
    }
    sd_json_end(j);
}

/* --- What views have in common */

static int gather_sections(struct page_writer *w)
{
    int rc = 0;

    for (size_t i = 0; i < w->page->n_stacks && rc == 0; i++)
        for (size_t k = 0; k < w->stacks[i].n_sections && rc == 0; k++) {
            const char *path = w->stacks[i].sections[k];
            uint32_t at, n_known = (uint32_t)w->sections.n;

            rc = sd_intern(&w->sections, path, strlen(path), &at);
            if (rc == 0 && at == n_known)
                rc = sd_page_name_section(&w->names, path);
        }
    return rc;
}

static void put_sections(struct page_writer *w)
{
    sd_json_key_array(&w->payload.j, "sections");
    sd_assert(w->names.n == w->sections.n);
    for (size_t i = 0; i < w->names.n; i++)
        sd_json_text(&w->payload.j, w->names.items[i].p, w->names.items[i].n);
    sd_json_end(&w->payload.j);
}

static int put_bands(struct page_writer *w)
{
    const struct sd_page *page = w->page;
    struct sd_band *bands =
        sd_arena_alloc(&w->arena, (page->n_bands + 1) * sizeof *bands);

    if (!bands)
        return sd_no_memory();
    for (size_t i = 0; i < page->n_bands; i++) {
        bands[i] = page->bands[i];
        bands[i].name = shown_section(w, bands[i].name);
    }
    sd_page_put_bands(&w->payload, bands, page->n_bands);
    return 0;
}

static void put_lanes(struct page_writer *w)
{
    struct sd_json *j = &w->payload.j;

    sd_json_key_array(j, "lanes");
    for (size_t i = 0; i < w->page->n_lanes; i++) {
        const struct sd_page_lane *l = &w->page->lanes[i];

        sd_json_object(j);
        sd_json_key_string(j, "title", l->title);
        sd_json_key_string(j, "unit", sd_page_unit(l->kind));
        if (l->curves)
            sd_page_put_curves(&w->payload, l->curves, l->n_curves);
        if (l->make) {
            sd_json_key_uint(j, "stacks", l->stacks);
            sd_json_key_string(j, "make", l->make);
        }
        sd_json_end(j);
    }
    sd_json_end(j);
}

/* The one that is selected at first is never too small. */
static int keep_sections(struct page_writer *w)
{
    const char *selected = w->page->opens_section;
    uint32_t at;
    int rc = selected ? sd_intern(&w->kept, selected, strlen(selected), &at) : 0;

    for (size_t i = 0; i < w->page->n_stacks && rc == 0; i++)
        rc = sd_page_keep_sections(&w->page->stacks[i], w->least, &w->kept);
    return rc;
}

static int prune_one(struct page_writer *w, const struct sd_view_stacks *from,
                     struct sd_view_stacks *to)
{
    struct sd_view_stacks folded;
    int rc = sd_page_fold_sections(from, &w->kept, &w->arena, &folded);

    return rc < 0 ? rc : sd_page_prune(&folded, w->least, &w->arena, to);
}

static int prune(struct page_writer *w)
{
    const struct sd_page *page = w->page;
    int rc = w->least > 0 ? keep_sections(w) : 0;

    w->stacks = sd_arena_alloc(&w->arena, (page->n_stacks + 1) * sizeof *w->stacks);
    if (!w->stacks)
        return sd_no_memory();
    for (size_t i = 0; i < page->n_stacks && rc == 0; i++)
        if (w->least > 0)
            rc = prune_one(w, &page->stacks[i], &w->stacks[i]);
        else
            w->stacks[i] = page->stacks[i];
    return rc;
}

static void put_stacks(struct page_writer *w)
{
    sd_json_key_array(&w->payload.j, "stacks");
    for (size_t i = 0; i < w->page->n_stacks; i++)
        sd_page_put_stacks(&w->payload, &w->stacks[i], &w->sections);
    sd_json_end(&w->payload.j);
}

/* --- Views */

static void put_parts(struct sd_json *j, const char *key, unsigned parts)
{
    sd_json_key_array(j, key);
    if (parts & SD_PART_TIME)
        sd_json_string(j, "time");
    if (parts & SD_PART_TRACK)
        sd_json_string(j, "thread");
    if (parts & SD_PART_SECTION)
        sd_json_string(j, "section");
    sd_json_end(j);
}

static void put_table(struct page_writer *w, const char *key,
                      const struct sd_view_table *t)
{
    sd_json_key_object(&w->payload.j, key);
    sd_page_put_table(&w->payload, t, w->n_rows);
    sd_json_end(&w->payload.j);
}

/* Those without a function of their own are written as `report --json` writes them. */
static int put_drawing(struct page_writer *w, const struct sd_page_view *v)
{
    const struct sd_drawing *d = v->drawing;
    struct sd_payload *p = &w->payload;
    int rc = 0;

    sd_json_key_object(&p->j, "data");
    switch (d->shape) {
    case SD_SHAPE_SERIES:
        sd_page_put_series(p, &d->series);
        break;
    case SD_SHAPE_GRAPH:
        rc = sd_page_put_graph(p, &d->graph,
                               v->has_stacks ? &w->stacks[v->stacks] : NULL);
        break;
    case SD_SHAPE_GROWTH:
        sd_report_growth_json(&p->j, &d->growth);
        break;
    case SD_SHAPE_BARS:
        sd_report_bars_json(&p->j, &d->bars);
        break;
    case SD_SHAPE_ROOFLINE:
        sd_report_roofline_json(&p->j, &d->roofline);
        break;
    case SD_SHAPE_MAP:
        rc = sd_page_put_map(p, &d->map);
        break;
    case SD_SHAPE_SOURCE:
        sd_page_put_source(p, &d->source, v->make ? &w->stacks[v->stacks] : NULL,
                           w->n_rows);
        break;
    case SD_SHAPE_TABLE:
    case SD_SHAPE_FLAME:
    case SD_SHAPE_STACKS:
    case SD_SHAPES:
        break;
    }
    sd_json_end(&p->j);
    return rc;
}

static void put_variants(struct page_writer *w, const struct sd_page_view *v)
{
    struct sd_json *j = &w->payload.j;

    if (v->n_variants == 0)
        return;
    sd_json_key_array(j, "variants");
    for (size_t i = 0; i < v->n_variants; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "by", v->variants[i].by);
        sd_json_key_bool(j, "mine", v->variants[i].is_mine);
        put_table(w, "data", v->variants[i].table);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static const char *shape_name(enum sd_shape shape)
{
    static const char *const names[] = {
#define SHAPE(id, name) [SD_SHAPE_##id] = #name,
#include "analyse/shapes.def"
#undef SHAPE
    };

    return names[shape];
}

static int put_view(struct page_writer *w, const struct sd_page_view *v)
{
    struct sd_json *j = &w->payload.j;
    int rc = 0;

    sd_json_object(j);
    sd_json_key_string(j, "name", v->name);
    sd_json_key_string(j, "title", v->title);
    sd_json_key_string(j, "shape", shape_name(v->shape));
    put_parts(j, "follows", v->follows);
    put_parts(j, "asks", v->asks);
    if (v->has_stacks)
        sd_json_key_uint(j, "stacks", v->stacks);
    if (v->make)
        sd_json_key_string(j, "make", v->make);
    if (v->table)
        put_table(w, "data", v->table);
    else if (v->drawing)
        rc = put_drawing(w, v);
    put_variants(w, v);
    sd_json_end(j);
    return rc;
}

static int put_views(struct page_writer *w)
{
    int rc = 0;

    sd_json_key_array(&w->payload.j, "views");
    for (size_t i = 0; i < w->page->n_views && rc == 0; i++)
        rc = put_view(w, &w->page->views[i]);
    if (rc == 0)
        sd_json_end(&w->payload.j);
    return rc;
}

/* --- All of it */

/* As many rows as leave room for what else there is: a screen shows no share that is
 * below the threshold, either. */
static size_t rows_at(double least)
{
    double n = least > 0 ? 8 / least : ROWS_MAX;

    return n > ROWS_MAX ? ROWS_MAX : n < ROWS_LEAST ? ROWS_LEAST : (size_t)n;
}

static int put_all(struct page_writer *w, struct sd_buf *to)
{
    struct sd_payload *p = &w->payload;
    int rc;

    sd_json_key_uint(&p->j, "version", PAYLOAD_VERSION);
    sd_json_key_string(&p->j, "title", w->page->title);
    sd_json_key_string(&p->j, "program", w->page->program);
    sd_json_key_uint(&p->j, "durationNs", w->page->duration_ns);
    sd_json_key_string(&p->j, "opens", w->page->opens);
    put_head(w);
    put_findings(w);
    put_sections(w);
    put_lanes(w);
    rc = put_bands(w);
    if (rc == 0) {
        put_stacks(w);
        rc = put_views(w);
    }
    return rc < 0 ? rc : sd_payload_finish(p, to);
}

int sd_page_data(const struct sd_page *page, double least, struct sd_buf *to)
{
    struct page_writer w = { .page = page, .least = least, .n_rows = rows_at(least) };
    int rc;

    w.kept.arena = w.sections.arena = w.names.arena = &w.arena;
    sd_payload_init(&w.payload);
    rc = prune(&w);
    if (rc == 0)
        rc = gather_sections(&w);
    if (rc == 0)
        rc = put_all(&w, to);
    sd_payload_release(&w.payload);
    sd_intern_release(&w.kept);
    sd_intern_release(&w.sections);
    sd_intern_release(&w.names);
    sd_arena_release(&w.arena);
    return rc;
}
