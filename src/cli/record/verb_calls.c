/* SPDX-License-Identifier: MIT */
/* verb_calls: the verb `calls`: runs a program, counts and times its calls, and prints
 * them as pstats does. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/path.h"
#include "cli/pattern.h"
#include "cli/read/export.h"
#include "cli/record/verb_run.h"
#include "cli/say.h"
#include "collect/calls/options.h"
#include "outputs/outputs.h"
#include "outputs/pictures.h"
#include "outputs/tables.h"
#include "outputs/pstats_tables.h"
#include "report/report.h"

extern const struct sd_collector_about sd_about_calls;

enum { TEXT_ROWS = 20, PICTURE_WIDTH = 1000 }; /* of growth: as of `sonde report` */
#define FIRST_ROWS "40"                        /* of a table of pstats */
enum {
    OPT_SORT = SD_RUN_OPTIONS,
    OPT_REVERSE,
    OPT_ROWS,
    OPT_MATCH,
    OPT_CALLERS,
    OPT_CALLEES,
    OPT_STRIP_DIRS,
    OPT_DIGITS,
    OPT_PER_THREAD,
    OPT_MINE,
    OPT_BY,
    OPT_RAW,
    OPT_JSON,
    OPT_CSV
};
static const struct sd_option options[] = {
    [SD_RUN_WITH] =
        SD_OPTION_WITH("besides this one and the sections the program itself "
                       "opens"),
    [SD_RUN_OUTPUT] = { "output", SD_TEXT, NULL,
                        "write to FILE: a pstats file, unless the suffix names another "
                        "format (.sonde is the capture); without it SCRIPT.sonde, "
                        "SCRIPT-2.sonde, ...",
                        'o', "FILE" },
    [SD_RUN_FORCE] = SD_OPTION_FORCE,
    [SD_RUN_PYTHON] = SD_OPTION_PYTHON,
    [SD_RUN_SYNC] = SD_OPTION_SYNC,
    [SD_RUN_ALL] = SD_OPTION_ALL("print all functions, with --scaling also those of "
                                 "imports; in a file, " SD_ALL_PATHS),
    [SD_RUN_SOURCE] = SD_OPTION_SOURCE,
    [SD_RUN_SHARE] = SD_OPTION_SHARE,
    [OPT_SORT] = { "sort", SD_WORDS, NULL,
                   "pstats' words: cumulative, time, calls, name, ... (cumulative); "
                   "separate several with commas, or repeat the option; with --json, "
                   "--csv and --scaling also names of columns",
                   's', "KEY" },
    [OPT_REVERSE] = { "reverse", SD_FLAG, NULL, "reverse the sorted order", 0, NULL },
    [OPT_ROWS] = { "rows", SD_TEXT, NULL,
                   "print at most N functions, or this fraction of them (0.1); without "
                   "it 40, the program's own chosen first",
                   'n', "N" },
    [OPT_MATCH] = { "match", SD_TEXT, NULL,
                    "print only functions that match this regular expression", 0,
                    "RE" },
    [OPT_CALLERS] = { "callers", SD_OPTIONAL, NULL,
                      "who calls the functions that match, or all: --callers=RE", 0,
                      "RE" },
    [OPT_CALLEES] = { "callees", SD_OPTIONAL, NULL,
                      "whom the functions that match call, or all: --callees=RE", 0,
                      "RE" },
    [OPT_STRIP_DIRS] = { "strip-dirs", SD_FLAG, NULL,
                         "names of files without their folders", 0, NULL },
    [OPT_DIGITS] = { "digits", SD_NUMBER, "3",
                     "digits of the seconds; 6 shows microseconds", 0, "N" },
    [OPT_PER_THREAD] = { "per-thread", SD_FLAG, NULL, "a table for each thread", 0,
                         NULL },
    [OPT_MINE] = { "mine", SD_FLAG, NULL,
                   "fold functions of the standard library and of installed packages "
                   "into those that called them",
                   0, NULL },
    [OPT_BY] = { "by", SD_CHOICE, "function", "what a row is", 0, "function|module" },
    [OPT_RAW] = { "raw", SD_FLAG, NULL,
                  "times as measured, with the cost of tracing in them", 0, NULL },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print what `sonde report --json` does", 0,
                   NULL },
    [OPT_CSV] = { "csv", SD_FLAG, NULL, "print the table as CSV", 0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* --- What was asked for */

/* Whoever has CPU time measured wants to see it. */
static struct sd_stacks_request traced_request(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    const struct sd_option_value *of_calls = sd_command_options_of(c, &sd_about_calls);

    return (struct sd_stacks_request){
        .choice.is_mine = v[OPT_MINE].number != 0,
        .by = strcmp(v[OPT_BY].text, "module") == 0 ? SD_CALLS_BY_MODULE
                                                    : SD_CALLS_BY_FUNCTION,
        .is_raw = v[OPT_RAW].number != 0,
        .is_cpu = of_calls[SD_CALLS_OPT_CPU].number != 0,
    };
}

static const char *const by_itself[] = { "cumulative", NULL };

static void add_limit(struct sd_call_request *w, struct sd_call_limit limit)
{
    if (limit.rows || (limit.match && *limit.match))
        w->limits[w->n_limits++] = limit;
}

/* Functions are chosen by their names first, then cut to so many. */
static struct sd_call_request call_request(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct sd_call_request w = {
        .sort = v[OPT_SORT].is_given ? v[OPT_SORT].words : by_itself,
        .is_reversed = v[OPT_REVERSE].number != 0,
        .strips_dirs = v[OPT_STRIP_DIRS].number != 0,
        .has_callers = v[OPT_CALLERS].is_given,
        .has_callees = v[OPT_CALLEES].is_given,
        .digits = (unsigned)v[OPT_DIGITS].number,
        .maker = &sd_pattern_maker,
    };

    add_limit(&w, (struct sd_call_limit){ .match = v[OPT_MATCH].text });
    if (w.has_callers)
        add_limit(&w, (struct sd_call_limit){ .match = v[OPT_CALLERS].text });
    else if (w.has_callees)
        add_limit(&w, (struct sd_call_limit){ .match = v[OPT_CALLEES].text });
    if (v[OPT_ROWS].text)
        add_limit(&w, (struct sd_call_limit){ .rows = v[OPT_ROWS].text });
    else if (!v[SD_RUN_ALL].number)
        add_limit(&w,
                  (struct sd_call_limit){ .rows = FIRST_ROWS, .prefers_own = true });
    return w;
}

/* --- The answer */

static bool is_scaling(const struct sd_command *c)
{
    return sd_command_options_of(c, &sd_about_calls)[SD_CALLS_OPT_SCALING].number != 0;
}

/* With --scaling a picture is that of growth, as it is of `sonde report`. */
static bool makes_growth(const struct sd_command *c, const char *to)
{
    enum sd_picture kind;

    return is_scaling(c) && sd_picture_of(to, &kind);
}

/* .txt is a pstats file here, as users of cProfile write it. */
static bool makes_file(const struct sd_command *c, const char *to)
{
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);

    return makes_growth(c, to) || !output || output->needs == SD_HOLDS_CALLS ||
           (output->has_tables && output->form == SD_TABLE_TEXT);
}

