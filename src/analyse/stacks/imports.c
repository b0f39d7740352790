/* SPDX-License-Identifier: MIT */
/* imports: shows how long modules took to import, as a tree.
 *
 * The body of a module is a function called `<module>`; between it and the body that
 * imported it stand the frames of importlib, which find, read and compile.  Those are
 * the same for all modules that one body imports, so what they took is told of the
 * importer, in a column of its own; a body's own time is that of its lines and of the
 * functions they call. */
#include <string.h>

#include "analyse/stacks/call_counts.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/triples.h"

enum { NONE = UINT32_MAX };
enum column { NAME, TOTAL, OWN, LOADING, CALLS, WHERE, N_COLUMNS };

static const struct sd_column columns[N_COLUMNS] = {
    [NAME] = { "module", "file, as it is imported, under the one that imported it",
               SD_CELL_TEXT, false, 0 },
    [TOTAL] = { "total", "time of its body and of all it imported", SD_CELL_NS, false,
                0 },
    [OWN] = { "own", "time of its body and of what that called", SD_CELL_NS, false, 0 },
    [LOADING] = { "loading", "time to find, read and compile what it imported",
                  SD_CELL_NS, false, 0 },
    [CALLS] = { "runs", "of the body", SD_CELL_COUNT, true, 0 },
    [WHERE] = { "file", "as the interpreter names it", SD_CELL_TEXT, true, 0 },
};

struct body { /* of a module, under the body that imported it */
    int64_t own, loading, total, runs;
};

struct imports {
    struct sd_call_counts traced;
    struct sd_triples bodies; /* importer or NONE, callee, 0 */
    struct body *sums;        /* owned; by body */
    size_t cap;
    uint32_t *body_of;  /* owned; by node: the innermost body around it, or NONE */
    bool *is_machinery; /* owned; by node: importlib is between it and that body */
};

static bool is_body(const struct sd_site *s)
{
    return strcmp(s->name, "<module>") == 0 && s->file;
}

static bool is_importlib(const struct sd_site *s)
{
    return s->file && (strncmp(s->file, "<frozen importlib", 17) == 0 ||
                       strncmp(s->file, "<frozen zipimport", 17) == 0);
}

static int add_body(struct imports *m, uint32_t importer, uint32_t callee, uint32_t *id)
{
    struct sd_triple key = { importer, callee, 0 };
    struct body *sums;
    int rc = sd_triples_add(&m->bodies, key, id);

    if (rc < 0 || *id < m->cap)
        return rc;
    sums = sd_regrow(m->sums, m->bodies.cap * sizeof *sums);
    if (!sums)
        return sd_no_memory();
    memset(sums + m->cap, 0, (m->bodies.cap - m->cap) * sizeof *sums);
    m->sums = sums;
    m->cap = m->bodies.cap;
    return 0;
}

static int place_node(struct imports *m, size_t i)
{
    const struct sd_calltree *t = &m->traced.tree;
    const struct sd_call_node *n = &t->nodes[i];
    const struct sd_site *s = &t->p->sites[t->callees[n->callee].site.at];
    uint32_t around = n->parent == NONE ? NONE : m->body_of[n->parent];

    if (is_body(s) || s->is_beyond) /* which modules are there is not known */
        return add_body(m, around, n->callee, &m->body_of[i]);
    m->body_of[i] = around;
    m->is_machinery[i] =
        is_importlib(s) || (n->parent != NONE && m->is_machinery[n->parent]);
    return 0;
}

static void add_node(struct imports *m, size_t i)
{
    const struct sd_calltree *t = &m->traced.tree;
    uint32_t calls = sd_totals_metric(t->p, t->totals, "calls");
    struct body *b;
    int64_t *part;

    if (m->body_of[i] == NONE)
        return;
    b = &m->sums[m->body_of[i]];
    part = m->is_machinery[i] ? &b->loading : &b->own;
    *part = sd_sum_i64(*part, m->traced.own[i]);
    if (calls != NONE && is_body(&t->p->sites[t->callees[t->nodes[i].callee].site.at]))
        b->runs = sd_sum_i64(b->runs, t->self[i * t->n_metrics + calls]);
}

