/* SPDX-License-Identifier: MIT */
#include "cli/tables.h"

#include <string.h>

#include "analyse/analyse.h"
#include "analyse/growth/scaling.h"
#include "base/error.h"
#include "base/mem.h"

bool sd_tables_by_cpu(const struct sd_profile *p, const struct sd_sample_choice *choice,
                      struct sd_buf *why)
{
    double share;

    if (choice->metric || choice->has_idle || !sd_analyse_lacks_cpu(p, &share))
        return false;
    sd_buf_printf(
        why,
        "threads that could run had a CPU %.0f %% of the time (a busy machine, "
        "or a limit), so shares are of CPU time; sonde report --metric "
        "samples has those of samples",
        100 * share);
    return true;
}

typedef int make_table(const struct sd_profile *p, const struct sd_tables_wish *wish,
                       struct sd_view *v);

bool sd_tables_are_traced(const struct sd_profile *p, const struct sd_tables_wish *wish)
{
    return p->calls.n > 0 && sd_profile_totals(p, wish->samples.metric) == &p->calls;
}

bool sd_tables_are_both(const struct sd_profile *p, const struct sd_tables_wish *wish)
{
    return wish->has_both && !wish->samples.metric && p->samples.n > 0 &&
           p->calls.n > 0;
}

struct sd_traced_wish sd_tables_traced_wish(const struct sd_tables_wish *wish)
{
    return (struct sd_traced_wish){ .choice = wish->samples,
                                    .by = wish->by == SD_CALLS_BY_MODULE
                                              ? SD_CALLS_BY_MODULE
                                              : SD_CALLS_BY_FUNCTION,
                                    .is_raw = wish->is_raw,
                                    .is_cpu = wish->is_cpu,
                                    .has_sizes = wish->has_sizes };
}

struct sd_traced_wish sd_tables_scaling_wish(const struct sd_profile *p,
                                             const struct sd_tables_wish *wish)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);
    const char *metric = wish->samples.metric ? wish->samples.metric : "cpu_time";

    if (strcmp(metric, "cpu_time") == 0 &&
        sd_totals_metric(p, &p->calls, metric) != UINT32_MAX)
        traced.is_cpu = true;
    return traced;
}

/* A table of traced calls, once, or once for each thread. */
static int make_traced(const struct sd_profile *p, const struct sd_tables_wish *wish,
                       sd_traced_table *make, struct sd_view *v)
{
    const struct sd_traced_wish traced = sd_tables_traced_wish(wish);
    const struct sd_traced_table_wish how = { traced, wish->match,
                                              wish->least_percent };

    return wish->has_threads ? sd_traced_by_thread(p, &how, make, v) : make(p, &how, v);
}

static int traced_functions(const struct sd_profile *p,
                            const struct sd_traced_table_wish *how, struct sd_view *v)
{
    return sd_traced_functions(p, &how->traced, v);
}

static int traced_tree(const struct sd_profile *p,
                       const struct sd_traced_table_wish *how, struct sd_view *v)
{
    return sd_traced_tree(p, &how->traced, how->least_percent, v);
}

static int traced_callers(const struct sd_profile *p,
                          const struct sd_traced_table_wish *how, struct sd_view *v)
{
    return sd_traced_calls(p, &how->traced, SD_CALLERS, how->match, v);
}

static int traced_callees(const struct sd_profile *p,
                          const struct sd_traced_table_wish *how, struct sd_view *v)
{
    return sd_traced_calls(p, &how->traced, SD_CALLEES, how->match, v);
}

static int make_functions(const struct sd_profile *p, const struct sd_tables_wish *wish,
                          struct sd_view *v)
{
    struct sd_tables_wish folded = *wish;

    folded.samples.folds_imports = wish->folds_imports;
    if (sd_tables_are_traced(p, wish))
        return make_traced(p, &folded, traced_functions, v);
    if (wish->by == SD_CALLS_BY_MODULE)
        return sd_analyse_modules(p, &wish->samples, v);
    return wish->by == SD_CALLS_BY_LINE ? sd_analyse_lines(p, &wish->samples, v)
                                        : sd_analyse_functions(p, &folded.samples, v);
}

