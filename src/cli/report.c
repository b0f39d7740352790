/* SPDX-License-Identifier: MIT */
/* report: what is in a capture, as tables, numbers for programs, or a picture. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/call_tables.h"
#include "cli/export.h"
#include "cli/load.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "cli/tables.h"
#include "cli/traced.h"

enum {
    OPT_ROWS,
    OPT_SORT,
    OPT_MATCH,
    OPT_FILTER,
    OPT_TRACK,
    OPT_SECTION,
    OPT_FROM,
    OPT_TO,
    OPT_STRIP_DIRS,
    OPT_REVERSE,
    OPT_DIGITS,
    OPT_TABLE,
    OPT_TREE,
    OPT_LINES,
    OPT_CALLERS,
    OPT_CALLEES,
    OPT_THREADS,
    OPT_PER_THREAD,
    OPT_IMPORTS,
    OPT_BY,
    OPT_MINE,
    OPT_RAW,
    OPT_CPU,
    OPT_QUALIFIED,
    OPT_IDLE,
    OPT_GIL,
    OPT_FLAME,
    OPT_PLOT,
    OPT_METRIC,
    OPT_WIDTH,
    OPT_HEIGHT,
    OPT_CSV,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_FORCE
};
static const struct sd_option options[] = {
    [OPT_ROWS] = { "rows", SD_TEXT, NULL,
                   "print at most N rows of each table, or this fraction of them "
                   "(0.1); 0 is all (20; all of them as CSV and JSON)",
                   'n', "N" },
    [OPT_SORT] = { "sort", SD_WORDS, NULL,
                   "sort by this column, largest first; -COLUMN the other way round; "
                   "self and cum are short for self% and cum%; calls are sorted by "
                   "pstats' words (time, cumulative, calls, name, ...), several of "
                   "them apart by commas or said again",
                   's', "COLUMN" },
    [OPT_MATCH] = { "match", SD_TEXT, NULL,
                    "print only rows in which a name or file matches this regular "
                    "expression; shares stay those of everything.  A flame graph is "
                    "opened with a search for it",
                    0, "RE" },
    [OPT_FILTER] = { "filter", SD_TEXT, NULL,
                     "count only sections whose name matches this regular expression, "
                     "and samples with such a function or file on their stack",
                     0, "RE" },
    [OPT_TRACK] = { "track", SD_TEXT, NULL,
                    "only this process or thread: a pid, pid/tid, or part of its name",
                    0, "WHO" },
    [OPT_SECTION] = { "section", SD_TEXT, NULL,
                      "only what happened while this section was open", 0, "NAME" },
    [OPT_FROM] = { "from", SD_DURATION, NULL, "only what happened after this time", 0,
                   "TIME" },
    [OPT_TO] = { "to", SD_DURATION, NULL, "only what happened before this time", 0,
                 "TIME" },
    [OPT_STRIP_DIRS] = { "strip-dirs", SD_FLAG, NULL,
                         "of calls: names of files without their folders", 0, NULL },
    [OPT_REVERSE] = { "reverse", SD_FLAG, NULL, "of calls: the sorted order reversed",
                      0, NULL },
    [OPT_DIGITS] = { "digits", SD_NUMBER, "3",
                     "of calls: digits of the seconds; 6 shows microseconds", 0, "N" },
    [OPT_TABLE] = { "table", SD_TEXT, NULL,
                    "only these tables: functions, calls (a tree), lines, callers, "
                    "callees, threads, sections, processes, series (the readings "
                    "of each process)",
                    0, "NAME[,NAME...]" },
    [OPT_TREE] = { "tree", SD_FLAG, NULL, "functions and sections as trees", 0, NULL },
    [OPT_LINES] = { "lines", SD_FLAG, NULL, "the hottest lines", 0, NULL },
    [OPT_CALLERS] = { "callers", SD_OPTIONAL, NULL,
                      "who calls the functions that match, or all", 0, "RE" },
    [OPT_CALLEES] = { "callees", SD_OPTIONAL, NULL,
                      "whom the functions that match call, or all", 0, "RE" },
    [OPT_THREADS] = { "threads", SD_FLAG, NULL,
                      "the threads and how they spent their time; with --flame they "
                      "are the first boxes",
                      0, NULL },
    [OPT_PER_THREAD] = { "per-thread", SD_FLAG, NULL,
                         "of calls: a table for each thread", 0, NULL },
    [OPT_IMPORTS] = { "imports", SD_FLAG, NULL,
                      "of calls: how long modules took to import, as a tree", 0, NULL },
    [OPT_BY] = { "by", SD_CHOICE, "function",
                 "what a row or box is: a function, a line of one, or a module", 0,
                 "function|line|module" },
    [OPT_MINE] = { "mine", SD_FLAG, NULL,
                   "fold functions of the standard library and of installed packages "
                   "into those that called them",
                   0, NULL },
    [OPT_RAW] = { "raw", SD_FLAG, NULL,
                  "of calls: times as measured, with the cost of tracing in them", 0,
                  NULL },
    [OPT_CPU] = { "cpu", SD_FLAG, NULL, "of calls: CPU time, where it was measured", 0,
                  NULL },
    [OPT_QUALIFIED] = SD_OPTION_QUALIFIED,
    [OPT_IDLE] = { "idle", SD_FLAG, NULL, "count samples of waiting threads too", 0,
                   NULL },
    [OPT_GIL] = { "gil", SD_FLAG, NULL,
                  "count only samples of threads that held the interpreter's lock", 0,
                  NULL },
    [OPT_FLAME] = { "flame", SD_FLAG, NULL,
                    "draw the samples as a flame graph into the .svg that -o names", 0,
                    NULL },
    [OPT_PLOT] = { "plot", SD_FLAG, NULL,
                   "draw readings over time into the picture that -o names", 0, NULL },
    [OPT_METRIC] = { "metric", SD_TEXT, NULL,
                     "what to plot: rss, vms, cpu, ... (rss); what shares of samples "
                     "are of: samples, wall, cpu (samples), or of traced calls time, "
                     "calls, "
                     "starts, cpu_time, awaited, tracing (time)",
                     0, "NAME" },
    [OPT_WIDTH] = { "width", SD_NUMBER, NULL,
                    "of the picture, in pixels (1000; 1200 of a flame graph where "
                    "nothing stretches it)",
                    0, "N" },
    [OPT_HEIGHT] = { "height", SD_NUMBER, "500", "of the plot, in pixels", 0, "N" },
    [OPT_CSV] = { "csv", SD_FLAG, NULL,
                  "print one table as CSV: the first there is, or --table's", 0, NULL },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object with all tables", 0,
                   NULL },
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "write to FILE; the suffix chooses: .txt .csv .json, .svg for a "
                     "flame graph or else a plot, .png .jpeg .pdf for a plot",
                     'o', "FILE" },
    [OPT_FORCE] = SD_OPTION_FORCE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* A picture is a flame graph or a plot by what the capture has. */
