/* SPDX-License-Identifier: MIT */
/* verb_lines: the verb `lines`: runs a program, counts and times the lines of chosen
 * functions, and prints them as line_profiler or memory_profiler does. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/read/command_captures.h"
#include "cli/read/export.h"
#include "cli/record/hot_functions.h"
#include "cli/record/verb_run.h"
#include "cli/say.h"
#include "collect/lines/line_choice.h"
#include "collect/lines/options.h"
#include "outputs/line_listing.h"
#include "outputs/outputs.h"

extern const struct sd_collector_about sd_about_lines;

enum {
    OPT_HOT = SD_RUN_OPTIONS,
    OPT_MOST,
    OPT_UNIT,
    OPT_SKIP_ZERO,
    OPT_SORT,
    OPT_SUMMARIZE,
    OPT_COMBINED,
    OPT_HOTTEST,
    OPT_ROWS,
    OPT_RAW,
    OPT_PRECISION,
    OPT_JSON
};
static const struct sd_option options[] = {
    [SD_RUN_WITH] =
        SD_OPTION_WITH("besides this one and the sections the program itself "
                       "opens"),
    [SD_RUN_OUTPUT] = { "output", SD_TEXT, NULL,
                        "where to record to; the suffix chooses the format; without it "
                        "SCRIPT.sonde, SCRIPT-2.sonde, ...",
                        'o', "FILE" },
    [SD_RUN_FORCE] = SD_OPTION_FORCE,
    [SD_RUN_PYTHON] = SD_OPTION_PYTHON,
    [SD_RUN_SYNC] = SD_OPTION_SYNC,
    [SD_RUN_ALL] = SD_OPTION_ALL(SD_ALL_PATHS),
    [SD_RUN_SOURCE] = SD_OPTION_SOURCE,
    [SD_RUN_SHARE] = SD_OPTION_SHARE,
    [OPT_HOT] = { "hot", SD_TEXT, NULL,
                  "choose the functions that took most time in this capture", 0,
                  "FILE" },
    [OPT_MOST] = { "most", SD_NUMBER, "10", "how many of them", 0, "N" },
    [OPT_UNIT] = { "unit", SD_TEXT, "1e-9",
                   "unit of times, in seconds: 1e-6 shows microseconds", 'u',
                   "SECONDS" },
    [OPT_SKIP_ZERO] = { "skip-zero", SD_FLAG, NULL,
                        "leave out functions that never ran", 'z', NULL },
    [OPT_SORT] = { "sort", SD_FLAG, NULL, "the slowest function last", 't', NULL },
    [OPT_SUMMARIZE] = { "summarize", SD_FLAG, NULL,
                        "one line for each function at the end", 0, NULL },
    [OPT_COMBINED] = { "combined", SD_FLAG, NULL,
                       "one table for each function: hits, time and memory side by "
                       "side, what is hot in colour",
                       0, NULL },
    [OPT_HOTTEST] = { "hottest", SD_FLAG, NULL,
                      "the hottest lines of all functions in one list", 0, NULL },
    [OPT_ROWS] = { "rows", SD_NUMBER, "20", "with --hottest: at most N lines; 0 is all",
                   'n', "N" },
    [OPT_RAW] = { "raw", SD_FLAG, NULL,
                  "times as measured, with the cost of counting lines in them", 0,
                  NULL },
    [OPT_PRECISION] = { "precision", SD_NUMBER, "3",
                        "digits of memory behind the point", 0, "N" },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print the lines as JSON", 0, NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

static bool has_memory(const struct sd_command *c)
{
    return sd_command_options_of(c, &sd_about_lines)[SD_LINES_OPT_MEMORY].number != 0;
}

static int request_of(const struct sd_command *c, struct sd_line_listing_request *w)
{
    const struct sd_option_value *v = c->values;

    *w = (struct sd_line_listing_request){
        .layout = v[OPT_HOTTEST].number    ? SD_LINE_LISTING_HOTTEST
                  : v[OPT_COMBINED].number ? SD_LINE_LISTING_COMBINED
                  : has_memory(c)          ? SD_LINE_LISTING_MEMORY
                                           : SD_LINE_LISTING_TIME,
        .form = v[OPT_JSON].number ? SD_TABLE_JSON : SD_TABLE_TEXT,
        .style = sd_style_for(c, STDOUT_FILENO),
        .rows = v[OPT_ROWS].number,
        .is_raw = v[OPT_RAW].number != 0,
        .skips_zero = v[OPT_SKIP_ZERO].number != 0,
        .is_sorted = v[OPT_SORT].number != 0,
        .has_summary = v[OPT_SUMMARIZE].number != 0,
        .precision = (unsigned)v[OPT_PRECISION].number,
        .words = c->words,
        .n_words = c->n_words,
        .remarks = &sd_said_remarks,
    };
    return sd_line_listing_unit(v[OPT_UNIT].text, &w->unit_s);
}

/* Is it a file of what would be on stdout? */
static bool form_of(const char *to, enum sd_table_form *form)
{
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);

    *form = output ? output->form : SD_TABLE_TEXT;
    return output && output->has_tables;
}