/* Traced calls know no lines. */
static int make_lines(const struct sd_profile *p, const struct sd_tables_wish *wish,
                      struct sd_view *v)
{
    if (sd_tables_are_traced(p, wish))
        return 0;
    return sd_analyse_lines(p, &wish->samples, v);
}

static int make_calls(const struct sd_profile *p, const struct sd_tables_wish *wish,
                      struct sd_view *v)
{
    if (sd_tables_are_traced(p, wish))
        return make_traced(p, wish, traced_tree, v);
    return sd_analyse_call_tree(p, &wish->samples, wish->by, wish->least_percent, v);
}

static int make_callers(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    return sd_tables_are_traced(p, wish)
               ? make_traced(p, wish, traced_callers, v)
               : sd_analyse_calls(p, &wish->samples, SD_CALLERS, wish->match, v);
}

static int make_callees(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    return sd_tables_are_traced(p, wish)
               ? make_traced(p, wish, traced_callees, v)
               : sd_analyse_calls(p, &wish->samples, SD_CALLEES, wish->match, v);
}

static int make_imports(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    return sd_traced_imports(p, &traced, v);
}

static int make_scaling(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_scaling_wish(p, wish);
    bool has_points = sd_tables_has(p, wish, "scaling_points");

    traced.choice.folds_imports = wish->folds_imports;
    return sd_scaling_tables(
        p, &traced, SD_SCALING_FUNCTIONS | (has_points ? SD_SCALING_POINTS : 0), v);
}

/* With the table of functions they have been made already. */
static int make_scaling_points(const struct sd_profile *p,
                               const struct sd_tables_wish *wish, struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_scaling_wish(p, wish);

    return sd_tables_has(p, wish, "scaling")
               ? 0
               : sd_scaling_tables(p, &traced, SD_SCALING_POINTS, v);
}

static int make_threads(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    return sd_tables_are_traced(p, wish) ? sd_traced_threads(p, v)
                                         : sd_analyse_threads(p, v);
}

static int make_sections(const struct sd_profile *p, const struct sd_tables_wish *wish,
                         struct sd_view *v)
{
    return wish->is_tree ? sd_analyse_section_tree(p, v) : sd_analyse_sections(p, v);
}

static int make_processes(const struct sd_profile *p, const struct sd_tables_wish *wish,
                          struct sd_view *v)
{
    (void)wish;
    return sd_analyse_processes(p, v);
}

static int make_series(const struct sd_profile *p, const struct sd_tables_wish *wish,
                       struct sd_view *v)
{
    (void)wish;
    return sd_analyse_series(p, v);
}

/* When a table is made without being asked for by name. */
enum when {
    FLAT,   /* always, unless a tree is wanted */
    TREE,   /* when a tree is wanted */
    ALWAYS, /* in either case */
    LONG,   /* where nothing is left out: JSON */
    NAMED,  /* never */
};
static const struct {
    const char *name;
    enum when when;
    bool of_samples; /* made only when there are some, or traced calls */
    bool has_shares; /* of samples, which CPU time may stand for */
    make_table *make;
} tables[] = { { "functions", FLAT, true, true, make_functions },
               { "calls", TREE, true, true, make_calls },
               { "lines", LONG, true, true, make_lines },
               { "callers", NAMED, true, true, make_callers },
               { "callees", NAMED, true, true, make_callees },
               { "threads", LONG, true, false, make_threads },
               { "imports", NAMED, true, false, make_imports },
               { "scaling", NAMED, false, false, make_scaling },
               { "scaling_points", NAMED, false, false, make_scaling_points },
               { "sections", ALWAYS, false, false, make_sections },
               { "processes", ALWAYS, false, false, make_processes },
               { "series", LONG, false, false, make_series } };
enum { N_TABLES = sizeof tables / sizeof tables[0] };

/* Is the name one of these, which commas keep apart? */
static bool is_named(const char *names, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = names; *at; at += strspn(at, ",")) {
        size_t k = strcspn(at, ",");

        if (k == n && memcmp(at, name, n) == 0)
            return true;
        at += k;
    }
    return false;
}

static bool has_stacks(const struct sd_profile *p)
{
    return p->samples.n > 0 || p->calls.n > 0;
}

