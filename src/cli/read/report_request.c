/* SPDX-License-Identifier: MIT */
#include "cli/read/report_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/path.h"
#include "cli/read/verb_report.h"
#include "outputs/outputs.h"
#include "report/report.h"

enum {
    PIXELS_MIN = 100,
    PIXELS_MAX = 20000,
    TEXT_ROWS = 20,
};
/* As text a tree goes without its smallest twigs. */
#define TEXT_LEAST_PERCENT 0.5

/* --- The form */

static int picture_form(const char *to, enum sd_report_form *form)
{
    enum sd_picture kind;

    if (!to)
        return *form == SD_FORM_FLAME
                   ? sd_fail(SD_EUSAGE, "--flame needs a file: --flame -o flame.svg")
                   : sd_fail(
                         SD_EUSAGE,
                         "--plot needs a picture to draw into: --plot -o image.png");
    if (*form == SD_FORM_FLAME && strcmp(to, "-") != 0 &&
        (!sd_picture_of(to, &kind) || kind != SD_PICTURE_SVG))
        return sd_fail(SD_EUSAGE, "a flame graph is an .svg file, not %s", to);
    return 0;
}

/* Files for other programs are no reports; who writes them is said. */
static int not_a_report(const struct sd_report_request *a, const char *to)
{
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);

    if (output && output->write && a->n_words == 1)
        return sd_fail(SD_EUSAGE, "report cannot write %s; use: sonde convert %s %s",
                       to, a->words[0], to);
    return sd_fail(SD_EUSAGE,
                   "a report is written as .html, .txt, .csv or .json, a flame graph "
                   "as .svg, a plot as .svg, .png, .jpeg or .pdf, not %s",
                   to);
}

static int form_of_suffix(const struct sd_report_request *a, const char *to,
                          enum sd_report_form *form)
{
    const struct sd_output *output = sd_output_for(to, SD_HOLDS_ANYTHING);
    enum sd_picture kind;

    if (sd_picture_of(to, &kind))
        *form = kind == SD_PICTURE_SVG ? SD_FORM_PICTURE : SD_FORM_PLOT;
    else if (output && output->has_tables)
        *form = (enum sd_report_form)output->form;
    else if (output && output->is_page)
        *form = SD_FORM_PAGE;
    else if (strcmp(to, "-") != 0)
        return not_a_report(a, to);
    return 0;
}

enum sd_table_form sd_report_request_table_form(const struct sd_report_request *a)
{
    return a->form <= SD_FORM_JSON ? (enum sd_table_form)a->form : SD_TABLE_TEXT;
}

int sd_report_request_open(const struct sd_report_request *a,
                           struct sd_export_file *file)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text;

    return sd_export_open(file, to ? to : "-",
                          a->v[SD_REPORT_FORCE].number ? SD_CREATE_OVER
                                                       : SD_CREATE_NEW);
}

/* What is asked for by flags and by the suffix of -o must not contradict. */
static int choose_form(const struct sd_report_request *a, enum sd_report_form *form)
{
    const struct sd_option_value *v = a->v;
    const char *to = v[SD_REPORT_OUTPUT].text;
    bool is_plot = v[SD_REPORT_PLOT].number != 0; /* --flame is then its style */

    if (v[SD_REPORT_CSV].number + v[SD_REPORT_JSON].number + is_plot +
            (!is_plot && v[SD_REPORT_FLAME].number) + v[SD_REPORT_GRAPH].number >
        1)
        return sd_fail(SD_EUSAGE,
                       "choose one of --csv, --json, --flame, --graph and --plot");
    *form = v[SD_REPORT_CSV].number     ? SD_FORM_CSV
            : v[SD_REPORT_JSON].number  ? SD_FORM_JSON
            : is_plot                   ? SD_FORM_PLOT
            : v[SD_REPORT_FLAME].number ? SD_FORM_FLAME
            : v[SD_REPORT_GRAPH].number ? SD_FORM_GRAPH
                                        : SD_FORM_TEXT;
    if (to && sd_output_is_capture(to)) /* with --json, too */
        return form_of_suffix(a, to, form);
    if (*form == SD_FORM_FLAME || *form == SD_FORM_PLOT)
        return picture_form(to, form);
    return to && *form == SD_FORM_TEXT ? form_of_suffix(a, to, form) : 0;
}

