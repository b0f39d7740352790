/* SPDX-License-Identifier: MIT */
/* scaling_views: shows growth as tables and as a plot. */
#include <math.h>
#include <string.h>

#include "analyse/growth/scaling.h"
#include "analyse/views.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { NONE = UINT32_MAX, CURVE_POINTS = 48 };
static const char SCALING[] = "scaling";
static const char OF_CPU_TIME[] = "Growth of CPU time with the size of arguments";
#define LARGER 10.0 /* the curve is drawn to ten times the largest size */

/* --- Words */

static char *words_of(struct sd_arena *a, const struct sd_growth *g)
{
    struct sd_buf words = { 0 };
    char *text;

    sd_growth_words(&words, g);
    text = words.bad ? NULL : sd_arena_string(a, (const char *)words.p, words.n);
    sd_buf_release(&words);
    return text;
}

/* A product of two sizes may be more than any count. */
static const char *put_size(char out[SD_TEXT_MAX], double n)
{
    return n < 9e18 ? sd_text_count(out, (int64_t)n) : sd_text_real(out, n);
}

/* Is this size one that nobody need have seen? */
static const char *mark_of(const struct sd_scaling_row *f, double n)
{
    const char *mark = "";

    for (size_t i = 0; i < f->n_points; i++) {
        if (f->points[i].n != n)
            continue;
        if (!f->points[i].is_rounded)
            return "";
        mark = "~";
    }
    return mark;
}

/* "1 to ~3,072" */
static const char *range_of(struct sd_arena *a, const struct sd_scaling_row *f)
{
    double from = f->total.from, to = f->total.to;
    char texts[2][SD_TEXT_MAX];

    put_size(texts[0], from);
    put_size(texts[1], to);
    return from == to ? sd_arena_printf(a, "%s%s", mark_of(f, to), texts[1])
                      : sd_arena_printf(a, "%s%s to %s%s", mark_of(f, from), texts[0],
                                        mark_of(f, to), texts[1]);
}

/* Nothing is "-0.00". */
static const char *interval_of(struct sd_arena *a, const struct sd_growth *g)
{
    return sd_arena_printf(a, "%.2f to %.2f", round(g->low * 100) / 100 + 0.0,
                           round(g->high * 100) / 100 + 0.0);
}

static const char *where_of(struct sd_arena *a, const struct sd_site *s)
{
    const char *file = s->file ? sd_site_short_file(s) : "";

    return s->line ? sd_arena_printf(a, "%s:%u", file, s->line)
                   : sd_arena_string(a, file, strlen(file));
}

/* "" unless it is flagged. */
static const char *flag_of(const struct sd_scaling_row *f)
{
    if (!f->is_flagged)
        return "";
    return f->degree > 1 ? "faster than linear when both grow" : "faster than linear";
}

/* --- The table of functions */

enum function_column {
    S_FUNCTION,
    S_ARGUMENT,
    S_SIZES,
    S_POINTS,
    S_EXPONENT,
    S_INTERVAL,
    S_GROWTH,
    S_LARGEST,
    S_TEN,
    S_SHARE,
    S_FLAG,
    S_THROUGH,
    S_WHERE,
    S_FILE,
    S_LINE,
    S_CALLS,
    S_TOTAL,
    S_FROM,
    S_TO,
    S_LOW,
    S_HIGH,
    S_MISFIT,
    S_OFFSET,
    S_SHARE_THEN,
    S_OWN_EXPONENT,
    S_OWN_LOW,
    S_OWN_HIGH,
    S_OWN_GROWTH,
    S_ROUNDED,
    S_COLUMNS
};

