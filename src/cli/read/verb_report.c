/* SPDX-License-Identifier: MIT */
/* verb_report: the verb `report`: prints what is in a capture as tables, data, or a
 * picture. */
#include "cli/read/verb_report.h"

#include <string.h>

#include "analyse/processes.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/idle_samples.h"
#include "cli/path.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"
#include "cli/shared_options.h"
#include "outputs/needs.h"
#include "outputs/outputs.h"
#include "outputs/translated.h"
#include "profile/slices.h"

static const struct sd_option options[] = {
    [SD_REPORT_ROWS] = { "rows", SD_TEXT, NULL,
                         "print at most N rows of each table, or this fraction of them "
                         "(0.1); 0 is all (20; all of them as CSV and JSON)",
                         'n', "N" },
    [SD_REPORT_SORT] = { "sort", SD_WORDS, NULL,
                         "sort by this column, largest first; -COLUMN the other way "
                         "round; self and cum are short for self% and cum%; calls are "
                         "sorted by pstats' words (time, cumulative, calls, name, "
                         "...): separate several with commas, or repeat the option",
                         's', "COLUMN" },
    [SD_REPORT_MATCH] = { "match", SD_TEXT, NULL,
                          "print only rows in which a name or file matches this "
                          "regular "
                          "expression; shares stay those of everything.  A flame graph "
                          "is "
                          "opened with a search for it",
                          0, "RE" },
    [SD_REPORT_FILTER] = { "filter", SD_TEXT, NULL,
                           "count only sections whose name matches this regular "
                           "expression, "
                           "and samples with such a function or file on their stack",
                           0, "RE" },
    [SD_REPORT_TRACK] = { "track", SD_TEXT, NULL,
                          "only this process or thread: a pid, pid/tid, or part of its "
                          "name",
                          0, "WHO" },
    [SD_REPORT_SECTION] = { "section", SD_TEXT, NULL,
                            "only what happened while this section was open", 0,
                            "NAME" },
    [SD_REPORT_FROM] = { "from", SD_DURATION, NULL,
                         "only what happened after this time", 0, "TIME" },
    [SD_REPORT_TO] = { "to", SD_DURATION, NULL, "only what happened before this time",
                       0, "TIME" },
    [SD_REPORT_STRIP_DIRS] = { "strip-dirs", SD_FLAG, NULL,
                               "for calls: names of files without their folders", 0,
                               NULL },
    [SD_REPORT_REVERSE] = { "reverse", SD_FLAG, NULL,
                            "for calls: reverse the sorted order", 0, NULL },
    [SD_REPORT_DIGITS] = { "digits", SD_NUMBER, "3",
                           "for calls: digits of the seconds; 6 shows microseconds", 0,
                           "N" },
    [SD_REPORT_TABLE] = { "table", SD_NAMES, NULL,
                          "only these tables; with --json also pictures, as data", 0,
                          sd_profile_view_names + 1 },
    [SD_REPORT_TREE] = { "tree", SD_FLAG, NULL, "functions and sections as trees", 0,
                         NULL },
    [SD_REPORT_LINES] = { "lines", SD_FLAG, NULL,
                          "the hottest lines; where lines were counted, all lines of "
                          "those functions, with their source; with --alloc the "
                          "lines that allocated, with it",
                          0, NULL },
    [SD_REPORT_HOTTEST] = { "hottest", SD_FLAG, NULL,
                            "for counted lines: the hottest of all functions in one "
                            "list",
                            0, NULL },
    [SD_REPORT_CALLERS] = { "callers", SD_OPTIONAL, NULL,
                            "who calls the functions that match, or all", 0, "RE" },
    [SD_REPORT_CALLEES] = { "callees", SD_OPTIONAL, NULL,
                            "whom the functions that match call, or all", 0, "RE" },
    [SD_REPORT_THREADS] = { "threads", SD_FLAG, NULL,
                            "the threads and how they spent their time; with --flame "
                            "they "
                            "are the first boxes",
                            0, NULL },
    [SD_REPORT_PER_THREAD] = { "per-thread", SD_FLAG, NULL,
                               "a table for each thread; as data, rows that "
                               "say whose they are",
                               0, NULL },
    [SD_REPORT_IMPORTS] = { "imports", SD_FLAG, NULL,
                            "for calls: how long modules took to import, as a tree", 0,
                            NULL },
    [SD_REPORT_SCALING] = { "scaling", SD_FLAG, NULL,
                            "for calls recorded with --scaling: how the time of "
                            "functions grows with the size of their arguments; with -o "
                            "a picture of it",
                            0, NULL },
    [SD_REPORT_ALLOC] = { "alloc", SD_FLAG, NULL,
                          "allocations: how much memory each line holds at the peak; "
                          "the options from here to --at need it",
                          0, NULL },
    [SD_REPORT_PEAK] = { "peak", SD_FLAG, NULL,
                         "blocks that were live when most memory was (the default)", 0,
                         NULL },
    [SD_REPORT_LEAKS] = { "leaks", SD_FLAG, NULL, "blocks that were never freed", 0,
                          NULL },
    [SD_REPORT_TEMPORARY] = { "temporary", SD_OPTIONAL, NULL,
                              "blocks that were freed with at most N (1) other "
                              "allocations of their thread in between",
                              0, "N" },
    [SD_REPORT_TOTAL] = { "total", SD_FLAG, NULL, "all blocks", 0, NULL },
    [SD_REPORT_GROWING] = { "growing", SD_FLAG, NULL,
                            "rows whose live bytes keep rising over the run", 0, NULL },
    [SD_REPORT_AT] = { "at", SD_DURATION, NULL, "blocks that were live at this time", 0,
                       "TIME" },
    [SD_REPORT_BY] = { "by", SD_CHOICE, "function",
                       "what a row or box is: a function, a line of one, or a module; "
                       "with --alloc a line (the default), function, file, stack, "
                       "thread, process, allocator, or size of blocks",
                       0,
                       "function|line|module|file|stack|thread|process|allocator|"
                       "size" },
    [SD_REPORT_ALL] = SD_OPTION_ALL("show every row, and the functions of imports; "
                                    "without it an import is one row (CSV and JSON "
                                    "always have everything)"),
    [SD_REPORT_MINE] = { "mine", SD_FLAG, NULL,
                         "fold functions of the standard library and of installed "
                         "packages "
                         "into those that called them",
                         0, NULL },
    [SD_REPORT_SIGNATURES] = { "signatures", SD_FLAG, "1",
                               "for calls: the signatures of a function as rows of "
                               "their own, where they were recorded",
                               0, NULL },
    [SD_REPORT_RAW] = { "raw", SD_FLAG, NULL,
                        "for calls and counted lines: times as measured, with the cost "
                        "of tracing in them",
                        0, NULL },
    [SD_REPORT_CPU] = { "cpu", SD_FLAG, NULL,
                        "for calls: CPU time, where it was measured", 0, NULL },
    [SD_REPORT_QUALIFIED] = SD_OPTION_QUALIFIED,
    [SD_REPORT_IDLE] = { "idle", SD_FLAG, NULL, "count samples of waiting threads too",
                         0, NULL },
    [SD_REPORT_GIL] = { "gil", SD_FLAG, NULL,
                        "count only samples of threads that held the interpreter's "
                        "lock",
                        0, NULL },
    [SD_REPORT_FLAME] = { "flame", SD_FLAG, NULL,
                          "draw the samples as a flame graph into the .svg that -o "
                          "names",
                          0, NULL },
    [SD_REPORT_PLOT] = { "plot", SD_FLAG, NULL,
                         "draw readings over time into the picture that -o names; "
                         "with --flame sections are boxes behind the curves; the "
                         "options from here to --title need it",
                         0, NULL },
    [SD_REPORT_SLOPE] = { "slope", SD_FLAG, NULL,
                          "draw a straight line through each curve and say its slope",
                          0, NULL },
    [SD_REPORT_CHILDREN] = { "children", SD_CHOICE, "both",
                             "several processes: their sum as one curve, each as its "
                             "own, or both",
                             0, "both|sum|apart" },
    [SD_REPORT_MARKS] = { "marks", SD_FLAG, "1", "draw where sections begin and end", 0,
                          NULL },
    [SD_REPORT_OVERLAY] = { "overlay", SD_FLAG, NULL,
                            "several files: let each begin at 0, to compare runs", 0,
                            NULL },
    [SD_REPORT_TITLE] = { "title", SD_TEXT, NULL, "the title of the picture", 0,
                          "TEXT" },
    [SD_REPORT_GRAPH] = { "graph", SD_FLAG, NULL,
                          "draw who calls whom as a call graph: into the .svg or .dot "
                          "that -o names, without -o as DOT on stdout; the options "
                          "from here to --compare-color-by-difference need --graph and "
                          "are gprof2dot's",
                          0, NULL },
    [SD_REPORT_NODE_THRES] = { "node-thres", SD_TEXT, "0.5",
                               "leave out functions with less than this of the time", 0,
                               "PERCENT" },
    [SD_REPORT_EDGE_THRES] = { "edge-thres", SD_TEXT, "0.1",
                               "leave out calls with less than this of the time", 0,
                               "PERCENT" },
    [SD_REPORT_ROOT] = { "root", SD_TEXT, NULL,
                         "only what is called from the functions whose name or "
                         "module:line:name matches this shell pattern",
                         'z', "PATTERN" },
    [SD_REPORT_LEAF] = { "leaf", SD_TEXT, NULL,
                         "only what leads to the functions that match", 'l',
                         "PATTERN" },
    [SD_REPORT_DEPTH] = { "depth", SD_NUMBER, NULL,
                          "with --root or --leaf: not further than N calls", 0, "N" },
    [SD_REPORT_PATH] = { "path", SD_WORDS, NULL,
                         "only functions whose file begins with PATH; can be repeated",
                         'p', "PATH" },
    [SD_REPORT_STRIP] = { "strip", SD_FLAG, NULL,
                          "names without what stands in parentheses: signatures", 0,
                          NULL },
    [SD_REPORT_WRAP] = { "wrap", SD_FLAG, NULL, "long names on several lines", 'w',
                         NULL },
    [SD_REPORT_NODE_LABEL] = { "node-label", SD_WORDS, NULL,
                               "what a box says besides its name: self-time, "
                               "self-time-percentage, total-time, "
                               "total-time-percentage; can be repeated",
                               0, "MEASURE" },
    [SD_REPORT_COLORMAP] = { "colormap", SD_CHOICE, "color", "colours of the graph",
                             'c', "bw|color|gray|pink|print" },
    [SD_REPORT_SKEW] = { "skew", SD_TEXT, "1",
                         "below 1 gives small shares more of the colour range, above 1 "
                         "less",
                         0, "N" },
    [SD_REPORT_BY_SELF] = { "color-nodes-by-selftime", SD_FLAG, NULL,
                            "colour boxes by self time, not by total time", 0, NULL },
    [SD_REPORT_COMPARE] = { "compare", SD_FLAG, NULL,
                            "compare the graphs of two files: how much slower or "
                            "faster "
                            "each function is in the second",
                            0, NULL },
    [SD_REPORT_TOLERANCE] = { "compare-tolerance", SD_TEXT, "0.001",
                              "shares that differ less are the same", 0, "PERCENT" },
    [SD_REPORT_ONLY_SLOWER] = { "compare-only-slower", SD_FLAG, NULL,
                                "mark only what is slower in the second file", 0,
                                NULL },
    [SD_REPORT_ONLY_FASTER] = { "compare-only-faster", SD_FLAG, NULL,
                                "mark only what is faster in the second file", 0,
                                NULL },
    [SD_REPORT_BY_DIFFERENCE] = { "compare-color-by-difference", SD_FLAG, NULL,
                                  "colour boxes by how much they differ", 0, NULL },
    [SD_REPORT_METRIC] = { "metric", SD_TEXT, NULL,
                           "metric to plot: rss (the default), vms, cpu, ...; metric "
                           "of samples: samples (the default), wall, cpu; metric of "
                           "traced calls: time (the default), calls, starts, "
                           "cpu_time, awaited, tracing",
                           0, "NAME" },
    [SD_REPORT_WIDTH] = { "width", SD_NUMBER, NULL,
                          "width of the picture in pixels (1000; flame graphs 1200)", 0,
                          "N" },
    [SD_REPORT_HEIGHT] = { "height", SD_NUMBER, "500", "height of the plot in pixels",
                           0, "N" },
    [SD_REPORT_UNIT] = { "unit", SD_TEXT, "1e-6",
                         "for line_profiler files: the unit of times, in seconds", 'u',
                         "SECONDS" },
    [SD_REPORT_SKIP_ZERO] = { "skip-zero", SD_FLAG, NULL,
                              "for line_profiler files: leave out functions that never "
                              "ran",
                              0, NULL },
    [SD_REPORT_SUMMARIZE] = { "summarize", SD_FLAG, NULL,
                              "for line_profiler files: the time of each function at "
                              "the end",
                              0, NULL },
    [SD_REPORT_CSV] = { "csv", SD_FLAG, NULL,
                        "print one table as CSV: the first there is, or --table's", 0,
                        NULL },
    [SD_REPORT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object with all tables",
                         0, NULL },
    [SD_REPORT_OUTPUT] = { "output", SD_TEXT, NULL,
                           "write to FILE; the suffix chooses: .html for a page for a "
                           "browser, .txt .csv .json, .svg for a flame graph or else a "
                           "plot, .png .jpeg .pdf for a plot",
                           'o', "FILE" },
    [SD_REPORT_SOURCE] = SD_OPTION_SOURCE,
    [SD_REPORT_SHARE] = SD_OPTION_SHARE,
    [SD_REPORT_FORCE] = SD_OPTION_FORCE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* What kind of file comes through a pipe is asked before it is read. */
static int keep_stdin(const struct sd_report_request *a)
{
    int rc = 0;

    for (int i = 0; i < a->n_words && rc == 0; i++)
        if (strcmp(a->words[i], "-") == 0)
            rc = sd_stdin_keep();
    return rc;
}

/* Captures and other tools' files have different answers. */
static int find_input(struct sd_report_request *a)
{
    for (int i = 0; i < a->n_words; i++) {
        const struct sd_input *input =
            sd_input_of(a->words[i], SD_HOLDS_DATA, &sd_input_capture);
        bool is_first = a->input != &sd_input_capture;

        if (i == 0)
            a->input = input;
        else if (input != a->input)
            return sd_fail(SD_EUSAGE, "%s is %s and %s is not; report them separately",
                           a->words[is_first ? 0 : i],
                           is_first ? a->input->title : input->title,
                           a->words[is_first ? i : 0]);
    }
    return 0;
}

static const size_t of_lprof[] = { SD_REPORT_UNIT, SD_REPORT_SKIP_ZERO,
                                   SD_REPORT_SUMMARIZE };

/* Whoever wants the layout of line_profiler must have its file. */
static int check_has_no_lprof_options(const struct sd_report_request *a)
{
    for (size_t i = 0; i < sizeof of_lprof / sizeof *of_lprof; i++)
        if (a->v[of_lprof[i]].is_given)
            return sd_fail(SD_EUSAGE,
                           "--%s works only with line_profiler files (.lprof)",
                           options[of_lprof[i]].name);
    return 0;
}

/* Of what a capture with calls has in its tables; those of samples know by themselves
 * what they do not have, and so do plots of readings. */
static int check_metric(const struct sd_report_request *a, const struct sd_profile *p)
{
    const char *metric = a->v[SD_REPORT_METRIC].text;
    struct sd_buf words = { 0 };
    int rc;

    if (!metric || !sd_profile_has(p, SD_CALLS) || a->form == SD_FORM_PLOT ||
        a->form == SD_FORM_GRAPH || a->v[SD_REPORT_SCALING].number ||
        sd_profile_carries(p, metric))
        return 0;
    sd_calltree_put_metrics(&words, p, SD_CALLS);
    if (sd_profile_has(p, SD_SAMPLES)) {
        sd_buf_text(&words, "; those of samples are ");
        sd_calltree_put_metrics(&words, p, SD_SAMPLES);
    }
    rc = sd_fail(SD_EUSAGE, "%s have no metric \"%s\"; the metrics of calls are %s",
                 sd_profile_has(p, SD_SAMPLES) ? "calls and samples" : "calls", metric,
                 sd_buf_string(&words));
    sd_buf_release(&words);
    return rc;
}

int sd_report_check_left(const struct sd_report_request *a, const struct sd_profile *p)
{
    static const size_t narrowing[] = { SD_REPORT_FILTER, SD_REPORT_TRACK,
                                        SD_REPORT_SECTION, SD_REPORT_FROM,
                                        SD_REPORT_TO };
    enum sd_evidence shown = sd_sample_choice_evidence(p, &a->views.stacks.choice);
    char verbs[SD_EVIDENCE_TEXT];

    for (size_t i = 0; i < sizeof narrowing / sizeof *narrowing; i++)
        if (a->v[narrowing[i]].is_given && !sd_profile_has(p, shown))
            return sd_fail(SD_EABSENT,
                           "--%s leaves nothing of what was %s, so there is nothing to "
                           "draw; drop it, or give another value",
                           options[narrowing[i]].name,
                           sd_profile_recorded(p, shown) ? sd_evidence[shown].verb
                                                         : sd_evidence_verbs(verbs));
    return 0;
}

int sd_report_check_traced(const struct sd_report_request *a,
                           const struct sd_profile *p)
{
    static const size_t others[] = { SD_REPORT_STRIP_DIRS, SD_REPORT_REVERSE,
                                     SD_REPORT_DIGITS,     SD_REPORT_IMPORTS,
                                     SD_REPORT_RAW,        SD_REPORT_CPU };
    const struct sd_evidence_about *calls = &sd_evidence[SD_CALLS];
    const struct sd_evidence_about *lines = &sd_evidence[SD_LINES];
    enum sd_evidence shown = sd_sample_choice_evidence(p, &a->views.stacks.choice);

    for (size_t i = 0;
         i < sizeof others / sizeof *others && !sd_profile_has(p, SD_CALLS); i++)
        if (a->v[others[i]].is_given &&
            (others[i] != SD_REPORT_RAW || !sd_profile_has(p, SD_LINES)))
            return sd_fail(
                SD_EUSAGE,
                "--%s needs %s, and the capture has none; record them with: %s",
                options[others[i]].name, calls->title, calls->command);
    if (a->v[SD_REPORT_PER_THREAD].number && !sd_profile_has_stacks(p))
        return sd_needs_fail(SD_EUSAGE,
                             "--per-thread shows stacks, and the capture has",
                             SD_HOLDS_STACKS);
    if (a->v[SD_REPORT_HOTTEST].number && !sd_profile_has(p, SD_LINES))
        return sd_fail(
            SD_EUSAGE,
            "--hottest needs %s, and the capture has none; record them with: %s",
            lines->title, lines->command);
    if (a->v[SD_REPORT_GIL].number && shown != SD_SAMPLES)
        return sd_fail(SD_EUSAGE,
                       "--gil works on samples only; %s do not record who held the GIL",
                       sd_evidence[shown].title);
    return check_metric(a, p);
}

/* Behind the end of the capture all tables would be of zeros. */
int sd_report_check_window(const struct sd_report_request *a,
                           const struct sd_profile *p)
{
    uint64_t end_ns = sd_run_wall_ns(p);
    char from[SD_TEXT_MAX], length[SD_TEXT_MAX];

    if (p->run_end_ns > end_ns)
        end_ns = p->run_end_ns;
    if (!a->v[SD_REPORT_FROM].is_given || a->views.selection.from_ns < end_ns)
        return 0;
    return sd_fail(SD_EUSAGE, "--from %s is past the end: %s %s long",
                   sd_text_duration(from, (int64_t)a->views.selection.from_ns),
                   a->n_words > 1 ? "the captures are" : "the capture is",
                   sd_text_duration(length, (int64_t)end_ns));
}

/* --- A capture that was cut */

static bool has_collector(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* What a capture was to record and has none of, because it was cut before the first;
 * NULL: nothing, or its sections say that the program ran (a C program has no samples).
 */
static const char *missing_of(const struct sd_profile *p)
{
    const char *list = sd_profile_meta(p, "collectors");

    if (!p->complaint || p->is_part || p->n_spans > 0)
        return NULL;
    for (enum sd_evidence e = 0; e < SD_EVIDENCES; e++)
        if (sd_evidence[e].collector && !sd_profile_has(p, e) &&
            has_collector(list, sd_evidence[e].collector))
            return sd_evidence[e].name;
    return NULL;
}

static bool is_empty(const struct sd_profile *p)
{
    return !sd_profile_has_any(p) && p->n_spans == 0 && p->n_series == 0;
}

static int check_rest(const struct sd_report_request *a, const struct sd_profile *p)
{
    if (!p->complaint || p->is_part || !is_empty(p))
        return 0;
    return sd_fail(SD_EABSENT,
                   "there is nothing to report: %s before anything was recorded",
                   a->n_words > 1 ? "the captures end" : "the capture ends");
}

/* An empty table of callers or callees would not say why it is empty.  What is found by
 * a module's name is no function. */
static int check_functions_match(const struct sd_report_request *a,
                                 const struct sd_profile *p)
{
    struct sd_buf label = { 0 };
    int rc = 0;

    if (!a->views.match || a->views.stacks.by == SD_CALLS_BY_MODULE)
        return 0;
    for (size_t i = 0; i < p->n_stacks && rc == 0; i++)
        rc = sd_callee_match_site(&p->sites[p->stacks[i].site.at], a->views.match,
                                  &label);
    sd_buf_release(&label);
    if (rc == 0)
        return sd_fail(SD_EUSAGE, "no recorded function matches \"%s\"", a->calls_of);
    return rc < 0 ? rc : 0;
}

static bool leaves_idle_out(const struct sd_report_request *a,
                            const struct sd_profile *p)
{
    if (a->views.stacks.choice.is_gil_only)
        return false;
    if (sd_report_put_is_flame(a, p))
        return !a->views.stacks.choice.has_idle;
    return a->form <= SD_FORM_JSON && sd_views_leave_idle_out(p, &a->views);
}

/* "...; sonde report reads a pstats file, a line_profiler file and a capture" */
static int not_readable(int rc)
{
    struct sd_buf known = { 0 };

    for (const struct sd_input *const *i = sd_inputs; *i; i++)
        if ((*i)->gives & SD_HOLDS_DATA)
            sd_buf_printf(&known, "%s%s",
                          known.n == 0 ? ""
                          : i[1]       ? ", "
                                       : " and ",
                          (*i)->title);
    rc =
        sd_fail(rc, "%s; sonde report reads %s", sd_fail_text(), sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

/* Views over time read the captures again. */
static int write_with_slices(const struct sd_report_request *a,
                             const struct sd_profile *p)
{
    struct sd_report_request with = *a;
    const struct sd_filter *filter = &a->views.selection;
    struct sd_slices slices = { 0 }, calls = { 0 };
    size_t n = (size_t)a->n_words;
    int rc = sd_captures_slices_of(p, SD_SAMPLES, a->paths, n, filter, &slices);

    with.views.slices = &slices;
    if (rc >= 0)
        rc = sd_captures_slices_of(p, SD_CALLS, a->paths, n, filter, &calls);
    with.views.call_slices = rc == 1 ? &calls : NULL;
    if (rc >= 0)
        rc = sd_report_put_result(&with, p);
    sd_slices_release(&slices);
    sd_slices_release(&calls);
    return rc;
}

struct sd_filter sd_report_filter(const struct sd_report_request *a)
{
    return a->form == SD_FORM_PAGE
               ? (struct sd_filter){ .match = a->views.selection.match }
               : a->views.selection;
}

static enum sd_load_flags load_flags(const struct sd_report_request *a)
{
    if (a->form == SD_FORM_PAGE)
        return SD_LOAD_SLICES;
    return a->v[SD_REPORT_OVERLAY].number ? SD_LOAD_OVERLAY : SD_LOAD_TOTALS;
}

static int report_captures(const struct sd_report_request *a)
{
    const struct sd_filter filter = sd_report_filter(a);
    struct sd_profile *p = NULL;
    int rc = check_has_no_lprof_options(a);

    if (rc == 0)
        rc = sd_load_named(a->command, (size_t)a->n_words, a->paths, a->words, &filter,
                           load_flags(a), &p);
    if (rc == SD_EFORMAT && !sd_path_is_dir(a->words[0]))
        rc = not_readable(rc);
    if (rc == 0)
        rc = check_rest(a, p);
    if (rc == 0)
        rc = sd_report_check_window(a, p);
    if (rc == 0)
        rc = sd_report_alloc_check(a, p);
    if (rc == 0)
        rc = sd_report_check_traced(a, p);
    if (rc == 0 && !a->v[SD_REPORT_SIGNATURES].number)
        rc = sd_profile_drop_signatures(p);
    if (rc == 0 && a->v[SD_REPORT_QUALIFIED].number)
        sd_profile_qualify(p);
    if (rc == 0)
        rc = check_functions_match(a, p);
    if (rc == 0)
        rc = sd_views_need_slices(&a->views) ? write_with_slices(a, p)
                                             : sd_report_put_result(a, p);
    if (rc == 0 && leaves_idle_out(a, p))
        sd_idle_samples_say(a->command, p, NULL);
    if (rc == 0 && missing_of(p)) {
        sd_say("the capture has no %s: it ends before the first was recorded",
               missing_of(p));
        rc = 1;
    }
    sd_profile_free(p);
    return rc;
}

static int report_profile(const struct sd_report_request *a)
{
    struct sd_report_request opened = *a;
    struct sd_translated files;
    int rc = sd_translated_open(&files, a->input, &sd_said_remarks, a->words,
                                (size_t)a->n_words);

    if (rc < 0)
        return rc;
    opened.paths = files.paths;
    rc = report_captures(&opened);
    sd_translated_close(&files);
    return rc;
}

static int report(const struct sd_report_request *a)
{
    if (a->form == SD_FORM_GRAPH)
        return sd_report_graph_of(a);
    return sd_input_gives_profile(a->input) ? report_profile(a) : sd_report_stats(a);
}

static int run(const struct sd_command *c)
{
    bool are_compared;
    struct sd_report_request a;
    int rc = sd_report_request_read(&a, c);

    if (rc == 0 && a.v[SD_REPORT_OUTPUT].text)
        rc = sd_export_check_spares(a.v[SD_REPORT_OUTPUT].text, a.words,
                                    (size_t)a.n_words);
    if (rc == 0)
        rc = keep_stdin(&a);
    are_compared = rc == 0 && a.form == SD_FORM_GRAPH && a.v[SD_REPORT_COMPARE].number;
    if (rc == 0 && !are_compared) /* two that are compared may be of either kind */
        rc = find_input(&a);
    if (rc == 0)
        rc = report(&a);
    sd_report_request_release(&a);
    return rc < 0 ? sd_say_failure(rc) : rc;
}

const struct sd_verb sd_verb_report = {
    .name = "report",
    .group = SD_GROUP_READ,
    .summary = "prints what is in a capture: tables, JSON, CSV, a flame graph, a call "
               "graph, a plot",
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
        "An .lprof file, of kernprof or line_profiler, is printed as line_profiler "
        "prints it, also without Python; -s time puts the slowest functions first. It "
        "is read as data: nothing in it is run.\n\n"
        "A .dat file of memory_profiler's mprof is reported as a capture.\n\n"
        "Times of --from and --to count from the start of the capture: 2s, "
        "500ms, 1.5m; a bare number is seconds.",
    .examples = "sonde report train.sonde\n"
                "sonde report train.sonde --tree\n"
                "sonde report train.sonde --lines -n 5 -s cum\n"
                "sonde report train.sonde --callers=forward    # who calls it\n"
                "sonde report train.sonde --flame -o flame.svg\n"
                "sonde report train.sonde --graph -o graph.svg    # who calls whom\n"
                "sonde report old.pstats --graph | dot -Tpng -o graph.png\n"
                "sonde report train.sonde --plot -o image.png    # memory over time\n"
                "sonde report old.dat --plot --slope -o slope.png    # mprof's file\n"
                "sonde report train.sonde --alloc --leaks    # what is never freed\n"
                "sonde report train.sonde --scaling -o growth.svg    # time by size\n"
                "sonde report train.sonde --json | jq .functions\n"
                "sonde report old.pstats -s cumulative -n 10 --callers=forward\n"
                "sonde report script.py.lprof -u 1e-3 --skip-zero    # line by line\n",
    .options = options,
    .run = run,
};