/* What would change nothing is refused, not ignored. */
static int check_plot(const struct sd_report_request *a)
{
    bool is_drawn = a->form == SD_FORM_PLOT || a->form == SD_FORM_PICTURE ||
                    a->form == SD_FORM_JSON; /* --table plot */

    for (size_t i = SD_REPORT_PLOT + 1; i <= SD_REPORT_TITLE && !is_drawn; i++)
        if (a->v[i].is_given)
            return sd_fail(SD_EUSAGE, "--%s needs --plot",
                           a->command->verb->options[i].name);
    return 0;
}

static struct sd_plot_request plot_request(const struct sd_option_value *v)
{
    return (struct sd_plot_request){
        .title = v[SD_REPORT_TITLE].text,
        .children = v[SD_REPORT_OVERLAY].number && !v[SD_REPORT_CHILDREN].is_given
                        ? SD_PLOT_APART /* runs are not added up */
                        : (enum sd_plot_children)v[SD_REPORT_CHILDREN].number,
        .has_trends = v[SD_REPORT_SLOPE].number != 0,
        .has_boxes = v[SD_REPORT_PLOT].number && v[SD_REPORT_FLAME].number,
        .has_no_sections = v[SD_REPORT_MARKS].number == 0,
    };
}

/* With --scaling a picture is that of growth. */
static int choose_growth(const struct sd_option_value *v, enum sd_report_form *form)
{
    const char *metric = v[SD_REPORT_METRIC].text;

    if (!v[SD_REPORT_SCALING].number)
        return 0;
    if (metric && strcmp(metric, "time") != 0 && strcmp(metric, "cpu_time") != 0)
        return sd_fail(SD_EUSAGE, "--scaling takes --metric time or cpu_time, not %s",
                       metric);
    if (v[SD_REPORT_FLAME].number || v[SD_REPORT_PLOT].number)
        return sd_fail(SD_EUSAGE,
                       "--scaling cannot be combined with --flame or --plot; it draws "
                       "a plot of its own: --scaling -o growth.svg");
    if (!v[SD_REPORT_SIGNATURES].number)
        return sd_fail(SD_EUSAGE,
                       "--scaling needs signatures; drop --no-signatures or --scaling");
    if (*form == SD_FORM_PICTURE || *form == SD_FORM_PLOT)
        *form = SD_FORM_GROWTH;
    return 0;
}

/* Where growth is a table among others these may have what it does not. */
static bool is_growth_alone(const struct sd_option_value *v)
{
    return v[SD_REPORT_SCALING].number && !v[SD_REPORT_TABLE].text &&
           !v[SD_REPORT_LINES].number && !v[SD_REPORT_HOTTEST].number &&
           !v[SD_REPORT_CALLERS].is_given && !v[SD_REPORT_CALLEES].is_given &&
           !v[SD_REPORT_THREADS].number && !v[SD_REPORT_IMPORTS].number;
}

/* Which options mean nothing, by what is made of growth. */
static const struct {
    size_t option;
    bool of_text, of_data, of_picture;
} not_of_growth[] = {
    { SD_REPORT_DIGITS, true, true, true },      { SD_REPORT_TREE, true, true, true },
    { SD_REPORT_PER_THREAD, true, true, true },  { SD_REPORT_BY, true, true, true },
    { SD_REPORT_IDLE, true, true, true },        { SD_REPORT_GIL, true, true, true },
    { SD_REPORT_HEIGHT, true, true, true },      { SD_REPORT_WIDTH, true, true, false },
    { SD_REPORT_STRIP_DIRS, true, false, true }, /* the table has short names */
    { SD_REPORT_ROWS, false, false, true },      { SD_REPORT_SORT, false, false, true },
};

