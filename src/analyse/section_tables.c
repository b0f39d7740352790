/* SPDX-License-Identifier: MIT */
/* section_tables: what the program's own named regions cost, as a table and as a tree.
 */
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/section_groups.h"
#include "analyse/processes.h"
#include "analyse/views.h"
#include "base/assert.h"
#include "base/mem.h"

enum { MAX_COLUMNS = 64 };

/* How a column gets its value from a group. */
enum source {
    FROM_NAME,
    FROM_PATH,
    FROM_COUNT,
    FROM_WALL,
    FROM_OWN,
    FROM_SHARE,
    FROM_MEAN,
    FROM_MIN,
    FROM_MAX,
    FROM_METRIC, /* what it adds up to */
    FROM_CHANGE, /* one metric less another */
    FROM_RAISED,
    FROM_UNFINISHED,
};

struct layout {
    struct sd_column columns[MAX_COLUMNS];
    enum source sources[MAX_COLUMNS];
    uint32_t metrics[MAX_COLUMNS], before[MAX_COLUMNS];
    size_t n;
    bool is_bad; /* a name did not fit into memory */
};

static void add_column(struct layout *l, enum source source, struct sd_column column)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->columns[i].name, column.name) == 0)
            return; /* a name is a key: the first one has it */
    if (l->n == MAX_COLUMNS)
        return;
    l->columns[l->n] = column;
    l->sources[l->n++] = source;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* "rss_after" to the metric "rss_before", or UINT32_MAX. */
static uint32_t before_of(const struct sd_profile *p, const char *name)
{
    size_t stem = strlen(name) - strlen("_after");

    sd_assert(ends_with(name, "_after"));
    for (uint32_t i = 0; i < p->n_metrics; i++)
        if (strlen(p->metrics[i].name) == stem + strlen("_before") &&
            memcmp(p->metrics[i].name, name, stem) == 0 &&
            ends_with(p->metrics[i].name, "_before"))
            return i;
    return UINT32_MAX;
}

/* Levels before and after are of interest as the change between them. */
static bool add_change(struct layout *l, const struct sd_profile *p, uint32_t metric,
                       struct sd_arena *a, uint8_t rank)
{
    const struct sd_metric *m = &p->metrics[metric];
    uint32_t before;
    const char *name;

    if (ends_with(m->name, "_before"))
        return true;
    if (!ends_with(m->name, "_after") || l->n == MAX_COLUMNS)
        return false;
    before = before_of(p, m->name);
    if (before == UINT32_MAX)
        return false;
    name = sd_arena_printf(a, "%.*s_change", (int)(strlen(m->name) - strlen("_after")),
                           m->name);
    l->is_bad |= !name;
    if (!name)
        return true;
    l->metrics[l->n] = metric;
    l->before[l->n] = before;
    add_column(l, FROM_CHANGE,
               (struct sd_column){ name, "after less before, summed over all runs",
                                   sd_cell_kind_of(m->unit), false, rank });
    return true;
}

/* In the order one looks at them; the rest follows as it comes.  The second number
 * says how soon a narrow terminal goes without. */
static const struct {
    const char *metric;
    uint8_t rank;
} looked_at[] = {
    { "cpu", 1 },       { "process_cpu", 6 }, { "rss_after", 3 }, { "peak_rss", 2 },
    { "vms_after", 9 }, { "pss_after", 5 },   { "read", 4 },      { "written", 4 },
    { "received", 8 },  { "sent", 8 },
};
enum { N_LOOKED_AT = sizeof looked_at / sizeof looked_at[0] };

static void add_metric(struct layout *l, const struct sd_profile *p, uint32_t metric,
                       struct sd_arena *a, uint8_t rank)
{
    const struct sd_metric *m = &p->metrics[metric];

    if (add_change(l, p, metric, a, rank) || l->n == MAX_COLUMNS)
        return;
    l->metrics[l->n] = metric;
    add_column(l, FROM_METRIC,
               (struct sd_column){ m->name, m->meaning, sd_cell_kind_of(m->unit), false,
                                   rank });
}

static void add_metrics(struct layout *l, const struct sd_profile *p,
                        const struct sd_groups *g, struct sd_arena *a)
{
    for (size_t k = 0; k <= N_LOOKED_AT; k++)
        for (uint32_t i = 0; i < p->n_metrics; i++) {
            bool is_last = k == N_LOOKED_AT;

            if (g->is_measured[i] &&
                (is_last || strcmp(p->metrics[i].name, looked_at[k].metric) == 0))
                add_metric(l, p, i, a, is_last ? 7 : looked_at[k].rank);
        }
}

