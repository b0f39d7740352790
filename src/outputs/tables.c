/* SPDX-License-Identifier: MIT */
#include "outputs/tables.h"

#include <string.h>

#include "analyse/growth/scaling.h"
#include "analyse/stacks/threads.h"
#include "base/mem.h"

/* The columns of what a request for traced calls is about. */
static int add_columns(const struct sd_view_request *r, struct sd_view *v)
{
    int rc = !r->views ? sd_call_counts_no_functions(r->stacks.by, v)
             : sd_view_names_have(r->views, "scaling") ? sd_scaling_no_functions(v)
                                                       : sd_call_counts_no_calls(v);

    return rc == 0 && r->has_threads ? sd_stacks_no_threads(v) : rc;
}

int sd_tables_check_order(const struct sd_view_request *r)
{
    struct sd_view v = { 0 };
    int rc = add_columns(r, &v);

    if (rc == 0)
        rc = sd_tables_order(&v, r);
    sd_view_release(&v);
    return rc;
}

static bool is_answer(const struct sd_view_table *t)
{
    const struct sd_view_about *a =
        sd_view_named(SD_OF_PROFILE, t->name, strlen(t->name));

    return t->n_rows > 0 || (a && a->flags & SD_VIEW_ANSWER);
}

static void drop_empty(struct sd_view *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->n_tables; i++)
        if (is_answer(&v->tables[i]))
            v->tables[kept++] = v->tables[i];
    v->n_tables = kept;
}

/* Rows stay apart, though they may look the same now. */
static void strip_dirs(struct sd_view_table *t)
{
    for (size_t k = 0; k < t->n_columns; k++)
        for (size_t i = 0; strcmp(t->columns[k].name, "file") == 0 && i < t->n_rows;
             i++) {
            struct sd_cell *c = sd_view_cell(t, i, k);

            if (c->text && strrchr(c->text, '/'))
                c->text = strrchr(c->text, '/') + 1;
        }
}

int sd_tables_of(const struct sd_profile *p, const struct sd_view_request *r,
                 struct sd_view *v)
{
    int rc = sd_views_make(p, r, v);

    for (size_t i = 0; r->rows && i < v->n_tables && rc == 0; i++)
        rc = sd_view_table_match(v, &v->tables[i], r->rows);
    if (rc < 0)
        return rc;
    drop_empty(v);
    for (size_t i = 0; r->strips_dirs && i < v->n_tables; i++)
        strip_dirs(&v->tables[i]);
    return sd_tables_order(v, r);
}