/* What would change nothing is refused, not ignored. */
static int check_growth(const struct sd_report_request *a)
{
    bool is_picture = a->form == SD_FORM_GROWTH, is_text = a->form == SD_FORM_TEXT;

    for (size_t i = 0; i < sizeof not_of_growth / sizeof *not_of_growth; i++) {
        size_t option = not_of_growth[i].option;
        bool is_vain = is_picture ? not_of_growth[i].of_picture
                       : is_text  ? not_of_growth[i].of_text
                                  : not_of_growth[i].of_data;

        if (is_vain && a->v[option].is_given && is_growth_alone(a->v))
            return sd_fail(SD_EUSAGE,
                           "--%s has no effect on %s of --scaling; drop one of the two",
                           a->command->verb->options[option].name,
                           is_picture ? "the picture" : "the table");
    }
    return 0;
}

/* What would change nothing is refused, not ignored. */
static int check_graph(const struct sd_report_request *a)
{
    const struct sd_option_value *v = a->v;
    const struct sd_option *options = a->command->verb->options;

    for (size_t i = SD_REPORT_GRAPH + 1; i <= SD_REPORT_BY_DIFFERENCE; i++) {
        if (!v[i].is_given)
            continue;
        if (!v[SD_REPORT_GRAPH].number)
            return sd_fail(SD_EUSAGE, "--%s needs --graph", options[i].name);
        if (i > SD_REPORT_COMPARE && !v[SD_REPORT_COMPARE].number)
            return sd_fail(SD_EUSAGE, "--%s needs --compare and two files",
                           options[i].name);
    }
    if (v[SD_REPORT_DEPTH].is_given && !v[SD_REPORT_ROOT].text &&
        !v[SD_REPORT_LEAF].text)
        return sd_fail(SD_EUSAGE, "--depth needs --root or --leaf");
    return 0;
}

static int check_pixels(const struct sd_option_value *v)
{
    if (v->is_given && (v->number < PIXELS_MIN || v->number > PIXELS_MAX))
        return sd_fail(SD_EUSAGE, "--width and --height must be from %d to %d pixels",
                       PIXELS_MIN, PIXELS_MAX);
    return 0;
}

/* --- Pictures and tables */

static int read_pictures(struct sd_report_request *a)
{
    const struct sd_option_value *v = a->v;
    bool has_width = v[SD_REPORT_WIDTH].is_given;
    int rc = check_pixels(&v[SD_REPORT_WIDTH]);

    if (rc == 0)
        rc = check_pixels(&v[SD_REPORT_HEIGHT]);
    a->size.width = has_width ? (unsigned)v[SD_REPORT_WIDTH].number : 0;
    a->size.height = (unsigned)v[SD_REPORT_HEIGHT].number;
    return rc;
}

static void add_name(struct sd_report_request *a, bool is_wanted, const char *name)
{
    if (is_wanted)
        sd_buf_printf(&a->names, "%s%s", a->names.n ? "," : "", name);
}

/* --table and the flags that name views add up. */
static int choose_views(struct sd_report_request *a)
{
    const struct sd_option_value *v = a->v;

    add_name(a, v[SD_REPORT_TABLE].text != NULL, v[SD_REPORT_TABLE].text);
    add_name(a, v[SD_REPORT_LINES].number != 0, "lines");
    add_name(a, v[SD_REPORT_CALLERS].is_given, "callers");
    add_name(a, v[SD_REPORT_CALLEES].is_given, "callees");
    add_name(a, v[SD_REPORT_THREADS].number != 0, "threads");
    add_name(a, v[SD_REPORT_IMPORTS].number != 0, "imports");
    add_name(a, v[SD_REPORT_SCALING].number != 0,
             a->form == SD_FORM_JSON ? "scaling,scaling_points" : "scaling");
    if (a->names.bad)
        return sd_no_memory();
    a->views.views =
        a->names.n || v[SD_REPORT_TABLE].text ? sd_buf_string(&a->names) : NULL;
    return 0;
}