/* What stands before the metrics, in the table, in the tree, or in both. */
enum { TABLE = 1, TREE = 2, BOTH = TABLE | TREE };
static const struct {
    int in;
    enum source source;
    struct sd_column column;
} fixed[] = {
    { TABLE,
      FROM_NAME,
      { "section", "its path, outer ones first", SD_CELL_TEXT, false, 0 } },
    { TREE,
      FROM_NAME,
      { "section", "its own name, under the one around it", SD_CELL_TEXT, false, 0 } },
    /* Rows of several trees may have one name; as text, where they stand tells. */
    { TREE,
      FROM_PATH,
      { "path", "names of all sections around it, and its", SD_CELL_TEXT, true, 0 } },
    { BOTH, FROM_COUNT, { "count", "how often it ran", SD_CELL_COUNT, false, 0 } },
    { BOTH,
      FROM_WALL,
      { "wall", "time it was open, all runs together", SD_CELL_NS, false, 0 } },
    { TREE,
      FROM_OWN,
      { "own", "wall less that of the sections inside it", SD_CELL_NS, false, 0 } },
    { BOTH,
      FROM_SHARE,
      { "share", "wall as percent of the whole run's", SD_CELL_PERCENT, false, 1 } },
    { BOTH, FROM_MEAN, { "mean", "wall of one run", SD_CELL_NS, false, 2 } },
    { TABLE, FROM_MIN, { "min", "wall of the shortest run", SD_CELL_NS, false, 5 } },
    { TABLE, FROM_MAX, { "max", "wall of the longest run", SD_CELL_NS, false, 4 } },
};

static void add_fixed(struct layout *l, int of)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i].in & of)
            add_column(l, fixed[i].source, fixed[i].column);
}

/* Zero almost always: shown on a terminal only when there is something to say. */
static void add_endings(struct layout *l, const struct sd_groups *g)
{
    bool has_raised = false, has_unfinished = false;

    for (size_t i = 0; i < g->n; i++) {
        has_raised |= g->items[i].n_raised > 0;
        has_unfinished |= g->items[i].n_unfinished > 0;
    }
    add_column(l, FROM_RAISED,
               (struct sd_column){ "raised", "runs left by an exception", SD_CELL_COUNT,
                                   !has_raised, 1 });
    add_column(l, FROM_UNFINISHED,
               (struct sd_column){ "unfinished",
                                   "runs whose end was not recorded: they last until "
                                   "the last that was",
                                   SD_CELL_COUNT, !has_unfinished, 0 });
}

struct context {
    const struct layout *layout;
    const struct sd_groups *groups;
    const int64_t *inner; /* by group: wall of what is inside it; NULL: flat */
    double run_ns;
};

static struct sd_cell change_cell(const struct sd_group *g, enum sd_cell_kind kind,
                                  uint32_t after, uint32_t before)
{
    int64_t change;

    if (g->values[after].n == 0 || g->values[before].n == 0 ||
        __builtin_sub_overflow(g->values[after].total, g->values[before].total,
                               &change))
        return (struct sd_cell){ 0 };
    return sd_cell_number(kind, change);
}

static struct sd_cell metric_cell(const struct sd_group *g, enum sd_cell_kind kind,
                                  const struct sd_metric *m, uint32_t metric)
{
    const struct sd_sum *s = &g->values[metric];

    sd_assert(m->adds >= SD_ADDS_SUM && m->adds <= SD_ADDS_PEAK);
    if (s->n == 0)
        return (struct sd_cell){ 0 };
    return sd_cell_number(kind, m->adds == SD_ADDS_LEVEL ? s->max : s->total);
}

static struct sd_cell cell_of(const struct context *c, const struct sd_profile *p,
                              const struct sd_group *g, size_t i)
{
    const struct layout *l = c->layout;
    enum sd_cell_kind kind = l->columns[i].kind;
    int64_t wall = g->wall.total;

    if (g->count == 0 && l->sources[i] > FROM_COUNT)
        return (struct sd_cell){ 0 };
    switch (l->sources[i]) {
    case FROM_NAME:
        return sd_cell_text(c->inner ? g->name : g->path);
    case FROM_PATH:
        return sd_cell_text(g->path);
    case FROM_COUNT:
        return sd_cell_number(kind, (int64_t)g->count);
    case FROM_WALL:
        return sd_cell_number(kind, wall);
    case FROM_OWN: /* what is inside may run in threads side by side */
        wall -= c->inner[g - c->groups->items];
        return sd_cell_number(kind, wall > 0 ? wall : 0);
    case FROM_SHARE:
        return c->run_ns > 0 ? sd_cell_real(kind, 100.0 * (double)wall / c->run_ns)
                             : (struct sd_cell){ 0 };
    case FROM_MEAN:
        return sd_cell_number(kind, wall / (int64_t)g->count);
    case FROM_MIN:
        return sd_cell_number(kind, g->wall.min);
    case FROM_MAX:
        return sd_cell_number(kind, g->wall.max);
    case FROM_METRIC:
        return metric_cell(g, kind, &p->metrics[l->metrics[i]], l->metrics[i]);
    case FROM_CHANGE:
        return change_cell(g, kind, l->metrics[i], l->before[i]);
    case FROM_RAISED:
        return sd_cell_number(kind, (int64_t)g->n_raised);
    case FROM_UNFINISHED:
        return sd_cell_number(kind, (int64_t)g->n_unfinished);
    }
    return (struct sd_cell){ 0 };
}