static int gather(struct imports *m)
{
    size_t n = m->traced.tree.n_nodes;
    int rc = 0;

    m->body_of = sd_alloc((n + 1) * sizeof *m->body_of);
    m->is_machinery = sd_zalloc(n + 1);
    if (!m->body_of || !m->is_machinery)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = place_node(m, i);
    for (size_t i = 0; i < n && rc == 0; i++)
        add_node(m, i);
    return rc;
}

/* An importer has a smaller number than what it imported. */
static void sum_up(struct imports *m)
{
    for (size_t i = m->bodies.n; i-- > 0;) {
        struct body *b = &m->sums[i];
        uint32_t importer = m->bodies.items[i].a;

        b->total = sd_sum_i64(b->total, sd_sum_i64(b->own, b->loading));
        if (importer != NONE)
            m->sums[importer].total = sd_sum_i64(m->sums[importer].total, b->total);
    }
}

static const char *name_of(struct sd_view *v, const struct sd_site *s)
{
    struct sd_buf name = { 0 };
    const char *shown;

    if (s->is_beyond)
        return sd_arena_string(&v->arena, s->name, strlen(s->name));
    sd_callee_module(&name, s);
    shown = name.bad ? NULL : sd_arena_string(&v->arena, (const char *)name.p, name.n);
    sd_buf_release(&name);
    return shown;
}

static int put_body(const struct imports *m, struct sd_view *v,
                    struct sd_view_table *table, size_t i)
{
    const struct sd_calltree *t = &m->traced.tree;
    const struct sd_site *s = &t->p->sites[t->callees[m->bodies.items[i].b].site.at];
    uint32_t importer = m->bodies.items[i].a;
    const char *shown = name_of(v, s), *file;

    table->parents[i] = importer == NONE ? -1 : (int32_t)importer;
    if (!shown)
        return sd_no_memory();
    *sd_view_cell(table, i, NAME) = sd_cell_text(shown);
    *sd_view_cell(table, i, TOTAL) = sd_cell_number(SD_CELL_NS, m->sums[i].total);
    *sd_view_cell(table, i, OWN) = sd_cell_number(SD_CELL_NS, m->sums[i].own);
    if (s->is_beyond)
        return 0;
    file = sd_arena_string(&v->arena, s->file, strlen(s->file));
    if (!file)
        return sd_no_memory();
    *sd_view_cell(table, i, LOADING) = sd_cell_number(SD_CELL_NS, m->sums[i].loading);
    *sd_view_cell(table, i, CALLS) = sd_cell_number(SD_CELL_COUNT, m->sums[i].runs);
    *sd_view_cell(table, i, WHERE) = sd_cell_text(file);
    return 0;
}

static int import_table(const struct imports *m, struct sd_view *v)
{
    size_t n = m->bodies.n;
    struct sd_view_table *table = sd_views_add(v, "imports", columns, N_COLUMNS, n);
    int rc = 0;

    if (!table)
        return SD_ENOMEM;
    table->parents = sd_arena_alloc(&v->arena, (n + 1) * sizeof *table->parents);
    if (!table->parents)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = put_body(m, v, table, i);
    return rc < 0 ? rc : sd_view_table_sort(v, table, "total", 0);
}

/* Modules as they were imported, one below the one that imported it first. */
int sd_imports_view(const struct sd_profile *p, const struct sd_view_request *r,
                    struct sd_view *v)
{
    struct sd_stacks_request all = r->stacks;
    struct imports m = { .cap = 0 };
    int rc;

    all.by = SD_CALLS_BY_FUNCTION; /* bodies are functions, of libraries too */
    all.choice.is_mine = false;
    rc = sd_call_counts_make(p, &all, &m.traced);
    if (rc == 0)
        rc = gather(&m);
    if (rc == 0) {
        sum_up(&m);
        rc = import_table(&m, v);
    }
    sd_triples_release(&m.bodies);
    sd_free(m.sums);
    sd_free(m.body_of);
    sd_free(m.is_machinery);
    sd_call_counts_release(&m.traced);
    return rc;
}