static const struct sd_column function_columns[S_COLUMNS] = {
    [S_FUNCTION] = { "function", "its name", SD_CELL_TEXT, false, 0 },
    [S_ARGUMENT] = { "argument", "n: the size that explains its time best",
                     SD_CELL_TEXT, false, 0 },
    [S_SIZES] = { "sizes",
                  "smallest and largest n that was seen; ~ where it is rounded",
                  SD_CELL_TEXT, false, 1 },
    [S_POINTS] = { "points", "different sizes", SD_CELL_COUNT, false, 3 },
    [S_EXPONENT] = { "exponent", "k of time = c + b n^k", SD_CELL_REAL, false, 0 },
    [S_INTERVAL] = { "interval", "of the exponent, 95 %", SD_CELL_TEXT, false, 1 },
    [S_GROWTH] = { "growth", "what the data allow it to be", SD_CELL_TEXT, false, 0 },
    [S_LARGEST] = { "at_largest", "measured time of one call of the largest size",
                    SD_CELL_NS, false, 1 },
    [S_TEN] = { "at_10x", "the same at ten times that size, by the curve", SD_CELL_NS,
                false, 0 },
    [S_SHARE] = { "cum%", "share of all time traced", SD_CELL_PERCENT, false, 2 },
    [S_FLAG] = { "flag", "faster than linear, and of weight at ten times the size",
                 SD_CELL_TEXT, false, 0 },
    [S_THROUGH] = { "through", "where a flagged one spends more than half of its time",
                    SD_CELL_TEXT, false, 2 },
    [S_WHERE] = { "where", "file and line", SD_CELL_TEXT, false, 1 },
    [S_FILE] = { "file", "as the interpreter names it", SD_CELL_TEXT, true, 0 },
    [S_LINE] = { "line", "its first", SD_CELL_COUNT, true, 0 },
    [S_CALLS] = { "calls", "that had sizes", SD_CELL_COUNT, true, 0 },
    [S_TOTAL] = { "total", "time in it and in what it called", SD_CELL_NS, true, 0 },
    [S_FROM] = { "size_from", "smallest n", SD_CELL_REAL, true, 0 },
    [S_TO] = { "size_to", "largest n", SD_CELL_REAL, true, 0 },
    [S_LOW] = { "exponent_low", "of the interval", SD_CELL_REAL, true, 0 },
    [S_HIGH] = { "exponent_high", "of the interval", SD_CELL_REAL, true, 0 },
    [S_MISFIT] = { "misfit", "of the curve, relative", SD_CELL_REAL, true, 0 },
    [S_OFFSET] = { "offset", "c: what a call costs at any size", SD_CELL_NS, true, 0 },
    [S_SHARE_THEN] = { "cum_at_10x%",
                       "share when sizes are ten times larger and all else grows as n",
                       SD_CELL_PERCENT, true, 0 },
    [S_OWN_EXPONENT] = { "own_exponent", "of the time in the function itself",
                         SD_CELL_REAL, true, 0 },
    [S_OWN_LOW] = { "own_exponent_low", "of its interval", SD_CELL_REAL, true, 0 },
    [S_OWN_HIGH] = { "own_exponent_high", "of its interval", SD_CELL_REAL, true, 0 },
    [S_OWN_GROWTH] = { "own_growth", "what its own time is allowed to be", SD_CELL_TEXT,
                       true, 0 },
    [S_ROUNDED] = { "rounded", "points whose size is rounded", SD_CELL_COUNT, true, 0 },
};

/* Three digits behind the point are more than any exponent is known to. */
static struct sd_cell exponent(double k)
{
    return sd_cell_real(SD_CELL_REAL, round(k * 1000) / 1000);
}

static struct sd_cell ns(double n)
{
    return n < 9e18 ? sd_cell_number(SD_CELL_NS, (int64_t)n)
                    : (struct sd_cell){ .kind = SD_CELL_NONE };
}

static int put_text(struct sd_view_table *t, size_t row, enum function_column column,
                    const char *text)
{
    if (!text)
        return sd_no_memory();
    *sd_view_cell(t, row, column) = sd_cell_text(*text ? text : NULL);
    return 0;
}

static int put_place(struct sd_view *v, struct sd_view_table *t, size_t row,
                     const struct sd_site *s)
{
    const char *file = s->file ? s->file : "";
    int rc = put_text(t, row, S_FUNCTION,
                      sd_arena_string(&v->arena, s->name, strlen(s->name)));

    if (rc == 0)
        rc = put_text(t, row, S_WHERE, where_of(&v->arena, s));
    if (rc == 0)
        rc = put_text(t, row, S_FILE, sd_arena_string(&v->arena, file, strlen(file)));
    if (s->line)
        *sd_view_cell(t, row, S_LINE) = sd_cell_number(SD_CELL_COUNT, s->line);
    return rc;
}