/* A column of nothing but zeros (no network, no disk) only takes room. */
static void hide_empty(struct sd_view_table *t, const struct layout *l)
{
    for (size_t k = 0; k < t->n_columns; k++) {
        bool has_any = false;

        if (l->sources[k] != FROM_METRIC && l->sources[k] != FROM_CHANGE)
            continue;
        for (size_t i = 0; i < t->n_rows && !has_any; i++)
            has_any = sd_view_cell(t, i, k)->number != 0;
        t->columns[k].is_hidden_in_text |= !has_any;
    }
}

static int fill(const struct sd_profile *p, struct sd_view *v, const struct context *c,
                struct sd_view_table **out)
{
    const struct layout *l = c->layout;
    struct sd_view_table *t =
        sd_views_add(v, "sections", l->columns, l->n, c->groups->n);

    sd_assert(l->n > 0 && l->n <= MAX_COLUMNS);
    *out = t;
    if (!t || l->is_bad)
        return sd_no_memory();
    for (size_t row = 0; row < t->n_rows; row++)
        for (size_t k = 0; k < l->n; k++)
            *sd_view_cell(t, row, k) = cell_of(c, p, &c->groups->items[row], k);
    hide_empty(t, l);
    return 0;
}

static int set_parents(struct sd_view *v, struct sd_view_table *t,
                       const struct sd_groups *g)
{
    t->parents = sd_arena_alloc(&v->arena, (g->n + 1) * sizeof *t->parents);
    if (!t->parents)
        return sd_no_memory();
    for (size_t i = 0; i < g->n; i++)
        t->parents[i] =
            g->items[i].parent == UINT32_MAX ? -1 : (int32_t)g->items[i].parent;
    return 0;
}

/* By group: the wall time of the sections right inside it. */
static int64_t *inner_times(const struct sd_groups *g, struct sd_arena *a)
{
    int64_t *inner = sd_arena_alloc(a, (g->n + 1) * sizeof *inner);

    for (size_t i = 0; inner && i < g->n; i++) {
        const struct sd_group *one = &g->items[i];
        sd_assert(one->parent == UINT32_MAX || one->parent < g->n);

        if (one->parent != UINT32_MAX &&
            __builtin_add_overflow(inner[one->parent], one->wall.total,
                                   &inner[one->parent]))
            inner[one->parent] = INT64_MAX;
    }
    return inner;
}

/* One row per path: count, wall (total, share, min, mean, max), then every metric seen,
 * by what it adds up to; or a tree of nested sections. */
int sd_section_tables_view(const struct sd_profile *p, const struct sd_view_request *r,
                           struct sd_view *v)
{
    bool is_tree = r->is_tree;
    struct layout l = { .n = 0 };
    struct sd_groups g;
    struct context c = { &l, &g, NULL, (double)sd_run_wall_ns(p) };
    struct sd_view_table *t;
    int rc = sd_section_groups_make(p, is_tree ? SD_GROUPS_TREE : SD_GROUPS_FLAT,
                                    &v->arena, &g);

    if (rc < 0)
        return rc;
    c.inner = is_tree ? inner_times(&g, &v->arena) : NULL;
    rc = is_tree && !c.inner ? sd_no_memory() : 0;
    add_fixed(&l, is_tree ? TREE : TABLE);
    add_metrics(&l, p, &g, &v->arena);
    add_endings(&l, &g);
    if (rc == 0)
        rc = fill(p, v, &c, &t);
    if (rc == 0 && is_tree)
        rc = set_parents(v, t, &g);
    if (rc == 0)
        rc = sd_view_table_sort(v, t, "wall", 0);
    sd_groups_release(&g);
    return rc;
}