/* What would be ignored is refused. */
static int check_meant(const struct sd_command *c,
                       const struct sd_line_listing_request *w)
{
    const struct sd_option_value *v = c->values;
    const char *word = v[OPT_SUMMARIZE].number ? "--summarize"
                       : v[OPT_SORT].number    ? "--sort"
                       : v[OPT_UNIT].is_given  ? "--unit"
                                               : NULL;

    if (w->layout != SD_LINE_LISTING_TIME && word)
        return sd_fail(SD_EUSAGE,
                       "%s cannot be combined with --memory, --combined or --hottest",
                       word);
    if (v[OPT_ROWS].is_given && w->layout != SD_LINE_LISTING_HOTTEST &&
        !v[SD_RUN_OUTPUT].text)
        return sd_fail(SD_EUSAGE, "-n needs --hottest");
    return 0;
}

static int check(const struct sd_command *c)
{
    const char *to = c->values[SD_RUN_OUTPUT].text;
    struct sd_line_listing_request request;
    enum sd_table_form form;

    if (c->values[OPT_PRECISION].number > 12)
        return sd_fail(SD_EUSAGE, "--precision must be from 0 to 12");
    if (c->values[OPT_MOST].is_given && !c->values[OPT_HOT].text)
        return sd_fail(SD_EUSAGE, "--most needs a capture: --hot FILE");
    if (c->values[OPT_COMBINED].number && c->values[OPT_HOTTEST].number)
        return sd_fail(SD_EUSAGE, "choose one of --combined and --hottest");
    if (c->values[OPT_JSON].number && to && form_of(to, &form) && form != SD_TABLE_JSON)
        return sd_fail(SD_EUSAGE, "--json cannot be written to %s; use -o NAME.json",
                       to);
    if (request_of(c, &request) < 0)
        return SD_EUSAGE;
    return check_meant(c, &request);
}

static bool makes_file(const struct sd_command *c, const char *to)
{
    enum sd_table_form form;

    (void)c;
    return form_of(to, &form);
}

/* --- Names after --only that nothing answered to */

/* "/home/me/pkg/mod.py" to "home.me.pkg.mod": its ends are what the module may be
 * called. */
static void module_of(const char *file, char to[PATH_MAX])
{
    static const char package[] = "/__init__";
    const char *dot = strrchr(file, '.');
    int n = dot && !strchr(dot, '/') ? (int)(dot - file) : (int)strlen(file);
    int m = (int)sizeof package - 1;

    if (n >= m && strncmp(file + n - m, package, (size_t)m) == 0)
        n -= m;
    snprintf(to, PATH_MAX, "%.*s", n < PATH_MAX ? n : PATH_MAX - 1, file);
    for (char *at = to; *at; at++)
        *at = *at == '/' ? '.' : *at;
}

