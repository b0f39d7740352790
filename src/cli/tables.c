/* SPDX-License-Identifier: MIT */
#include "cli/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/analyse.h"
#include "analyse/scaling.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/facts.h"

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
                                    .is_cpu = wish->is_cpu };
}

static int make_functions(const struct sd_profile *p, const struct sd_tables_wish *wish,
                          struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    if (sd_tables_are_traced(p, wish))
        return sd_traced_functions(p, &traced, v);
    if (wish->by == SD_CALLS_BY_MODULE)
        return sd_analyse_modules(p, &wish->samples, v);
    return wish->by == SD_CALLS_BY_LINE ? sd_analyse_lines(p, &wish->samples, v)
                                        : sd_analyse_functions(p, &wish->samples, v);
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
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    if (sd_tables_are_traced(p, wish))
        return sd_traced_tree(p, &traced, wish->least_percent, v);
    return sd_analyse_call_tree(p, &wish->samples, wish->by, wish->least_percent, v);
}

static int make_callers(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    return sd_tables_are_traced(p, wish)
               ? sd_traced_calls(p, &traced, SD_CALLERS, wish->match, v)
               : sd_analyse_calls(p, &wish->samples, SD_CALLERS, wish->match, v);
}

static int make_callees(const struct sd_profile *p, const struct sd_tables_wish *wish,
                        struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    return sd_tables_are_traced(p, wish)
               ? sd_traced_calls(p, &traced, SD_CALLEES, wish->match, v)
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
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    return sd_scaling_table(p, &traced, v);
}

static int make_scaling_points(const struct sd_profile *p,
                               const struct sd_tables_wish *wish, struct sd_view *v)
{
    struct sd_traced_wish traced = sd_tables_traced_wish(wish);

    return sd_scaling_points(p, &traced, v);
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
    make_table *make;
} tables[] = { { "functions", FLAT, true, make_functions },
               { "calls", TREE, true, make_calls },
               { "lines", LONG, true, make_lines },
               { "callers", NAMED, true, make_callers },
               { "callees", NAMED, true, make_callees },
               { "threads", LONG, true, make_threads },
               { "imports", NAMED, true, make_imports },
               { "scaling", NAMED, false, make_scaling },
               { "scaling_points", NAMED, false, make_scaling_points },
               { "sections", ALWAYS, false, make_sections },
               { "processes", ALWAYS, false, make_processes },
               { "series", LONG, false, make_series } };
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

static int make(const struct sd_profile *p, const struct sd_tables_wish *wish, size_t i,
                struct sd_view *v)
{
    if (!is_wanted(p, wish, i) || (tables[i].of_samples && !has_stacks(p)) ||
        is_printed_as_pstats(p, wish, i))
        return 0;
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

static int fill(const struct sd_profile *p, const struct sd_tables_wish *wish,
                struct sd_view *v)
{
    bool are_both = sd_tables_are_both(p, wish);
    int rc = wish->table ? check_names(wish->table) : 0;

    for (size_t i = 0; i < N_TABLES && rc == 0; i++) {
        size_t from = v->n_tables;

        rc = make(p, wish, i, v);
        if (rc == 0 && are_both && is_of_either(i))
            rc = tell_apart(v, from, false);
    }
    return rc == 0 && are_both ? fill_traced(p, wish, v) : rc;
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

/* What pstats and hands used to short words call a column. */
static const char *const aliases[][2] = {
    { "self", "self%" },      { "tottime", "self%" },    { "time", "self%" },
    { "ncalls", "calls" },    { "pcalls", "primitive" }, { "cum", "cum%" },
    { "cumulative", "cum%" }, { "cumtime", "cum%" },     { "name", "function" },
    { "nfl", "function" },    { "filename", "where" },   { "module", "where" },
};

static bool has_column(const struct sd_view_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return true;
    return false;
}

/* The table's column of this name or alias, or NULL. */
static const char *column_for(const struct sd_view_table *t, const char *name)
{
    if (has_column(t, name))
        return name;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i][0], name) == 0 && has_column(t, aliases[i][1]))
            return aliases[i][1];
    return NULL;
}

static size_t limit_of(const struct sd_tables_wish *wish, const struct sd_view_table *t)
{
    size_t n;

    if (wish->fraction <= 0)
        return wish->limit;
    n = (size_t)((double)t->n_rows * wish->fraction + 0.5); /* as pstats rounds */
    return n ? n : 1;
}

/* The key for this table as it knows it; NULL: it has no such column. */
static int key_for(struct sd_view *v, const struct sd_view_table *t, const char *key,
                   const char **out)
{
    bool is_reversed = *key == '-';
    const char *column = column_for(t, key + is_reversed);

    *out = column;
    if (!column || !is_reversed)
        return 0;
    *out = sd_arena_printf(&v->arena, "-%s", column);
    return *out ? 0 : sd_no_memory();
}

/* A column sorts every table that has it; the others keep their order.  One that none
 * has is refused in the words of the first table. */
static int sort(struct sd_view *v, const struct sd_tables_wish *wish)
{
    bool is_known = !wish->sort || wish->is_sort_known;
    int rc = 0;

    for (size_t i = 0; wish->sort && i < v->n_tables; i++)
        is_known |=
            column_for(&v->tables[i], wish->sort + (*wish->sort == '-')) != NULL;
    for (size_t i = 0; i < v->n_tables && rc == 0; i++) {
        struct sd_view_table *t = &v->tables[i];
        const char *key = wish->sort;

        if (key && is_known)
            rc = key_for(v, t, key, &key);
        if (rc == 0)
            rc = sd_view_table_sort(v, t, key, limit_of(wish, t));
    }
    return rc;
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
    return sort(v, wish);
}