/* A Python that takes part calls at least its module. */
static const char *why_no_calls(const struct sd_profile *p)
{
    return p->health.lost_events > 0
               ? "no calls were recorded: the recorded events were lost"
               : "no calls were recorded: sonde saw no Python function run";
}

static int make_pstats(const struct sd_command *c, const struct sd_profile *p,
                       const char *to, enum sd_create_flags create)
{
    struct sd_stacks_request request = traced_request(c);
    struct sd_export_file file;
    int rc;

    if (!sd_profile_has(p, SD_CALLS))
        return sd_fail(SD_EABSENT, "%s", why_no_calls(p));
    rc = sd_export_open(&file, to, create);
    return rc < 0 ? rc
                  : sd_export_close(&file,
                                    sd_pstats_tables_put_file(p, &request, &file.out));
}

/* --- A timeline */

static bool has_timeline(const struct sd_command *c)
{
    return sd_command_options_of(c, &sd_about_calls)[SD_CALLS_OPT_TIMELINE].number != 0;
}

/* Is it what has calls one by one?  Of a capture with a timeline `.json` is, too. */
static bool is_trace(const char *to)
{
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);

    return output && (output->prefers_timeline || output->of_timeline);
}

/* The capture goes once the file is made: what is not in that is lost. */
static int check_timeline(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    const char *to = v[SD_RUN_OUTPUT].text;
    const struct sd_output *output = to ? sd_output_for(to, SD_HOLDS_ANYTHING) : NULL;

    if (!to || !has_timeline(c) || (output && !output->write))
        return 0;
    if (!is_trace(to))
        return sd_fail(SD_EUSAGE,
                       "%s cannot hold a timeline; use -o trace.json, or -o NAME.sonde "
                       "and `sonde convert` for both",
                       to);
    if (v[OPT_BY].is_given)
        return sd_fail(SD_EUSAGE,
                       "%s would be a trace, on which --by has no effect; drop --by, "
                       "or use -o NAME.sonde, then `sonde report --by` for the table "
                       "and `sonde convert` for the trace",
                       to);
    return 0;
}