enum form { FORM_TEXT, FORM_CSV, FORM_JSON, FORM_PICTURE, FORM_FLAME, FORM_PLOT };
enum {
    PIXELS_MIN = 100,
    PIXELS_MAX = 20000,
    PLOT_WIDTH = 1000,
    FLAME_WIDTH = 1200,
    TEXT_ROWS = 20,
    DIGITS_MAX = 12,
};
/* As text a tree goes without its smallest twigs. */
#define TEXT_LEAST_PERCENT 0.5

/* All that was asked for, understood. */
struct asked {
    const struct sd_option_value *v;
    enum form form;
    struct sd_filter filter;
    struct sd_plot_wish plot;
    struct sd_flame_wish flame;
    unsigned flame_width;
    struct sd_tables_wish tables;
    struct sd_buf names; /* of the tables */
    char **words;        /* the captures */
    int n_words;
};

/* --- What was asked for */

static int picture_form(const char *to, enum form *form)
{
    enum sd_picture kind;

    if (!to)
        return *form == FORM_FLAME
                   ? sd_fail(SD_EUSAGE, "--flame wants a file: --flame -o flame.svg")
                   : sd_fail(
                         SD_EUSAGE,
                         "--plot wants a picture to draw into: --plot -o image.png");
    if (*form == FORM_FLAME && strcmp(to, "-") != 0 &&
        (!sd_picture_of(to, &kind) || kind != SD_PICTURE_SVG))
        return sd_fail(SD_EUSAGE, "a flame graph is an .svg file, not %s", to);
    return 0;
}