static bool is_wanted(const struct sd_profile *p, const struct sd_tables_wish *wish,
                      size_t i)
{
    if (wish->table)
        return is_named(wish->table, tables[i].name);
    if (tables[i].of_samples && !has_stacks(p))
        return false;
    /* Without readings a row of it would be little more than a pid. */
    if (tables[i].make == make_processes && wish->is_short && p->n_series == 0)
        return false;
    switch (tables[i].when) {
    case FLAT:
        return !wish->is_tree;
    case TREE:
        return wish->is_tree;
    case ALWAYS:
        return true;
    case LONG:
        return !wish->is_short;
    case NAMED:
        return false;
    }
    return false;
}

static int no_table(const char *name, size_t n)
{
    struct sd_buf all = { 0 };
    int rc;

    for (size_t i = 0; i < N_TABLES; i++)
        sd_buf_printf(&all, "%s%s",
                      i == 0              ? ""
                      : i + 1 == N_TABLES ? " and "
                                          : ", ",
                      tables[i].name);
    rc = sd_fail(SD_EUSAGE, "there is no table \"%.*s\"; there are %s", (int)n, name,
                 sd_buf_string(&all));
    sd_buf_release(&all);
    return rc;
}

/* Every name must be one, those of tables without rows too. */
static int check_names(const char *names)
{
    for (const char *at = names; *at; at += strspn(at, ",")) {
        size_t n = strcspn(at, ","), i = 0;

        while (i < N_TABLES &&
               (strlen(tables[i].name) != n || memcmp(tables[i].name, at, n) != 0))
            i++;
        if (i == N_TABLES)
            return no_table(at, n);
        at += n;
    }
    return *names ? 0 : no_table(names, 0);
}

bool sd_tables_has(const struct sd_profile *p, const struct sd_tables_wish *wish,
                   const char *name)
{
    for (size_t i = 0; i < N_TABLES; i++)
        if (strcmp(tables[i].name, name) == 0)
            return is_wanted(p, wish, i);
    return false;
}

static bool is_printed_as_pstats(const struct sd_profile *p,
                                 const struct sd_tables_wish *wish, size_t i)
{
    return wish->has_pstats && sd_tables_are_traced(p, wish) &&
           (tables[i].make == make_functions || tables[i].make == make_callers ||
            tables[i].make == make_callees);
}

/* "Functions" becomes "Sampled functions", or "Traced functions" in JSON under a key of
 * its own: the keys of samples are those they have always had. */
static int tell_apart(struct sd_view *v, size_t from, bool is_traced)
{
    for (size_t i = from; i < v->n_tables; i++) {
        struct sd_view_table *t = &v->tables[i];
        char *title = sd_arena_printf(&v->arena, "%s %s",
                                      is_traced ? "Traced" : "Sampled", t->title);
        char *name = sd_arena_printf(&v->arena, "traced_%s", t->name);
        char *first;

        if (!title || !name)
            return sd_no_memory();
        first = title + strcspn(title, " ") + 1;
        *first = (char)(*first - 'A' + 'a');
        t->title = title;
        t->name = is_traced ? name : t->name;
    }
    return 0;
}

/* Has a table before this one given the reason? */
static bool is_told(const struct sd_view *v, size_t n_tables, const char *why)
{
    for (size_t i = 0; i < n_tables; i++)
        if (v->tables[i].note && strstr(v->tables[i].note, why))
            return true;
    return false;
}

/* Behind what the table says itself. */
static int add_note(struct sd_view *v, struct sd_view_table *t, const char *text)
{
    const char *note = sd_arena_printf(&v->arena, "%s%s%s", t->note ? t->note : "",
                                       t->note ? "; " : "", text);

    if (!note)
        return sd_no_memory();
    t->note = note;
    return 0;
}

static int make_by_cpu(const struct sd_profile *p, const struct sd_tables_wish *wish,
                       size_t i, struct sd_view *v)
{
    struct sd_tables_wish by_cpu = *wish;
    struct sd_buf why = { 0 };
    size_t from = v->n_tables;
    bool is_by_cpu = sd_tables_by_cpu(p, &wish->samples, &why);
    int rc;

    if (is_by_cpu)
        by_cpu.samples.metric = "cpu";
    rc = tables[i].make(p, &by_cpu, v);
    if (rc == 0 && why.bad)
        rc = sd_no_memory();
    for (; is_by_cpu && from < v->n_tables && rc == 0; from++)
        rc = add_note(v, &v->tables[from],
                      is_told(v, from, sd_buf_string(&why)) ? "shares are of CPU time"
                                                            : sd_buf_string(&why));
    sd_buf_release(&why);
    return rc;
}