void sd_tables_text(struct sd_out *out, const struct sd_view *v,
                    const struct sd_text_style *style)
{
    for (size_t i = 0; i < v->n_tables; i++) {
        sd_out_text(out, i ? "\n" : "");
        sd_report_table_text(out, &v->tables[i], style);
    }
}

void sd_tables_csv(struct sd_out *out, const struct sd_view *v)
{
    if (v->n_tables)
        sd_report_table_csv(out, &v->tables[0]);
}

static void put_summary(struct sd_json *j, const struct sd_profile *p)
{
    struct sd_summary f;

    if (sd_facts_of(p, &f) < 0)
        j->out->pending.bad = true; /* said by the flush */
    sd_json_key(j, "summary");
    sd_json_object(j);
    sd_json_key(j, "wall_ns");
    sd_json_uint(j, f.wall_ns);
    sd_json_key(j, "cpu_ns");
    if (f.has_cpu)
        sd_json_uint(j, f.cpu_ns);
    else
        sd_json_null(j);
    sd_json_key(j, "peak_rss_bytes");
    if (f.peak_bytes < 0)
        sd_json_null(j);
    else
        sd_json_int(j, f.peak_bytes);
    sd_json_key(j, "processes");
    sd_json_uint(j, f.n_processes);
    sd_json_key(j, "threads");
    sd_json_uint(j, f.n_threads);
    sd_json_key(j, "points");
    sd_json_uint(j, f.n_points);
    sd_json_key(j, "spans");
    sd_json_uint(j, f.n_spans);
    sd_json_key(j, "samples");
    sd_json_uint(j, f.n_samples);
    sd_json_end(j);
}

static void put_metrics(struct sd_json *j, const struct sd_profile *p)
{
    static const char *const units[] = { [SD_UNIT_COUNT] = "count",
                                         [SD_UNIT_NANOSECONDS] = "ns",
                                         [SD_UNIT_BYTES] = "bytes" };
    static const char *const adds[] = { [SD_ADDS_SUM] = "sum",
                                        [SD_ADDS_LEVEL] = "level",
                                        [SD_ADDS_COUNTER] = "counter",
                                        [SD_ADDS_PEAK] = "peak" };

    sd_json_key(j, "metrics");
    sd_json_array(j);
    for (size_t i = 0; i < p->n_metrics; i++) {
        const struct sd_metric *m = &p->metrics[i];

        sd_json_object(j);
        sd_json_key(j, "name");
        sd_json_string(j, m->name);
        sd_json_key(j, "unit");
        sd_json_string(j, units[m->unit]);
        sd_json_key(j, "adds");
        sd_json_string(j, adds[m->adds]);
        sd_json_key(j, "meaning");
        sd_json_string(j, m->meaning);
        sd_json_end(j);
    }
    sd_json_end(j);
}

void sd_tables_json(struct sd_out *out, const struct sd_profile *p,
                    const struct sd_view *v, char *const *files, size_t n_files)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key(&j, "file");
    sd_json_string(&j, files[0]);
    sd_json_key(&j, "files");
    sd_json_array(&j);
    for (size_t i = 0; i < n_files; i++)
        sd_json_string(&j, files[i]);
    sd_json_end(&j);
    sd_json_key(&j, "whole");
    sd_json_bool(&j, p->complaint == NULL);
    sd_json_key(&j, "complaint");
    sd_json_string(&j, p->complaint);
    put_summary(&j, p);
    put_metrics(&j, p);
    for (size_t i = 0; i < v->n_tables; i++)
        sd_report_table_json(&j, &v->tables[i]);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

/* Rounds that came too late are of the whole recording: nothing to say of a window. */
static void put_samples(struct sd_buf *to, const struct sd_profile *p,
                        const struct sd_summary *f)
{
    char number[SD_TEXT_MAX];
    struct sd_sample_account a;

    if (f->n_samples == 0)
        return;
    sd_buf_printf(to, ", %s %s", sd_text_count(number, (int64_t)f->n_samples),
                  plural(f->n_samples, "sample", "samples"));
    if (p->window.is_set || !sd_account_of(p, &a))
        return;
    sd_buf_printf(to, " (%s missed", sd_text_count(number, (int64_t)a.missed));
    if (a.lost)
        sd_buf_printf(to, ", %s lost", sd_text_count(number, (int64_t)a.lost));
    sd_buf_text(to, ")");
}

/* In one unit as long as that reads well: the two stand side by side to be compared. */
static const char *in_seconds(char out[SD_TEXT_MAX], uint64_t ns)
{
    if (ns >= 1000000000u)
        return sd_text_duration(out, (int64_t)ns);
    snprintf(out, SD_TEXT_MAX, "%.3f s", (double)ns / 1e9);
    return out;
}

void sd_summary_words(struct sd_buf *to, const struct sd_profile *p)
{
    char wall[SD_TEXT_MAX], cpu[SD_TEXT_MAX], peak[SD_TEXT_MAX];
    struct sd_summary f;

    if (sd_facts_of(p, &f) < 0) {
        to->bad = true;
        return;
    }
    sd_buf_printf(to, "%s wall", in_seconds(wall, f.wall_ns));
    if (f.has_cpu)
        sd_buf_printf(to, ", %s CPU", in_seconds(cpu, f.cpu_ns));
    if (f.peak_bytes >= 0)
        sd_buf_printf(to, ", peak %s", sd_text_bytes(peak, f.peak_bytes));
    put_samples(to, p, &f);
    sd_buf_printf(to, " in %u %s", f.n_processes,
                  plural(f.n_processes, "process", "processes"));
    if (f.n_threads)
        sd_buf_printf(to, ", %u %s", f.n_threads,
                      plural(f.n_threads, "thread", "threads"));
}