static int form_of_suffix(const char *to, enum form *form)
{
    enum sd_picture kind;

    if (sd_picture_of(to, &kind))
        *form = kind == SD_PICTURE_SVG ? FORM_PICTURE : FORM_PLOT;
    else if (sd_path_has_suffix(to, ".csv"))
        *form = FORM_CSV;
    else if (sd_path_has_suffix(to, ".json"))
        *form = FORM_JSON;
    else if (!sd_path_has_suffix(to, ".txt") && strcmp(to, "-") != 0)
        return sd_fail(SD_EUSAGE,
                       "a report is written as .txt, .csv or .json, a flame graph as "
                       ".svg, a plot as .svg, .png, .jpeg or .pdf, not %s",
                       to);
    return 0;
}

/* What is asked for by flags and by the suffix of -o must not contradict. */
static int choose_form(const struct sd_option_value *v, enum form *form)
{
    const char *to = v[OPT_OUTPUT].text;

    if (v[OPT_CSV].number + v[OPT_JSON].number + v[OPT_PLOT].number +
            v[OPT_FLAME].number >
        1)
        return sd_fail(SD_EUSAGE, "choose one of --csv, --json, --flame and --plot");
    *form = v[OPT_CSV].number     ? FORM_CSV
            : v[OPT_JSON].number  ? FORM_JSON
            : v[OPT_FLAME].number ? FORM_FLAME
            : v[OPT_PLOT].number  ? FORM_PLOT
                                  : FORM_TEXT;
    if (to && sd_path_has_suffix(to, ".sonde")) /* with --json, too */
        return form_of_suffix(to, form);
    if (*form == FORM_FLAME || *form == FORM_PLOT)
        return picture_form(to, form);
    return to && *form == FORM_TEXT ? form_of_suffix(to, form) : 0;
}

static int check_pixels(const struct sd_option_value *v)
{
    if (v->is_given && (v->number < PIXELS_MIN || v->number > PIXELS_MAX))
        return sd_fail(SD_EUSAGE, "--width and --height go from %d to %d pixels",
                       PIXELS_MIN, PIXELS_MAX);
    return 0;
}

static int read_pictures(struct asked *a)
{
    const struct sd_option_value *v = a->v;
    bool has_width = v[OPT_WIDTH].is_given;
    int rc = check_pixels(&v[OPT_WIDTH]);

    if (rc == 0)
        rc = check_pixels(&v[OPT_HEIGHT]);
    a->plot = (struct sd_plot_wish){
        v[OPT_METRIC].text ? v[OPT_METRIC].text : "rss",
        has_width ? (unsigned)v[OPT_WIDTH].number : PLOT_WIDTH,
        (unsigned)v[OPT_HEIGHT].number,
    };
    a->flame_width = has_width ? (unsigned)v[OPT_WIDTH].number : FLAME_WIDTH;
    return rc;
}

/* "10" rows, or "0.1" of them. */
static int read_rows(const char *word, struct sd_tables_wish *wish)
{
    uint64_t n;
    char *end;
    double fraction;

    if (sd_text_parse_number(word, &n)) {
        wish->limit = (size_t)n;
        return 0;
    }
    fraction = strtod(word, &end);
    if (end == word || *end || !(fraction > 0 && fraction <= 1))
        return sd_fail(SD_EUSAGE,
                       "-n takes a number of rows or a fraction of them such as 0.1, "
                       "not \"%s\"",
                       word);
    wish->fraction = fraction;
    return 0;
}

