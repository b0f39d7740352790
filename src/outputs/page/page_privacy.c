/* SPDX-License-Identifier: MIT */
/* page_privacy: leaves out of a page what strangers should not read: names of folders,
 * hosts, and the arguments of commands.
 *
 * It looks at every text, whatever column it stands in: of whatever looks like a path
 * the last part stays. */
#include <string.h>

#include "base/assert.h"
#include "base/intern.h"
#include "base/mem.h"
#include "outputs/page/page_maker.h"

static bool is_path_end(char c)
{
    return c == 0 || strchr(" \t\n\"'<>|;,()[]{}", c) != NULL;
}

/* Of a word with a slash; but "1234/1240" is a thread. */
static size_t path_length(const char *s)
{
    size_t n = 0;

    while (!is_path_end(s[n]))
        n++;
    return memchr(s, '/', n) && strspn(s, "0123456789/") < n ? n : 0;
}

/* The same text without folders; itself where it names none. */
static const char *hidden(struct sd_arena *a, const char *s)
{
    struct sd_buf to = { 0 };
    const char *made;

    if (!s || !strchr(s, '/'))
        return s;
    for (const char *at = s; *at;) {
        size_t n = path_length(at), k = n;

        while (k > 0 && at[k - 1] != '/')
            k--;
        if (n > 0 && k < n)
            sd_buf_add(&to, at + k, n - k);
        at += n;
        for (; n == 0 && !is_path_end(*at); at++)
            sd_buf_u8(&to, (uint8_t)*at);
        for (; *at && is_path_end(*at); at++)
            sd_buf_u8(&to, (uint8_t)*at);
    }
    made = to.bad ? NULL : sd_arena_string(a, sd_buf_string(&to), to.n);
    sd_buf_release(&to);
    return made;
}

/* Puts a text in the place of another; false: out of memory. */
static bool hide(struct sd_arena *a, const char **text)
{
    const char *made = hidden(a, *text);

    if (*text && !made)
        return false;
    *text = made;
    return true;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* What one is, is known by its column; of the others every word is looked at. */
static const char *const secrets[] = { "host", "command", NULL };
static const char *const files[] = { "file", "caller_file", "callee_file", NULL };
static const char *const paths[] = { "where", NULL };
static const char *const names[] = {
    "section", "path", "tensor", "shape", "dtype", NULL
};

/* All of the text is a path, which may hold blanks. */
static void hide_folders(const char **path)
{
    const char *slash = *path ? strrchr(*path, '/') : NULL;

    if (slash && slash[1])
        *path = slash + 1;
}

/* --- Files: two of one name stay two */

struct hider {
    struct sd_arena *arena;
    struct sd_intern files; /* by their whole names */
    struct sd_intern names; /* as they are shown */
};

/* "a.py", and "a.py (2)" of another file that would be the same. */
static int name_file(struct hider *h, const char *file, uint32_t *at)
{
    const char *name = sd_site_short_file(&(struct sd_site){ .file = file });
    const char *numbered = name;
    size_t n_known = h->names.n;
    int rc = sd_intern(&h->names, name, strlen(name), at);

    for (unsigned k = 2; rc == 0 && h->names.n == n_known; k++) {
        numbered = sd_arena_printf(h->arena, "%s (%u)", name, k);
        rc = numbered ? sd_intern(&h->names, numbered, strlen(numbered), at)
                      : sd_no_memory();
    }
    return rc;
}

/* False: out of memory. */
static bool hide_file(struct hider *h, const char **file)
{
    uint32_t n_known = (uint32_t)h->files.n, at, name;

    if (!*file)
        return true;
    if (sd_intern(&h->files, *file, strlen(*file), &at) < 0 ||
        (at == n_known && name_file(h, *file, &name) < 0))
        return false;
    sd_assert(h->files.n == h->names.n);
    *file = h->names.items[at].p;
    return true;
}

static bool hide_cell(struct hider *h, const struct sd_column *column,
                      struct sd_cell *cell)
{
    if (cell->kind != SD_CELL_TEXT)
        return true;
    if (is_one_of(column->name, secrets))
        *cell = (struct sd_cell){ 0 };
    else if (is_one_of(column->name, files))
        return hide_file(h, &cell->text);
    else if (is_one_of(column->name, paths))
        hide_folders(&cell->text);
    else if (!is_one_of(column->name, names))
        return hide(h->arena, &cell->text);
    return true;
}

static bool hide_curves(struct sd_arena *a, struct sd_curve *curves, size_t n)
{
    bool is_done = true;

    for (size_t i = 0; i < n; i++)
        is_done &= hide(a, &curves[i].name);
    return is_done;
}

/* Lanes borrow their curves: they get copies. */
static bool hide_lane(struct sd_arena *a, struct sd_page_lane *l)
{
    struct sd_curve *copy =
        l->curves ? sd_arena_copy(a, l->curves, l->n_curves * sizeof *copy) : NULL;

    if (!l->curves)
        return true;
    l->curves = copy;
    return copy && hide_curves(a, copy, l->n_curves);
}

static bool hide_table(struct hider *h, const struct sd_view_table *t)
{
    bool is_done = true;

    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t k = 0; k < t->n_columns; k++)
            is_done &= hide_cell(h, &t->columns[k], sd_view_cell(t, i, k));
    return is_done;
}

