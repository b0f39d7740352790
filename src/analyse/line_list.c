/* SPDX-License-Identifier: MIT */
#include "analyse/line_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "profile/lines/line_stats.h"
#include "profile/notebook/cell_names.h"
#include "profile/profile.h"

static int by_place(const void *a, const void *b)
{
    const struct sd_line_total *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_numbers(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int by_file(const void *a, const void *b)
{
    const struct sd_line_list_function *x = a, *y = b;
    int order = strcmp(x->file, y->file);

    if (order == 0)
        order = compare_numbers(x->first, y->first);
    return order ? order : strcmp(x->name, y->name);
}

/* A function that was chosen stands there with its first line, if it ran or not. */
static bool says_nothing(const int64_t *values)
{
    return values[SD_LINE_HITS] == 0 && values[SD_LINE_TIME] == 0 &&
           values[SD_LINE_MEMORY] == SD_LINE_NONE;
}

/* Without that of the lines for which it waited: they have it themselves. */
static int64_t own_tracing(const int64_t *v)
{
    int64_t below = v[SD_LINE_TOLD_CHILD_TIME] - v[SD_LINE_CHILD_TIME];

    return v[SD_LINE_TRACING] > below ? v[SD_LINE_TRACING] - below : 0;
}

static void add_row(struct sd_line_list *l, struct sd_line_list_function *f,
                    const struct sd_line_total *t)
{
    struct sd_line_list_row *row = &f->rows[f->n_rows];

    if (says_nothing(t->values))
        return;
    f->n_rows++;
    row->line = t->line;
    memcpy(row->values, t->values, sizeof row->values);
    f->time_ns = sd_sum_i64(f->time_ns, t->values[SD_LINE_TIME]);
    f->tracing_ns = sd_sum_i64(f->tracing_ns, own_tracing(t->values));
    l->has_memory |= t->values[SD_LINE_MEMORY] != SD_LINE_NONE;
    l->has_cpu |= t->values[SD_LINE_CPU_TIME] != SD_LINE_NONE;
}

static void name_function(const struct sd_profile *p, struct sd_line_list_function *f,
                          const struct sd_site *s)
{
    f->name = s->label ? s->label : s->name;
    f->file = s->file ? s->file : "";
    f->text = sd_cell_names_source(p, f->file);
    f->first = s->line;
    f->site = s;
}

static int fill(const struct sd_profile *p, const struct sd_line_total *sorted,
                struct sd_line_list *l)
{
    size_t n = p->evidence[SD_LINES].lines.n;
    struct sd_line_list_row *rows = sd_arena_alloc(&l->arena, n * sizeof *rows);

    l->functions = sd_arena_alloc(&l->arena, n * sizeof *l->functions);
    if (!rows || !l->functions)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i].site != sorted[i - 1].site) {
            l->functions[l->n] = (struct sd_line_list_function){ .rows = &rows[i] };
            name_function(p, &l->functions[l->n++], &p->sites[sorted[i].site]);
        }
        add_row(l, &l->functions[l->n - 1], &sorted[i]);
    }
    qsort(l->functions, l->n, sizeof *l->functions, by_file);
    return 0;
}

int sd_line_list_of(const struct sd_profile *p, struct sd_line_list *out)
{
    const struct sd_line_totals *lines = &p->evidence[SD_LINES].lines;
    struct sd_line_total *sorted;
    int rc;

    memset(out, 0, sizeof *out);
    if (!sd_profile_has(p, SD_LINES))
        return 0;
    sorted = sd_alloc(lines->n * sizeof *sorted);
    if (!sorted)
        return sd_no_memory();
    memcpy(sorted, lines->items, lines->n * sizeof *sorted);
    qsort(sorted, lines->n, sizeof *sorted, by_place);
    rc = fill(p, sorted, out);
    sd_free(sorted);
    return rc;
}

static void make_row_raw(int64_t *v)
{
    v[SD_LINE_TIME] = v[SD_LINE_TOLD_TIME];
    v[SD_LINE_CHILD_TIME] = v[SD_LINE_TOLD_CHILD_TIME];
    v[SD_LINE_MIN] = v[SD_LINE_TOLD_MIN];
    v[SD_LINE_MAX] = v[SD_LINE_TOLD_MAX];
    v[SD_LINE_CPU_TIME] = v[SD_LINE_TOLD_CPU_TIME];
    v[SD_LINE_TRACING] = 0;
}

void sd_line_list_make_raw(struct sd_line_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct sd_line_list_function *f = &l->functions[i];

        f->time_ns = f->tracing_ns = 0;
        for (size_t k = 0; k < f->n_rows; k++) {
            make_row_raw(f->rows[k].values);
            f->time_ns = sd_sum_i64(f->time_ns, f->rows[k].values[SD_LINE_TIME]);
        }
    }
}

static bool has_run(const struct sd_line_list_function *f)
{
    for (size_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].values[SD_LINE_HITS] > 0)
            return true;
    return false;
}

void sd_line_list_skip_zero(struct sd_line_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        if (has_run(&l->functions[i]))
            l->functions[n++] = l->functions[i];
    l->n = n;
}

static int add_function(const struct sd_line_list_function *f,
                        enum sd_line_list_twins twins, struct sd_line_stats *out)
{
    size_t n_file = strlen(f->file), n_name = strlen(f->name), at;
    int rc = twins == SD_TWINS_APART
                 ? sd_line_stats_add_function(out, f->file, n_file, f->first, f->name,
                                              n_name, &at)
                 : sd_line_stats_function(out, f->file, n_file, f->first, f->name,
                                          n_name, &at);

    for (size_t i = 0; i < f->n_rows && rc == 0; i++)
        if (f->rows[i].values[SD_LINE_HITS] > 0)
            rc = sd_line_stats_add_line(
                out, at,
                (struct sd_line_entry){ .line = f->rows[i].line,
                                        .hits = f->rows[i].values[SD_LINE_HITS],
                                        .time =
                                            (double)f->rows[i].values[SD_LINE_TIME] });
    return rc;
}

int sd_line_list_stats(const struct sd_line_list *l, enum sd_line_list_twins twins,
                       struct sd_line_stats *out)
{
    int rc = 0;

    out->unit = 1e-9;
    for (size_t i = 0; i < l->n && rc == 0; i++)
        rc = add_function(&l->functions[i], twins, out);
    if (rc == 0 && twins == SD_TWINS_TOGETHER)
        sd_line_stats_fold(out);
    return rc;
}

void sd_line_list_release(struct sd_line_list *l)
{
    sd_arena_release(&l->arena);
    memset(l, 0, sizeof *l);
}