/* What is exponential has none: that of a power would only tell where it was measured;
 * nor has what one slow size has made steep. */
static bool has_exponent(const struct sd_growth *g)
{
    return sd_growth_only(g) != SD_GROWTH_EXPONENTIAL && !g->is_thin;
}

static void put_numbers(struct sd_view_table *t, size_t row,
                        const struct sd_scaling_row *f)
{
    const struct sd_growth *g = &f->total;

    if (has_exponent(g)) {
        *sd_view_cell(t, row, S_EXPONENT) = exponent(g->exponent);
        *sd_view_cell(t, row, S_LOW) = exponent(g->low);
        *sd_view_cell(t, row, S_HIGH) = exponent(g->high);
    }
    *sd_view_cell(t, row, S_MISFIT) = exponent(g->misfit);
    *sd_view_cell(t, row, S_OFFSET) = ns(exp(g->curve.log_offset));
    *sd_view_cell(t, row, S_LARGEST) = ns(f->at_largest_ns);
    if (!sd_growth_is_vague(g)) {
        *sd_view_cell(t, row, S_TEN) = ns(f->at_ten_ns);
        *sd_view_cell(t, row, S_SHARE_THEN) =
            sd_cell_real(SD_CELL_PERCENT, 100 * f->share_then);
    }
    if (f->own.answer != SD_GROWTH_FITTED || !has_exponent(&f->own))
        return;
    *sd_view_cell(t, row, S_OWN_EXPONENT) = exponent(f->own.exponent);
    *sd_view_cell(t, row, S_OWN_LOW) = exponent(f->own.low);
    *sd_view_cell(t, row, S_OWN_HIGH) = exponent(f->own.high);
}

static int put_fitted(struct sd_view *v, struct sd_view_table *t, size_t row,
                      const struct sd_profile *p, const struct sd_scaling_row *f)
{
    const char *through = f->through.at == NONE ? "" : p->sites[f->through.at].name;
    int rc;

    put_numbers(t, row, f);
    rc = put_text(t, row, S_INTERVAL,
                  has_exponent(&f->total) ? interval_of(&v->arena, &f->total) : "");
    if (rc == 0)
        rc = put_text(t, row, S_FLAG, flag_of(f));
    if (rc == 0)
        rc = put_text(t, row, S_THROUGH,
                      sd_arena_string(&v->arena, through, strlen(through)));
    return rc < 0 ? rc : put_text(t, row, S_OWN_GROWTH, words_of(&v->arena, &f->own));
}

static int64_t n_rounded(const struct sd_scaling_row *f)
{
    int64_t n = 0;

    for (size_t i = 0; i < f->n_points; i++)
        n += f->points[i].is_rounded;
    return n;
}

static int put_sizes(struct sd_view *v, struct sd_view_table *t, size_t row,
                     const struct sd_scaling_row *f)
{
    const struct sd_growth *g = &f->total;
    const char *argument = f->argument ? f->argument : "";
    int rc = put_text(t, row, S_GROWTH, words_of(&v->arena, g));

    *sd_view_cell(t, row, S_SHARE) = sd_cell_real(SD_CELL_PERCENT, 100 * f->share);
    *sd_view_cell(t, row, S_CALLS) = sd_cell_number(SD_CELL_COUNT, (int64_t)f->calls);
    *sd_view_cell(t, row, S_TOTAL) = sd_cell_number(SD_CELL_NS, f->total_ns);
    *sd_view_cell(t, row, S_ROUNDED) = sd_cell_number(SD_CELL_COUNT, n_rounded(f));
    if (rc < 0 || !*argument)
        return rc;
    *sd_view_cell(t, row, S_POINTS) =
        sd_cell_number(SD_CELL_COUNT, (int64_t)g->n_sizes);
    *sd_view_cell(t, row, S_FROM) = sd_cell_real(SD_CELL_REAL, g->from);
    *sd_view_cell(t, row, S_TO) = sd_cell_real(SD_CELL_REAL, g->to);
    rc = put_text(t, row, S_ARGUMENT,
                  sd_arena_string(&v->arena, argument, strlen(argument)));
    return rc < 0 ? rc : put_text(t, row, S_SIZES, range_of(&v->arena, f));
}