/* --- Growth */

/* What the table of growth does not have, nor its picture: it would change nothing. */
static int check_effects(const struct sd_command *c)
{
    static const size_t others[] = { OPT_CALLERS, OPT_CALLEES, OPT_DIGITS,
                                     OPT_PER_THREAD, OPT_BY };
    const struct sd_option_value *v = c->values;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (v[others[i]].is_given)
            return sd_fail(SD_EUSAGE,
                           "--%s has no effect with --scaling; drop one of the two",
                           options[others[i]].name);
    if (v[OPT_REVERSE].number && !v[OPT_SORT].is_given)
        return sd_fail(SD_EUSAGE, "--reverse needs an order to reverse: -s exponent");
    return 0;
}

/* As of a timeline: what is not in the file is lost. */
static int check_scaling(const struct sd_command *c)
{
    const char *to = c->values[SD_RUN_OUTPUT].text;

    if (!is_scaling(c))
        return 0;
    if (to && makes_file(c, to) && !makes_growth(c, to))
        return sd_fail(SD_EUSAGE,
                       "%s would be a pstats file, which cannot hold how time grows "
                       "with size (--scaling); use -o growth.svg for a picture of the "
                       "growth, or -o NAME.sonde, then `sonde report --scaling` for "
                       "its table and `sonde convert` for the pstats file",
                       to);
    return check_effects(c);
}

/* The table is without them, and so is the trace. */
static bool style_trace(const struct sd_command *c, struct sd_stack_style *out)
{
    out->is_mine = has_timeline(c) && c->values[OPT_MINE].number != 0;
    return out->is_mine;
}

/* --- As data: what `sonde report` would print of the capture */

struct looked_for {                     /* all zero is a released one */
    struct sd_pattern *rows, *calls_of; /* owned; or NULL */
    struct sd_matcher match_rows, match_calls_of;
};

static void release(struct looked_for *l)
{
    sd_pattern_free(l->rows);
    sd_pattern_free(l->calls_of);
}

static int look_for(const struct sd_option_value *v, struct looked_for *l)
{
    const char *calls_of =
        v[OPT_CALLERS].is_given ? v[OPT_CALLERS].text : v[OPT_CALLEES].text;
    int rc = 0;

    if (v[OPT_MATCH].text && *v[OPT_MATCH].text)
        rc = sd_pattern_new(v[OPT_MATCH].text, &l->rows);
    if (rc == 0 && calls_of && *calls_of)
        rc = sd_pattern_new(calls_of, &l->calls_of);
    l->match_rows = sd_pattern_matcher(l->rows);
    l->match_calls_of = sd_pattern_matcher(l->calls_of);
    return rc;
}

/* Samples may be there, too, but they are not what this verb is asked about. */
static struct sd_view_request data_request(const struct sd_command *c,
                                           const struct looked_for *l)
{
    const struct sd_option_value *v = c->values;
    bool has_callers = v[OPT_CALLERS].is_given, has_callees = v[OPT_CALLEES].is_given;
    struct sd_view_request request = {
        .views = has_callers && has_callees ? "callers,callees"
                 : has_callers              ? "callers"
                 : has_callees              ? "callees"
                                            : NULL,
        .sort = v[OPT_SORT].is_given ? v[OPT_SORT].words : by_itself,
        .is_reversed = v[OPT_REVERSE].number != 0,
        .stacks = traced_request(c),
        .has_threads = v[OPT_PER_THREAD].number != 0,
        .strips_dirs = v[OPT_STRIP_DIRS].number != 0,
        .match = l->calls_of ? &l->match_calls_of : NULL,
        .rows = l->rows ? &l->match_rows : NULL,
    };

    request.stacks.choice.metric = "time";
    sd_tables_read_rows(v[OPT_ROWS].text, &request); /* checked before the start */
    return request;
}

