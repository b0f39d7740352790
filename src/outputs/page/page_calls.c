/* SPDX-License-Identifier: MIT */
/* page_calls: functions and who calls whom, of a pstats file, as a page. */
#include "analyse/findings/stats_findings.h"
#include "analyse/stacks/graph_source.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "outputs/page/page_stats.h"

enum call_column { SELF, CUM, CALLS, PRIMITIVE, OWN, TOTAL, NAME, FILE_OF, LINE };
static const struct sd_column call_columns[] = {
    [SELF] = { "self%", "share of all time that was spent in it", SD_CELL_PERCENT,
               false, 0 },
    [CUM] = { "cum%", "the same with what it called", SD_CELL_PERCENT, false, 0 },
    [CALLS] = { "ncalls", "calls", SD_CELL_COUNT, false, 0 },
    [PRIMITIVE] = { "pcalls", "calls that were not made below itself", SD_CELL_COUNT,
                    true, 0 },
    [OWN] = { "tottime", "time in it", SD_CELL_NS, false, 0 },
    [TOTAL] = { "cumtime", "time in it and what it called", SD_CELL_NS, false, 0 },
    [NAME] = { "function", "its name", SD_CELL_TEXT, false, 0 },
    [FILE_OF] = { "file", "as the interpreter names it", SD_CELL_TEXT, false, 0 },
    [LINE] = { "line", "its first", SD_CELL_COUNT, false, 0 },
};
enum { N_CALL_COLUMNS = LINE + 1 };

static int put_function(struct sd_page_maker *m, const struct sd_call_function *f,
                        struct sd_cell *name, struct sd_cell *file,
                        struct sd_cell *line)
{
    *name = sd_cell_text(sd_page_text_of(m, &f->name));
    *file = sd_cell_text(sd_page_text_of(m, &f->file));
    *line = sd_cell_number(SD_CELL_COUNT, f->line);
    return name->text && file->text ? 0 : sd_no_memory();
}

static int put_row(struct sd_page_maker *m, const struct sd_call_stats *s,
                   const struct sd_call_function *f, struct sd_cell *row)
{
    row[SELF] = sd_page_percent(f->n.own, s->sum.own);
    row[CUM] = sd_page_percent(f->n.total, s->sum.own);
    row[CALLS] = sd_cell_number(SD_CELL_COUNT, f->n.calls);
    row[PRIMITIVE] = sd_cell_number(SD_CELL_COUNT, f->n.primitive);
    row[OWN] = sd_page_seconds(f->n.own);
    row[TOTAL] = sd_page_seconds(f->n.total);
    return put_function(m, f, &row[NAME], &row[FILE_OF], &row[LINE]);
}

static int make_functions(struct sd_page_maker *m, const struct sd_call_stats *s,
                          struct sd_view *v)
{
    struct sd_view_table *t = sd_view_add(v, "functions", "Functions", call_columns,
                                          N_CALL_COLUMNS, s->n_listed);
    int rc = t ? 0 : SD_ENOMEM;

    for (size_t i = 0; i < s->n_listed && rc == 0; i++)
        rc = put_row(m, s, sd_call_stats_at(s, s->listed[i]), sd_view_cell(t, i, 0));
    return rc < 0 ? rc : sd_view_table_sort(v, t, "tottime", 0);
}

/* The same pairs twice: by who is called, and by who calls. */
enum pair_column {
    PAIR_CALLER,
    PAIR_CALLER_FILE,
    PAIR_CALLER_LINE,
    PAIR_CALLS,
    PAIR_TOTAL,
    PAIR_NAME,
    PAIR_FILE,
    PAIR_LINE
};
static const struct sd_column pair_columns[] = {
    [PAIR_CALLER] = { "caller", "who calls", SD_CELL_TEXT, false, 0 },
    [PAIR_CALLER_FILE] = { "caller_file", "its file", SD_CELL_TEXT, false, 0 },
    [PAIR_CALLER_LINE] = { "caller_line", "its first line", SD_CELL_COUNT, false, 0 },
    [PAIR_CALLS] = { "ncalls", "calls from there", SD_CELL_COUNT, false, 0 },
    [PAIR_TOTAL] = { "cumtime", "time of these calls", SD_CELL_NS, false, 0 },
    [PAIR_NAME] = { "function", "who is called", SD_CELL_TEXT, false, 0 },
    [PAIR_FILE] = { "file", "its file", SD_CELL_TEXT, false, 0 },
    [PAIR_LINE] = { "line", "its first line", SD_CELL_COUNT, false, 0 },
};
enum { N_PAIR_COLUMNS = PAIR_LINE + 1 };
static const struct sd_column callee_columns[] = {
    [PAIR_CALLER] = { "function", "who calls", SD_CELL_TEXT, false, 0 },
    [PAIR_CALLER_FILE] = { "file", "its file", SD_CELL_TEXT, false, 0 },
    [PAIR_CALLER_LINE] = { "line", "its first line", SD_CELL_COUNT, false, 0 },
    [PAIR_CALLS] = { "ncalls", "calls from there", SD_CELL_COUNT, false, 0 },
    [PAIR_TOTAL] = { "cumtime", "time of these calls", SD_CELL_NS, false, 0 },
    [PAIR_NAME] = { "callee", "who is called", SD_CELL_TEXT, false, 0 },
    [PAIR_FILE] = { "callee_file", "its file", SD_CELL_TEXT, false, 0 },
    [PAIR_LINE] = { "callee_line", "its first line", SD_CELL_COUNT, false, 0 },
};
_Static_assert(sizeof callee_columns == sizeof pair_columns, "both have each figure");