static void add_name(struct asked *a, bool is_wanted, const char *name)
{
    if (is_wanted)
        sd_buf_printf(&a->names, "%s%s", a->names.n ? "," : "", name);
}

/* --table and the flags that name tables add up. */
static int choose_tables(struct asked *a)
{
    const struct sd_option_value *v = a->v;

    add_name(a, v[OPT_TABLE].text != NULL, v[OPT_TABLE].text);
    add_name(a, v[OPT_LINES].number != 0, "lines");
    add_name(a, v[OPT_CALLERS].is_given, "callers");
    add_name(a, v[OPT_CALLEES].is_given, "callees");
    add_name(a, v[OPT_THREADS].number != 0, "threads");
    add_name(a, v[OPT_IMPORTS].number != 0, "imports");
    if (a->names.bad)
        return sd_no_memory();
    a->tables.table = a->names.n || v[OPT_TABLE].text ? sd_buf_string(&a->names) : NULL;
    return 0;
}

/* `--callers RE` without "=": the RE came out as a word, and names no file. */
static const char *take_word(struct asked *a)
{
    for (int i = a->n_words - 1; i >= 0 && a->n_words > 1; i--) {
        const char *word = a->words[i];

        if (strcmp(word, "-") == 0 || sd_path_exists(word))
            continue;
        memmove(a->words + i, a->words + i + 1,
                (size_t)(--a->n_words - i) * sizeof *a->words);
        return word;
    }
    return NULL;
}

static void read_side(struct asked *a, const struct sd_option_value *side)
{
    if (!side->is_given)
        return;
    if (*side->text)
        a->tables.match = side->text;
    else if (!a->tables.match)
        a->tables.match = take_word(a);
}

static int read_tables(struct asked *a)
{
    const struct sd_option_value *v = a->v;

    a->tables = (struct sd_tables_wish){
        .sort = v[OPT_SORT].text,
        .limit = a->form == FORM_TEXT ? TEXT_ROWS : 0,
        .is_tree = v[OPT_TREE].number != 0,
        .is_short = a->form == FORM_TEXT,
        .samples = { .metric = v[OPT_METRIC].text,
                     .has_idle = v[OPT_IDLE].number != 0,
                     .is_gil_only = v[OPT_GIL].number != 0,
                     .is_mine = v[OPT_MINE].number != 0 },
        .least_percent = a->form == FORM_TEXT ? TEXT_LEAST_PERCENT : 0,
        .by = strcmp(v[OPT_BY].text, "line") == 0     ? SD_CALLS_BY_LINE
              : strcmp(v[OPT_BY].text, "module") == 0 ? SD_CALLS_BY_MODULE
                                                      : SD_CALLS_BY_FUNCTION,
        .is_raw = v[OPT_RAW].number != 0,
        .is_cpu = v[OPT_CPU].number != 0,
        .has_both = true,
        .has_pstats = a->form == FORM_TEXT,
        .rows = v[OPT_MATCH].text,
    };
    read_side(a, &v[OPT_CALLERS]);
    read_side(a, &v[OPT_CALLEES]);
    a->flame = (struct sd_flame_wish){ .choice = a->tables.samples,
                                       .by = a->tables.by,
                                       .has_threads = v[OPT_THREADS].number != 0,
                                       .search = v[OPT_MATCH].text };
    if (v[OPT_ROWS].text && read_rows(v[OPT_ROWS].text, &a->tables) < 0)
        return SD_EUSAGE;
    return choose_tables(a);
}

static struct sd_filter read_filter(const struct sd_option_value *v)
{
    return (struct sd_filter){
        .from_ns = v[OPT_FROM].number,
        .to_ns = v[OPT_TO].number,
        .track = v[OPT_TRACK].text,
        .section = v[OPT_SECTION].text,
        .match = v[OPT_FILTER].text,
    };
}

static int check_times(const struct sd_option_value *v)
{
    if (v[OPT_TO].is_given && v[OPT_TO].number <= v[OPT_FROM].number)
        return sd_fail(SD_EUSAGE, "--to must be later than --from");
    return 0;
}