static const char *after_dot(const char *text)
{
    const char *dot = strchr(text, '.');

    return dot ? dot + 1 : NULL;
}

/* A capture knows no modules, so a file stands for each that it may be; and before 3.11
 * no classes of methods, so that only files can be told from each other. */
static bool may_mean(const struct sd_line_choice *one, const struct sd_site *s)
{
    struct sd_line_subject named = { .file = s->file,
                                     .module = "__main__",
                                     .name = s->label ? s->label : s->name,
                                     .first = s->line };
    bool is_file = !strchr(one->text, ':') && sd_line_choice_is_file(one->text);
    char module[PATH_MAX];

    if ((!s->label && !is_file) || sd_line_choice_has(one, &named))
        return true;
    module_of(s->file ? s->file : "", module);
    for (named.module = module; named.module; named.module = after_dot(named.module))
        if (sd_line_choice_has(one, &named))
            return true;
    return false;
}

static bool is_met(const struct sd_line_choice *one, const struct sd_profile *p)
{
    const struct sd_line_totals *lines = &p->evidence[SD_LINES].lines;
    const struct sd_line_total *all = lines->items;

    for (size_t i = 0; i < lines->n; i++)
        if ((i == 0 || all[i].site != all[i - 1].site) &&
            may_mean(one, &p->sites[all[i].site]))
            return true;
    return false;
}

static void say_unmet(const struct sd_command *c, const struct sd_profile *p)
{
    const char *only =
        sd_command_options_of(c, &sd_about_lines)[SD_LINES_OPT_ONLY].text;
    char folder[PATH_MAX] = "";
    struct sd_line_choice all;

    if (!only || c->values[OPT_HOT].text || !getcwd(folder, sizeof folder) ||
        sd_line_choice_read(only, folder, &all) < 0)
        return;
    for (size_t at = 0, n; at < all.n; at += n) {
        struct sd_line_choice one = { .text = all.text + at, .folder = all.folder };

        n = one.n = strlen(one.text) + 1;
        if (!is_met(&one, p))
            sd_say("--only %s: none of the functions that it names ran", one.text);
    }
    sd_line_choice_release(&all);
}

/* False: there is nothing to print, and it is said why. */
static bool has_lines(const struct sd_command *c, const struct sd_profile *p)
{
    if (!sd_profile_has(p, SD_LINES) && p->health.lost_events > 0)
        sd_say("no lines can be shown: the recorded events were lost");
    else if (!sd_profile_has(p, SD_LINES))
        sd_say("no line was counted: no function was chosen, or none of them ran; put "
               "@profile before one, or name some with --only "
               "'func,Class.method,src/*.py'");
    else
        say_unmet(c, p);
    return sd_profile_has(p, SD_LINES);
}

/* The file is made in any case, empty where nothing was counted: who reads it then
 * finds this run's. */
static int make_file(const struct sd_command *c, const struct sd_profile *p,
                     const char *to, enum sd_create_flags create)
{
    struct sd_export_file file;
    struct sd_line_listing_request request;
    int rc;

    has_lines(c, p);
    request_of(c, &request); /* checked before the start */
    form_of(to, &request.form);
    request.style = (struct sd_text_style){ 0 };
    request.rows = c->values[OPT_ROWS].is_given ? request.rows : 0;
    rc = sd_export_open(&file, to, create);
    return rc < 0 ? rc
                  : sd_export_close(&file, sd_line_listing_put(p, &request, &file.out));
}

static int put_report(const struct sd_command *c, const struct sd_profile *p,
                      const char *capture)
{
    struct sd_line_listing_request request;
    struct sd_out out;
    int rc;

    (void)capture;
    if (!has_lines(c, p))
        return 0;
    request_of(c, &request); /* checked before the start */
    sd_out_to_fd(&out, STDOUT_FILENO);
    rc = sd_line_listing_put(p, &request, &out);
    if (rc < 0)
        sd_say("%s", sd_fail_text());
    if (sd_out_flush(&out) < 0 && out.err != EPIPE)
        sd_say("%s", sd_fail_text());
    sd_out_release(&out);
    return rc;
}