static int put_function(struct sd_view *v, struct sd_view_table *t, size_t row,
                        const struct sd_profile *p, const struct sd_scaling_row *f)
{
    int rc = put_place(v, t, row, &p->sites[f->site.at]);

    if (rc == 0)
        rc = put_sizes(v, t, row, f);
    if (rc == 0 && f->total.answer == SD_GROWTH_FITTED)
        rc = put_fitted(v, t, row, p, f);
    return rc;
}

/* It has no size to grow with. */
static int put_import(struct sd_view *v, struct sd_view_table *t, size_t row,
                      const struct sd_profile *p,
                      const struct sd_scaling_import *import)
{
    struct sd_site site = { .name = "" };

    if (import->importer.at != NONE)
        site = p->sites[import->importer.at];
    site.name = import->name;
    *sd_view_cell(t, row, S_SHARE) = sd_cell_real(SD_CELL_PERCENT, 100 * import->share);
    *sd_view_cell(t, row, S_TOTAL) = sd_cell_number(SD_CELL_NS, import->ns);
    return put_place(v, t, row, &site);
}

static void put_one_size(struct sd_buf *to, const struct sd_scaling *s)
{
    if (s->n_one_size)
        sd_buf_printf(to, "%zu %s called with one size of arguments only",
                      s->n_one_size,
                      s->n_one_size == 1 ? "function was" : "functions were");
}

/* Whoever reads the table must not take it for all of the time. */
static void put_unsized(struct sd_buf *to, const struct sd_profile *p,
                        const struct sd_scaling *s)
{
    const struct sd_site *most = &p->sites[s->unsized.at];

    if (s->n_unsized == 0)
        return;
    sd_buf_printf(to, "%s%zu %s no argument of a known size", to->n ? "; " : "",
                  s->n_unsized, s->n_unsized == 1 ? "function has" : "functions have");
    if (s->n_unsized == 1)
        sd_buf_printf(to, ": %s, %.1f %% of the time", most->name,
                      100 * s->unsized_share);
    else
        sd_buf_printf(to, ", of them %s has %.1f %% of the time", most->name,
                      100 * s->unsized_share);
}

static int put_note(struct sd_view *v, struct sd_view_table *t,
                    const struct sd_profile *p, const struct sd_scaling *s)
{
    struct sd_buf note = { 0 };
    bool is_whole;

    if (s->n == 0)
        sd_buf_text(&note, "no function was called with arguments of several sizes");
    else
        put_one_size(&note, s);
    put_unsized(&note, p, s);
    if (note.n && !note.bad)
        t->note = sd_arena_string(&v->arena, (const char *)note.p, note.n);
    is_whole = !note.bad && (note.n == 0 || t->note);
    sd_buf_release(&note);
    return is_whole ? 0 : sd_no_memory();
}

static int add_functions(const struct sd_profile *p, const struct sd_scaling *s,
                         struct sd_view *v)
{
    struct sd_view_table *t =
        sd_views_add(v, SCALING, function_columns, S_COLUMNS, s->n + s->n_imports);
    int rc = t ? put_note(v, t, p, s) : SD_ENOMEM;

    if (t && s->is_cpu)
        t->title = OF_CPU_TIME;
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = put_function(v, t, i, p, &s->functions[i]);
    for (size_t i = 0; i < s->n_imports && rc == 0; i++)
        rc = put_import(v, t, s->n + i, p, &s->imports[i]);
    return rc;
}

/* --- The table of points */

enum point_column {
    P_FUNCTION,
    P_WHERE,
    P_ARGUMENT,
    P_SIZE,
    P_CALLS,
    P_TIME,
    P_OWN,
    P_CURVE,
    P_ROUNDED,
    P_COLUMNS
};