static int read_asked(const struct sd_command *c, struct asked *a)
{
    int rc;

    *a = (struct asked){ .v = c->values, .words = c->words, .n_words = c->n_words };
    a->filter = read_filter(a->v);
    rc = check_times(a->v);
    if (rc == 0)
        rc = choose_form(a->v, &a->form);
    if (rc == 0)
        rc = read_pictures(a);
    return rc < 0 ? rc : read_tables(a);
}

/* --- Calls, in the words of pstats */

/* Restrictions work one after the other, so they stand as they were typed. */
static void add_limit(struct sd_call_wish *w, int places[SD_CALL_LIMITS_MAX], int place,
                      struct sd_call_limit limit)
{
    size_t at = w->n_limits++;

    for (; at > 0 && places[at - 1] > place; at--) {
        w->limits[at] = w->limits[at - 1];
        places[at] = places[at - 1];
    }
    w->limits[at] = limit;
    places[at] = place;
}

static int read_calls(const struct asked *a, struct sd_call_wish *w)
{
    const struct sd_option_value *v = a->v;
    int places[SD_CALL_LIMITS_MAX];

    *w = (struct sd_call_wish){
        .form = a->form == FORM_CSV    ? SD_CALL_CSV
                : a->form == FORM_JSON ? SD_CALL_JSON
                                       : SD_CALL_TEXT,
        .sort = v[OPT_SORT].words,
        .is_reversed = v[OPT_REVERSE].number != 0,
        .strips_dirs = v[OPT_STRIP_DIRS].number != 0,
        .has_callers = v[OPT_CALLERS].is_given,
        .has_callees = v[OPT_CALLEES].is_given,
        .digits = (unsigned)v[OPT_DIGITS].number,
    };
    if (v[OPT_DIGITS].number < 1 || v[OPT_DIGITS].number > DIGITS_MAX)
        return sd_fail(SD_EUSAGE, "--digits goes from 1 to %d", DIGITS_MAX);
    if (w->is_reversed && !v[OPT_SORT].is_given)
        return sd_fail(SD_EUSAGE, "--reverse wants an order to reverse: -s time");
    if (v[OPT_ROWS].text)
        add_limit(w, places, v[OPT_ROWS].place,
                  (struct sd_call_limit){ .rows = v[OPT_ROWS].text });
    if (v[OPT_MATCH].text)
        add_limit(w, places, v[OPT_MATCH].place,
                  (struct sd_call_limit){ .match = v[OPT_MATCH].text });
    if (a->tables.match)
        add_limit(w, places,
                  v[OPT_CALLERS].is_given ? v[OPT_CALLERS].place : v[OPT_CALLEES].place,
                  (struct sd_call_limit){ .match = a->tables.match });
    return 0;
}

/* --- The answer */

static void put_heading(struct sd_out *out, const struct sd_profile *p,
                        const struct asked *a)
{
    struct sd_buf words = { 0 };

    sd_summary_words(&words, p);
    sd_out_printf(out, "%s", a->words[0]);
    if (a->n_words > 1)
        sd_out_printf(out, " and %d more", a->n_words - 1);
    sd_out_printf(out, ": %s\n\n", sd_made(out, &words));
    sd_buf_release(&words);
}

static const char *const by_itself[] = { "cumulative", NULL };

/* What is printed of calls when nothing else is said: most time first, as many rows as
 * of other tables. */
static int read_traced(const struct asked *a, const struct sd_profile *p,
                       struct sd_traced_tables *w)
{
    int rc = read_calls(a, &w->calls);

    w->traced = sd_tables_traced_wish(&a->tables);
    w->has_threads = a->v[OPT_PER_THREAD].number != 0;
    w->calls.has_callers = sd_tables_has(p, &a->tables, "callers");
    w->calls.has_callees = sd_tables_has(p, &a->tables, "callees");
    if (!a->v[OPT_SORT].is_given)
        w->calls.sort = by_itself;
    if (!a->v[OPT_ROWS].text && w->calls.n_limits < SD_CALL_LIMITS_MAX)
        w->calls.limits[w->calls.n_limits++] = (struct sd_call_limit){ .rows = "20" };
    return rc;
}