static bool hide_graph(struct hider *h, struct sd_view_graph *g)
{
    struct sd_arena *a = h->arena;
    bool is_done = true;

    g->title = "";
    for (size_t i = 0; i < g->n_nodes; i++)
        is_done &= hide(a, &g->nodes[i].name) && hide(a, &g->nodes[i].function);
    /* As hide_stacks leaves them, so that a node finds its function. */
    for (size_t i = 0; i < g->n_nodes; i++)
        is_done &= hide_file(h, &g->nodes[i].file);
    return is_done && hide(a, &g->subtitle);
}

/* As the functions of stacks are called, so that the two still belong together. */
static bool hide_source(struct hider *h, struct sd_view_source *s)
{
    bool is_done = true;

    for (size_t i = 0; i < s->n_files; i++) {
        is_done &= hide_file(h, &s->files[i].file);
        s->files[i].short_file = s->files[i].file;
    }
    return is_done;
}

static bool hide_drawing(void *of, struct sd_drawing *d)
{
    struct hider *h = of;
    struct sd_arena *a = h->arena;
    bool is_done = true;

    switch (d->shape) {
    case SD_SHAPE_SERIES:
        d->series.subtitle = NULL;
        return hide_curves(a, d->series.curves, d->series.n_curves);
    case SD_SHAPE_GRAPH:
        return hide_graph(h, &d->graph);
    case SD_SHAPE_SOURCE:
        return hide_source(h, &d->source);
    case SD_SHAPE_GROWTH:
        d->growth.title = NULL;
        for (size_t i = 0; i < d->growth.n_panels; i++)
            is_done &= hide(a, &d->growth.panels[i].title);
        break;
    case SD_SHAPE_BARS:
        return hide(a, &d->bars.title) && hide(a, &d->bars.subtitle);
    case SD_SHAPE_ROOFLINE:
        return hide(a, &d->roofline.title) && hide(a, &d->roofline.subtitle);
    case SD_SHAPE_MAP:
        return hide(a, &d->map.title) && hide(a, &d->map.subtitle);
    case SD_SHAPE_TABLE:
    case SD_SHAPE_FLAME:
    case SD_SHAPE_STACKS:
    case SD_SHAPES:
        break;
    }
    return is_done;
}

static bool hide_stacks(struct hider *h, struct sd_view_stacks *s)
{
    bool is_done = true;

    for (size_t i = 0; i < s->n_functions; i++) {
        is_done &= hide_file(h, &s->functions[i].file);
        s->functions[i].short_file = s->functions[i].file;
    }
    for (size_t i = 0; i < s->n_threads; i++)
        is_done &= hide(h->arena, &s->threads[i].process_label) &&
                   hide(h->arena, &s->threads[i].name);
    return is_done;
}

/* A server answers no question about it, either. */
static bool hide_view(struct hider *h, struct sd_page_view *v)
{
    bool is_done = !v->table || hide_table(h, v->table);

    v->asks = SD_PART_NOTHING;
    for (size_t i = 0; i < v->n_variants; i++)
        is_done &= hide_table(h, v->variants[i].table);
    return is_done;
}

/* The hottest rows are those of a view, which has them hidden. */
static bool hide_hottest(struct hider *h, const struct sd_page_maker *m)
{
    const struct sd_view_table *t = m->page.hottest;

    for (size_t i = 0; t && i < m->n_views; i++)
        if (m->views[i].table && m->views[i].table->cells == t->cells)
            return true;
    return !t || hide_table(h, t);
}

int sd_page_hide(struct sd_page_maker *m)
{
    struct hider h = { .arena = &m->arena };
    bool is_done = true;

    h.files.arena = h.names.arena = &m->arena;

    m->page.command = NULL;
    for (size_t i = 0; i < m->findings.n; i++)
        is_done &= hide(&m->arena, &m->findings.items[i].text);
    for (size_t i = 0; i < m->n_lanes; i++)
        is_done &= hide_lane(&m->arena, &m->lanes[i]);
    for (size_t i = 0; i < m->n_items; i++)
        is_done &= hide(&m->arena, &m->items[i].value);
    for (size_t i = 0; i < m->n_notes; i++)
        is_done &= hide(&m->arena, &m->notes[i]);
    for (size_t i = 0; i < m->n_stacks; i++)
        is_done &= hide_stacks(&h, &m->stacks[i]);
    for (size_t i = 0; i < m->n_views; i++)
        is_done &= hide_view(&h, &m->views[i]);
    is_done &= sd_page_hide_drawings(m, hide_drawing, &h);
    is_done &= hide_hottest(&h, m);
    sd_intern_release(&h.files);
    sd_intern_release(&h.names);
    return is_done && hide(&m->arena, &m->page.complaint) ? 0 : sd_no_memory();
}