static const struct sd_column point_columns[P_COLUMNS] = {
    [P_FUNCTION] = { "function", "its name", SD_CELL_TEXT, false, 0 },
    [P_WHERE] = { "where", "file and line", SD_CELL_TEXT, false, 1 },
    [P_ARGUMENT] = { "argument", "what n is", SD_CELL_TEXT, false, 0 },
    [P_SIZE] = { "size", "n", SD_CELL_REAL, false, 0 },
    [P_CALLS] = { "calls", "of that size", SD_CELL_COUNT, false, 0 },
    [P_TIME] = { "time", "of one of them, with all it called", SD_CELL_NS, false, 0 },
    [P_OWN] = { "own", "in the function itself", SD_CELL_NS, false, 1 },
    [P_CURVE] = { "fitted", "time by the curve", SD_CELL_NS, false, 1 },
    [P_ROUNDED] = { "rounded", "1: the size is rounded", SD_CELL_COUNT, true, 0 },
};

static size_t count_points(const struct sd_scaling *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->functions[i].n_points;
    return n;
}

static int put_points(struct sd_view *v, struct sd_view_table *t, size_t *row,
                      const struct sd_profile *p, const struct sd_scaling_row *f)
{
    const struct sd_site *site = &p->sites[f->site.at];
    const char *name = sd_arena_string(&v->arena, site->name, strlen(site->name));
    const char *where = where_of(&v->arena, site);
    const char *argument = f->argument ? f->argument : "";

    argument = sd_arena_string(&v->arena, argument, strlen(argument));
    if (!name || !where || !argument)
        return sd_no_memory();
    for (size_t i = 0; i < f->n_points; i++, (*row)++) {
        const struct sd_scaling_point *point = &f->points[i];

        *sd_view_cell(t, *row, P_FUNCTION) = sd_cell_text(name);
        *sd_view_cell(t, *row, P_WHERE) = sd_cell_text(where);
        *sd_view_cell(t, *row, P_ARGUMENT) = sd_cell_text(argument);
        *sd_view_cell(t, *row, P_SIZE) = sd_cell_real(SD_CELL_REAL, point->n);
        *sd_view_cell(t, *row, P_CALLS) =
            sd_cell_number(SD_CELL_COUNT, (int64_t)point->calls);
        *sd_view_cell(t, *row, P_TIME) = ns(point->ns);
        *sd_view_cell(t, *row, P_OWN) = ns(point->own_ns);
        *sd_view_cell(t, *row, P_ROUNDED) =
            sd_cell_number(SD_CELL_COUNT, point->is_rounded);
        if (f->total.answer == SD_GROWTH_FITTED)
            *sd_view_cell(t, *row, P_CURVE) =
                ns(sd_growth_at(&f->total.curve, point->n));
    }
    return 0;
}

static int add_points(const struct sd_profile *p, const struct sd_scaling *s,
                      struct sd_view *v)
{
    struct sd_view_table *t =
        sd_views_add(v, "scaling_points", point_columns, P_COLUMNS, count_points(s));
    size_t row = 0;
    int rc = t ? 0 : SD_ENOMEM;

    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = put_points(v, t, &row, p, &s->functions[i]);
    return rc;
}

int sd_scaling_no_functions(struct sd_view *v)
{
    return sd_views_add(v, SCALING, function_columns, S_COLUMNS, 0) ? 0 : SD_ENOMEM;
}

int sd_scaling_tables(const struct sd_profile *p,
                      const struct sd_stacks_request *request,
                      enum sd_scaling_tables_flags which, struct sd_view *v)
{
    struct sd_scaling s;
    int rc = sd_scaling_make(p, request, &s);

    if (rc < 0)
        return rc;
    if (which & SD_SCALING_FUNCTIONS)
        rc = add_functions(p, &s, v);
    if (rc == 0 && which & SD_SCALING_POINTS)
        rc = add_points(p, &s, v);
    sd_scaling_release(&s);
    return rc;
}

/* --- The picture */

/* 1, 0 or negative. */
static int is_drawn(const struct sd_profile *p, const struct sd_scaling_row *f,
                    const struct sd_matcher *match, bool has_flagged)
{
    const struct sd_site *s = &p->sites[f->site.at];
    int rc;

    if (f->total.answer != SD_GROWTH_FITTED)
        return 0;
    if (!match)
        return f->is_flagged || !has_flagged;
    rc = sd_matcher_find(match, s->name);
    return rc != 0 ? rc : sd_matcher_find(match, s->file);
}

static int put_curve(struct sd_arena *a, const struct sd_scaling_row *f,
                     struct sd_growth_panel *out)
{
    double from = f->total.from, to = f->total.to;