/* Functions, callers and callees as pstats prints them. */
static int put_pstats(const struct sd_command *c, const struct sd_profile *p,
                      const struct sd_traced_tables *wish, struct sd_out *out)
{
    int rc = sd_traced_put(p, wish, out);

    if (rc == 0 && sd_loudness_of(c) != SD_QUIET)
        sd_traced_say(p, &wish->traced);
    return rc;
}

static bool has_pstats(const struct asked *a, const struct sd_profile *p,
                       const struct sd_traced_tables *wish)
{
    return sd_tables_has(p, &a->tables, "functions") || wish->calls.has_callers ||
           wish->calls.has_callees;
}

/* They, then what else there is. */
static int put_traced(const struct sd_command *c, const struct asked *a,
                      const struct sd_profile *p, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(c, fd);
    struct sd_tables_wish others = a->tables;
    struct sd_traced_tables wish;
    struct sd_view view = { 0 };
    int rc = read_traced(a, p, &wish);

    others.sort = NULL; /* a word of pstats */
    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0)
        put_heading(out, p, a);
    if (rc == 0 && has_pstats(a, p, &wish))
        rc = put_pstats(c, p, &wish, out);
    if (rc == 0)
        sd_tables_text(out, &view, &style);
    sd_view_release(&view);
    return rc;
}

/* What is said of the order may be meant for either: a word that one of them does not
 * know leaves it in the order it has by itself. */
static int read_both(const struct asked *a, const struct sd_profile *p,
                     struct sd_tables_wish *others, struct sd_traced_tables *w)
{
    int rc = read_traced(a, p, w);

    *others = a->tables;
    if (!a->v[OPT_SORT].is_given)
        return rc;
    others->is_sort_known = has_pstats(a, p, w) && sd_call_sort_is(w->calls.sort);
    if (!others->is_sort_known)
        w->calls.sort = by_itself;
    return rc;
}

/* The tables of samples, then those of traced calls: they stand apart, since what is
 * traced runs slower than what is sampled. */
static int put_both(const struct sd_command *c, const struct asked *a,
                    const struct sd_profile *p, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(c, fd);
    struct sd_tables_wish others;
    struct sd_traced_tables wish;
    struct sd_view view = { 0 };
    int rc = read_both(a, p, &others, &wish);

    if (rc == 0)
        rc = sd_tables_of(p, &others, &view);
    if (rc == 0) {
        put_heading(out, p, a);
        sd_tables_text(out, &view, &style);
    }
    if (rc == 0 && has_pstats(a, p, &wish)) {
        sd_out_text(out, view.n_tables ? "\n" : "");
        sd_report_heading(out, &style, "Traced calls");
        sd_out_text(out, "\n");
        rc = put_pstats(c, p, &wish, out);
    }
    sd_view_release(&view);
    return rc;
}

static int put_tables(const struct sd_command *c, const struct asked *a,
                      const struct sd_profile *p, struct sd_out *out, int fd)
{
    struct sd_text_style style = sd_style_for(c, fd);
    struct sd_view view = { 0 };
    int rc;

    if (sd_tables_are_traced(p, &a->tables) && a->form == FORM_TEXT)
        return put_traced(c, a, p, out, fd);
    if (sd_tables_are_both(p, &a->tables) && a->form == FORM_TEXT)
        return put_both(c, a, p, out, fd);
    rc = sd_tables_of(p, &a->tables, &view);
    if (rc == 0 && a->form == FORM_JSON)
        sd_tables_json(out, p, &view, a->words, (size_t)a->n_words);
    else if (rc == 0 && a->form == FORM_CSV)
        sd_tables_csv(out, &view);
    else if (rc == 0) {
        put_heading(out, p, a);
        sd_tables_text(out, &view, &style);
    }
    sd_view_release(&view);
    return rc;
}

