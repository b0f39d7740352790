/* SPDX-License-Identifier: MIT */
#include "cli/export.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/analyse.h"
#include "analyse/growth/scaling.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/graph.h"
#include "cli/line_tables.h"
#include "cli/lined.h"
#include "cli/load.h"
#include "cli/losses.h"
#include "cli/path.h"
#include "cli/say.h"
#include "cli/tables.h"
#include "cli/traced.h"
#include "outputs/path_fold.h"
#include "report/report.h"

enum {
    FLAME_WIDTH = 1200,
    ANNOUNCED_BYTES = 100 * 1000 * 1000,
    GB = 1000 * 1000 * 1000
};

/* Words of py-spy for what has another name here. */
static const struct {
    const char *word, *format;
} synonyms[] = { { "raw", "collapsed" }, { "gecko", "firefox" } };

static const struct sd_format *format_called(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(word, synonyms[i].word) == 0)
            word = synonyms[i].format;
    return sd_format_named(word);
}

/* Not among the formats, because more than stacks and events makes them. */
static bool is_flame(const char *word) { return strcmp(word, "flamegraph") == 0; }
static bool is_pstats(const char *word) { return strcmp(word, "pstats") == 0; }
static bool is_lprof(const char *word) { return strcmp(word, "lprof") == 0; }