/* `--callers RE` without "=": the RE came out as a word, and names no file. */
static const char *take_word(struct sd_report_request *a)
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

static void read_side(struct sd_report_request *a, const struct sd_option_value *side)
{
    if (!side->is_given)
        return;
    if (*side->text)
        a->calls_of = side->text;
    else if (!a->calls_of)
        a->calls_of = take_word(a);
}

/* *out is NULL where nothing is looked for. */
static int look_for(struct sd_report_request *a, enum sd_report_pattern what,
                    const char *text, const struct sd_matcher **out)
{
    int rc = text ? sd_pattern_new(text, &a->patterns[what]) : 0;

    *out = NULL;
    if (!text || rc < 0)
        return rc;
    a->matchers[what] = sd_pattern_matcher(a->patterns[what]);
    *out = &a->matchers[what];
    return 0;
}

static int read_patterns(struct sd_report_request *a)
{
    int rc = look_for(a, SD_LOOK_ROWS, a->v[SD_REPORT_MATCH].text, &a->views.rows);

    if (rc == 0)
        rc = look_for(a, SD_LOOK_CALLS, a->calls_of, &a->views.match);
    if (rc == 0)
        rc = look_for(a, SD_LOOK_FILTER, a->v[SD_REPORT_FILTER].text,
                      &a->views.selection.match);
    return rc;
}

static int read_views(struct sd_report_request *a)
{
    const struct sd_option_value *v = a->v;

    a->views = (struct sd_view_request){
        .is_tree = v[SD_REPORT_TREE].number != 0,
        .is_short = a->form == SD_FORM_TEXT,
        .has_drawings = a->form == SD_FORM_JSON,
        .selection = { .from_ns = v[SD_REPORT_FROM].number,
                       .to_ns = v[SD_REPORT_TO].number,
                       .track = v[SD_REPORT_TRACK].text,
                       .section = v[SD_REPORT_SECTION].text },
        .stacks = { .choice = { .metric = v[SD_REPORT_METRIC].text,
                                .has_idle = v[SD_REPORT_IDLE].number != 0,
                                .is_gil_only = v[SD_REPORT_GIL].number != 0,
                                .is_mine = v[SD_REPORT_MINE].number != 0 },
                    .by = strcmp(v[SD_REPORT_BY].text, "line") == 0 ? SD_CALLS_BY_LINE
                          : strcmp(v[SD_REPORT_BY].text, "module") == 0
                              ? SD_CALLS_BY_MODULE
                              : SD_CALLS_BY_FUNCTION,
                    .is_raw = v[SD_REPORT_RAW].number != 0,
                    .is_cpu = v[SD_REPORT_CPU].number != 0 },
        .metric = v[SD_REPORT_METRIC].text,
        .plot = plot_request(v),
        .sort = v[SD_REPORT_SORT].is_given ? v[SD_REPORT_SORT].words : NULL,
        .is_reversed = v[SD_REPORT_REVERSE].number != 0,
        .limit = a->form == SD_FORM_TEXT && !v[SD_REPORT_ALL].number ? TEXT_ROWS : 0,
        .least_percent = a->form == SD_FORM_TEXT ? TEXT_LEAST_PERCENT : 0,
        .is_for_eyes = a->form == SD_FORM_TEXT,
        .has_both = true,
        .has_pstats = a->form == SD_FORM_TEXT,
        .folds_imports = a->form == SD_FORM_TEXT && !v[SD_REPORT_OUTPUT].text &&
                         !v[SD_REPORT_ALL].number && !v[SD_REPORT_MATCH].text,
        .has_threads = v[SD_REPORT_PER_THREAD].number != 0,
        .strips_dirs = v[SD_REPORT_STRIP_DIRS].number != 0,
        .has_thread_boxes = v[SD_REPORT_THREADS].number != 0,
        .may_have_process_boxes = true,
        .search = v[SD_REPORT_MATCH].text,
    };
    read_side(a, &v[SD_REPORT_CALLERS]);
    read_side(a, &v[SD_REPORT_CALLEES]);
    if (sd_tables_read_rows(v[SD_REPORT_ROWS].text, &a->views) < 0)
        return SD_EUSAGE;
    if (a->views.is_reversed && !a->views.sort)
        return sd_fail(SD_EUSAGE, "--reverse needs an order to reverse: -s %s",
                       v[SD_REPORT_SCALING].number ? "exponent" : "time");
    return choose_views(a);
}