/* How time grows with size, in the place of everything else. */
static void request_growth(const struct sd_command *c, struct sd_view_request *request)
{
    const struct sd_option_value *v = c->values;

    request->views = v[OPT_JSON].number ? "scaling,scaling_points" : "scaling";
    request->stacks.choice.metric = "cpu_time";
    request->stacks.has_sizes = true;
    if (!v[OPT_SORT].is_given)
        request->sort = NULL;
    if (v[OPT_JSON].number || v[OPT_CSV].number || v[SD_RUN_ALL].number)
        return;
    request->folds_imports = !v[OPT_MATCH].text;
    if (!v[OPT_ROWS].text)
        request->limit = TEXT_ROWS;
}

/* Our own tables, not those of pstats? */
static bool is_data(const struct sd_command *c)
{
    return c->values[OPT_JSON].number || c->values[OPT_CSV].number || is_scaling(c);
}

static struct sd_view_request request_of(const struct sd_command *c,
                                         const struct looked_for *l)
{
    struct sd_view_request request = data_request(c, l);

    if (is_scaling(c))
        request_growth(c, &request);
    return request;
}

static int check_columns(const struct sd_command *c)
{
    const struct looked_for nothing = { 0 };
    const struct sd_view_request request = request_of(c, &nothing);

    return sd_tables_check_order(&request);
}

/* Asked of no calls at all: what is typed wrong is known before the program starts. */
static int check(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct sd_call_request request = call_request(c);
    bool has_columns = is_data(c);
    struct sd_call_stats none;
    struct sd_out nowhere;
    int rc;

    if (v[SD_RUN_OUTPUT].text && strcmp(v[SD_RUN_OUTPUT].text, "-") == 0)
        return sd_fail(
            SD_EUSAGE,
            "-o needs the name of a file; the table goes to stdout by itself");
    if (v[OPT_JSON].number && v[OPT_CSV].number)
        return sd_fail(SD_EUSAGE, "choose one of --csv and --json");
    if (v[OPT_DIGITS].number < 1 || v[OPT_DIGITS].number > 12)
        return sd_fail(SD_EUSAGE, "--digits must be from 1 to 12");
    rc = check_timeline(c);
    if (rc == 0)
        rc = check_scaling(c);
    if (rc < 0)
        return rc;
    if (has_columns)
        request.sort = by_itself; /* columns have words of their own */
    sd_call_stats_init(&none);
    sd_out_to_memory(&nowhere);
    rc = sd_call_report_write(&none, &request, &nowhere);
    sd_out_release(&nowhere);
    sd_call_stats_release(&none);
    return rc == 0 && has_columns ? check_columns(c) : rc;
}

static int put_data(const struct sd_command *c, const struct sd_profile *p,
                    const char *capture, struct sd_out *out)
{
    struct looked_for l = { 0 };
    struct sd_view view = { 0 };
    char *file =
        capture ? sd_arena_string(&view.arena, capture, strlen(capture)) : NULL;
    int rc = capture && !file ? sd_no_memory() : look_for(c->values, &l);

    if (rc == 0) {
        const struct sd_view_request request = request_of(c, &l);

        rc = sd_tables_of(p, &request, &view);
    }
    if (rc == 0 && c->values[OPT_JSON].number)
        sd_tables_put_json(out, p, &view, &file, file ? 1 : 0);
    else if (rc == 0 && c->values[OPT_CSV].number)
        sd_tables_put_csv(out, &view);
    else if (rc == 0) {
        const struct sd_text_style style = sd_style_for(c, STDOUT_FILENO);

        sd_tables_put_text(out, &view, &style);
    }
    sd_view_release(&view);
    release(&l);
    return rc;
}