static const struct sd_pass_manner manner = { check, makes_file, make_file, put_report,
                                              NULL };

/* What --hot means, behind what --only says. */
static int find_hot(const struct sd_command *c, struct sd_buf *only)
{
    const char *file = c->values[OPT_HOT].text;
    const char *named =
        sd_command_options_of(c, &sd_about_lines)[SD_LINES_OPT_ONLY].text;
    struct sd_profile *p = NULL;
    int rc = c->values[OPT_MOST].number == 0
                 ? sd_fail(SD_EUSAGE, "--most must be at least 1")
                 : sd_load_one(c, file, &p);

    if (rc == 0 && named)
        sd_buf_text(only, named);
    if (rc == 0)
        rc = sd_hot_functions(p, c->values[OPT_MOST].number, only);
    sd_profile_free(p);
    return rc < 0 && rc != SD_EUSAGE ? sd_fail_in(rc, "--hot %s", file) : rc;
}

/* The same command with these functions after --only. */
static int run_with(const struct sd_command *c, const char *only)
{
    struct sd_command with = *c;
    const struct sd_option_value *mine = sd_command_options_of(c, &sd_about_lines);
    struct sd_option_value *values;
    size_t n = 0;
    int status;

    for (size_t i = 0; sd_abouts[i]; i++)
        n += sd_options_count(sd_abouts[i]->options);
    values = sd_alloc(n * sizeof *values);
    if (!values)
        return sd_say_failure(sd_no_memory());
    memcpy(values, c->of_collectors, n * sizeof *values);
    values[mine - c->of_collectors + SD_LINES_OPT_ONLY].text = only;
    values[mine - c->of_collectors + SD_LINES_OPT_ONLY].is_given = true;
    with.of_collectors = values;
    status = sd_run(&with, &manner);
    sd_free(values);
    return status;
}

static int run(const struct sd_command *c)
{
    struct sd_buf only = { 0 };
    int rc = 0, status;

    if (!c->values[OPT_HOT].text)
        return sd_run(c, &manner);
    rc = find_hot(c, &only);
    status = rc < 0 ? sd_say_failure(rc) : run_with(c, sd_buf_string(&only));
    sd_buf_release(&only);
    return status;
}

const struct sd_verb sd_verb_lines = {
    .name = "lines",
    .group = SD_GROUP_RECORD,
    .summary = "runs a program and times the lines of chosen functions",
    .usage = "[OPTION...] [SCRIPT ARG... | -m MODULE ARG... | -c CODE ARG... | -- "
             "COMMAND ARG...]",
    .about =
        "Runs a Python program and counts and times every line of the functions that "
        "have @profile before them, which needs no import, or that --only names, in "
        "all threads, generators and child processes. Prints what line_profiler "
        "would, and with --memory what memory_profiler would: the resident memory "
        "after each line, and how it changed there. Functions that were not chosen "
        "run at full speed, and their time is the calling line's. The program's "
        "output comes first and its exit status is its own.",
    .examples =
        "sonde lines script.py    # functions with @profile\n"
        "sonde lines --only 'train,Model.forward' train.py\n"
        "sonde lines --only 'src/*.py' -m pytest tests\n"
        "sonde lines --hot train.sonde train.py    # those that took most time\n"
        "sonde lines --memory script.py\n"
        "sonde lines --memory --combined script.py    # with the times beside\n"
        "sonde lines --only 'src/*.py' --hottest train.py    # one list\n"
        "sonde lines -u 1e-3 --sort script.py    # milliseconds\n"
        "sonde lines -o script.lprof script.py    # for line_profiler\n",
    .options = options,
    .takes_program = true,
    .collector = &sd_about_lines,
    .run = run,
};