int sd_export_check_format(const char *word)
{
    enum sd_graph_form graph;
    struct sd_buf known = { 0 };
    int rc;

    if (format_called(word) || is_flame(word) || is_pstats(word) || is_lprof(word) ||
        sd_graph_form_named(word, &graph))
        return 0;
    for (size_t i = 0; sd_formats[i]; i++)
        sd_buf_printf(&known, "%s, ", sd_formats[i]->name);
    sd_buf_text(&known, "pstats, lprof, dot, callgrind, flamegraph, graph");
    rc = sd_fail(SD_EUSAGE, "there is no format \"%s\"; there are %s", word,
                 sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

int sd_export_check(const char *path, const char *also)
{
    const struct sd_output *output = sd_output_for(path);
    struct sd_buf known = { 0 };
    int rc;

    if (output && output->what != SD_OUTPUT_CAPTURE)
        return 0;
    for (const struct sd_output *o = sd_outputs; o->suffix; o++)
        if (o->what != SD_OUTPUT_CAPTURE)
            sd_buf_printf(&known, "%s%s",
                          known.n == 0  ? ""
                          : o[1].suffix ? ", "
                                        : " and ",
                          o->suffix);
    rc = sd_fail(SD_EUSAGE, "nothing here writes a file like %s; there are %s%s", path,
                 also, sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

int sd_export_check_spares(const char *to, char **files, size_t n)
{
    struct stat written, read;

    if (strcmp(to, "-") == 0 || stat(to, &written) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i], "-") != 0 && stat(files[i], &read) == 0 &&
            read.st_dev == written.st_dev && read.st_ino == written.st_ino)
            return sd_fail(SD_EUSAGE,
                           "%s is what is read here and would be lost; choose another "
                           "name to write to",
                           to);
    return 0;
}

/* Whoever types a name can also say --force, where that helps. */
static int tell_of_force(const struct sd_export_file *f, int rc)
{
    if (rc != SD_EEXISTS || f->create & SD_CREATE_OVER || !sd_path_is_regular(f->path))
        return rc;
    return sd_fail(rc,
                   "%s is there already; choose another name, or --force to overwrite "
                   "it",
                   f->path);
}

int sd_export_open(struct sd_export_file *f, const char *path,
                   enum sd_create_flags create)
{
    int rc;

    *f = (struct sd_export_file){ .path = path,
                                  .create = create | SD_CREATE_SHOWN,
                                  .fd = STDOUT_FILENO };
    if (strcmp(path, "-") != 0) {
        rc = sd_file_create_beside(path, f->create, &f->beside, &f->fd);
        if (rc < 0)
            return tell_of_force(f, rc);
    }
    sd_out_to_fd(&f->out, f->fd);
    return 0;
}

int sd_export_close(struct sd_export_file *f, int rc)
{
    int flushed = rc < 0 ? 0 : sd_out_flush(&f->out);

    if (flushed < 0)
        rc = sd_fail_in(flushed, "%s", f->fd == STDOUT_FILENO ? "stdout" : f->path);
    sd_out_release(&f->out);
    if (f->fd == STDOUT_FILENO)
        return rc;
    if (close(f->fd) < 0 && rc == 0)
        rc = sd_fail_errno(errno, "cannot write %s", f->path);
    if (rc == 0)
        rc = tell_of_force(f, sd_file_place(f->path, f->beside, f->create));
    if (rc < 0)
        unlink(f->beside);
    sd_free(f->beside);
    return rc;
}

int sd_export_try(const char *path, enum sd_create_flags create)
{
    struct sd_export_file f;
    int rc = sd_export_open(&f, path, create);

    if (rc < 0)
        return rc;
    sd_export_close(&f, SD_EABSENT); /* nothing is in it, and so it is removed */
    return 0;
}

int sd_export_plot(const struct sd_profile *p, const struct sd_plot_wish *wish,
                   const char *path, struct sd_out *out)
{
    struct sd_view_series series = { 0 };
    struct sd_arena arena = { 0 };
    enum sd_picture kind;
    int rc;

    if (!sd_picture_of(path, &kind))
        return sd_fail(SD_EUSAGE,
                       "a plot is a picture: -o wants .svg, .png, .jpeg or .pdf, not "
                       "%s",
                       path);
    rc = sd_analyse_curves(p, wish->metric, &arena, &series);
    if (rc == 0)
        rc = sd_report_plot(out, kind, &series, wish->width, wish->height);
    sd_arena_release(&arena);
    return rc;
}

int sd_export_growth(const struct sd_profile *p, const struct sd_traced_wish *traced,
                     const struct sd_growth_wish *wish, const char *path,
                     struct sd_out *out)
{
    struct sd_view_growth view = { 0 };
    struct sd_arena arena = { 0 };
    enum sd_picture kind = SD_PICTURE_SVG;
    int rc;

    if (strcmp(path, "-") != 0 && !sd_picture_of(path, &kind))
        return sd_fail(SD_EUSAGE, "a picture is .svg, .png, .jpeg or .pdf, not %s",
                       path);
    rc = sd_scaling_picture(p, traced, wish->match, &arena, &view);
    if (rc == 0)
        rc = sd_report_growth(out, kind, &view, wish->width);
    sd_arena_release(&arena);
    return rc;
}

int sd_export_flame(const struct sd_profile *p, const struct sd_flame_wish *wish,
                    unsigned width, struct sd_out *out)
{
    struct sd_view_flame view;
    struct sd_arena arena = { 0 };
    int rc = sd_analyse_flame(p, wish, &arena, &view);

    if (rc == 0)
        sd_report_flame(out, &view, width);
    sd_arena_release(&arena);
    return rc;
}

/* What is to be written, decided before anything is read. */
struct wish {
    bool is_flame, is_pstats, is_lprof, is_graph;
    enum sd_graph_form graph;
    const struct sd_format *format; /* or NULL: by `output` */
    bool is_by_suffix;              /* that is all that is known of the format */
    const struct sd_output *output;
    const struct sd_stack_style *style; /* or NULL */
};

static int read_wish(const char *capture, const char *to, const char *word,
                     struct wish *out)
{
    int rc = word ? sd_export_check_format(word) : 0;

    if (rc < 0)
        return rc;
    out->output = sd_output_for(to);
    out->format = word ? format_called(word) : sd_format_for(to);
    out->is_by_suffix = !word;
    out->is_flame = word && is_flame(word);
    out->is_pstats =
        word ? is_pstats(word) : out->output && out->output->what == SD_OUTPUT_PSTATS;
    out->is_lprof =
        word ? is_lprof(word) : out->output && out->output->what == SD_OUTPUT_LPROF;
    out->is_graph = word ? sd_graph_form_named(word, &out->graph)
                         : out->output && out->output->what == SD_OUTPUT_GRAPH &&
                               sd_graph_form_of(to, &out->graph);
    if (out->format || out->is_flame || out->is_pstats || out->is_lprof ||
        out->is_graph)
        return 0;
    if (out->output && out->output->what == SD_OUTPUT_CAPTURE)
        return sd_path_has_suffix(capture, ".sonde")
                   ? sd_fail(SD_EUSAGE,
                             "convert writes no captures, it writes other formats "
                             "(--list); a copy under another name is made by: cp %s %s",
                             capture, to)
                   : sd_fail(SD_EUSAGE, "convert writes no captures, it writes other "
                                        "formats of them (--list)");
    return sd_export_check(to, "");
}

static int write_lines(const struct sd_profile *p, enum sd_line_form form,
                       struct sd_out *out)
{
    const struct sd_lined_wish wish = { .layout = SD_LINED_COMBINED, .form = form };

    return sd_lined_put(p, &wish, out);
}

/* As `sonde report` prints them. */
static int write_tables(const struct sd_profile *p, const char *capture,
                        struct sd_out *out)
{
    const struct sd_tables_wish wish = { .is_short = true, .has_both = true };
    const struct sd_text_style style = { 0 };
    struct sd_buf words = { 0 };
    struct sd_view view = { 0 };
    int rc = sd_tables_of(p, &wish, &view);

    sd_summary_words(&words, p, true);
    if (words.bad)
        rc = sd_no_memory();
    if (rc == 0) {
        sd_out_printf(out, "%s: %s\n\n", capture, sd_buf_string(&words));
        if (p->lines.n > 0)
            rc = write_lines(p, SD_LINE_TEXT, out);
        sd_out_text(out, p->lines.n > 0 && view.n_tables > 0 ? "\n" : "");
    }
    if (rc == 0)
        sd_tables_text(out, &view, &style);
    sd_buf_release(&words);
    sd_view_release(&view);
    return rc;
}

/* A style that is not given shows functions: lines make the picture wide, not wiser. */
static int write_flame(const struct sd_profile *p, const struct sd_stack_style *style,
                       struct sd_out *out)
{
    struct sd_flame_wish wish = { .by = SD_CALLS_BY_FUNCTION };

    if (style)
        wish = (struct sd_flame_wish){
            .choice = { .metric = style->metric,
                        .has_idle = style->has_idle,
                        .is_gil_only = style->is_gil_only },
            .by = style->is_by_function ? SD_CALLS_BY_FUNCTION : SD_CALLS_BY_LINE,
            .has_processes = style->has_processes,
            .has_threads = style->has_threads,
            .has_full_files = style->has_full_files,
            .has_no_lines = style->has_no_lines,
        };
    return sd_export_flame(p, &wish, FLAME_WIDTH, out);
}

static int write_graph(const struct sd_profile *p, const struct wish *wish,
                       struct sd_out *out)
{
    struct sd_traced_wish calls = { .by = SD_CALLS_BY_FUNCTION };
    struct sd_graph_order order = sd_graph_order_default();
    struct sd_graph_source source;
    int rc;

    if (wish->style)
        calls.choice =
            (struct sd_sample_choice){ .metric = wish->style->metric,
                                       .has_idle = wish->style->has_idle,
                                       .is_gil_only = wish->style->is_gil_only };
    sd_graph_source_init(&source);
    rc = sd_graph_source_of_profile(&source, p, &calls);
    if (rc == 0)
        rc = sd_graph_put(&source, NULL, &order, wish->graph, out);
    sd_graph_source_release(&source);
    return rc;
}

/* Lists of events have none where nothing but lines was recorded: as data such a
 * capture is its lines. */
static bool is_list_of_lines(const struct sd_profile *p, const struct sd_format *format)
{
    return p->lines.n > 0 && p->samples.n == 0 && p->calls.n == 0 &&
           p->n_span_events == 0 && p->n_point_events == 0 &&
           (format == sd_format_named("csv") || format == sd_format_named("json"));
}

/* --- Stacks, which may be folded */

/* Small shares without an exponent: "0.000032". */
static char *percent_text(char text[SD_TEXT_MAX], double percent)
{
    int digits = percent < 1 ? 1 - (int)floor(log10(percent)) : 0;

    snprintf(text, SD_TEXT_MAX, "%.*f", digits < 12 ? digits : 12, percent);
    return text;
}

static void say_folded(const struct sd_path_fold *fold, const char *to)
{
    char n[SD_TEXT_MAX], of[SD_TEXT_MAX], percent[SD_TEXT_MAX];

    if (fold->n_folded == 0)
        return;
    sd_say("%s has %s of %s paths folded into their callers, each below %s %% of the "
           "whole, so that it stays small; --all writes every path",
           strcmp(to, "-") == 0 ? "the output" : to,
           sd_text_count(n, (int64_t)fold->n_folded),
           sd_text_count(of, (int64_t)fold->n_paths),
           percent_text(percent, fold->percent));
}

/* A file that takes long, or more room than there is, is announced. */
static int say_expected(const struct sd_profile *p, const char *capture,
                        const struct wish *wish, const char *to,
                        const struct sd_filter *all)
{
    uint64_t bytes = 0;
    int rc = sd_path_fold_expect(wish->format, p, capture, all, wish->style, &bytes);
    double size = (double)bytes / (bytes < GB ? 1e6 : 1e9);
    char n[SD_TEXT_MAX];

    if (rc == 0 && bytes > ANNOUNCED_BYTES)
        sd_say("%s will have about %.*f %s: %s paths",
               strcmp(to, "-") == 0 ? "the output" : to, size < 10 ? 1 : 0, size,
               bytes < GB ? "MB" : "GB", sd_text_count(n, (int64_t)p->calls.n));
    return rc;
}

static int write_format(const struct sd_profile *p, const char *capture,
                        const struct wish *wish, const char *to, struct sd_out *out)
{
    const struct sd_filter all = { 0 };
    struct sd_path_fold fold = { .profile = *p };
    int rc = 0;

    if (sd_path_fold_applies(wish->format, p, wish->style))
        rc = wish->style && wish->style->has_all_paths
                 ? say_expected(p, capture, wish, to, &all)
                 : sd_path_fold_make(&fold, wish->format, p, capture, &all, wish->style,
                                     SD_FOLD_LIMIT);
    if (rc == 0)
        rc = sd_format_write(wish->format, &fold.profile, capture, &all, wish->style,
                             out);
    if (rc == 0)
        say_folded(&fold, to);
    sd_path_fold_release(&fold);
    return rc;
}

static int write_as(const struct sd_profile *p, const char *capture,
                    const struct wish *wish, const char *to, struct sd_out *out)
{
    const struct sd_plot_wish plot = { "rss", 1000, 500 };
    const struct sd_traced_wish calls = { .is_raw = false };

    if (wish->is_pstats)
        return sd_traced_put_pstats(p, &calls, out);
    if (wish->is_lprof)
        return sd_line_tables_put_lprof(p, out);
    if (wish->is_graph)
        return write_graph(p, wish, out);
    if (wish->format && is_list_of_lines(p, wish->format))
        return write_lines(
            p, wish->format == sd_format_named("csv") ? SD_LINE_CSV : SD_LINE_JSON,
            out);
    if (wish->format)
        return write_format(p, capture, wish, to, out);
    if (wish->is_flame ||
        (wish->output->what == SD_OUTPUT_PICTURE_SVG && (p->samples.n || p->calls.n)))
        return write_flame(p, wish->style, out);
    if (wish->output->what == SD_OUTPUT_TABLE)
        return write_tables(p, capture, out);
    if (wish->output->what == SD_OUTPUT_PICTURE_SVG && p->n_series == 0)
        return sd_fail(SD_EABSENT, "there are no samples for a flame graph in it, and "
                                   "no readings over time for a plot");
    return sd_export_plot(p, &plot, to, out);
}

/* "trace.json" of a capture with a timeline is what every other tracer means by it; the
 * format `json` is still had by its name. */
static void prefer_trace(struct wish *wish, const struct sd_profile *p)
{
    if (wish->is_by_suffix && p->n_timeline_calls &&
        wish->format == sd_format_named("json"))
        wish->format = sd_format_named("chrometrace");
}

/* Only the trace of a timeline has calls one by one, of which some may go. */
static int check_left_out(const struct wish *wish, const struct sd_profile *p,
                          const char *capture, const char *to)
{
    const char *word;

    if (!wish->style || (!wish->style->min_ns && !wish->style->is_mine))
        return 0;
    word = wish->style->is_mine ? "--mine" : "--min-duration";
    if (!p->n_timeline_calls)
        return sd_fail(
            SD_EUSAGE,
            "%s has no timeline, of which %s leaves calls out: sonde calls --timeline",
            capture, word);
    if (wish->format != sd_format_named("chrometrace"))
        return sd_fail(
            SD_EUSAGE,
            "%s is for a trace (.trace.json): %s does not have calls one by one", word,
            to);
    return 0;
}

/* What was counted by lines is in files of lines and in tables alone. */
static bool lacks_lines(const struct wish *wish, const struct sd_profile *p)
{
    if (p->lines.n == 0 || wish->is_lprof)
        return false;
    return wish->format ? !is_list_of_lines(p, wish->format)
                        : !wish->output || wish->output->what != SD_OUTPUT_TABLE;
}

static void say_what_is_missing(const struct wish *wish, const struct sd_profile *p,
                                const char *capture)
{
    if (wish->format && lacks_lines(wish, p))
        sd_say("the counted lines are not in it, only what else was recorded; they are "
               "written by: sonde report %s --lines --csv",
               capture);
}

int sd_export(const struct sd_command *c, const char *capture, const char *to,
              const char *format, const struct sd_stack_style *style,
              enum sd_create_flags create, unsigned losses)
{
    struct wish wish = { .style = style };
    struct sd_profile *p = NULL;
    struct sd_export_file file;
    int rc = read_wish(capture, to, format, &wish);

    if (rc == 0)
        rc = sd_load_back(c, capture, &p);
    if (rc < 0)
        return rc;
    sd_losses_say(capture, p, losses);
    if (style && style->is_qualified)
        sd_profile_qualify(p);
    prefer_trace(&wish, p);
    rc = check_left_out(&wish, p, capture, to);
    if (rc == 0)
        rc = sd_export_open(&file, to, create);
    if (rc == 0)
        rc = sd_export_close(&file, write_as(p, capture, &wish, to, &file.out));
    if (rc == 0)
        say_what_is_missing(&wish, p, capture);
    rc = rc == 0 && lacks_lines(&wish, p) ? 1 : rc;
    sd_profile_free(p);
    return rc;
}
