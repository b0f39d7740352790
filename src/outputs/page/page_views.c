/* SPDX-License-Identifier: MIT */
/* page_views: the views of a page: all of views.def that have something to show. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "outputs/page/page_maker.h"

enum { N_VARIANTS = 4, HOTTEST_ROWS = 20 };

static const struct {
    const char *by;
    enum sd_calls_by calls_by;
    bool is_mine;
} variants[N_VARIANTS] = {
    { "function", SD_CALLS_BY_FUNCTION, false },
    { "function", SD_CALLS_BY_FUNCTION, true },
    { "module", SD_CALLS_BY_MODULE, false },
    { "module", SD_CALLS_BY_MODULE, true },
};

/* --- Names */

/* "Sampled functions", or NULL. */
static const char *title_of(struct sd_page_maker *m, const char *verb,
                            const struct sd_view_about *a)
{
    char *title = sd_arena_printf(&m->arena, "%s %s", verb, a->title);

    if (!title)
        return NULL;
    title[0] = (char)(title[0] - 'a' + 'A');
    title[strlen(verb) + 1] = (char)(title[strlen(verb) + 1] - 'A' + 'a');
    return title;
}

/* "Functions" is "Sampled functions" where there are traced ones, too; and its key that
 * of report --json. */
static int name_view(struct sd_page_maker *m, const struct sd_view_about *a,
                     size_t stacks, struct sd_page_view *v)
{
    const char *verb = m->stacks[stacks].verb;

    v->name = a->name;
    v->title = a->title;
    if (m->n_stacks < 2)
        return 0;
    v->title = title_of(m, verb, a);
    if (stacks > 0)
        v->name = sd_arena_printf(&m->arena, "%s_%s", verb, a->name);
    return v->title && v->name ? 0 : sd_no_memory();
}

/* --- Data */

/* 1: `into` has something of it; 0: there is nothing to show. */
static int make(struct sd_page_maker *m, const struct sd_view_about *a,
                const struct sd_view_request *r, struct sd_view **into)
{
    struct sd_view *v = sd_page_new_view(m);
    int rc = v ? a->of_profile(m->profile, r, v) : SD_ENOMEM;

    *into = v;
    if (rc == SD_EABSENT || rc == SD_EUSAGE)
        return 0;
    if (rc < 0)
        return rc;
    return a->shape == SD_SHAPE_TABLE ? v->n_tables > 0 && v->tables[0].n_rows > 0
                                      : v->n_drawings > 0;
}

static bool shows_nothing(const struct sd_drawing *d)
{
    return (d->shape == SD_SHAPE_SERIES && d->series.n_curves == 0) ||
           (d->shape == SD_SHAPE_GROWTH && d->growth.n_panels == 0) ||
           (d->shape == SD_SHAPE_GRAPH && d->graph.n_nodes == 0);
}

/* 1: the view has it; 0: there is nothing to show. */
static int add_data(struct sd_page_maker *m, const struct sd_view_about *a,
                    const struct sd_view_request *r, struct sd_page_view *v)
{
    struct sd_view *made;
    int rc = make(m, a, r, &made);

    if (rc <= 0)
        return rc;
    if (a->shape == SD_SHAPE_TABLE) {
        v->table = &made->tables[0];
        return 1;
    }
    v->drawing = &made->drawings[0];
    return !shows_nothing(v->drawing);
}

/* The same table by other rows. */
static int add_variants(struct sd_page_maker *m, const struct sd_view_about *a,
                        const struct sd_view_request *r, struct sd_page_view *v)
{
    struct sd_page_variant *all = sd_arena_alloc(&m->arena, N_VARIANTS * sizeof *all);
    struct sd_view_request other = *r;
    int rc = all ? 0 : sd_no_memory();

    for (size_t i = 1; i < N_VARIANTS && rc >= 0; i++) {
        struct sd_view *made;

        other.stacks.by = variants[i].calls_by;
        other.stacks.choice.is_mine = variants[i].is_mine;
        rc = make(m, a, &other, &made);
        if (rc > 0)
            all[v->n_variants++] =
                (struct sd_page_variant){ variants[i].by, variants[i].is_mine,
                                          &made->tables[0] };
    }
    v->variants = all;
    return rc < 0 ? rc : 0;
}

/* --- Views */

static int add_of_stacks(struct sd_page_maker *m, const struct sd_view_about *a,
                         size_t stacks)
{
    enum sd_evidence e = m->evidence[stacks];
    const struct sd_view_request r = { .stacks.choice.evidence = &sd_evidence[e] };
    bool has_time = m->stacks[stacks].has_time;
    struct sd_page_view v = { .shape = a->shape, .stacks = stacks, .has_stacks = true };
    bool needs_data;
    int rc = name_view(m, a, stacks, &v);

    if (rc < 0)
        return rc;
    v.make = sd_page_derives(a, e, has_time);
    v.follows = v.make ? sd_view_follows(a, e, has_time) : SD_PART_NOTHING;
    v.has_stacks = v.make != NULL;
    if (v.make && !sd_page_can_derive(v.make, &m->stacks[stacks]))
        return 0;
    needs_data = !v.make || a->shape == SD_SHAPE_GRAPH;
    rc = needs_data ? add_data(m, a, &r, &v) : 1;
    if (rc <= 0)
        return rc;
    rc = !v.make && a->flags & SD_VIEW_OWNERS ? add_variants(m, a, &r, &v) : 0;
    return rc < 0 ? rc : sd_page_add_view(m, &v);
}

