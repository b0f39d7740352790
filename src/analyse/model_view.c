/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_view.h"

#include <string.h>

#include "analyse/model/model_tables.h"
#include "base/error.h"
#include "base/mem.h"

/* --- Types, operators, and what has no rule */

/* Rows that have a name and a sum: of all there are, or of those without a rule. */
static int add_named(const struct sd_model_costs *c,
                     const struct sd_model_tables_wish *w, struct sd_view *v,
                     const char *name)
{
    bool is_types = strcmp(name, "types") == 0;
    bool is_unknown_only = strcmp(name, "unsupported") == 0;
    const struct sd_model_named *from = is_types ? c->types : c->operators;
    size_t n = is_types ? c->n_types : c->n_operators, n_rows = 0, at = 0;
    struct sd_view_table *t;
    struct sd_model_columns columns;

    for (size_t i = 0; i < n; i++)
        n_rows += !is_unknown_only || from[i].sum.n_unknown > 0;
    sd_model_columns(c, w, is_types ? SD_COLUMNS_OF_TYPES : SD_COLUMNS_OF_OPERATORS,
                     &columns);
    t = sd_model_columns_add(&columns, v, name,
                             is_types ? "Types of layers"
                             : is_unknown_only
                                 ? "Operators without a rule, or of unknown shapes: "
                                   "nothing of them is counted"
                                 : "Operators",
                             n_rows);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        if (!is_unknown_only || from[i].sum.n_unknown > 0)
            sd_model_columns_fill(
                &columns, t, at++,
                &(struct sd_model_line){ .costs = c,
                                         .wish = w,
                                         .arena = &v->arena,
                                         .layer = UINT32_MAX,
                                         .name = sd_model_text(c->model, from[i].name),
                                         .sum = &from[i].sum,
                                         .known = from[i].known });
    return 0;
}

/* --- All of them */

static const char *const table_names[] = { "layers",      "types",   "operators",
                                           "unsupported", "tensors", "dtypes",
                                           NULL };

/* Is it one of a list with commas? */
static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    }
    return false;
}

static int check_names(const char *list)
{
    const char *at = list;

    do {
        size_t n = strcspn(at, ","), i = 0;

        while (table_names[i] &&
               (strlen(table_names[i]) != n || strncmp(at, table_names[i], n) != 0))
            i++;
        if (!table_names[i])
            return sd_fail(SD_EUSAGE,
                           "there is no table \"%.*s\" of a model; there are layers, "
                           "types, operators, unsupported, tensors, dtypes",
                           (int)n, at);
        at += n + (at[n] == ',');
    } while (*at);
    return 0;
}

static const char *usual_tables(const struct sd_model_costs *c)
{
    if (!sd_model_knows_operators(c->model))
        return "tensors,dtypes"; /* weights alone */
    return c->total.n_unknown > 0 ? "layers,types,unsupported" : "layers,types";
}

/* The newest table of the view, sorted and cut. */
static int finish(const struct sd_model_tables_wish *w, struct sd_view *v,
                  const char *name)
{
    struct sd_view_table *t = &v->tables[v->n_tables - 1];
    bool is_impact = w->has_impact && strcmp(name, "layers") == 0;
    const char *key = is_impact ? "share%" : w->sort;
    bool has_key = false;
    int rc;

    for (size_t k = 0; key && k < t->n_columns; k++)
        has_key |= strcmp(t->columns[k].name, key + (*key == '-')) == 0;
    /* A column that only layers have is no error of the table of types. */
    if (key && !has_key && strcmp(name, "layers") != 0)
        key = NULL;
    rc = sd_view_table_sort(v, t, key, is_impact ? 0 : w->limit);
    if (rc == 0 && is_impact) {
        sd_model_columns_add_up(t);
        rc = sd_view_table_sort(v, t, NULL, w->limit);
    }
    return rc;
}

static int add_table(const struct sd_model_costs *c,
                     const struct sd_model_tables_wish *w, struct sd_view *v,
                     const char *name)
{
    if (strcmp(name, "layers") == 0)
        return w->is_tree ? sd_model_table_of_tree(c, w, v)
                          : sd_model_table_of_layers(c, w, v);
    if (strcmp(name, "tensors") == 0)
        return sd_model_table_of_tensors(c, v);
    if (strcmp(name, "dtypes") == 0)
        return sd_model_table_of_dtypes(c, v);
    return add_named(c, w, v, name);
}

int sd_model_tables(const struct sd_model_costs *c,
                    const struct sd_model_tables_wish *w, struct sd_view *v)
{
    const char *list = w->tables       ? w->tables
                       : w->is_tree    ? "layers"
                       : w->has_impact ? "layers"
                                       : usual_tables(c);
    int rc = check_names(list);

    if (rc == 0 && w->is_tree && (w->type || w->has_impact))
        rc = sd_fail(SD_EUSAGE,
                     "a tree has all layers, each with what is in it: %s is "
                     "of the table without it",
                     w->type ? "a type" : "impact");
    for (size_t i = 0; rc == 0 && table_names[i]; i++) {
        if (!names(list, table_names[i]))
            continue;
        rc = add_table(c, w, v, table_names[i]);
        if (rc == 0)
            rc = finish(w, v, table_names[i]);
    }
    return rc;
}