static int make(const struct sd_profile *p, const struct sd_tables_wish *wish, size_t i,
                struct sd_view *v)
{
    if (!is_wanted(p, wish, i) || (tables[i].of_samples && !has_stacks(p)) ||
        is_printed_as_pstats(p, wish, i))
        return 0;
    if (wish->is_for_eyes && tables[i].has_shares && p->samples.n > 0 &&
        !sd_tables_are_traced(p, wish))
        return make_by_cpu(p, wish, i, v);
    return tables[i].make(p, wish, v);
}

/* Imports are traced in any case, and have been made. */
static bool is_of_either(size_t i)
{
    return tables[i].of_samples && tables[i].make != make_imports;
}

/* What was traced, where samples have been shown already. */
static int fill_traced(const struct sd_profile *p, const struct sd_tables_wish *wish,
                       struct sd_view *v)
{
    struct sd_tables_wish traced = *wish;
    size_t from = v->n_tables;
    int rc = 0;

    traced.samples.metric = "time";
    for (size_t i = 0; i < N_TABLES && rc == 0; i++)
        if (is_of_either(i))
            rc = make(p, &traced, i, v);
    return rc < 0 ? rc : tell_apart(v, from, true);
}

/* Whoever asks for lines where there are none is told who has them. */
static int check_lines(const struct sd_profile *p, const struct sd_tables_wish *wish)
{
    bool are_wanted =
        wish->by == SD_CALLS_BY_LINE || (wish->table && is_named(wish->table, "lines"));

    if (!are_wanted || !sd_tables_are_traced(p, wish))
        return 0;
    return sd_fail(
        SD_EUSAGE,
        "traced calls are of whole functions and have no lines; samples have "
        "them: sonde record, or sonde run --with calls,sample");
}

static int fill(const struct sd_profile *p, const struct sd_tables_wish *wish,
                struct sd_view *v)
{
    bool are_both = sd_tables_are_both(p, wish);
    int rc = wish->table ? check_names(wish->table) : 0;

    if (rc == 0 && !are_both)
        rc = check_lines(p, wish);
    for (size_t i = 0; i < N_TABLES && rc == 0; i++) {
        size_t from = v->n_tables;

        rc = make(p, wish, i, v);
        if (rc == 0 && are_both && is_of_either(i))
            rc = tell_apart(v, from, false);
    }
    return rc == 0 && are_both ? fill_traced(p, wish, v) : rc;
}

/* The columns of what a wish about traced calls is about. */
static int add_columns(const struct sd_tables_wish *wish, struct sd_view *v)
{
    int rc = !wish->table                       ? sd_traced_no_functions(wish->by, v)
             : is_named(wish->table, "scaling") ? sd_scaling_no_functions(v)
                                                : sd_traced_no_calls(v);

    return rc == 0 && wish->has_threads ? sd_traced_no_threads(v) : rc;
}

int sd_tables_check_order(const struct sd_tables_wish *wish)
{
    struct sd_view v = { 0 };
    int rc = add_columns(wish, &v);

    if (rc == 0)
        rc = sd_tables_order(&v, wish);
    sd_view_release(&v);
    return rc;
}

/* That nothing grows is an answer. */
static void drop_empty(struct sd_view *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->n_tables; i++)
        if (v->tables[i].n_rows || strcmp(v->tables[i].name, "scaling") == 0)
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

int sd_tables_of(const struct sd_profile *p, const struct sd_tables_wish *wish,
                 struct sd_view *v)
{
    int rc = fill(p, wish, v);

    for (size_t i = 0; wish->rows && i < v->n_tables && rc == 0; i++)
        rc = sd_view_table_match(v, &v->tables[i], wish->rows);
    if (rc < 0)
        return rc;
    drop_empty(v);
    for (size_t i = 0; wish->strips_dirs && i < v->n_tables; i++)
        strip_dirs(&v->tables[i]);
    return sd_tables_order(v, wish);
}