static int put_pair(struct sd_page_maker *m, const struct sd_call_stats *s,
                    const struct sd_call_function *f, const struct sd_call_edge *e,
                    struct sd_cell *row)
{
    int rc = put_function(m, sd_call_stats_at(s, e->caller), &row[PAIR_CALLER],
                          &row[PAIR_CALLER_FILE], &row[PAIR_CALLER_LINE]);

    row[PAIR_CALLS] = sd_cell_number(SD_CELL_COUNT, e->n.calls);
    if (!e->is_plain)
        row[PAIR_TOTAL] = sd_page_seconds(e->n.total);
    return rc < 0
               ? rc
               : put_function(m, f, &row[PAIR_NAME], &row[PAIR_FILE], &row[PAIR_LINE]);
}

static int make_pairs(struct sd_page_maker *m, const struct sd_call_stats *s,
                      const char *name, const char *title,
                      const struct sd_column *columns, struct sd_view *v)
{
    struct sd_view_table *t;
    size_t n = 0, row = 0;
    int rc = 0;

    for (size_t i = 0; i < s->n_listed; i++)
        n += sd_call_stats_at(s, s->listed[i])->n_callers;
    t = sd_view_add(v, name, title, columns, N_PAIR_COLUMNS, n);
    if (!t)
        return SD_ENOMEM;
    for (size_t i = 0; i < s->n_listed && rc == 0; i++) {
        const struct sd_call_function *f = sd_call_stats_at(s, s->listed[i]);

        for (uint32_t e = f->first_caller; e != SD_NO_EDGE && row < n && rc == 0;
             e = s->edges[e].next)
            rc = put_pair(m, s, f, &s->edges[e], sd_view_cell(t, row++, 0));
    }
    t->n_rows = row;
    return rc < 0 ? rc : sd_view_table_sort(v, t, "cumtime", 0);
}

static int add_graph(struct sd_page_maker *m, const struct sd_call_stats *s,
                     struct sd_view *v)
{
    static const struct sd_graph_request usual = SD_GRAPH_USUAL;
    struct sd_drawing *d = sd_view_draw(v, "graph", SD_SHAPE_GRAPH);
    struct sd_graph_source source;
    int rc = d ? 0 : SD_ENOMEM;

    sd_graph_source_init(&source);
    if (rc == 0)
        rc = sd_graph_source_of_calls(&source, s, m->page.title);
    if (rc == 0)
        rc = sd_graph_source_draw(&source, NULL, &usual, &v->arena, &d->graph);
    sd_graph_source_release(&source);
    if (rc < 0 || d->graph.n_nodes == 0)
        return rc;
    return sd_page_add_view(m, &(struct sd_page_view){ .name = "graph",
                                                       .title = "Call graph",
                                                       .shape = SD_SHAPE_GRAPH,
                                                       .drawing = d });
}

static int add_calls_head(struct sd_page_maker *m, const struct sd_call_stats *s)
{
    char text[SD_TEXT_MAX];
    int rc = sd_page_add_item(m, "calls", sd_text_count(text, s->sum.calls));

    m->page.duration_ns =
        s->sum.own > 0 ? (uint64_t)sd_page_seconds(s->sum.own).number : 0;
    if (rc == 0)
        rc = sd_page_add_item(
            m, "time", sd_text_duration(text, sd_page_seconds(s->sum.own).number));
    if (rc == 0)
        rc =
            sd_page_add_item(m, "functions", sd_text_count(text, (int64_t)s->n_listed));
    return rc;
}

static int add_pairs(struct sd_page_maker *m, const struct sd_call_stats *s,
                     const char *name, const char *title,
                     const struct sd_column *columns)
{
    struct sd_view *v = sd_page_new_view(m);
    int rc = v ? make_pairs(m, s, name, title, columns, v) : SD_ENOMEM;

    return rc < 0 ? rc : sd_page_add_table(m, v);
}

static int find(struct sd_page_maker *m, const struct sd_call_stats *s)
{
    m->page.findings = &m->findings;
    return sd_stats_findings_of_calls(s, &m->arena, &m->findings);
}

static int add_calls(struct sd_page_maker *m, const struct sd_call_stats *s)
{
    struct sd_view *functions = sd_page_new_view(m), *graph = sd_page_new_view(m);
    int rc = functions && graph ? add_calls_head(m, s) : SD_ENOMEM;

    if (rc == 0)
        rc = make_functions(m, s, functions);
    if (rc == 0)
        rc = sd_page_add_table(m, functions);
    if (rc == 0)
        rc = add_pairs(m, s, "callers", "Callers", pair_columns);
    if (rc == 0)
        rc = add_pairs(m, s, "callees", "Callees", callee_columns);
    if (rc == 0)
        rc = add_graph(m, s, graph);
    if (rc == 0)
        rc = find(m, s);
    if (rc == 0)
        rc = sd_page_add_note(m, "This file knows who called whom, but no stacks: "
                                 "there is no flame graph of it.");
    if (rc == 0)
        sd_page_set_hottest(m, &functions->tables[0]);
    return rc;
}

int sd_page_put_calls(const struct sd_page_request *request,
                      const struct sd_call_stats *calls, struct sd_out *out)
{
    struct sd_page_maker m;

    sd_page_maker_init(&m, request);
    return sd_page_finish(&m, add_calls(&m, calls), out);
}