/* Threads of several processes stand below their own. */
static bool has_several_processes(const struct sd_profile *p, const char *metric)
{
    const struct sd_stack_totals *t = sd_profile_totals(p, metric);

    for (size_t i = 1; i < t->n; i++)
        if (sd_profile_process_of(p, t->items[i].track).at !=
            sd_profile_process_of(p, t->items[0].track).at)
            return true;
    return false;
}

static int put_flame(const struct asked *a, const struct sd_profile *p,
                     struct sd_out *out)
{
    struct sd_flame_wish wish = a->flame;

    if (p->samples.n == 0 && p->calls.n == 0)
        return sd_fail(SD_EFORMAT,
                       "nothing was sampled in %s, so there is no flame graph; record "
                       "with: sonde run --with sample",
                       a->words[0]);
    wish.has_processes =
        wish.has_threads && has_several_processes(p, wish.choice.metric);
    return sd_export_flame(p, &wish, a->flame_width, out);
}

static int write_report(const struct sd_command *c, const struct asked *a,
                        const struct sd_profile *p)
{
    const char *to = a->v[OPT_OUTPUT].text ? a->v[OPT_OUTPUT].text : "-";
    bool is_flame = a->form == FORM_FLAME ||
                    (a->form == FORM_PICTURE && (p->samples.n > 0 || p->calls.n > 0));
    struct sd_export_file file;
    int rc = sd_export_open(&file, to,
                            a->v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    if (is_flame)
        rc = put_flame(a, p, &file.out);
    else if (a->form == FORM_PLOT || a->form == FORM_PICTURE)
        rc = sd_export_plot(p, &a->plot, to, &file.out);
    else
        rc = put_tables(c, a, p, &file.out, file.fd);
    return sd_export_close(&file, rc);
}

/* --- Files of pstats */

static bool is_for_calls(size_t option)
{
    static const size_t known[] = { OPT_ROWS,    OPT_SORT,       OPT_MATCH,
                                    OPT_CALLERS, OPT_CALLEES,    OPT_CSV,
                                    OPT_JSON,    OPT_OUTPUT,     OPT_FORCE,
                                    OPT_REVERSE, OPT_STRIP_DIRS, OPT_DIGITS };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == option)
            return true;
    return false;
}

static int check_for_calls(const struct asked *a)
{
    const struct sd_option_value *v = a->v;

    for (size_t i = 0; options[i].name; i++)
        if (v[i].is_given && !is_for_calls(i))
            return sd_fail(SD_EUSAGE,
                           "--%s is for captures; %s is a pstats file, which has "
                           "functions and their callers alone",
                           options[i].name, a->words[0]);
    if (a->form == FORM_PICTURE || a->form == FORM_PLOT)
        return sd_fail(SD_EUSAGE,
                       "%s is a pstats file, which has no stacks to draw; it becomes "
                       ".txt, .csv or .json",
                       a->words[0]);
    if (*(v[OPT_CALLERS].is_given ? v[OPT_CALLERS].text : "") &&
        *(v[OPT_CALLEES].is_given ? v[OPT_CALLEES].text : ""))
        return sd_fail(
            SD_EUSAGE,
            "choose functions once: --callers=RE --callees, or either alone");
    return 0;
}