static int print(const struct sd_command *c, const struct sd_profile *p,
                 const char *capture)
{
    const struct sd_view_request r = {
        .stacks = traced_request(c),
        .has_threads = c->values[OPT_PER_THREAD].number != 0,
    };
    const struct sd_call_request request = call_request(c);
    struct sd_out out;
    int rc, flushed;

    if (!sd_profile_has(p, SD_CALLS)) {
        sd_say("%s", why_no_calls(p));
        if (!c->values[OPT_JSON].number) /* who reads it wants an object */
            return 0;
    }
    sd_out_to_fd(&out, STDOUT_FILENO);
    rc = is_data(c) ? put_data(c, p, capture, &out)
                    : sd_pstats_tables_put(p, &r, &request, &out);
    flushed = sd_out_flush(&out);
    if (rc == 0 && flushed < 0 && out.err != EPIPE)
        rc = flushed;
    sd_out_release(&out);
    if (rc == 0 && sd_loudness_of(c) != SD_QUIET)
        sd_pstats_tables_remark(p, &r.stacks, &sd_said_remarks);
    return rc;
}

static int put_report(const struct sd_command *c, const struct sd_profile *p,
                      const char *capture)
{
    int rc = print(c, p, capture);

    if (rc < 0)
        sd_say("%s", sd_fail_text());
    return rc;
}

static int put_growth(const struct sd_command *c, const struct sd_profile *p,
                      const char *to, struct sd_out *out)
{
    struct looked_for l = { 0 };
    int rc = look_for(c->values, &l);

    if (rc == 0) {
        const struct sd_view_request request = request_of(c, &l);

        rc = sd_picture_write_growth(p, &request, to,
                                     (struct sd_picture_size){ PICTURE_WIDTH, 0 }, out);
    }
    release(&l);
    return rc;
}

/* The picture has no place for all that the table says, so that is printed, too. */
static int make_growth(const struct sd_command *c, const struct sd_profile *p,
                       const char *to, enum sd_create_flags create)
{
    struct sd_export_file file;
    int rc = print(c, p, NULL);

    if (rc == 0)
        rc = sd_export_open(&file, to, create);
    return rc < 0 ? rc : sd_export_close(&file, put_growth(c, p, to, &file.out));
}

static int make_file(const struct sd_command *c, const struct sd_profile *p,
                     const char *to, enum sd_create_flags create)
{
    return makes_growth(c, to) ? make_growth(c, p, to, create)
                               : make_pstats(c, p, to, create);
}

static int run(const struct sd_command *c)
{
    static const struct sd_pass_manner manner = { check, makes_file, make_file,
                                                  put_report, style_trace };

    return sd_run(c, &manner);
}

const struct sd_verb sd_verb_calls = {
    .name = "calls",
    .group = SD_GROUP_RECORD,
    .summary = "runs a program and counts and times every call in it",
    .usage = "[OPTION...] [SCRIPT ARG... | -m MODULE ARG... | -c CODE ARG... | -- "
             "COMMAND ARG...]",
    .about =
        "Runs a Python program, follows every call in all its threads and child "
        "processes, and prints what cProfile and pstats would: how often each function "
        "was called (2/1: twice, once of it not from within itself), its own time and "
        "its time with all it called. What tracing itself cost is subtracted. "
        "The program's output comes first and its exit status is its own.\n\n"
        "The capture holds the whole tree of calls: `sonde report --tree`, --flame, "
        "--imports and --callers show it, also as speedscope, pprof, collapsed stacks. "
        "-o FILE writes a pstats file instead, which Python's pstats, snakeviz and "
        "gprof2dot read.\n\n"
        "With --timeline it also holds when each call began and ended, in all threads; "
        "-o trace.json, or `sonde convert x.sonde x.trace.json` later, makes what "
        "Perfetto and chrome://tracing show.",
    .examples = "sonde calls myscript.py\n"
                "sonde calls -s time -n 10 myscript.py    # own time, ten functions\n"
                "sonde calls -o profile.txt myscript.py    # a pstats file\n"
                "sonde calls --builtins -m pytest tests    # C functions too\n"
                "sonde calls --mine --callers=load train.py\n"
                "sonde calls --timeline -o trace.json train.py    # for Perfetto\n"
                "sonde calls --scaling train.py    # how time grows with size\n",
    .options = options,
    .takes_program = true,
    .collector = &sd_about_calls,
    .run = run,
};