/* What a page has anyway, or what one chooses there. */
static int check_page(const struct sd_report_request *a)
{
    static const size_t known[] = {
        SD_REPORT_MATCH,      SD_REPORT_FILTER, SD_REPORT_TRACK,     SD_REPORT_SECTION,
        SD_REPORT_FROM,       SD_REPORT_TO,     SD_REPORT_TABLE,     SD_REPORT_BY,
        SD_REPORT_MINE,       SD_REPORT_IDLE,   SD_REPORT_GIL,       SD_REPORT_METRIC,
        SD_REPORT_SIGNATURES, SD_REPORT_OUTPUT, SD_REPORT_QUALIFIED, SD_REPORT_SOURCE,
        SD_REPORT_SHARE,      SD_REPORT_FORCE,  SD_REPORT_ALL
    };
    const struct sd_option *options = a->command->verb->options;

    if (a->form != SD_FORM_PAGE)
        return 0;
    for (size_t i = 0, k; options[i].name; i++) {
        for (k = 0; k < sizeof known / sizeof *known && known[k] != i; k++)
            continue;
        if (k == sizeof known / sizeof *known && a->v[i].is_given)
            return sd_fail(SD_EUSAGE,
                           "--%s has no effect on a page, which has all views; drop it",
                           options[i].name);
    }
    return 0;
}

static int read_privacy(struct sd_report_request *a)
{
    const char *to = a->v[SD_REPORT_OUTPUT].text;

    return sd_export_privacy(&a->v[SD_REPORT_SOURCE], &a->v[SD_REPORT_SHARE],
                             to ? sd_output_for(to, SD_HOLDS_ANYTHING) : NULL,
                             &a->privacy);
}

static int check_times(const struct sd_option_value *v)
{
    if (v[SD_REPORT_TO].is_given && v[SD_REPORT_TO].number <= v[SD_REPORT_FROM].number)
        return sd_fail(SD_EUSAGE, "--to must be later than --from");
    return 0;
}

int sd_report_request_read(struct sd_report_request *a, const struct sd_command *c)
{
    int rc;

    *a = (struct sd_report_request){
        .command = c,
        .v = c->values,
        .input = &sd_input_capture,
        .words = c->words,
        .n_words = c->n_words,
    };
    rc = check_times(a->v);
    if (rc == 0)
        rc = choose_form(a, &a->form);
    if (rc == 0)
        rc = choose_growth(a->v, &a->form);
    if (rc == 0)
        rc = check_page(a);
    if (rc == 0)
        rc = read_privacy(a);
    if (rc == 0)
        rc = check_growth(a);
    if (rc == 0)
        rc = check_graph(a);
    if (rc == 0)
        rc = check_plot(a);
    if (rc == 0)
        rc = read_pictures(a);
    if (rc == 0)
        rc = read_views(a);
    if (rc == 0)
        rc = sd_report_alloc_read(a);
    return rc < 0 ? rc : read_patterns(a);
}

void sd_report_request_release(struct sd_report_request *a)
{
    for (size_t i = 0; i < SD_LOOKS; i++)
        sd_pattern_free(a->patterns[i]);
    sd_buf_release(&a->names);
}