    if (!sd_growth_is_vague(&f->total)) /* else there is no forecast */
        to *= pow(LARGER, f->degree);
    out->curve = sd_arena_alloc(a, CURVE_POINTS * sizeof *out->curve);
    out->points = sd_arena_alloc(a, (f->n_points + 1) * sizeof *out->points);
    if (!out->curve || !out->points)
        return sd_no_memory();
    for (int i = 0; i < CURVE_POINTS; i++) {
        double n = from * pow(to / from, (double)i / (CURVE_POINTS - 1));
        double at = sd_growth_at(&f->total.curve, n);

        if (isfinite(at) && (i == 0 || at < 1e6 * f->at_largest_ns))
            out->curve[out->n_curve++] = (struct sd_growth_mark){ n, at };
    }
    for (size_t i = 0; i < f->n_points; i++)
        if (f->points[i].ns > 0)
            out->points[out->n_points++] =
                (struct sd_growth_mark){ f->points[i].n, f->points[i].ns };
    return 0;
}

static int make_panel(const struct sd_profile *p, const struct sd_scaling_row *f,
                      struct sd_arena *a, struct sd_growth_panel *out)
{
    const struct sd_site *s = &p->sites[f->site.at];
    const char *where = where_of(a, s), *words = words_of(a, &f->total);
    const char *exponent_words =
        has_exponent(&f->total)
            ? sd_arena_printf(a, "; exponent %.2f (%s)", f->total.exponent,
                              interval_of(a, &f->total))
            : "";

    if (!where || !words || !exponent_words)
        return sd_no_memory();
    *out = (struct sd_growth_panel){
        .title = sd_arena_printf(a, "%s  %s", s->name, where),
        .subtitle = sd_arena_printf(a, "%s%s%s%s", words, exponent_words,
                                    f->is_flagged ? "; " : "", flag_of(f)),
        .argument = sd_arena_string(a, f->argument, strlen(f->argument)),
        .is_flagged = f->is_flagged,
        .measured_to = f->total.to,
        .linear_slope = 1.0 / f->degree,
    };
    if (!out->title || !out->subtitle || !out->argument)
        return sd_no_memory();
    return put_curve(a, f, out);
}

static int make_panels(const struct sd_profile *p, const struct sd_scaling *s,
                       const struct sd_matcher *match, struct sd_arena *a,
                       struct sd_view_growth *out)
{
    bool has_flagged = s->n > 0 && s->functions[0].is_flagged;
    size_t n_more = 0;
    int rc = 0;

    out->panels = sd_arena_alloc(a, SD_GROWTH_PANELS * sizeof *out->panels);
    if (!out->panels)
        return sd_no_memory();
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        int drawn = is_drawn(p, &s->functions[i], match, has_flagged);

        if (drawn < 0)
            return drawn;
        if (drawn && out->n_panels == SD_GROWTH_PANELS)
            n_more++;
        else if (drawn)
            rc = make_panel(p, &s->functions[i], a, &out->panels[out->n_panels++]);
    }
    if (rc == 0 && n_more > 0)
        out->note = sd_arena_printf(a, "%zu more; --match chooses", n_more);
    if (rc == 0 && out->n_panels == 0)
        return sd_fail(SD_EABSENT,
                       "%s was called with enough different sizes to draw its growth",
                       match ? "none of the chosen functions" : "no function");
    return rc < 0 || !n_more || out->note ? rc : sd_no_memory();
}

int sd_scaling_picture(const struct sd_profile *p,
                       const struct sd_stacks_request *request,
                       const struct sd_matcher *match, struct sd_arena *a,
                       struct sd_view_growth *out)
{
    struct sd_scaling s;
    int rc;

    *out = (struct sd_view_growth){
        .title = request->is_cpu
                     ? OF_CPU_TIME
                     : sd_view_named(SD_OF_PROFILE, SCALING, sizeof SCALING - 1)->title,
        .quantity = request->is_cpu ? "CPU time of a call" : "time of a call",
    };
    rc = sd_scaling_make(p, request, &s);
    if (rc == 0) {
        rc = make_panels(p, &s, match, a, out);
        sd_scaling_release(&s);
    }
    return rc;
}