static int write_calls(const struct asked *a, const struct sd_call_wish *wish,
                       struct sd_call_stats *s)
{
    const char *to = a->v[OPT_OUTPUT].text ? a->v[OPT_OUTPUT].text : "-";
    struct sd_export_file file;
    int rc = sd_export_open(&file, to,
                            a->v[OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW);

    if (rc < 0)
        return rc;
    return sd_export_close(&file, sd_call_tables(s, wish, &file.out));
}

static int report_calls(const struct asked *a)
{
    struct sd_call_wish wish;
    struct sd_call_stats s;
    int rc = check_for_calls(a);

    sd_call_stats_init(&s);
    if (rc == 0)
        rc = read_calls(a, &wish);
    if (rc == 0)
        rc = sd_call_files_load(a->words, (size_t)a->n_words, &s);
    if (rc == 0)
        rc = write_calls(a, &wish, &s);
    sd_call_stats_release(&s);
    return rc;
}

/* Captures and files of pstats have different answers. */
static int check_kinds(const struct asked *a, bool *are_pstats)
{
    *are_pstats = a->n_words > 0 && sd_call_file_is(a->words[0]);
    for (int i = 1; i < a->n_words; i++)
        if (sd_call_file_is(a->words[i]) != *are_pstats)
            return sd_fail(
                SD_EUSAGE,
                "%s is a pstats file and %s is not: they are reported one by "
                "one",
                *are_pstats ? a->words[0] : a->words[i],
                *are_pstats ? a->words[i] : a->words[0]);
    return 0;
}

/* What is said of calls means nothing where none were traced. */
static int check_for_captures(const struct asked *a, const struct sd_profile *p)
{
    static const size_t others[] = { OPT_STRIP_DIRS, OPT_REVERSE, OPT_DIGITS,
                                     OPT_PER_THREAD, OPT_IMPORTS, OPT_RAW,
                                     OPT_CPU };

    for (size_t i = 0; i < sizeof others / sizeof *others && p->calls.n == 0; i++)
        if (a->v[others[i]].is_given)
            return sd_fail(SD_EUSAGE,
                           "--%s is for tables of calls, and none were traced here; "
                           "they are recorded by: sonde calls",
                           options[others[i]].name);
    return 0;
}

static int report_captures(const struct sd_command *c, const struct asked *a)
{
    struct sd_profile *p = NULL;
    int rc = sd_load(c, (size_t)a->n_words, a->words, &a->filter, &p);

    if (rc == 0)
        rc = check_for_captures(a, p);
    if (rc == 0 && a->v[OPT_QUALIFIED].number)
        sd_profile_qualify(p);
    if (rc == 0)
        rc = write_report(c, a, p);
    sd_profile_free(p);
    return rc;
}

static int run(const struct sd_command *c)
{
    bool are_pstats = false;
    struct asked a;
    int rc = read_asked(c, &a);

    if (rc == 0 && a.v[OPT_OUTPUT].text)
        rc = sd_export_check_spares(a.v[OPT_OUTPUT].text, a.words, (size_t)a.n_words);
    if (rc == 0)
        rc = check_kinds(&a, &are_pstats);
    if (rc == 0)
        rc = are_pstats ? report_calls(&a) : report_captures(c, &a);
    sd_buf_release(&a.names);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_report = {
    .name = "report",
    .group = SD_GROUP_READ,
    .summary = "prints what is in a capture: tables, JSON, CSV, a flame graph, a plot",
    .usage = "[OPTION...] FILE...",
    .about =
        "Prints the tables of a capture (\"-\" is stdin): the functions that its "
        "samples were taken in, its sections and its processes; callers, callees, "
        "lines, threads and the readings taken over time when asked for, and most "
        "of them in JSON. Several captures are merged into one report. "
        "A capture that is cut or damaged is reported as far as it goes; what is "
        "missing is said on stderr.\n\n"
        "self% is the share of samples taken in a function itself, cum% that in it "
        "or in what it called.\n\n"
        "A pstats file, of cProfile or any other profiler and under any name, is "
        "printed as pstats prints it, without Python: -s with pstats' words or "
        "numbers, "
        "-n and --match as its restrictions, in the order typed, --callers and "
        "--callees for its other tables. Several files add up.\n\n"
        "Times of --from and --to count from the start of the capture: 2s, "
        "500ms, 1.5m; a bare number is seconds.",
    .examples = "sonde report train.sonde\n"
                "sonde report train.sonde --tree\n"
                "sonde report train.sonde --lines -n 5 -s cum\n"
                "sonde report train.sonde --callers=forward    # who calls it\n"
                "sonde report train.sonde --flame -o flame.svg\n"
                "sonde report train.sonde --plot -o image.png    # memory over time\n"
                "sonde report train.sonde --json | jq .functions\n"
                "sonde report old.pstats -s cumulative -n 10 --callers=forward\n",
    .options = options,
    .run = run,
};