/* Its data is that of a part: what else is selected, a server can be asked for. */
static int add_other(struct sd_page_maker *m, const struct sd_view_about *a,
                     const struct sd_view_request *r)
{
    struct sd_page_view v = {
        .name = a->name, .title = a->title, .shape = a->shape, .asks = a->follows
    };
    int rc = add_data(m, a, r, &v);

    return rc <= 0 ? rc : sd_page_add_view(m, &v);
}

/* The block of stacks that a view of source is made of, or n_stacks: it is of counted
 * lines. */
static size_t block_of(const struct sd_page_maker *m, const struct sd_view_source *s)
{
    size_t i = 0;

    while (i < m->n_stacks && strcmp(m->stacks[i].evidence, s->evidence) != 0)
        i++;
    return i;
}

static int add_one_source(struct sd_page_maker *m, const struct sd_view_about *a,
                          struct sd_drawing *d, bool has_others)
{
    size_t i = block_of(m, &d->source);
    bool is_of_stacks = i < m->n_stacks;
    struct sd_page_view v = { .name = d->name,
                              .title = a->title,
                              .shape = a->shape,
                              .drawing = d,
                              .has_stacks = is_of_stacks,
                              .stacks = i };
    int rc;

    if (d->source.n_files == 0)
        return 0;
    if (has_others && !(v.title = title_of(m, d->source.verb, a)))
        return sd_no_memory();
    if (is_of_stacks) {
        v.make = a->recipe;
        v.follows = sd_view_follows(a, m->evidence[i], m->stacks[i].has_time);
    }
    rc = sd_page_add_source(m, &d->source);
    return rc < 0 ? rc : sd_page_add_view(m, &v);
}

/* Of stacks and of counted lines. */
static int add_source(struct sd_page_maker *m, const struct sd_view_about *a)
{
    static const struct sd_view_request all;
    struct sd_view *made;
    int rc = make(m, a, &all, &made);

    if (rc <= 0)
        return rc;
    rc = 0;
    for (size_t i = 0; i < made->n_drawings && rc == 0; i++)
        rc = add_one_source(m, a, &made->drawings[i], made->n_drawings > 1);
    return rc;
}

/* Stacks are no view: others are made of them. */
static int add(struct sd_page_maker *m, const struct sd_view_about *a)
{
    static const struct sd_view_request all;
    int rc = 0;

    if (!a->of_profile || a->shape == SD_SHAPE_STACKS || a->flags & SD_VIEW_APART)
        return 0;
    if (a->shape == SD_SHAPE_SOURCE)
        return add_source(m, a);
    if (!(a->flags & SD_VIEW_EACH))
        return a->needs == SD_NEEDS_STACKS && m->n_stacks == 0 ? 0
                                                               : add_other(m, a, &all);
    for (size_t i = 0; i < m->n_stacks && rc == 0; i++)
        rc = add_of_stacks(m, a, i);
    return rc;
}

static bool may_be_hottest(const struct sd_page_maker *m, const struct sd_view_about *a)
{
    return a->of_profile && a->shape == SD_SHAPE_TABLE &&
           (a->needs != SD_NEEDS_STACKS || m->n_stacks > 0);
}

/* For readers without script: the first rows of the first table that has any. */
static int add_hottest(struct sd_page_maker *m)
{
    const struct sd_view_request r = { .limit = HOTTEST_ROWS };
    struct sd_view *made = NULL;
    int rc = 0;

    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++)
        if (may_be_hottest(m, a))
            rc = make(m, a, &r, &made);
    if (rc <= 0)
        return rc;
    rc = sd_view_table_sort(made, &made->tables[0], NULL, HOTTEST_ROWS);
    m->page.hottest = &made->tables[0];
    return rc;
}

int sd_page_views_of(struct sd_page_maker *m)
{
    int rc = add_hottest(m);

    for (const struct sd_view_about *a = sd_views; a->name && rc == 0; a++)
        rc = add(m, a);
    return rc;
}

int sd_page_view_of(struct sd_page_maker *m, const struct sd_profile *p,
                    const struct sd_view_request *r)
{
    const struct sd_view_request part = { .selection = r->selection };
    const char *name = r->views ? r->views : "";
    const struct sd_view_about *a = sd_view_named(SD_OF_PROFILE, name, strlen(name));

    if (!a || a->recipe || a->shape == SD_SHAPE_STACKS || a->flags & SD_VIEW_APART)
        return sd_fail(SD_EUSAGE,
                       "the page's request is wrong: there is no view \"%s\" for "
                       "pages; reload the page",
                       name);
    m->profile = p;
    return add_other(m, a, &part);
}
